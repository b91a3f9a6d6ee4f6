// The OpusHead of sound that this page encodes (RFC 7845, section 5.1), as the wire has it: without its magic.

import { type Bytes, ascii, equal } from "../protocol/bytes.ts";

const MAGIC = ascii("OpusHead");
/** Bytes without the magic, of mapping family 0. */
const HEAD_LEN = 11;
const PRE_SKIP_AT = 2;
const RATE_AT = 4;
const FAMILY_AT = 10;
/** Samples by which libopus delays what goes in, if an encoder does not say it. */
const USUAL_PRE_SKIP = 312;
/** Samples a millisecond of Opus. */
const PER_MS = 48;

/** How sound was recorded. */
export interface SoundFormat {
  /** Samples a second. */
  readonly rate: number;
  /** 1 or 2. */
  readonly channels: number;
}

/** The parameters for the wire, of an encoder's own description where it has one that fits. */
export function opusParameters(description: Bytes | undefined, { rate, channels }: SoundFormat): Bytes {
  const own = description?.slice(MAGIC.length) ?? new Uint8Array(0);
  const known = description !== undefined && equal(description.subarray(0, MAGIC.length), MAGIC);
  if (known && own.length === HEAD_LEN && own[0] === 1 && own[1] === channels && own[FAMILY_AT] === 0) {
    return own;
  }
  const head = new Uint8Array(HEAD_LEN);
  head.set([1, channels]);
  const view = new DataView(head.buffer);
  view.setUint16(PRE_SKIP_AT, USUAL_PRE_SKIP, true);
  view.setUint32(RATE_AT, rate, true);
  return head;
}

/** Milliseconds by which what a decoder makes of a packet is earlier than what went into the encoder with it. */
export function preSkip(parameters: Bytes): number {
  return new DataView(parameters.buffer, parameters.byteOffset).getUint16(PRE_SKIP_AT, true) / PER_MS;
}
