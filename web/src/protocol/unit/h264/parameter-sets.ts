// Parameter sets: what of them decides how slices are read (ITU-T H.264, clauses 7.3.2.1 and 7.3.2.2).

import { type Bytes } from "../../bytes.ts";
import { NalType, nalType, nalUnits } from "../annexb.ts";
import { type BitReader, Rbsp, broken, unsplit } from "./bits.ts";

/** Largest picture in macroblocks: that of level 6.2 (table A-1, MaxFS). */
export const MAX_MACROBLOCKS = 139_264;
/** Widest and highest picture in macroblocks: the root of eight times that (clause A.3.1). */
const MAX_WIDTH = 1_055;
/** Sequence and picture parameter sets that a stream can have. */
const MAX_SPS = 32;
const MAX_PPS = 256;
/** Highest number of reference indices of a list. */
export const MAX_REFERENCES = 32;
/** Largest change of the quantiser: that with 14 bits per sample. */
const MAX_QP_CHANGE = 87;

/** Profiles whose parameter sets name a chroma format (clause 7.3.2.1.1). */
const FORMAT_PROFILES = new Set([100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135]);

/** A sequence parameter set. */
export interface Sps {
  /** Size in macroblocks of 16 by 16 samples. */
  readonly widthMbs: number;
  readonly heightMbs: number;
  /** `chroma_format_idc`: 0 for 4:0:0, 1 for 4:2:0, 2 for 4:2:2, 3 for 4:4:4. */
  readonly chromaFormat: number;
  readonly depthLuma: number;
  readonly depthChroma: number;
  readonly frameNumBits: number;
  /** How slices tell the order of pictures: with so many bits, with differences, or not at all. */
  readonly orderCount: number | "differences" | "nothing";
  readonly framesOnly: boolean;
  readonly adaptive: boolean;
  readonly direct8x8: boolean;
  /** `max_num_ref_frames`: frames that the decoder keeps as references. */
  readonly references: number;
  /** True if pictures are shown in the order in which they are decoded: `pic_order_cnt_type` 2 (clause 8.2.1.3). */
  readonly inOrder: boolean;
  /** The bit of the payload at which `vui_parameters_present_flag` stands. */
  readonly vui: number;
}

/** A picture parameter set. */
export interface Pps {
  /** The sequence parameter set that it refers to. */
  readonly sps: number;
  readonly cabac: boolean;
  readonly bottomOrder: boolean;
  readonly sliceGroups: boolean;
  /** Reference indices of both lists that are active unless a slice says otherwise. */
  readonly references: readonly [number, number];
  readonly weightedP: boolean;
  readonly weightedB: boolean;
  readonly deblockingControl: boolean;
  readonly redundant: boolean;
  readonly transform8x8: boolean;
}

/** The parameter sets of a stream, the latest of each number: at most 32 and 256. */
export class ParameterSets {
  readonly #sps = new Map<number, Sps>();
  readonly #pps = new Map<number, Pps>();

  /** Takes all parameter sets among the NAL units of an Annex B byte stream. One that is damaged is as if missing. */
  takeAll(data: Bytes): void {
    for (const { first, end } of nalUnits(data)) {
      this.take(data.subarray(first, end));
    }
  }

