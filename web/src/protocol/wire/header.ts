// The 24-byte header of a record (protocol.md, section 2).

import { type Bytes } from "../bytes.ts";
import { type Refusal } from "../error.ts";
import { MAX_RECORD } from "./framing.ts";

/** Bytes of a record's header. All of them are associated data of the AEAD. */
export const HEADER_LEN = 24;
/** Bytes of a record's tag. */
export const TAG_LEN = 16;
/** Highest stream number of a media record. */
export const MAX_STREAM = 15;
/** Highest record number under one key: it is also the nonce's counter. */
export const MAX_SEQ = 0xffff_ffff;

/** First byte of a record: which of an epoch's keys protects it. */
export const Kind = { Media: 0x10, Control: 0x11, Cell: 0x12 } as const;
export type Kind = (typeof Kind)[keyof typeof Kind];

/** The bits of a record's flags. */
export const Flag = {
  Encrypted: 0x01,
  Keyframe: 0x02,
  First: 0x04,
  Last: 0x08,
  /** The payload is the proof of a frame (signatures.md, section 3). */
  Signed: 0x10,
  CodecConfig: 0x20,
  Repair: 0x40,
  /** The record is a group's, and its payload begins with a unit header on every carrier (groups.md, section 11). */
  Unit: 0x80,
} as const;

/** Flags of each control record and each cell. */
export const CONTROL_FLAGS = Flag.Encrypted;
/** Flags of an encrypted codec configuration. */
export const CONFIG_FLAGS = Flag.Encrypted | Flag.First | Flag.Last | Flag.CodecConfig;
/** Flags of a repair record. */
export const REPAIR_FLAGS = Flag.Encrypted | Flag.Repair;
const OF_FRAME = Flag.Encrypted | Flag.Keyframe | Flag.First | Flag.Last;

/** Flags of an encrypted record with a frame or a part of one. */
export function frameFlags(keyframe: boolean, first: boolean, last: boolean): number {
  return Flag.Encrypted | (keyframe ? Flag.Keyframe : 0) | (first ? Flag.First : 0) | (last ? Flag.Last : 0);
}

/** A record's header. */
export interface Header {
  readonly kind: Kind;
  readonly flags: number;
  /** The low 16 bits of the epoch's number. */
  readonly epoch: number;
  /** 0 for control and cells, 1 to 15 for media. */
  readonly stream: number;
  /** Number of the record under its key, 0 to 2³² − 1. */
  readonly seq: number;
  /** The sender's wall clock in nanoseconds since 1970, read just before sealing. */
  readonly timestamp: bigint;
}

/** The kind of a message that may be a record, or `undefined` for any other. */
export function recordKind(message: Bytes): Kind | undefined {
  const kind = message[0];
  return kind === Kind.Media || kind === Kind.Control || kind === Kind.Cell ? kind : undefined;
}

/** Writes a header into the first 24 bytes of `out`. */
export function writeHeader(header: Header, out: Bytes): void {
  const view = new DataView(out.buffer, out.byteOffset, HEADER_LEN);
  view.setUint8(0, header.kind);
  view.setUint8(1, header.flags);
  view.setUint16(2, header.epoch);
  view.setUint32(4, header.stream);
  view.setBigUint64(8, BigInt(header.seq));
  view.setBigUint64(16, header.timestamp);
}

/**
 * Which media records in clear may come.
 *
 * - `encrypted`: none.
 * - `clear`: all, at a viewer while a selection in force leaves something in clear.
 * - `group`: none, but records of a group, at a member of one whose frames are not signed.
 * - `signed`: as `group`, and those with the proof of a frame, at a member of a group whose frames are signed.
 * - `group-clear`, `signed-clear`: as these, and all in clear, while a selection in force leaves something in clear.
 */
export type Accept = "encrypted" | "clear" | GroupAccept | `${GroupAccept}-clear`;
type GroupAccept = "group" | "signed";

function isOfGroup(accept: Accept): boolean {
  return accept !== "encrypted" && accept !== "clear";
}

function takesProofs(accept: Accept): boolean {
  return accept === "signed" || accept === "signed-clear";
}

function takesClear(accept: Accept): boolean {
  return accept === "clear" || accept === "group-clear" || accept === "signed-clear";
}

function isProof(flags: number): boolean {
  return (flags & ~Flag.Keyframe) === Flag.Signed;
}

function mediaMayHave(all: number, accept: Accept): boolean {
  const flags = isOfGroup(accept) ? all & ~Flag.Unit : all;
  if (takesProofs(accept) && isProof(flags)) {
    return true;
  }
  const sealed = flags | Flag.Encrypted;
  return (sealed & ~OF_FRAME) === 0 || sealed === CONFIG_FLAGS || flags === REPAIR_FLAGS;
}

/**
 * Parses the header of a record and checks all that can be checked without a key.
 *
 * @returns the header, or the reason of a refusal. A record in clear that is not accepted is refused for that before
 *   its other flags are looked at.
 */
export function parseHeader(record: Bytes, accept: Accept): Header | Refusal {
  const kind = recordKind(record);
  if (kind === undefined || record.length < HEADER_LEN + TAG_LEN || record.length > MAX_RECORD) {
    return "malformed";
  }
  const view = new DataView(record.buffer, record.byteOffset, HEADER_LEN);
  const flags = view.getUint8(1);
  const clear = kind === Kind.Media && (takesClear(accept) || (takesProofs(accept) && (flags & Flag.Signed) !== 0));
  if ((flags & Flag.Encrypted) === 0 && !clear) {
    return "cleartext";
  }
  const stream = view.getUint32(4);
  const fits =
    kind === Kind.Media
      ? mediaMayHave(flags, accept) && stream >= 1 && stream <= MAX_STREAM
      : flags === CONTROL_FLAGS && stream === 0;
  // The upper half of `seq` is zero, because no number is above 2³² − 1.
  if (!fits || view.getUint32(8) !== 0) {
    return "malformed";
  }
  return {
    kind,
    flags,
    epoch: view.getUint16(2),
    stream,
    seq: view.getUint32(12),
    timestamp: view.getBigUint64(16),
  };
}
