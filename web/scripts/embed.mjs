// `npm run embed`: builds the application and the demo's page, and copies them into the program's sources, which are then
// committed. `npm run check:embedded`: builds them, and fails if the committed files are others.

import { BUILT, appHash, buildApp, buildDemo, differences, embedAll, readApp } from "./app.mjs";

const check = process.argv.includes("--check");
await Promise.all([buildApp(), buildDemo()]);
const hash = appHash(await readApp(BUILT));
if (!check) {
  await embedAll();
  console.log("crates/sealcast/src/web/app/bundle has the application, and demo/bundle beside it the demo's page: commit them");
  console.log(`hash of the application: ${hash}`);
} else {
  const different = await differences();
  if (different.length > 0) {
    console.error(`not what the sources in web/ give: ${different.join(", ")}`);
    console.error("in web/, run `npm ci && npm run embed`, and commit the files");
    process.exit(1);
  }
  console.log(`what the program embeds is what the sources in web/ give, hash of the application ${hash}`);
}
