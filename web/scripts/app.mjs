// The web application: five files that the program embeds, how they are made, and the hash that both print.

import { build } from "esbuild";
import { createHash } from "node:crypto";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { gzipSync } from "node:zlib";

import { ROOT } from "./bundle.mjs";

/** Where `npm run build` puts them, and where the program's sources have their copy. */
export const BUILT = resolve(ROOT, "dist/app");
export const EMBEDDED = resolve(ROOT, "../crates/sealcast/src/web/app/bundle");
/** The files, in the order in which they are hashed. */
export const FILES = ["index.html", "page.css", "page.js", "worker.js", "icon.svg"];
/** A browser loads them all before the first picture. */
export const MAX_GZIPPED = 200_000;

/**
 * The same sources give the same bytes on every machine: no source map, no path of this machine, and the version of
 * esbuild is the lock file's.
 */
const COMMON = {
  absWorkingDir: ROOT, bundle: true, minify: true, sourcemap: false, legalComments: "none", charset: "utf8",
  target: "es2022", platform: "browser", logLevel: "warning",
};

/** Makes the five files in the folder `to`. */
export async function buildApp(to = BUILT) {
  await mkdir(to, { recursive: true });
  const script = { ...COMMON, format: "esm" };
  await Promise.all([
    build({ ...script, entryPoints: ["src/page/main.ts"], outfile: resolve(to, "page.js") }),
    build({ ...script, entryPoints: ["src/worker/main.ts"], outfile: resolve(to, "worker.js") }),
    // No browser is named, so nothing is rewritten for older ones.
    build({ ...COMMON, target: "esnext", entryPoints: ["src/page/page.css"], outfile: resolve(to, "page.css") }),
    copyText("index.html", to),
    copyText("icon.svg", to),
  ]);
}

/** Copies a text as it is, whatever line ends a checkout gave it. */
async function copyText(name, to) {
  const text = await readFile(resolve(ROOT, "src/page", name), "utf8");
  await writeFile(resolve(to, name), text.replaceAll("\r\n", "\n"));
}

/** The bytes of the five files in a folder. */
export function readApp(folder) {
  return Promise.all(FILES.map((name) => readFile(resolve(folder, name))));
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

/** Sizes for people, one line a file, and the sum of the gzipped ones. */
export function appSizes(files) {
  const gzipped = files.map((bytes) => gzipSync(bytes, { level: 9 }).length);
  const lines = FILES.map((name, at) => `${name}: ${files[at].length} bytes, ${gzipped[at]} gzipped`);
  return { lines, sum: gzipped.reduce((a, b) => a + b, 0) };
}

/** Copies the built files to where the program embeds them. */
export async function embedApp() {
  await mkdir(EMBEDDED, { recursive: true });
  await Promise.all(FILES.map((name) => copyFile(resolve(BUILT, name), resolve(EMBEDDED, name))));
}
