// `npm run test:browser`: the tests in a worker of Chromium, headless. CHROMIUM names another browser than Debian's.

import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";

import { chromium } from "playwright-core";

import { ROOT, bundleBrowserTests } from "./bundle.mjs";

const VECTORS = resolve(ROOT, "../vectors");
const PATIENCE_MS = 600_000;
const TYPES = { ".js": "text/javascript", ".json": "application/json", ".html": "text/html" };

/** Serves the page, the bundle and the vectors, and nothing else. */
async function serve(request, response) {
  const path = new URL(request.url ?? "/", "http://localhost").pathname;
  const vector = /^\/vectors\/([a-z]+\.json)$/.exec(path)?.[1];
  try {
    if (path === "/") {
      response.setHeader("content-type", TYPES[".html"]);
      response.end('<!doctype html><meta charset="utf-8"><title>tests</title>');
    } else if (path === "/tests.js") {
      response.setHeader("content-type", TYPES[".js"]);
      response.end(await readFile(resolve(ROOT, "dist/test-browser/tests.js")));
    } else if (vector !== undefined) {
      response.setHeader("content-type", TYPES[".json"]);
      response.end(await readFile(resolve(VECTORS, vector)));
    } else {
      response.statusCode = 404;
      response.end();
    }
  } catch (error) {
    response.statusCode = 500;
    response.end(String(error));
  }
}

await bundleBrowserTests();
const server = createServer((request, response) => void serve(request, response));
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
let failed = 0;
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  page.on("pageerror", (error) => console.error(String(error)));
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  const { native, outcomes } = await page.evaluate(() => new Promise((resolve, reject) => {
    const worker = new Worker("/tests.js", { type: "module" });
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = ({ message }) => reject(new Error(message));
    worker.postMessage("begin");
  }));
  for (const { name, error, skipped } of outcomes) {
    console.log(skipped !== undefined ? `SKIPPED ${name}: ${skipped}` : `${error === undefined ? "ok  " : "FAIL"} ${name}${error === undefined ? "" : `\n${error}`}`);
  }
  failed = outcomes.filter(({ error }) => error !== undefined).length;
  console.log(`Chromium ${browser.version()}, WebCrypto has ${JSON.stringify(native)}`);
  console.log(`${outcomes.length} tests, ${failed} failed`);
  if (outcomes.length === 0) {
    console.error("no test ran");
    failed = 1;
  }
} finally {
  await browser.close();
  server.close();
}
process.exit(failed === 0 ? 0 : 1);
