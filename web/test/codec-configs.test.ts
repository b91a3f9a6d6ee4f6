// H.265 and AV1 in the form of WebCodecs.

import { Av1Stream } from "../src/media/av1-config.ts";
import { type DecoderStream } from "../src/media/decoder-stream.ts";
import { H265Stream } from "../src/media/h265-config.ts";
import { MAX_FRAME } from "../src/protocol/unit/preamble.ts";
import { assert, hex, same, sequence, test } from "./support/harness.ts";

/** VPS and SPS of x265 for 1920x1080 pixels in Annex B: main profile, level 4. */
const VPS = "0000000140010c01ffff016000000300900000030000030078959809";
const SPS = "00000001420101016000000300900000030000030078a003c08010e596566924caf0168080000003008000000f04";
const PPS = "000000014401c172b46240";
const H265 = hex(VPS + SPS + PPS);
/** Sequence header of libaom for the same size. */
const AV1 = hex("0a0b00000042abbfc3732be401");

/** A sequence header OBU with these bits. */
function sequenceHeader(bits: string): Uint8Array<ArrayBuffer> {
  const bytes = bits.replaceAll(" ", "").padEnd(Math.ceil(bits.length / 8) * 8, "0").match(/.{8}/g) ?? [];
  return Uint8Array.from([0x0a, bytes.length, ...bytes.map((byte) => Number.parseInt(byte, 2))]);
}

test("the parameters of H.265 tell profile, tier, level, and for how many pictures a decoder waits", () => {
  const stream = new H265Stream();
  same(stream.config, undefined, "nothing is described");
  stream.describe(H265);
  same(stream.config, { codec: "hev1.1.6.L120.90", reordering: 2 }, "configuration");
  const before = stream.config;
  stream.describe(H265.slice());
  assert(stream.config === before, "the same parameters change nothing");
  for (const damaged of [hex(VPS + PPS), H265.subarray(0, hex(VPS).length + 20), new Uint8Array(0)]) {
    stream.describe(damaged.slice());
    same(stream.config, undefined, "damaged parameters");
  }
});

test("the sequence header of AV1 tells profile, level, tier and depth", () => {
  const stream = new Av1Stream();
  stream.describe(AV1);
  same(stream.config, { codec: "av01.0.08M.08", reordering: 0 }, "configuration");
  // Timing with the bytes 00 00 03, which are no emulation prevention here; a decoder model; two operating points, the
  // first of the high tier; 10 bits.
  const timing = `1 ${(1001).toString(2).padStart(32, "0")} ${(30_000).toString(2).padStart(32, "0")} 1 1`;
  const model = `1 00111 ${"0".repeat(32)} 00000 00000`;
  const points = `0 00001 000100000001 01101 1 1 ${"0".repeat(17)} 000100000011 00111 0`;
  const size = "0011 0011 1111 1111 0 000 0000 0 1 1 000";
  stream.describe(sequenceHeader(`000 0 0 ${timing} ${model} ${points} ${size} 1 0 0 0 00 0 0 0`));
  same(stream.config, { codec: "av01.0.13H.10", reordering: 0 }, "configuration");
  // A reduced header of a still picture, profile 2, 12 bits.
  stream.describe(sequenceHeader("010 1 1 00100 0011 0011 1111 1111 000 000 1 1 0 0 0 1 1 00 0 0"));
  same(stream.config, { codec: "av01.2.04M.12", reordering: 0 }, "configuration");
  for (const damaged of [AV1.subarray(0, 5), hex("0a00"), hex("0affffffff")]) {
    stream.describe(damaged.slice());
    same(stream.config, undefined, "a damaged header");
  }
});

test("access units of H.265 and AV1 pass as they are, and what cannot be one does not", () => {
  const slice = hex("0000012801af08");
  const [h265, av1] = [new H265Stream(), new Av1Stream()];
  same(h265.convert(slice), slice, "a slice");
  same(h265.convert(H265), "no-picture", "parameter sets alone");
  same(av1.convert(AV1), AV1, "a temporal unit");
  for (const stream of [h265, av1] as const satisfies readonly DecoderStream[]) {
    same(stream.convert(new Uint8Array(0)), "empty", "nothing");
    same(stream.convert(new Uint8Array(MAX_FRAME + 1)), "too-long", "too much");
  }
  const many = Uint8Array.from(Array.from({ length: 1_025 }, () => [0, 0, 1, 0x28, 1]).flat());
  same(h265.convert(many), "too-many-units", "many units");
});

test("random parameters are described or refused", () => {
  const next = sequence(12);
  let known = 0;
  for (let round = 0; round < 20_000; round += 1) {
    for (const [stream, good] of [[new H265Stream(), H265], [new Av1Stream(), AV1]] as const) {
      const data = good.slice();
      for (let left = next() % 4; left >= 0; left -= 1) {
        data[next() % data.length] = next() & 0xff;
      }
      stream.describe(data);
      const codec = stream.config?.codec;
      const right = codec === undefined || /^(hev1|av01)\.[A-C]?\d+\.[0-9A-FLHM.]+$/.test(codec);
      assert(right, `a codec string: ${codec ?? ""}`);
      known += codec === undefined ? 0 : 1;
    }
  }
  assert(known > 1_000, `some are known: ${known}`);
});
