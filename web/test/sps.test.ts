// Parameter sets that say that nothing is reordered. The sets are x264's; those without VUI or restriction were made of
// them by hand, with the bit positions that ffmpeg's trace_headers tells. ffmpeg decoded the streams with the new sets
// to the same pictures.

import { type Bytes } from "../src/protocol/bytes.ts";
import { Rbsp } from "../src/protocol/unit/h264/bits.ts";
import { parseSps } from "../src/protocol/unit/h264/parameter-sets.ts";
import { statedReordering, withoutReordering } from "../src/media/sps.ts";
import { assert, hex, same, sequence, test, toHex } from "./support/harness.ts";

/** Sets before and after. */
const REWRITTEN: readonly (readonly [what: string, before: string, after: string])[] = [
  ["baseline, no VUI", "6742c00ada11e4", "6742c00ada11e807840215"],
  ["baseline, VUI without restriction", "6742c00ada11ec0440000003004000000c81",
    "6742c00ada11ec0440000003004000000c83c2010a80"],
  ["baseline, order count 2, wide restriction", "6742c00ada11ec0440000003004000000c8268509448",
    "6742c00ada11ec0440000003004000000c8268509a80"],
  ["main, no VUI", "674d400ad90479", "674d400ad9047a01e1008490"],
  ["main, three slices", "674d400adb1899", "674d400adb189a01e10085c0"],
  ["main, VUI without restriction", "674d400ad9047b01100000030010000003032040",
    "674d400ad9047b011000000300100000030320f0804248"],
  ["main, wide restriction", "674d400ad9047b0110000003001000000303209a14251a",
    "674d400ad9047b0110000003001000000303209a142648"],
  ["high, no VUI", "6764000aacb208f2", "6764000aacb208f403c2010920"],
  ["high, VUI without restriction", "6764000aacb208f6022000000300200000065080",
    "6764000aacb208f60220000003002000000651e1008490"],
  ["a camera's, 640 by 480", "6742c01ed900a03da10000030001000003003284",
    "6742c01ed900a03da1000003000100000300328f08042480"],
  ["720p main", "674d401fda014016e4", "674d401fda014016e807840215"],
];

/** Sets that stay, with the reordering that they state. */
const LEFT: readonly (readonly [what: string, set: string, reordering: number])[] = [
  ["x264 baseline", "6742c00ada11ec0440000003004000000c83c489a8", 0],
  ["x264 main without B frames", "674d400ad9047b011000000300100000030320f1226480", 0],
  ["x264 high, zero latency", "6764000aacb208f60220000003002000000651e244c9", 0],
  ["x264 main with B frames", "674d400aeca23d80880000030008000003019078912cb0", 2],
  ["the same without restriction", "674d400aeca23d80880000030008000003019020", 0],
  ["the same without VUI", "674d400aeca23c80", 0],
  ["high with an HRD", "6764000dacd9447b01100000030010000003032602001e840007a13930c01e28532c", 2],
  ["high with an HRD, no restriction", "6764000dacd9447b01100000030010000003032602001e840007a13930c008", 0],
  ["interlaced", "67640015ace419360220000003002000000643e28549", 0],
];

test("a set that may reorder and does not is told to hold nothing back", () => {
  for (const [what, before, after] of REWRITTEN) {
    const result = withoutReordering(hex(before));
    same(toHex(result), after, what);
    assert(withoutReordering(result) === result, `${what}: nothing more to do`);
    same(statedReordering(result), 0, what);
    const [old, now] = [before, after].map((text) => parseSps(new Rbsp(hex(text)).reader(8)));
    same(now, old, `${what}: all else is as before`);
  }
});

test("a set that reorders, or has said that it does not, stays as it is", () => {
  for (const [what, text, reordering] of LEFT) {
    const unit = hex(text);
    assert(withoutReordering(unit) === unit, what);
    same(statedReordering(unit), reordering, what);
  }
});

const ALL = [...REWRITTEN.flatMap(([, before, after]) => [before, after]), ...LEFT.map(([, text]) => text)].map(hex);

/** Checks that a set is rewritten to one with the same picture, or left. */
function check(unit: Bytes): boolean {
  const before = toHex(unit);
  const result = withoutReordering(unit);
  statedReordering(unit);
  same(toHex(unit), before, "the argument stays");
  if (result === unit) {
    return false;
  }
  const [old, now] = [unit, result].map((set) => parseSps(new Rbsp(set).reader(8)));
  same([now?.widthMbs, now?.heightMbs, now?.references], [old?.widthMbs, old?.heightMbs, old?.references], before);
  assert(withoutReordering(result) === result, `once is enough: ${before}`);
  return true;
}

test("a set that ends anywhere is left or rewritten, and nothing is thrown", () => {
  for (const unit of ALL) {
    for (let length = 0; length <= unit.length; length += 1) {
      check(unit.slice(0, length));
    }
  }
});

test("sets with changed bits, and random bytes, are left or rewritten, and nothing is thrown", () => {
  const next = sequence(7);
  let rewritten = 0;
  for (let round = 0; round < 20_000; round += 1) {
    const unit = ALL[next() % ALL.length]?.slice() ?? new Uint8Array(0);
    for (let flips = 1 + (next() % 3); flips > 0; flips -= 1) {
      const at = next() % unit.length;
      unit[at] = (unit[at] ?? 0) ^ (1 << (next() & 7));
    }
    rewritten += check(unit) ? 1 : 0;
  }
  for (let round = 0; round < 20_000; round += 1) {
    const unit = new Uint8Array(next() % 40).map(() => next() & (round % 2 === 0 ? 0xff : 0x93));
    unit[0] = 0x67;
    check(unit);
  }
  assert(rewritten > 1_000, `many of them are rewritten: ${rewritten}`);
});
