// The parser of H.264 slices on streams of x264, against what ffmpeg says of each macroblock, and the plans by it
// against those of the Rust implementation: crates/sealcast-proto/tests/h264.

import { readFile } from "node:fs/promises";

import { type Bytes, concat } from "../../src/protocol/bytes.ts";
import { asProtocolError } from "../../src/protocol/error.ts";
import { isSlice, nalType, nalUnits } from "../../src/protocol/unit/annexb.ts";
import { type MacroblockKind } from "../../src/protocol/unit/h264/macroblock.ts";
import { ParameterSets } from "../../src/protocol/unit/h264/parameter-sets.ts";
import { parseSlice } from "../../src/protocol/unit/h264/slice.ts";
import { type StreamInfo } from "../../src/protocol/unit/info.ts";
import { type PlannedRange } from "../../src/protocol/unit/plan.ts";
import { Planner } from "../../src/protocol/unit/planner.ts";
import { type Selection } from "../../src/protocol/wire/selection.ts";
import { assert, same, test } from "../support/harness.ts";

const FOLDER = "../crates/sealcast-proto/tests/h264/streams";
const SPLIT = ["baseline", "slices", "bframes", "high", "pcm", "noise", "grey"] as const;
const REFUSED = ["cabac", "interlaced"] as const;
const INTRA: Selection = { mode: "level", level: 3 };
const INFO: StreamInfo = {
  codec: "h264", width: 96, height: 64, rate: { numerator: 25, denominator: 1 }, parameters: new Uint8Array(0),
};

/** The letter that stands for a kind in the streams' lists. ffmpeg does not tell the two sizes of blocks apart. */
const LETTERS: Record<MacroblockKind, string> = {
  pcm: "P", intra4x4: "i", intra8x8: "i", intra16x16: "I", skipped: "s", inter: "x",
};

async function stream(name: string): Promise<Bytes> {
  return new Uint8Array(await readFile(`${FOLDER}/${name}.h264`));
}

function plan(planner: Planner, selection: Selection, data: Bytes): readonly PlannedRange[] {
  planner.describe(1, INFO);
  return planner.plan(selection, 1, false, data).ranges;
}

/** Lengths of the ranges; those in clear are negative. */
function signed(ranges: readonly PlannedRange[]): number[] {
  let from = 0;
  return ranges.map(({ end, encrypt }) => {
    const length = end - from;
    from = end;
    return encrypt ? length : -length;
  });
}

test("every slice is parsed to its last bit, and every macroblock is of the kind that ffmpeg finds", async () => {
  for (const name of SPLIT) {
    const data = await stream(name);
    const sets = new ParameterSets();
    const pictures: string[] = [];
    for (const { first, end } of nalUnits(data)) {
      const unit = data.subarray(first, end);
      sets.take(unit);
      if (!isSlice(nalType(unit[0]))) {
        continue;
      }
      const { context, dataBit, macroblocks } = parseSlice(unit, sets);
      let picture = context.firstMb === 0 ? "" : (pictures.pop() ?? "");
      let place = dataBit;
      for (const { address, count, kind, firstBit, endBit } of macroblocks) {
        assert(address === picture.length && firstBit >= place && endBit >= firstBit, `${name}: they are in order`);
        place = endBit;
        picture += LETTERS[kind].repeat(count);
      }
      pictures.push(picture);
    }
    // ffmpeg lists pictures in the order of presentation.
    const expected = (await readFile(`${FOLDER}/${name}.types`, "utf8")).trim().split("\n");
    same(pictures.sort(), expected.sort(), name);
  }
});

test("a slice that cannot be split is encrypted whole, counted, and it is said why", async () => {
  for (const [name, word] of [["cabac", "CABAC"], ["interlaced", "interlaced"]] as const) {
    const planner = new Planner();
    assert(plan(planner, INTRA, await stream(name)).every(({ encrypt }) => encrypt), name);
    assert(planner.unsplit?.reason.includes(word) === true && planner.unsplit.count > 0, `${name}: the reason`);
  }
  const planner = new Planner();
  plan(planner, INTRA, await stream("baseline"));
  same(planner.unsplit, undefined, "what can be split");
});

test("parameter sets may come with an earlier frame or with the description of their own stream", async () => {
  const data = await stream("bframes");
  const joined = (wanted: boolean): Bytes => {
    const units = [...nalUnits(data)].map(({ first, end }) => data.subarray(first, end));
    const some = units.filter((unit) => isSlice(nalType(unit[0])) === wanted);
    return concat(...some.flatMap((unit) => [Uint8Array.of(0, 0, 0, 1), unit]));
  };
  const [parameters, slices] = [joined(false), joined(true)];
  const clear = (planner: Planner): number =>
    signed(plan(planner, INTRA, slices)).filter((length) => length < 0).length;
  const without = new Planner();
  same(clear(without), 0, "without them");
  assert(without.unsplit?.reason.includes("parameter sets are missing") === true, "the reason");
  plan(without, INTRA, parameters);
  const expected = clear(without);
  assert(expected > 0, "after a frame that has them");
  const described = new Planner();
  described.describe(2, { ...INFO, parameters });
  same(clear(described), 0, "those of another stream");
  described.describe(1, { ...INFO, parameters });
  same(clear(described), expected, "after the description");
});

test("plans are those of the Rust implementation, also of damaged streams", async () => {
  const lines: string[] = [];
  for (const name of [...SPLIT, ...REFUSED]) {
    const data = await stream(name);
    for (const level of [1, 2, 3]) {
      lines.push(`${name} level:${level} ${signed(plan(new Planner(), { mode: "level", level }, data)).join(" ")}`);
    }
    lines.push(`${name} damaged ${damagedPlans(data)}`);
  }
  same(lines, (await readFile(`${FOLDER}/plans.txt`, "utf8")).trim().split("\n"), "plans");
});

/** A checksum (FNV-1a) of the plans at level 3 of many streams in which one bit is another. */
function damagedPlans(data: Bytes): number {
  const STEP = 13;
  let sum = 0x811c9dc5;
  for (let bit = 0; bit < 8 * data.length; bit += STEP) {
    const damaged = data.slice();
    damaged[bit >> 3] = (data[bit >> 3] ?? 0) ^ (0x80 >> (bit & 7));
    for (const byte of new TextEncoder().encode(`${signed(plan(new Planner(), INTRA, damaged)).join(" ")}\n`)) {
      sum = Math.imul(sum ^ byte, 0x01000193) >>> 0;
    }
  }
  return sum;
}

test("a slice that is truncated anywhere or has another bit is parsed or refused by name, never more", async () => {
  let [refused, parsed] = [0, 0];
  const attempt = (unit: Bytes, sets: ParameterSets): void => {
    try {
      parseSlice(unit, sets);
      parsed += 1;
    } catch (thrown) {
      same(asProtocolError(thrown).reason, "not-split", "reason");
      refused += 1;
    }
  };
  for (const name of SPLIT) {
    const data = await stream(name);
    const sets = new ParameterSets();
    sets.takeAll(data);
    for (const { first, end } of nalUnits(data)) {
      const unit = data.slice(first, end);
      for (let length = 0; length < unit.length && isSlice(nalType(unit[0])); length += 1) {
        attempt(unit.subarray(0, length), sets);
        unit[length] = (unit[length] ?? 0) ^ (1 << (length % 8));
        attempt(unit, sets);
        unit[length] = (unit[length] ?? 0) ^ (1 << (length % 8));
      }
    }
  }
  assert(refused > 10_000 && parsed > 100, `both happen: ${refused} and ${parsed}`);
});
