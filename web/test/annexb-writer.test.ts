// H.264 as encoders give it, and the byte stream that is made of it.

import { annexB, fromLengths, isIdr, parameterSetsOf, parseAvcConfig } from "../src/media/annexb-writer.ts";
import { letterbox } from "../src/media/letterbox.ts";
import { levelFor } from "../src/media/h264-encoder.ts";
import { EncoderError, type EncoderOptions } from "../src/media/encoder.ts";
import { concat } from "../src/protocol/bytes.ts";
import { assert, hex, reasonOf, same, test } from "./support/harness.ts";

const SPS = hex("6742c01e95a0280f64");
const PPS = hex("68ce3c80");
const IDR = hex("65888400000300aabb");
const SLICE = hex("41e0");

test("the parameter sets of an access unit are found after start codes of three and of four bytes", () => {
  const sets = annexB([SPS, hex("68ce3c8f")]);
  const unit = concat(hex("00000109f0"), hex("000001"), SPS, hex("0000000001"), hex("68ce3c8f"), hex("000001"), IDR);
  same(parameterSetsOf(unit), sets, "sets");
  same(parameterSetsOf(annexB([SPS, IDR])), new Uint8Array(0), "an SPS alone");
  same(parameterSetsOf(new Uint8Array(0)), new Uint8Array(0), "nothing");
  same([isIdr(unit), isIdr(annexB([SLICE])), isIdr(new Uint8Array(0))], [true, false, false], "IDR");
});

test("access units with lengths become a byte stream, whatever the size of the length", async () => {
  for (const size of [1, 2, 4]) {
    const length = (of: Uint8Array): Uint8Array => new Uint8Array(size).fill(of.length, size - 1);
    const unit = concat(length(SPS), SPS, length(IDR), IDR);
    same(fromLengths(unit, size), annexB([SPS, IDR]), `size ${size}`);
    const cut = unit.subarray(0, unit.length - 1);
    same(await reasonOf(() => fromLengths(cut, size), "cut"), "malformed", "cut");
  }
  same(fromLengths(new Uint8Array(0), 4), new Uint8Array(0), "nothing");
});

test("a decoder configuration gives its parameter sets, and cut anywhere it is refused", async () => {
  const fields = [hex("0142c01effe1"), hex("0009"), SPS, hex("01"), hex("0004"), PPS];
  const config = concat(...fields);
  same(parseAvcConfig(config), { parameters: annexB([SPS, PPS]), lengthSize: 4 }, "configuration");
  for (let length = 0; length < config.length; length += 1) {
    same(await reasonOf(() => parseAvcConfig(config.subarray(0, length)), "cut"), "malformed", `${length} bytes`);
  }
});

const OPTIONS: EncoderOptions = {
  codec: "h264", width: 640, height: 480, rate: 30, bitrate: 1_000_000, quality: 0.8, failures: 0,
};

test("the level follows size, rate and bits, and there is none for too many pixels", () => {
  const level = (options: Partial<EncoderOptions>): number => levelFor({ ...OPTIONS, ...options });
  same(level({}), 30, "VGA");
  same(level({ width: 1_280, height: 720 }), 31, "720p");
  same(level({ width: 1_280, height: 720, rate: 60 }), 32, "720p60");
  same(level({ width: 1_920, height: 1_080 }), 40, "1080p");
  same(level({ width: 1_920, height: 1_080, rate: 60 }), 42, "1080p60");
  same(level({ bitrate: 12_000_000 }), 31, "many bits");
  same(level({ width: 3_840, height: 2_160 }), 51, "4K");
  let refused = false;
  try {
    level({ width: 7_680, height: 4_320 });
  } catch (thrown) {
    refused = thrown instanceof EncoderError;
  }
  assert(refused, "8K is refused in words");
});

test("pictures of another shape are fitted into the middle, not stretched", () => {
  same(letterbox(640, 480, 640, 480), { x: 0, y: 0, width: 640, height: 480 }, "as it is");
  same(letterbox(640, 480, 1_280, 720), { x: 160, y: 0, width: 960, height: 720 }, "narrower");
  same(letterbox(1_920, 1_080, 640, 480), { x: 0, y: 60, width: 640, height: 360 }, "wider");
  same(letterbox(480, 640, 640, 480), { x: 140, y: 0, width: 360, height: 480 }, "a phone held upright");
});
