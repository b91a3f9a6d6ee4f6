// Compares what the page's decoder got with a clip that is repeated.

import { assert, same } from "../../support/harness.ts";
import { type Visit } from "./browser.ts";
import { type Told } from "./recorder.ts";
import { type Clip } from "./servers.ts";

/** Waits until the decoder has got each access unit of the clip, as often as the machine must repeat it for that. */
export async function untilWholeClip(visit: Visit, { hashes }: Clip): Promise<void> {
  await visit.until("each access unit of the clip", ({ told }, wanted) => {
    const got = new Set(told.at(-1)?.units.map(({ sha256 }) => sha256));
    return wanted.every((hash) => got.has(hash));
  }, hashes);
}

/**
 * Checks that the decoder got what the clip has under each number, in order. Numbers may be missing only as far as the
 * page itself has counted frames that it dropped: a slow machine drops some, and so
 * does somebody on the path. Between the sessions of one connection, if there are several, anything may be missing.
 */
export async function checkUnits(visit: Visit, { hashes }: Clip, sessions = 1): Promise<Told> {
  const { units, reports } = await visit.told();
  const wrong = units.filter(({ frame, sha256 }) => sha256 !== hashes[frame % hashes.length]);
  same(wrong, [], "access units that are not the clip's");
  const numbers = units.map(({ frame }) => frame);
  same(numbers, [...new Set(numbers)].sort((a, b) => a - b), "frames come in order, and none twice");
  const missing = (numbers.at(-1) ?? 0) - (numbers[0] ?? 0) + 1 - numbers.length;
  // The second report from now is younger than these access units.
  await visit.until("new figures", ({ told }, wanted) => (told.at(-1)?.reports ?? 0) >= wanted, reports + 2);
  const told = await visit.told();
  const dropped = told.figures?.dropped ?? 0;
  assert(sessions > 1 || missing <= dropped, `${missing} frames are missing, ${dropped} were dropped`);
  return told;
}
