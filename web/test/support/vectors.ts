// The vectors of vectors/*.json, with a check that a test has seen all of a list.

import { assert } from "./harness.ts";
import { readVectors } from "./platform.ts";

/** A case of a list: `name` and `expect`, and fields as vectors/README.md says. Integers beyond 2⁵³ are bigints. */
export interface Case {
  readonly name: string;
  readonly expect: string;
}

const files = new Map<string, Promise<unknown>>();
/** An integer of 16 digits or more that stands as a value. In texts of vectors no such number has marks around it. */
const LONG_INTEGER = /(?<=[:[,]\s*)(\d{16,})(?=\s*[,\]}])/g;

async function load(name: string): Promise<unknown> {
  const text = await readVectors(name);
  return JSON.parse(text.replace(LONG_INTEGER, '"@$1"'), (_, value: unknown) =>
    typeof value === "string" && /^@\d+$/.test(value) ? BigInt(value.slice(1)) : value,
  );
}

/** A file of vectors. */
export function vectors<T>(name: string): Promise<T> {
  const found = files.get(name) ?? load(name);
  files.set(name, found);
  return found as Promise<T>;
}

/** A number that may have been too long for one. */
export function big(value: number | bigint): bigint {
  return BigInt(value);
}

/**
 * Runs `check` on each case of a list, and checks how many there are: a test that runs nothing fails. `check` returns
 * false for a case that does not concern a browser peer; `skipped` says how many of these there must be.
 */
export async function each<T extends Case>(
  cases: readonly T[], counts: { readonly run: number; readonly skipped: number },
  check: (one: T) => Promise<boolean> | boolean,
): Promise<void> {
  let [run, skipped] = [0, 0];
  for (const one of cases) {
    try {
      if (await check(one)) {
        run += 1;
      } else {
        skipped += 1;
      }
    } catch (thrown) {
      throw new Error(`${one.name}: ${thrown instanceof Error ? thrown.message : String(thrown)}`, { cause: thrown });
    }
  }
  const fits = run === counts.run && skipped === counts.skipped;
  assert(fits, `${counts.run} cases run and ${counts.skipped} skipped, rather than ${run} and ${skipped}`);
}
