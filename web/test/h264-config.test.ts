// Access units and parameter sets in the form of WebCodecs.

import { H264Stream, MAX_UNITS } from "../src/media/h264-config.ts";
import { type Bytes, concat } from "../src/protocol/bytes.ts";
import { nalType, nalUnits } from "../src/protocol/unit/annexb.ts";
import { CLIP, clipFrames, clipParameters } from "./support/clip.ts";
import { assert, hex, same, sequence, test, toHex } from "./support/harness.ts";

const SPS = hex("6742c00ada11e4");
const PPS = hex("68ce0f2c80");
const LONG = hex("00000001");
const SHORT = hex("000001");

function annexB(code: Bytes, ...units: readonly Bytes[]): Bytes {
  return concat(...units.flatMap((unit) => [code, unit]));
}

function converted(stream: H264Stream, data: Bytes, keyframe: boolean): Bytes {
  const unit = stream.convert(data, keyframe);
  assert(typeof unit !== "string", `it is converted, and not ${String(unit)}`);
  return unit;
}

/** The NAL units behind lengths. */
function unitsOf(data: Bytes): string[] {
  const units: string[] = [];
  for (let at = 0; at < data.length; ) {
    const length = new DataView(data.buffer, data.byteOffset + at, 4).getUint32(0);
    units.push(toHex(data.subarray(at + 4, at + 4 + length)));
    assert(at + 4 + length <= data.length, "the length fits");
    at += 4 + length;
  }
  return units;
}

test("a description becomes a configuration record with the codec's name", () => {
  const stream = new H264Stream();
  same(stream.config, undefined, "nothing is known");
  stream.describe(annexB(LONG, SPS, PPS));
  const { config } = stream;
  same(config?.codec, "avc1.42C00A", "codec");
  // Version, profile, constraints, level, lengths of four bytes, one SPS that says that nothing is reordered, one PPS.
  const record = "0142c00affe1000b6742c00ada11e8078402150100" + "0568ce0f2c80";
  same(toHex(config?.description ?? new Uint8Array(0)), record, "record");
  stream.describe(annexB(SHORT, SPS, PPS));
  assert(stream.config !== undefined && toHex(stream.config.description) === record, "start codes do not matter");
});

test("the record of a high profile has the format at its end", () => {
  const stream = new H264Stream();
  stream.describe(clipParameters());
  const { config } = stream;
  same([config?.codec, config?.reordering], ["avc1.64000A", 0], "codec");
  same(toHex(config?.description.slice(-4) ?? new Uint8Array(0)), "fdf8f800", "format");
});

test("start codes of four bytes become lengths where they stand", () => {
  const stream = new H264Stream();
  stream.describe(annexB(LONG, SPS, PPS));
  const slices = [hex("65aabb"), hex("65ccddee0001ff")];
  const data = annexB(LONG, ...slices);
  const unit = converted(stream, data, true);
  same(unitsOf(unit), slices.map(toHex), "units");
  assert(unit.buffer === data.buffer, "nothing is copied");
});

test("start codes of three bytes, zeros between units and units to drop are handled", () => {
  const stream = new H264Stream();
  stream.describe(annexB(LONG, SPS, PPS));
  const slices = [hex("65aabb"), hex("65ccdd"), hex("0605")];
  same(unitsOf(converted(stream, annexB(SHORT, ...slices), true)), slices.map(toHex), "three bytes");
  const zeros = hex("000000");
  const padded = concat(LONG, slices[0] ?? zeros, zeros, LONG, slices[1] ?? zeros, zeros, SHORT, hex("0605"), zeros);
  same(unitsOf(converted(stream, padded, true)), slices.map(toHex), "zeros");
  const [first = zeros, second = zeros] = slices;
  const whole = annexB(LONG, hex("09f0"), SPS, PPS, hex("0605"), first, hex("0cffff80"), second);
  same(unitsOf(converted(stream, whole, true)), ["0605", "65aabb", "65ccdd"], "what the decoder knows is dropped");
});

test("the frames of a real clip keep exactly their slices", () => {
  const stream = new H264Stream();
  stream.describe(clipParameters());
  const { config } = stream;
  const frames = clipFrames();
  same(frames.map(({ keyframe }) => keyframe), [true, false, false, false, true, false, false, false], "frames");
  const slices = [...nalUnits(CLIP)].map(({ first, end }) => CLIP.subarray(first, end))
    .filter((unit) => [1, 5].includes(nalType(unit[0])));
  const found = frames.flatMap(({ data, keyframe }) => unitsOf(converted(stream, data, keyframe)));
  same(found, slices.map(toHex), "slices");
  assert(stream.config === config, "the sets in the keyframes are no news");
});

test("other parameter sets in a keyframe make another configuration, those in other frames only the next one", () => {
  const stream = new H264Stream();
  const data = annexB(LONG, SPS, PPS, hex("65aabb"));
  same(unitsOf(converted(stream, data, true)), ["65aabb"], "sets within the stream alone");
  const { config } = stream;
  same(config?.codec, "avc1.42C00A", "codec");
  const other = hex("68ce0f2c81");
  const delta = converted(stream, annexB(LONG, other, hex("41aabb")), false);
  same(unitsOf(delta), [toHex(other), "41aabb"], "a delta frame keeps it");
  assert(stream.config !== config, "another configuration");
  const second = stream.config;
  assert(toHex(second?.description ?? SPS).endsWith(toHex(other)), "with the new set");
  stream.describe(annexB(LONG, SPS, PPS));
  assert(stream.config !== second, "a description replaces what the stream said");
});

test("what cannot be an access unit is refused by name", () => {
  const stream = new H264Stream();
  const many = annexB(SHORT, ...Array.from({ length: MAX_UNITS + 1 }, () => hex("65aa")));
  const cases: readonly (readonly [Bytes, string])[] = [
    [new Uint8Array(0), "empty"],
    [new Uint8Array(16 * 1024 * 1024 + 1), "too-long"],
    [many, "too-many-units"],
    [annexB(LONG, SPS, PPS), "no-picture"],
    [hex("ffd8ffe0"), "no-picture"],
    [hex("000001"), "no-picture"],
  ];
  for (const [data, expected] of cases) {
    same(stream.convert(data, true), expected, expected);
  }
});

test("damaged sets are as if missing, and a picture that is too large is not configured", () => {
  const stream = new H264Stream();
  for (const set of ["67", "6742", "6742c00a", "6742c00ada00107c0083f1"]) {
    stream.describe(annexB(LONG, hex(set), PPS));
    same(stream.config, undefined, set);
  }
});

test("random bytes are converted or refused, and lengths always fit", () => {
  const next = sequence(11);
  const alphabet = [0, 0, 0, 0, 1, 1, 3, 0x65, 0x41, 0x67, 0x68, 9, 0xff];
  let kept = 0;
  for (let round = 0; round < 20_000; round += 1) {
    const stream = new H264Stream();
    const data = new Uint8Array(next() % 60).map(() => alphabet[next() % alphabet.length] ?? 0);
    stream.describe(data.slice(0, 20));
    const unit = stream.convert(data, next() % 2 === 0);
    if (typeof unit !== "string") {
      kept += unitsOf(unit).length;
    }
    same(stream.config === undefined || stream.config.description.length > 6, true, "configuration");
  }
  assert(kept > 1_000, `some are frames: ${kept}`);
});
