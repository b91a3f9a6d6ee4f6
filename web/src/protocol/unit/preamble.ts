// Preambles: the stamps before a frame (protocol.md, section 5).

import { type Bytes } from "../bytes.ts";
import { malformed } from "../error.ts";
import { Reader } from "../wire/reader.ts";
import { Writer } from "../wire/writer.ts";

/** Bytes of a preamble. */
export const PREAMBLE_LEN = 52;
/** Longest frame in bytes, padding included: 16 MiB. */
export const MAX_FRAME = 16_777_216;

const STAMPS = ["exposure-start", "frame-end", "arrival"] as const;
const LAYOUTS = ["source", "split-scan"] as const;

/** Which instant a source stamped: see protocol.md. */
export type StampKind = (typeof STAMPS)[number];
/** In which order the bytes of a frame are. */
export type Layout = (typeof LAYOUTS)[number];

/** A frame's number and stamps. */
export interface Preamble {
  /** Number of the frame in its stream, from 0. */
  readonly frame: bigint;
  /** Presentation time in nanoseconds since the stream began. */
  readonly mediaTime: bigint;
  /** The sender's wall clock (ns) when the picture was complete at the source. */
  readonly captured: bigint;
  /** The same when it had been encoded. */
  readonly encoded: bigint;
  /** Nanoseconds that sealing the previous frame took; 0 where unknown. */
  readonly previousSeal: number;
  /** Nanoseconds that handing it to the network took; 0 where unknown. */
  readonly previousSend: number;
  /** Nanoseconds from the stamped instant to `captured`. */
  readonly capture: number;
  /** Zeros after the frame that hide its length. */
  readonly padding: number;
  readonly stamp: StampKind;
  readonly layout: Layout;
  /** True if the frame was kept for this viewer, which joined after it: its stamps say nothing of its way. */
  readonly kept: boolean;
}

/** The 52 bytes. */
export function preambleBytes(preamble: Preamble): Bytes {
  return new Writer()
    .u64(preamble.frame)
    .u64(preamble.mediaTime)
    .u64(preamble.captured)
    .u64(preamble.encoded)
    .u32(preamble.previousSeal)
    .u32(preamble.previousSend)
    .u32(preamble.capture)
    .u32(preamble.padding)
    .u8(STAMPS.indexOf(preamble.stamp) + 1)
    .u8(LAYOUTS.indexOf(preamble.layout))
    .u8(preamble.kept ? 1 : 0)
    .u8(0)
    .done();
}

/** Splits the payload of a frame's first record into preamble and the rest. @throws ProtocolError `malformed` */
export function splitPreamble(payload: Bytes): { preamble: Preamble; data: Bytes } {
  const reader = new Reader(payload);
  const numbers = {
    frame: reader.u64(),
    mediaTime: reader.u64(),
    captured: reader.u64(),
    encoded: reader.u64(),
    previousSeal: reader.u32(),
    previousSend: reader.u32(),
    capture: reader.u32(),
    padding: reader.u32(),
  };
  const stamp = STAMPS[reader.u8() - 1];
  const layout = LAYOUTS[reader.u8()];
  const kept = reader.u8();
  if (stamp === undefined || layout === undefined || kept > 1 || reader.u8() !== 0) {
    throw malformed();
  }
  return { preamble: { ...numbers, stamp, layout, kept: kept === 1 }, data: reader.rest() };
}
