// `npm test`: the tests in Node. Names of test files, such as `records`, select some.

import { spawn } from "node:child_process";

import { ROOT, bundleNodeTests } from "./bundle.mjs";

const wanted = process.argv.slice(2);
const files = await bundleNodeTests(["test", "test/node"]);
const chosen = files.filter((file) => wanted.length === 0 || wanted.some((name) => file.includes(name)));
if (chosen.length === 0) {
  console.error("no test file has such a name");
  process.exit(1);
}
const child = spawn(process.execPath, ["--test", "--test-reporter=spec", ...chosen], { cwd: ROOT, stdio: "inherit" });
child.on("exit", (code) => process.exit(code ?? 1));
