// `npm run build`: the library as one file, and its size against the limit.

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { gzipSync } from "node:zlib";

import { ROOT, bundleLibrary } from "./bundle.mjs";

/** A page loads this before the first picture, so it stays small. */
const MAX_GZIPPED = 60_000;

await bundleLibrary();
const code = await readFile(resolve(ROOT, "dist/sealcast-web.js"));
const gzipped = gzipSync(code, { level: 9 }).length;
console.log(`dist/sealcast-web.js: ${code.length} bytes minified, ${gzipped} bytes gzipped (at most ${MAX_GZIPPED})`);
if (gzipped > MAX_GZIPPED) {
  console.error("the bundle is too long: look for a dependency that pulls in more than it needs");
  process.exit(1);
}
