// What a camera says of a frame, and the proof that travels with it (signatures.md, sections 2 and 3).

import { type Bytes, ascii, concat, isZero } from "../bytes.ts";
import { malformed } from "../error.ts";
import { SIGNATURE_LEN } from "../wire/kem-field.ts";
import { Reader } from "../wire/reader.ts";
import { Writer } from "../wire/writer.ts";
import { type FrameDigest, MAX_FRAME_RECORDS } from "./digest.ts";
import { leafOf } from "./merkle.ts";

const VERSION = 1;
const LABEL = "sealcast2 frame";
const HASH_LEN = 32;
/** First bytes of the digest that a proof has. */
const CHECK_LEN = 4;
/** Bits of a proof's form. */
const SIGNED = 1;
const LIVENESS = 2;

/** What of a statement does not follow from the records. */
interface Claims {
  /** Number of the frame in its group of pictures, from 0 for the keyframe, without gaps. */
  readonly index: number;
  /** Full number of the epoch under which the records are sealed. */
  readonly epoch: bigint;
  /** Number of the group of pictures in the stream. */
  readonly group: bigint;
  /** Number of the frame in the stream. */
  readonly frame: bigint;
  /** Root over the challenges that the frame answers, if it answers any. */
  readonly liveness?: Bytes;
}

/** What a camera says of a frame. */
export interface Statement extends Claims {
  readonly stream: number;
  readonly digest: FrameDigest;
}

/** The content of a frame's `signed` record. Nothing in it is trusted before the signature has been verified. */
export interface FrameProof extends Claims {
  readonly records: number;
  readonly check: Bytes;
  /** Without it the frame is refused. */
  readonly signature?: Bytes;
}

/** The 100 bytes of a statement. */
export function statementBytes({ stream, index, epoch, group, frame, digest, liveness }: Statement): Bytes {
  return new Writer()
    .u8(VERSION).u8(index === 0 ? 1 : 0).u16(stream).u32(index)
    .u64(epoch).u64(group).u64(frame)
    .u32(digest.records).bytes(digest.digest)
    .bytes(liveness ?? new Uint8Array(HASH_LEN))
    .done();
}

/** What the camera signs with Ed25519. */
export function signedStatement(statement: Statement): Bytes {
  return concat(ascii(`${LABEL}\0`), statementBytes(statement));
}

/** The statement's leaf in the tree of its group of pictures. */
export function statementLeaf(statement: Statement): Promise<Bytes> {
  return leafOf(LABEL, statementBytes(statement));
}

/** The first bytes of a digest: they tell altered records from a wrong signature, and prove nothing. */
export function checkOf({ digest }: FrameDigest): Bytes {
  return digest.subarray(0, CHECK_LEN);
}

/** The bytes of a proof. */
export function proofBytes({ index, records, epoch, group, frame, check, liveness, signature }: FrameProof): Bytes {
  const form = (signature === undefined ? 0 : SIGNED) | (liveness === undefined ? 0 : LIVENESS);
  const none = new Uint8Array(0);
  return new Writer()
    .u8(VERSION).u8(form).u32(index).u32(records).u64(epoch).u64(group).u64(frame)
    .bytes(check).bytes(liveness ?? none).bytes(signature ?? none)
    .done();
}

/** Parses the payload of a `signed` record. @throws ProtocolError `malformed` */
export function parseProof(bytes: Bytes): FrameProof {
  const reader = new Reader(bytes.slice());
  const [version, form] = [reader.u8(), reader.u8()];
  const fixed = {
    index: reader.u32(), records: reader.u32(), epoch: reader.u64(), group: reader.u64(), frame: reader.u64(),
    check: reader.bytes(CHECK_LEN),
  };
  const liveness = (form & LIVENESS) === 0 ? undefined : reader.bytes(HASH_LEN);
  const signature = (form & SIGNED) === 0 ? undefined : reader.bytes(SIGNATURE_LEN);
  reader.finish();
  const known = version === VERSION && (form & ~(SIGNED | LIVENESS)) === 0;
  const counted = fixed.records >= 1 && fixed.records <= MAX_FRAME_RECORDS;
  if (!known || !counted || (liveness !== undefined && isZero(liveness))) {
    throw malformed();
  }
  return { ...fixed, ...(liveness && { liveness }), ...(signature && { signature }) };
}
