// H.264 as a byte stream (ITU-T H.264, annex B).

import { type Bytes } from "../bytes.ts";

/** A NAL unit in a byte stream. */
export interface NalUnit {
  /** Where its first byte is, behind the start code. */
  readonly first: number;
  /** The byte after its last one. */
  readonly end: number;
}

/** The position of the next start code `00 00 01` at or after `from`; -1 if there is none. */
export function findStartCode(data: Bytes, from: number): number {
  // The third byte decides how far to skip: a value above 1 cannot be part of a start code that begins here.
  for (let at = from; at + 2 < data.length; ) {
    const third = data[at + 2];
    if (third === 1 && data[at] === 0 && data[at + 1] === 0) {
      return at;
    }
    at += third === 0 ? 1 : 3;
  }
  return -1;
}

/** The NAL units of a byte stream in order. A start code may have three or four bytes. */
export function* nalUnits(data: Bytes): Generator<NalUnit, void, undefined> {
  for (let code = findStartCode(data, 0); code >= 0; ) {
    const first = code + 3;
    code = findStartCode(data, first);
    const end = code < 0 ? data.length : code - (data[code - 1] === 0 ? 1 : 0);
    yield { first, end: Math.max(first, end) };
  }
}

/** Types of NAL units that this library looks at (ITU-T H.264, table 7-1). */
export const NalType = { Idr: 5, Sps: 7, Pps: 8 } as const;

/** The type of the NAL unit that begins with this byte; 0, which no unit has, where there is none. */
export function nalType(first: number | undefined): number {
  return (first ?? 0) & 0x1f;
}

/** True if NAL units of this type have slice data: slices, their partitions, and those of auxiliary pictures. */
export function isSlice(type: number): boolean {
  return (type >= 1 && type <= 5) || (type >= 19 && type <= 21);
}
