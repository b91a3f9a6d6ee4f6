// For development: the page's files from web/dist/app in the place of those that the program has in it.

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";

import { type BrowserContext } from "playwright-core";

/** True if the page comes from `npm run build` and not from the program. */
export const FROM_DIST = process.env["PAGE_FROM_DIST"] === "1";

/** Where the files are, seen from web/, the folder in which tests run. */
export const BUILT = resolve("dist/app");
/** The copy that the program has in it. */
export const EMBEDDED = resolve("../crates/sealcast/src/web/app/bundle");

/** The page's files, and their types. */
export const FILES: ReadonlyMap<string, { readonly name: string; readonly type: string }> = new Map([
  ["/", { name: "index.html", type: "text/html; charset=utf-8" }],
  ["/page.css", { name: "page.css", type: "text/css; charset=utf-8" }],
  ["/page.js", { name: "page.js", type: "text/javascript; charset=utf-8" }],
  ["/worker.js", { name: "worker.js", type: "text/javascript; charset=utf-8" }],
  ["/relay.js", { name: "relay.js", type: "text/javascript; charset=utf-8" }],
  ["/sound.js", { name: "sound.js", type: "text/javascript; charset=utf-8" }],
  ["/icon.svg", { name: "icon.svg", type: "image/svg+xml" }],
]);

/** Answers requests for the files from the folder of the build; the headers are the program's. */
export async function serveBuiltPage(context: BrowserContext): Promise<void> {
  if (!FROM_DIST) {
    return;
  }
  await context.route((url) => FILES.has(url.pathname), async (route, request) => {
    const file = FILES.get(new URL(request.url()).pathname);
    const answer = await route.fetch();
    const body = await readFile(resolve(BUILT, file?.name ?? ""));
    const headers = answer.headers();
    delete headers["content-length"];
    await route.fulfill({ status: answer.status(), headers, body });
  });
}
