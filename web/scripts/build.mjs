// `npm run build`: the library as one file, the application as seven and the demo's page as three, and their sizes against
// their limits.

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { gzipSync } from "node:zlib";

import {
  BUILT, MAX_GZIPPED as MAX_APP_GZIPPED, MAX_RELAY_GZIPPED, RELAY_FILE, appHash, appSizes, buildApp, buildDemo, demoSizes, readApp, readDemo,
} from "./app.mjs";
import { ROOT, bundleLibrary } from "./bundle.mjs";

/** A page loads this before the first picture, so it stays small. */
const MAX_GZIPPED = 78_000;

await bundleLibrary();
const code = await readFile(resolve(ROOT, "dist/sealcast-web.js"));
const gzipped = gzipSync(code, { level: 9 }).length;
console.log(`dist/sealcast-web.js: ${code.length} bytes minified, ${gzipped} bytes gzipped (at most ${MAX_GZIPPED})`);

await buildApp();
const files = await readApp(BUILT);
const { lines, relay, sum } = appSizes(files);
for (const line of lines) {
  console.log(`dist/app/${line}`);
}
console.log(`dist/app: ${sum} bytes gzipped (at most ${MAX_APP_GZIPPED}), hash ${appHash(files)}`);
console.log(`dist/app/${RELAY_FILE}, which is loaded for a relay: ${relay} gzipped (at most ${MAX_RELAY_GZIPPED})`);

await buildDemo();
const demo = demoSizes(await readDemo());
for (const line of demo.lines) {
  console.log(`dist/demo/${line}`);
}
console.log(`dist/demo: ${demo.sum} bytes gzipped, beside worker and icon`);

if (gzipped > MAX_GZIPPED || sum > MAX_APP_GZIPPED || relay > MAX_RELAY_GZIPPED) {
  console.error("a bundle is too long: look for a dependency that pulls in more than it needs");
  process.exit(1);
}
