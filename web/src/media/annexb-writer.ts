// Makes H.264 as a byte stream (ITU-T H.264, annex B) of what encoders give.

import { type Bytes, concat } from "../protocol/bytes.ts";
import { malformed, NalType, nalType, nalUnits } from "../protocol/index.ts";

const START_CODE = Uint8Array.from([0, 0, 0, 1]);
/** Bytes of a decoder configuration before its parameter sets. */
const FIXED_PART = 5;

/** NAL units one after the other, each after a start code of four bytes. */
export function annexB(units: readonly Bytes[]): Bytes {
  return concat(...units.flatMap((unit) => [START_CODE, unit]));
}

/** The SPS and PPS of an access unit in Annex B, in their order; empty if it has not both. */
export function parameterSetsOf(unit: Bytes): Bytes {
  const sets: Bytes[] = [];
  const types = new Set<number>();
  for (const { first, end } of nalUnits(unit)) {
    const type = nalType(unit[first]);
    if (type === NalType.Sps || type === NalType.Pps) {
      types.add(type);
      sets.push(withoutTrailingZeros(unit.subarray(first, end)));
    }
  }
  return types.size === 2 ? annexB(sets) : new Uint8Array(0);
}

/** Zeros after a NAL unit are padding of the stream (`trailing_zero_8bits`). */
function withoutTrailingZeros(unit: Bytes): Bytes {
  let end = unit.length;
  while (end > 0 && unit[end - 1] === 0) {
    end -= 1;
  }
  return unit.subarray(0, end);
}

/** True if an access unit in Annex B has a slice of an IDR picture: a decoder can begin with it. */
export function isIdr(unit: Bytes): boolean {
  for (const { first } of nalUnits(unit)) {
    if (nalType(unit[first]) === NalType.Idr) {
      return true;
    }
  }
  return false;
}

/** A decoder configuration (ISO/IEC 14496-15, "avcC"), which encoders give that do not know Annex B. */
export interface AvcConfig {
  /** SPS and PPS in Annex B. */
  readonly parameters: Bytes;
  /** Bytes of the length before each NAL unit. */
  readonly lengthSize: number;
}

/** Parses a decoder configuration. @throws ProtocolError `malformed` */
export function parseAvcConfig(description: Bytes): AvcConfig {
  const lengthSize = 1 + ((description[4] ?? 0) & 3);
  const units: Bytes[] = [];
  let at = FIXED_PART;
  for (const mask of [0x1f, 0xff]) {
    let left = (description[at] ?? 0) & mask;
    at += 1;
    for (; left > 0; left -= 1) {
      const end = at + 2 + numberAt(description, at, 2);
      units.push(slice(description, at + 2, end));
      at = end;
    }
  }
  if (description[0] !== 1 || units.length < 2) {
    throw malformed();
  }
  return { parameters: annexB(units), lengthSize };
}

/** An access unit whose NAL units stand after their lengths, in Annex B. @throws ProtocolError `malformed` */
export function fromLengths(unit: Bytes, lengthSize: number): Bytes {
  const units: Bytes[] = [];
  for (let at = 0; at < unit.length; ) {
    const first = at + lengthSize;
    const end = first + numberAt(unit, at, lengthSize);
    units.push(slice(unit, first, end));
    at = end;
  }
  return annexB(units);
}

function numberAt(data: Bytes, at: number, length: number): number {
  return slice(data, at, at + length).reduce((number, byte) => number * 256 + byte, 0);
}

function slice(data: Bytes, from: number, to: number): Bytes {
  if (to > data.length) {
    throw malformed();
  }
  return data.subarray(from, to);
}
