// H.265 as WebCodecs wants it without a description: in Annex B, as it comes.

import { type Bytes, equal } from "../protocol/bytes.ts";
import { type BitReader, nalUnits, ProtocolError, Rbsp } from "../protocol/index.ts";
import { type Absurd, type DecoderStream, type StreamConfig, absurdLength } from "./decoder-stream.ts";

/** NAL units of an access unit at most. */
const MAX_UNITS = 1_024;
/** Units of types below this are segments of slices (ITU-T H.265, table 7-1). */
const SLICES_END = 32;
const SPS = 33;
/** Where the general profile stands in an SPS with its header, and its length, in bytes. */
const PROFILE = 3;
const PROFILE_LENGTH = 12;
/** Pictures that a decoder holds at most. */
const MAX_REORDERING = 16;

/** The parameter sets of one stream, and its access units in the decoder's form. */
export class H265Stream implements DecoderStream {
  #described: Bytes | undefined;
  config: StreamConfig | undefined;

  describe(parameters: Bytes): void {
    if (this.#described === undefined || !equal(this.#described, parameters)) {
      this.#described = parameters.slice();
      this.config = configOf(parameters);
    }
  }

  convert(data: Bytes): Bytes | Absurd {
    const absurd = absurdLength(data);
    if (absurd !== undefined) {
      return absurd;
    }
    let [slices, count] = [false, 0];
    for (const { first } of nalUnits(data)) {
      count += 1;
      if (count > MAX_UNITS) {
        return "too-many-units";
      }
      slices ||= typeOf(data[first]) < SLICES_END;
    }
    return slices ? data : "no-picture";
  }
}

function typeOf(first = 0xff): number {
  return (first >>> 1) & 0x3f;
}

/** The configuration by the first SPS; `undefined` if there is none, or it is damaged. */
function configOf(parameters: Bytes): StreamConfig | undefined {
  try {
    for (const { first, end } of nalUnits(parameters)) {
      if (typeOf(parameters[first]) === SPS) {
        const sps = new Rbsp(parameters.subarray(first, end));
        const layers = ((sps.bytes[PROFILE - 1] ?? 0) >>> 1) & 7;
        const reordering = reorderingOf(sps.reader((PROFILE + PROFILE_LENGTH) * 8), layers);
        return { codec: codecOf(sps.bytes.subarray(PROFILE, PROFILE + PROFILE_LENGTH)), reordering };
      }
    }
  } catch (thrown) {
    if (!(thrown instanceof ProtocolError)) {
      throw thrown;
    }
  }
  return undefined;
}

/** The codec string of ISO/IEC 14496-15, annex E, for a general profile, tier and level. */
function codecOf(profile: Bytes): string {
  const [general = 0, ...rest] = profile;
  const compatible = rest.slice(0, 4).reduceRight((bits, byte) => bits * 256 + reversed(byte), 0);
  const constraints = rest.slice(4, 10);
  while (constraints.at(-1) === 0) {
    constraints.pop();
  }
  const space = ["", "A", "B", "C"][general >>> 6] ?? "";
  const tier = (general & 0x20) === 0 ? "L" : "H";
  const parts = [`${space}${general & 0x1f}`, hex(compatible), `${tier}${rest.at(-1) ?? 0}`, ...constraints.map(hex)];
  return `hev1.${parts.join(".")}`;
}

function hex(value: number): string {
  return value.toString(16).toUpperCase();
}

/** A byte with its bits in the other order. */
function reversed(byte: number): number {
  return [0, 1, 2, 3, 4, 5, 6, 7].reduce((sum, bit) => sum | (((byte >>> bit) & 1) << (7 - bit)), 0);
}

/** `sps_max_num_reorder_pics` of the highest layer; the reader stands behind the general level (7.3.2.2.1). */
function reorderingOf(bits: BitReader, layers: number): number {
  const present = layers > 0 ? bits.read(16) : 0;
  for (let layer = 0; layer < layers; layer += 1) {
    const flags = present >>> (14 - 2 * layer);
    bits.skip(((flags & 2) === 0 ? 0 : 88) + ((flags & 1) === 0 ? 0 : 8));
  }
  bits.ue();
  if (bits.ue() === 3) {
    bits.skip(1);
  }
  // Width, height, the window, depths, and the length of the picture's order count.
  skipCodes(bits, 2);
  skipCodes(bits, bits.flag() ? 7 : 3);
  let reordering = 0;
  for (let layer = bits.flag() ? 0 : layers; layer <= layers; layer += 1) {
    bits.ue();
    reordering = bits.ueTo(MAX_REORDERING);
    bits.ue();
  }
  bits.check();
  return reordering;
}

function skipCodes(bits: BitReader, count: number): void {
  for (let left = count; left > 0; left -= 1) {
    bits.ue();
  }
}
