// The platform under test: Node. The script for the browser puts platform-browser.ts in place of this file.

import { readFile } from "node:fs/promises";
import { test as nodeTest } from "node:test";

/** A test may take this long before it counts as hung, on however busy a machine. */
const PATIENCE_MS = 300_000;

export function register(name: string, body: () => Promise<void>): void {
  void nodeTest(name, { timeout: PATIENCE_MS }, body);
}

/** Lists a test that cannot run here. */
export function skip(name: string, why: string): void {
  void nodeTest(name, { skip: why });
}

/** The text of a file of vectors. */
export function readVectors(name: string): Promise<string> {
  const folder = process.env["SEALCAST_VECTORS"] ?? "../vectors";
  return readFile(`${folder}/${name}.json`, "utf8");
}