  /** Takes a NAL unit, without its start code, if it is a parameter set. */
  take(unit: Bytes): void {
    const type = nalType(unit[0]);
    if (type === NalType.Sps) {
      // Its number follows its profile and its level.
      takeInto(this.#sps, unit, 32, MAX_SPS, (rbsp) => parseSps(rbsp.reader(8)));
    } else if (type === NalType.Pps) {
      takeInto(this.#pps, unit, 8, MAX_PPS, (_, bits) => parsePps(bits));
    }
  }

  sps(id: number): Sps | undefined {
    return this.#sps.get(id);
  }

  pps(id: number): Pps | undefined {
    return this.#pps.get(id);
  }
}

/** Replaces the set with the number that stands at bit `at`; if the new one is damaged, there is none. */
function takeInto<T>(
  sets: Map<number, T>, unit: Bytes, at: number, count: number, parse: (rbsp: Rbsp, bits: BitReader) => T,
): void {
  try {
    const rbsp = new Rbsp(unit);
    const bits = rbsp.reader(at);
    const id = bits.ueTo(count - 1);
    sets.delete(id);
    sets.set(id, parse(rbsp, bits));
  } catch {
    // Slices that refer to it are then refused by name.
  }
}

/** Parses from the profile on. @throws ProtocolError `not-split` */
export function parseSps(bits: BitReader): Sps {
  const profile = bits.read(8);
  bits.skip(16);
  bits.ueTo(MAX_SPS - 1);
  let [chromaFormat, depthLuma, depthChroma] = [1, 8, 8];
  if (FORMAT_PROFILES.has(profile)) {
    chromaFormat = bits.ueTo(3);
    if (chromaFormat === 3) {
      bits.skip(1);
    }
    depthLuma = 8 + bits.ueTo(6);
    depthChroma = 8 + bits.ueTo(6);
    bits.skip(1);
    if (bits.flag()) {
      skipScaling(bits, chromaFormat === 3 ? 12 : 8);
    }
  }
  const frameNumBits = 4 + bits.ueTo(12);
  // The code of 2 is 011.
  const inOrder = bits.peek() >>> 29 === 3;
  const orderCount = parseOrderCount(bits);
  const references = bits.ueTo(MAX_REFERENCES);
  bits.skip(1);
  const widthMbs = 1 + bits.ueTo(MAX_WIDTH - 1);
  const mapUnits = 1 + bits.ueTo(MAX_WIDTH - 1);
  const framesOnly = bits.flag();
  const adaptive = !framesOnly && bits.flag();
  const direct8x8 = bits.flag();
  if (bits.flag()) {
    // What is cropped plays no part, but a set that crops more than there is is damaged.
    for (let side = 0; side < 4; side += 1) {
      bits.ueTo(16 * MAX_WIDTH);
    }
  }
  const vui = bits.at;
  bits.check();
  const heightMbs = mapUnits * (framesOnly ? 1 : 2);
  if (widthMbs * heightMbs > MAX_MACROBLOCKS) {
    throw unsplit("the picture is larger than H.264 permits");
  }
  return {
    widthMbs, heightMbs, chromaFormat, depthLuma, depthChroma, frameNumBits, orderCount, framesOnly, adaptive,
    direct8x8, references, inOrder, vui,
  };
}

/** Passes over scaling lists (clause 7.3.2.1.1.1). */
function skipScaling(bits: BitReader, lists: number): void {
  for (let list = 0; list < lists; list += 1) {
    if (!bits.flag()) {
      continue;
    }
    let [last, next] = [8, 8];
    for (let index = 0; index < (list < 6 ? 16 : 64); index += 1) {
      if (next !== 0) {
        next = (last + bits.se()) & 0xff;
      }
      if (next !== 0) {
        last = next;
      }
    }
  }
}

function parseOrderCount(bits: BitReader): Sps["orderCount"] {
  const type = bits.ueTo(2);
  if (type === 0) {
    return 4 + bits.ueTo(12);
  }
  if (type === 2) {
    return "nothing";
  }
  const nothing = bits.flag();
  bits.se();
  bits.se();
  for (let left = bits.ueTo(255); left > 0; left -= 1) {
    bits.se();
  }
  return nothing ? "nothing" : "differences";
}

/** Parses from behind the set's own number. */
function parsePps(bits: BitReader): Pps {
  const sps = bits.ueTo(MAX_SPS - 1);
  const cabac = bits.flag();
  const bottomOrder = bits.flag();
  const sliceGroups = bits.ue() > 0;
  if (sliceGroups) {
    // Its slices are refused, so the rest does not matter.
    return {
      sps, cabac, bottomOrder, sliceGroups, references: [1, 1], weightedP: false, weightedB: false,
      deblockingControl: false, redundant: false, transform8x8: false,
    };
  }
  const references = [1 + bits.ueTo(MAX_REFERENCES - 1), 1 + bits.ueTo(MAX_REFERENCES - 1)] as const;
  const weightedP = bits.flag();
  const weightedB = bits.read(2) === 1;
  for (let quantiser = 0; quantiser < 3; quantiser += 1) {
    passQpChange(bits);
  }
  const deblockingControl = bits.flag();
  bits.skip(1);
  const redundant = bits.flag();
  bits.check();
  const transform8x8 = bits.hasMore && bits.flag();
  return {
    sps, cabac, bottomOrder, sliceGroups, references, weightedP, weightedB, deblockingControl, redundant, transform8x8,
  };
}

/** Passes over a change of the quantiser. @throws ProtocolError `not-split` for one that no sample depth permits */
export function passQpChange(bits: BitReader): void {
  if (Math.abs(bits.se()) > MAX_QP_CHANGE) {
    throw broken();
  }
}
