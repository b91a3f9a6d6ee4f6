// Units: the data that one record seals.

import { misuse } from "../error.ts";

/** What of a frame one record holds: all of it, at most 1 200 bytes with header and tag, or so many bytes. */
export type Unit = "frame" | "packet" | { readonly chunk: number };

const MIN_CHUNK = 16;
const MAX_CHUNK = 65_535;

/** Throws `misuse` for a unit that cannot be. */
export function checkUnit(unit: Unit): Unit {
  const chunk = typeof unit === "string" ? MIN_CHUNK : unit.chunk;
  if (!Number.isInteger(chunk) || chunk < MIN_CHUNK || chunk > MAX_CHUNK) {
    throw misuse("a chunk has 16 to 65535 bytes");
  }
  return unit;
}
