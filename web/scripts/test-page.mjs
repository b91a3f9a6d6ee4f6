// `npm run test:page`: the page of the real program in Chromium, without a window. SEALCAST has the path of the program,
// CHROMIUM names another browser than Debian's. Names of test files, such as `refusals`, select some. With
// PAGE_FROM_DIST=1 the page comes from `npm run build`; SCREENSHOTS names a folder for pictures of the page.

import { spawn } from "node:child_process";
import { readdir, stat } from "node:fs/promises";
import { resolve } from "node:path";

import { build } from "esbuild";

import { ROOT } from "./bundle.mjs";

const FOLDER = "test/page";

const wanted = process.argv.slice(2);
const names = (await readdir(resolve(ROOT, FOLDER))).filter((name) => name.endsWith(".test.ts")).sort();
const chosen = names.filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)));
if (chosen.length === 0) {
  console.error("no test file has such a name");
  process.exit(1);
}
// Two files: the tests of each share a browser and run one after the other, beside those of the other file. They wait most
// of the time.
const halves = [{ size: 0, names: [] }, { size: 0, names: [] }];
const sizes = new Map(await Promise.all(chosen.map(async (name) => [name, (await stat(resolve(ROOT, FOLDER, name))).size])));
for (const name of chosen.sort((a, b) => sizes.get(b) - sizes.get(a))) {
  const lighter = halves[0].size <= halves[1].size ? halves[0] : halves[1];
  lighter.names.push(name);
  lighter.size += sizes.get(name);
}
const bundles = await Promise.all(halves.filter(({ names }) => names.length > 0).map(async ({ names }, index) => {
  const outfile = `dist/test-page/tests-${index}.mjs`;
  await build({
    absWorkingDir: ROOT, bundle: true, format: "esm", target: "es2022", platform: "node", logLevel: "warning",
    stdin: { contents: names.map((name) => `import "./${FOLDER}/${name}";`).join("\n"), resolveDir: ROOT },
    outfile, sourcemap: "inline", external: ["playwright-core", "axe-core"],
  });
  return outfile;
}));
const args = ["--enable-source-maps", "--test", "--test-concurrency=2", "--test-reporter=spec", ...bundles];
const child = spawn(process.execPath, args, { cwd: ROOT, stdio: "inherit" });
child.on("exit", (code) => process.exit(code ?? 1));
