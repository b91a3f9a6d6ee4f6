// `npm run embed`: builds the application, and copies it into the program's sources, which are then committed.
// `npm run check:embedded`: builds it, and fails if the committed files are others.

import { BUILT, EMBEDDED, FILES, appHash, buildApp, embedApp, readApp } from "./app.mjs";

const check = process.argv.includes("--check");
await buildApp();
const built = await readApp(BUILT);
const hash = appHash(built);
if (!check) {
  await embedApp();
  console.log(`crates/sealcast/src/web/app/bundle has the application, hash ${hash}: commit it`);
} else {
  const embedded = await readApp(EMBEDDED).catch(() => []);
  const different = FILES.filter((_, at) => embedded[at] === undefined || !embedded[at].equals(built[at]));
  if (different.length > 0) {
    console.error(`crates/sealcast/src/web/app/bundle is not what the sources in web/ give: ${different.join(", ")}`);
    console.error("in web/, run `npm ci && npm run embed`, and commit the files");
    process.exit(1);
  }
  console.log(`crates/sealcast/src/web/app/bundle is what the sources in web/ give, hash ${hash}`);
}
