// Bundles the library and the tests with esbuild.

import { build } from "esbuild";
import { readdir } from "node:fs/promises";
import { resolve } from "node:path";

export const ROOT = resolve(import.meta.dirname, "..");

/** Options of every bundle but the application's. */
export const COMMON = {
  bundle: true, format: "esm", target: "es2022", logLevel: "warning", absWorkingDir: ROOT,
  // A file of tests that is left out would be a test that cannot fail.
  logOverride: { "ignored-bare-import": "error" },
};

/** The library as one minified file. */
export function bundleLibrary() {
  return build({
    ...COMMON,
    entryPoints: ["src/index.ts"],
    outfile: "dist/sealcast-web.js",
    platform: "browser",
    minify: true,
    sourcemap: true,
    legalComments: "none",
    metafile: true,
  });
}

/** The test files of a folder under test/. */
async function testFiles(folder) {
  const names = await readdir(resolve(ROOT, folder));
  return names.filter((name) => name.endsWith(".test.ts")).map((name) => `${folder}/${name}`).sort();
}

/** The tests for Node, one file each. `folders` are under the root. */
export async function bundleNodeTests(folders) {
  const files = (await Promise.all(folders.map(testFiles))).flat();
  await build({
    ...COMMON,
    entryPoints: files,
    outdir: "dist/test-node",
    outbase: "test",
    platform: "node",
    sourcemap: "inline",
    outExtension: { ".js": ".mjs" },
  });
  return files.map((file) => file.replace(/^test\//, "dist/test-node/").replace(/\.ts$/, ".mjs"));
}

/** The tests that need no Node as one file for a browser. */
export async function bundleBrowserTests() {
  const files = await testFiles("test");
  const inBrowser = {
    name: "in-browser",
    setup(build) {
      const path = resolve(ROOT, "test/support/platform-browser.ts");
      build.onResolve({ filter: /\/platform\.ts$/ }, () => ({ path }));
    },
  };
  await build({
    ...COMMON,
    stdin: { contents: files.map((file) => `import "./${file}";`).join("\n"), resolveDir: ROOT },
    outfile: "dist/test-browser/tests.js",
    platform: "browser",
    sourcemap: "inline",
    plugins: [inBrowser],
  });
}
