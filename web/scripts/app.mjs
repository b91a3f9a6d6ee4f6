// The web application: seven files that the program embeds, how they are made, and the hash that both print. The demo's
// page: three more, which share worker and icon with it.

import { build } from "esbuild";
import { createHash } from "node:crypto";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { relative, resolve } from "node:path";
import { gzipSync } from "node:zlib";

import { ROOT } from "./bundle.mjs";
import { markupOf } from "./markup.mjs";

/** Where `npm run build` puts them, and where the program's sources have their copy. */
export const BUILT = resolve(ROOT, "dist/app");
export const EMBEDDED = resolve(ROOT, "../crates/sealcast/src/web/app/bundle");
/** The files, in the order in which they are hashed. */
export const FILES = ["index.html", "page.css", "page.js", "worker.js", "relay.js", "sound.js", "icon.svg"];
/** The same of the demo's page. */
export const DEMO_BUILT = resolve(ROOT, "dist/demo");
const DEMO_EMBEDDED = resolve(ROOT, "../crates/sealcast/src/web/demo/bundle");
const DEMO_FILES = ["page.html", "page.css", "page.js"];
/** Everything that the program embeds: where it is built, and where its copy is. */
export const PARTS = [
  { built: BUILT, embedded: EMBEDDED, names: FILES },
  { built: DEMO_BUILT, embedded: DEMO_EMBEDDED, names: DEMO_FILES },
];
/** A browser loads them all before the first picture, but for the part that only a relay needs. */
export const MAX_GZIPPED = 200_000;
/** That part, for the most part a library, and its own limit. */
export const RELAY_FILE = "relay.js";
export const MAX_RELAY_GZIPPED = 75_000;

/**
 * The same sources give the same bytes on every machine: no source map, no path of this machine, and the version of
 * esbuild is the lock file's.
 */
const COMMON = {
  absWorkingDir: ROOT, bundle: true, minify: true, sourcemap: false, legalComments: "none", charset: "utf8",
  target: "es2022", platform: "browser", logLevel: "warning",
};

/** Makes the seven files in the folder `to`. `worker` is the entry of the worker, under `web/`. */
export async function buildApp(to = BUILT, worker = "src/worker/main.ts") {
  await mkdir(to, { recursive: true });
  const script = { ...COMMON, format: "esm" };
  await Promise.all([
    build({ ...script, entryPoints: ["src/page/main.ts"], outfile: resolve(to, "page.js") }),
    build({ ...script, entryPoints: [worker], outfile: resolve(to, "worker.js") }),
    build({ ...script, entryPoints: ["src/relay/moq.ts"], outfile: resolve(to, RELAY_FILE) }),
    build({ ...script, entryPoints: ["src/sound/processor.ts"], outfile: resolve(to, "sound.js") }),
    // No browser is named, so nothing is rewritten for older ones.
    build({ ...COMMON, target: "esnext", entryPoints: ["src/page/page.css"], outfile: resolve(to, "page.css") }),
    writeMarkup("src/page/index.html", resolve(to, "index.html")),
    copyText("src/page/icon.svg", resolve(to, "icon.svg")),
  ]);
}

/** Makes the three files of the demo's page. */
export async function buildDemo(to = DEMO_BUILT) {
  await mkdir(to, { recursive: true });
  await Promise.all([
    build({ ...COMMON, format: "esm", entryPoints: ["src/demo/main.ts"], outfile: resolve(to, "page.js") }),
    build({ ...COMMON, target: "esnext", entryPoints: ["src/demo/page.css"], outfile: resolve(to, "page.css") }),
    writeMarkup("src/demo/index.html", resolve(to, "page.html")),
  ]);
}

/** Copies a text as it is, whatever line ends a checkout gave it. */
async function copyText(from, to) {
  const text = await readFile(resolve(ROOT, from), "utf8");
  await writeFile(to, text.replaceAll("\r\n", "\n"));
}

/** Writes markup with its signs and English texts. */
async function writeMarkup(from, to) {
  await writeFile(to, await markupOf(from));
}

/** The bytes of the seven files in a folder. */
export function readApp(folder) {
  return Promise.all(FILES.map((name) => readFile(resolve(folder, name))));
}

/** The bytes of the demo's three files. */
export function readDemo() {
  return Promise.all(DEMO_FILES.map((name) => readFile(resolve(DEMO_BUILT, name))));
}

/** SHA-256 of the files, each behind its length as 32 bits, big-endian; in hexadecimal. */
export function appHash(files) {
  const hash = createHash("sha256");
  for (const bytes of files) {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    hash.update(length).update(bytes);
  }
  return hash.digest("hex");
}

/** Sizes of the application's files, or of the demo's. */
export function appSizes(files) {
  return sizes(FILES, files);
}
export function demoSizes(files) {
  return sizes(DEMO_FILES, files);
}

/** Sizes for people, one line a file, and the sum of the gzipped ones, the part for relays apart. */
function sizes(names, files) {
  const gzipped = files.map((bytes) => gzipSync(bytes, { level: 9 }).length);
  const lines = names.map((name, at) => `${name}: ${files[at].length} bytes, ${gzipped[at]} gzipped`);
  const relay = gzipped[names.indexOf(RELAY_FILE)] ?? 0;
  return { lines, relay, sum: gzipped.reduce((a, b) => a + b, 0) - relay };
}

/** Copies the built files to where the program embeds them. */
export async function embedAll() {
  for (const { built, embedded, names } of PARTS) {
    await mkdir(embedded, { recursive: true });
    await Promise.all(names.map((name) => copyFile(resolve(built, name), resolve(embedded, name))));
  }
}

/** The paths of committed files that are not what was built, byte for byte. */
export async function differences() {
  const pairs = PARTS.flatMap(({ built, embedded, names }) =>
    names.map((name) => ({ built: resolve(built, name), embedded: resolve(embedded, name) })));
  const differ = await Promise.all(pairs.map(async ({ built, embedded }) => {
    const committed = await readFile(embedded).catch(() => undefined);
    return committed === undefined || !committed.equals(await readFile(built));
  }));
  return pairs.filter((_, at) => differ[at]).map(({ embedded }) => relative(resolve(ROOT, ".."), embedded));
}
