// H.264 as WebCodecs wants it: parameter sets apart, and NAL units behind their lengths (ISO/IEC 14496-15).
//
// "avc1" with a description is what all browsers decode; Safari refuses parameter sets within the stream.

import { type Bytes, equal } from "../protocol/bytes.ts";
import { isSlice, NalType, nalType, nalUnits, parseSps, ProtocolError, Rbsp } from "../protocol/index.ts";
import { type Absurd, type DecoderStream, type StreamConfig, absurdLength } from "./decoder-stream.ts";
import { statedReordering, withoutReordering } from "./sps.ts";

/** NAL units of an access unit at most: a picture of one slice for each row of macroblocks has a tenth of them. */
export const MAX_UNITS = 1_024;
/** The description counts sets in five bits, and in eight. */
const MAX_SPS = 31;
const MAX_PPS = 255;
const MAX_SET = 0xffff;
/** Bytes of a start code, and of the length that takes its place. */
const LENGTH = 4;
const DELIMITER = 9;
const FILLER = 12;
/** Profiles whose description has a format after the sets. */
const HIGH_PROFILES = new Set([100, 110, 122, 144]);

/** What a decoder is configured with: `avc1.PPCCLL`, and the AVCDecoderConfigurationRecord. */
export interface H264Config extends StreamConfig {
  readonly description: Bytes;
}

interface Unit {
  readonly first: number;
  readonly end: number;
}

/** The parameter sets of one stream, and its access units in the decoder's form. */
export class H264Stream implements DecoderStream {
  readonly #sps = new Map<number, Bytes>();
  readonly #pps = new Map<number, Bytes>();
  #described: Bytes | undefined;
  #config: H264Config | undefined;
  #changed = false;

  /** Takes the parameter sets of a description, instead of all before. */
  describe(parameters: Bytes): void {
    if (this.#described !== undefined && equal(this.#described, parameters)) {
      return;
    }
    this.#described = parameters.slice();
    this.#sps.clear();
    this.#pps.clear();
    this.#changed = true;
    let count = 0;
    for (const { first, end } of nalUnits(parameters)) {
      count += 1;
      if (count > MAX_UNITS) {
        return;
      }
      this.#take(parameters.subarray(first, trimmed(parameters, first, end)));
    }
  }

  /**
   * What the decoder is configured with, the same object as long as no set changes; `undefined` while one is missing.
   */
  get config(): H264Config | undefined {
    if (this.#changed || this.#config === undefined) {
      this.#config = configOf([...this.#sps.values()], [...this.#pps.values()]);
      this.#changed = false;
    }
    return this.#config;
  }

  /** Takes a parameter set. Returns true if it is news. */
  #take(unit: Bytes): boolean {
    const type = nalType(unit[0]);
    const [sets, most, at] = type === NalType.Sps ? [this.#sps, MAX_SPS, 32] : [this.#pps, MAX_PPS, 8];
    if ((type !== NalType.Sps && type !== NalType.Pps) || unit.length > MAX_SET) {
      return false;
    }
    const id = numberAt(unit, at, most);
    const before = id === undefined ? undefined : sets.get(id);
    if (id === undefined || (before !== undefined && equal(before, unit))) {
      return false;
    }
    if (before === undefined && sets.size >= most) {
      return false;
    }
    sets.set(id, unit.slice());
    this.#changed = true;
    return true;
  }

  /**
   * Turns an access unit of Annex B into one for the decoder, in its own buffer where that is possible. Parameter sets
   * in keyframes are taken out; those in other frames stay, and count from the next keyframe on.
   * @returns NAL units behind their lengths, or why this cannot be an access unit
   */
  convert(data: Bytes, keyframe: boolean): Bytes | Absurd {
    const absurd = absurdLength(data);
    if (absurd !== undefined) {
      return absurd;
    }
    const kept: Unit[] = [];
    let [slices, count] = [false, 0];
    for (const { first, end } of nalUnits(data)) {
      count += 1;
      if (count > MAX_UNITS) {
        return "too-many-units";
      }
      const unit = { first, end: trimmed(data, first, end) };
      if (unit.end > first && this.#keeps(data.subarray(first, unit.end), keyframe)) {
        kept.push(unit);
        slices ||= isSlice(nalType(data[first]));
      }
    }
    return slices ? lengthPrefixed(data, kept) : "no-picture";
  }

