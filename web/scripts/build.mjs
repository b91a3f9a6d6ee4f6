// `npm run build`: the library as one file, the application as five, and their sizes against the limits.

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { gzipSync } from "node:zlib";

import { BUILT, MAX_GZIPPED as MAX_APP_GZIPPED, appHash, appSizes, buildApp, readApp } from "./app.mjs";
import { ROOT, bundleLibrary } from "./bundle.mjs";

/** A page loads this before the first picture, so it stays small. */
const MAX_GZIPPED = 70_000;

function check(name, size, limit) {
  console.log(`${name}: ${size} bytes gzipped (at most ${limit})`);
  if (size > limit) {
    console.error(`${name} is too long: look for a dependency that pulls in more than it needs`);
    process.exit(1);
  }
}

await bundleLibrary();
const code = await readFile(resolve(ROOT, "dist/sealcast-web.js"));
check("dist/sealcast-web.js", gzipSync(code, { level: 9 }).length, MAX_GZIPPED);
await buildApp();
const files = await readApp(BUILT);
const { lines, sum } = appSizes(files);
for (const line of lines) {
  console.log(`dist/app/${line}`);
}
console.log(`dist/app: hash ${appHash(files)}`);
check("dist/app", sum, MAX_APP_GZIPPED);
