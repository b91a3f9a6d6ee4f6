// `npm run test:page`: the page of the real program in Chromium, without a window. SEALCAST has the path of the program,
// CHROMIUM names another browser than Debian's. Names of test files, such as `refusals`, select some. With
// PAGE_FROM_DIST=1 the page comes from `npm run build`; SCREENSHOTS names a folder for pictures of the page.

import { spawn } from "node:child_process";
import { readdir } from "node:fs/promises";
import { resolve } from "node:path";

import { build } from "esbuild";

import { COMMON, ROOT } from "./bundle.mjs";

const FOLDER = "test/page";

const wanted = process.argv.slice(2);
const names = (await readdir(resolve(ROOT, FOLDER))).filter((name) => name.endsWith(".test.ts")).sort();
const chosen = names.filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)));
if (chosen.length === 0) {
  console.error("no test file has such a name");
  process.exit(1);
}
// One file, so that all tests share one browser, and run one after the other.
await build({
  ...COMMON,
  platform: "node",
  stdin: { contents: chosen.map((name) => `import "./${FOLDER}/${name}";`).join("\n"), resolveDir: ROOT },
  outfile: "dist/test-page/tests.mjs", sourcemap: "inline", external: ["playwright-core", "axe-core"],
});
const args = ["--enable-source-maps", "--test", "--test-reporter=spec", "dist/test-page/tests.mjs"];
const child = spawn(process.execPath, args, { cwd: ROOT, stdio: "inherit" });
child.on("exit", (code) => process.exit(code ?? 1));