  #keeps(unit: Bytes, keyframe: boolean): boolean {
    const type = nalType(unit[0]);
    if (type === DELIMITER || type === FILLER) {
      return false;
    }
    if (type !== NalType.Sps && type !== NalType.Pps) {
      return true;
    }
    return this.#take(unit) && !keyframe;
  }
}

/** Where a unit ends without the zeros that may follow it. */
function trimmed(data: Bytes, first: number, end: number): number {
  let last = end;
  while (last > first && data[last - 1] === 0) {
    last -= 1;
  }
  return last;
}

/** The number of a parameter set, which stands at this bit. */
function numberAt(unit: Bytes, bit: number, most: number): number | undefined {
  try {
    return new Rbsp(unit).reader(bit).ueTo(most);
  } catch (thrown) {
    passDamage(thrown);
    return undefined;
  }
}

/** Throws again what is no error about damaged data. */
function passDamage(thrown: unknown): void {
  if (!(thrown instanceof ProtocolError)) {
    throw thrown;
  }
}

/** Writes lengths over start codes where they have four bytes and nothing lies between the units; else copies. */
function lengthPrefixed(data: Bytes, units: readonly Unit[]): Bytes {
  const begin = (units[0]?.first ?? 0) - LENGTH;
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  let at = begin;
  // Never writes over what was not moved yet: each unit goes to where it is, or to the left.
  const fits = begin >= 0 && units.every(({ first, end }) => {
    const room = at + LENGTH <= first;
    at += LENGTH + end - first;
    return room;
  });
  if (!fits) {
    return copied(data, units);
  }
  at = begin;
  for (const { first, end } of units) {
    if (at + LENGTH !== first) {
      data.copyWithin(at + LENGTH, first, end);
    }
    view.setUint32(at, end - first);
    at += LENGTH + end - first;
  }
  return data.subarray(begin, at);
}

function copied(data: Bytes, units: readonly Unit[]): Bytes {
  const out = new Uint8Array(units.reduce((sum, { first, end }) => sum + LENGTH + end - first, 0));
  const view = new DataView(out.buffer);
  let at = 0;
  for (const { first, end } of units) {
    view.setUint32(at, end - first);
    out.set(data.subarray(first, end), at + LENGTH);
    at += LENGTH + end - first;
  }
  return out;
}

/** The configuration of these sets; `undefined` if one is missing or damaged, or asks for too large a picture. */
function configOf(sps: readonly Bytes[], pps: readonly Bytes[]): H264Config | undefined {
  const [first] = sps;
  if (first === undefined || first.length < 4 || pps.length === 0) {
    return undefined;
  }
  try {
    const format = parseSps(new Rbsp(first).reader(8));
    const [, profile = 0, constraints = 0, level = 0] = first;
    const out: number[] = [1, profile, constraints, level, 0xff, 0xe0 | sps.length];
    const sets = sps.map(withoutReordering);
    for (const set of sets) {
      out.push(set.length >>> 8, set.length & 0xff, ...set);
    }
    out.push(pps.length);
    for (const set of pps) {
      out.push(set.length >>> 8, set.length & 0xff, ...set);
    }
    if (HIGH_PROFILES.has(profile)) {
      out.push(0xfc | format.chromaFormat, 0xf8 | (format.depthLuma - 8), 0xf8 | (format.depthChroma - 8), 0);
    }
    const codec = [profile, constraints, level].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    const reordering = Math.max(...sets.map(statedReordering));
    return { codec: `avc1.${codec.toUpperCase()}`, description: Uint8Array.from(out), reordering };
  } catch (thrown) {
    passDamage(thrown);
    return undefined;
  }
}
