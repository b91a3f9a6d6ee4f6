// Cells: records of constant size that carry other records, or pieces of them (protocol.md, section 10).

import { type Bytes, isZero } from "../bytes.ts";
import { malformed } from "../error.ts";
import { HEADER_LEN, TAG_LEN } from "./header.ts";
import { type Reader } from "./reader.ts";
import { type Writer } from "./writer.ts";

/** Bytes of the shortest and of the longest cell, header and tag included. */
export const MIN_CELL = 432;
export const MAX_CELL = 1_196;
/** Cells that leave at once at most. */
export const MAX_CELLS = 256;
/** Nanoseconds between two ticks. */
export const MIN_TICK = 1_000_000;
export const MAX_TICK = 1_000_000_000;
/** Bytes of the fields before the inner bytes. */
const FIELDS = 4;
/** `first` of a cell in which no record begins. */
const NONE = 0xffff;

/** The cells that an end sends: at every tick the same number, of the same size. */
export interface CellPlan {
  /** Nanoseconds between two ticks. */
  readonly tick: number;
  /** Cells at each tick. */
  readonly cells: number;
  /** Bytes of each, header and tag included. */
  readonly size: number;
}

/** Inner bytes that a cell carries. */
export function cellRoom(plan: CellPlan): number {
  return plan.size - HEADER_LEN - FIELDS - TAG_LEN;
}

/** True if all fields are within their bounds. */
export function isCellPlan(plan: CellPlan): boolean {
  const within = (value: number, least: number, most: number): boolean =>
    Number.isInteger(value) && value >= least && value <= most;
  return (
    within(plan.tick, MIN_TICK, MAX_TICK) &&
    within(plan.cells, 1, MAX_CELLS) &&
    within(plan.size, MIN_CELL, MAX_CELL)
  );
}

export function samePlan(a: CellPlan, b: CellPlan): boolean {
  return a.tick === b.tick && a.cells === b.cells && a.size === b.size;
}

export function writeCellPlan(plan: CellPlan, writer: Writer): Writer {
  return writer.u32(plan.tick).u16(plan.cells).u16(plan.size);
}

/** @throws ProtocolError `malformed` */
export function readCellPlan(reader: Reader): CellPlan {
  const plan = { tick: reader.u32(), cells: reader.u16(), size: reader.u16() };
  if (!isCellPlan(plan)) {
    throw malformed();
  }
  return plan;
}

/** What a cell carries. */
export interface CellContent {
  readonly inner: Bytes;
  /** Where among the inner bytes the first record begins, if one begins in this cell. */
  readonly first: number | undefined;
}

/** The payload of a cell of this plan, with `inner` in it and zeros after. */
export function cellPayload(plan: CellPlan, content: CellContent): Bytes {
  const payload = new Uint8Array(plan.size - HEADER_LEN - TAG_LEN);
  const view = new DataView(payload.buffer);
  view.setUint16(0, content.inner.length);
  view.setUint16(2, content.first ?? NONE);
  payload.set(content.inner, FIELDS);
  return payload;
}

/** The content of an opened cell. @throws ProtocolError `malformed`: the peer's fault, since the cell is authentic */
export function parseCell(payload: Bytes): CellContent {
  if (payload.length < FIELDS) {
    throw malformed();
  }
  const view = new DataView(payload.buffer, payload.byteOffset, FIELDS);
  const [length, place] = [view.getUint16(0), view.getUint16(2)];
  const first = place === NONE ? undefined : place;
  const end = FIELDS + length;
  if (end > payload.length || (first !== undefined && first >= length) || !isZero(payload.subarray(end))) {
    throw malformed();
  }
  return { inner: payload.subarray(FIELDS, end), first };
}
