// Sequence parameter sets that tell a decoder to hold no picture back (ITU-T H.264, clauses 7.3.2.1 and annex E).
//
// Unless a set says that pictures are not reordered, a decoder must assume that they may be, and many hold up to 16 of
// them before the first comes out.

import { type Bytes } from "../protocol/bytes.ts";
import { type BitReader, parseSps, ProtocolError, Rbsp, type Sps } from "../protocol/index.ts";

const BASELINE = 66;
/** `constraint_set0_flag`: the stream keeps to the Baseline profile, which has no B slices. */
const OBEYS_BASELINE = 0x80;
/** `aspect_ratio_idc` of an aspect ratio that is written out. */
const EXTENDED_ASPECT = 255;
const MAX_CPB = 31;
/** What holds where a set has no restriction: for each direction `log2_max_mv_length`, and no bound for sizes. */
const MV_LENGTH = 15;
const LAST_BITS = 7;

/** Writes the bits of a raw byte sequence payload. */
class BitWriter {
  readonly #bytes: number[] = [];
  #bits = 0;

  /** Up to 31 bits. */
  put(value: number, count: number): void {
    for (let bit = count - 1; bit >= 0; bit -= 1) {
      const at = this.#bits >>> 3;
      this.#bytes[at] = (this.#bytes[at] ?? 0) | (((value >>> bit) & 1) << (7 - (this.#bits & 7)));
      this.#bits += 1;
    }
  }

  /** An unsigned Exp-Golomb code. */
  ue(value: number): void {
    const length = 32 - Math.clz32(value + 1);
    this.put(0, length - 1);
    this.put(value + 1, length);
  }

  /** All bits of a reader up to `end`. */
  copy(from: BitReader, end: number): void {
    while (from.at < end) {
      const count = Math.min(24, end - from.at);
      this.put(from.read(count), count);
    }
  }

  /** The NAL unit: with the bit that ends the payload, and with emulation prevention bytes. */
  unit(): Bytes {
    this.put(1, 1);
    const out: number[] = [];
    let zeros = 0;
    for (const byte of this.#bytes) {
      if (zeros >= 2 && byte <= 3) {
        out.push(3);
        zeros = 0;
      }
      out.push(byte);
      zeros = byte === 0 ? zeros + 1 : 0;
    }
    return Uint8Array.from(out);
  }
}

/** The restriction of a set, if it has one: its first five fields, and the two that this is about. */
interface Restriction {
  readonly kept: readonly number[];
  readonly reorder: number;
  readonly buffering: number;
}

/** The VUI of a set: where the flag of its restriction stands, and what follows. */
interface Vui {
  readonly flag: number;
  readonly restriction?: Restriction;
}

/** Passes over the buffering of a hypothetical decoder (clause E.1.2). */
function passHrd(bits: BitReader): void {
  const count = bits.ueTo(MAX_CPB) + 1;
  bits.skip(8);
  for (let entry = 0; entry < count; entry += 1) {
    bits.ue();
    bits.ue();
    bits.skip(1);
  }
  bits.skip(20);
}

/** Parses from behind `vui_parameters_present_flag` (clause E.1.1). */
function parseVui(bits: BitReader): Vui {
  if (bits.flag() && bits.read(8) === EXTENDED_ASPECT) {
    bits.skip(32);
  }
  if (bits.flag()) {
    bits.skip(1);
  }
  if (bits.flag()) {
    bits.skip(4);
    if (bits.flag()) {
      bits.skip(24);
    }
  }
  if (bits.flag()) {
    bits.ue();
    bits.ue();
  }
  if (bits.flag()) {
    bits.skip(65);
  }
  const nal = bits.flag();
  if (nal) {
    passHrd(bits);
  }
  const vcl = bits.flag();
  if (vcl) {
    passHrd(bits);
  }
  if (nal || vcl) {
    bits.skip(1);
  }
  bits.skip(1);
  const flag = bits.at;
  if (!bits.flag()) {
    return { flag };
  }
  const kept = [bits.read(1), bits.ue(), bits.ue(), bits.ue(), bits.ue()];
  return { flag, restriction: { kept, reorder: bits.ue(), buffering: bits.ue() } };
}

/** True if no picture of the stream is shown after one that is decoded later. */
function keepsOrder(unit: Bytes, sps: Sps, restriction: Restriction | undefined): boolean {
  if (sps.inOrder) {
    return true;
  }
  // Without B slices nobody reorders, though the numbers of the pictures would allow it; who says so is believed.
  const baseline = unit[1] === BASELINE || ((unit[2] ?? 0) & OBEYS_BASELINE) !== 0;
  return baseline && (restriction === undefined || restriction.reorder === 0);
}

/**
 * The sequence parameter set with the statement that pictures come out in the order in which they go in, if that is so;
 * else, and if the set is damaged, the same set.
 */
export function withoutReordering(unit: Bytes): Bytes {
  try {
    return rewritten(unit);
  } catch (thrown) {
    if (thrown instanceof ProtocolError) {
      return unit;
    }
    throw thrown;
  }
}

/** For how many pictures a decoder must wait before it shows one, as the set states; 0 if it states nothing. */
export function statedReordering(unit: Bytes): number {
  try {
    const { vui, isWhole } = parse(unit);
    return isWhole ? (vui?.restriction?.reorder ?? 0) : 0;
  } catch (thrown) {
    if (thrown instanceof ProtocolError) {
      return 0;
    }
    throw thrown;
  }
}

interface Parsed {
  readonly rbsp: Rbsp;
  readonly sps: Sps;
  readonly vui: Vui | undefined;
  /** True if the payload ends where the VUI does. */
  readonly isWhole: boolean;
}

function parse(unit: Bytes): Parsed {
  const rbsp = new Rbsp(unit);
  const sps = parseSps(rbsp.reader(8));
  const bits = rbsp.reader(sps.vui);
  const vui = bits.flag() ? parseVui(bits) : undefined;
  bits.check();
  return { rbsp, sps, vui, isWhole: !bits.hasMore };
}

function rewritten(unit: Bytes): Bytes {
  const { rbsp, sps, vui, isWhole } = parse(unit);
  const restriction = vui?.restriction;
  // A VUI that ends elsewhere was written wrongly, or by a later version: nobody knows what it says.
  if (!isWhole || !keepsOrder(unit, sps, restriction)) {
    return unit;
  }
  if (restriction?.reorder === 0 && restriction.buffering === sps.references) {
    return unit;
  }
  const writer = new BitWriter();
  if (vui !== undefined) {
    writer.copy(rbsp.reader(0), vui.flag);
  } else {
    writer.copy(rbsp.reader(0), sps.vui);
    // A VUI that says nothing: seven flags, and whether pictures have a structure.
    writer.put(1, 1);
    writer.put(0, LAST_BITS + 1);
  }
  writer.put(1, 1);
  const [overBoundary = 1, ...sizes] = restriction?.kept ?? [1, 0, 0, MV_LENGTH, MV_LENGTH];
  writer.put(overBoundary, 1);
  for (const value of [...sizes, 0, sps.references]) {
    writer.ue(value);
  }
  return writer.unit();
}
