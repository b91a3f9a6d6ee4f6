// Unit headers (protocol.md, section 7): the place of a media record among the others, where media may be lost.

import { type Bytes } from "../bytes.ts";
import { malformed } from "../error.ts";
import { Reader } from "../wire/reader.ts";
import { Writer } from "../wire/writer.ts";

/** Source records of a block at most. */
export const MAX_SOURCES = 128;

/** A unit header. */
export interface UnitHeader {
  /** Number of the record in its session, modulo 2³². */
  readonly number: number;
  /** Place among the source records of its block, or among its repair records. */
  readonly index: number;
  /** Source records of the block, 1 to 128. */
  readonly sources: number;
  /** Repair records of the block, at most half as many, rounded up. */
  readonly repairs: number;
}

export function unitHeaderBytes(header: UnitHeader): Bytes {
  return new Writer().u32(header.number).u16(header.index).u16(header.sources).u16(header.repairs).done();
}

/**
 * Splits a payload into its unit header and the rest.
 * @param repair the record's flag
 * @throws ProtocolError `malformed` if the numbers do not fit together
 */
export function splitUnit(payload: Bytes, repair: boolean): { header: UnitHeader; data: Bytes } {
  const reader = new Reader(payload);
  const header = { number: reader.u32(), index: reader.u16(), sources: reader.u16(), repairs: reader.u16() };
  const { index, sources, repairs } = header;
  const counts = sources >= 1 && sources <= MAX_SOURCES && repairs <= Math.ceil(sources / 2);
  if (!counts || index >= (repair ? repairs : sources)) {
    throw malformed();
  }
  return { header, data: reader.rest() };
}
