// Answers, which lead from a challenge to a root that the camera signed (signatures.md, section 6).

import { type Bytes, concat } from "../bytes.ts";
import { malformed } from "../error.ts";
import { leafOf, pathLength, rootOfPath } from "../sign/merkle.ts";
import { Reader } from "../wire/reader.ts";
import { Writer } from "../wire/writer.ts";

const VERSION = 1;
const NAME_LEN = 4;
const HASH_LEN = 32;
/** Challenges that one root covers at most. */
export const MAX_CHALLENGERS = 16_384;

/** A camera's answer to a challenge. It proves something only together with a verified frame that has the root. */
export interface Answer {
  readonly name: Bytes;
  /** Challenges that the root covers. */
  readonly count: number;
  /** Place of this one, below `count`. */
  readonly index: number;
  readonly path: readonly Bytes[];
}

/** The first bytes of a challenge, by which a viewer finds the one that is answered. */
export function nameOf(challenge: Bytes): Bytes {
  return challenge.subarray(0, NAME_LEN);
}

/** Parses an answer. @throws ProtocolError `malformed` */
export function parseAnswer(bytes: Bytes): Answer {
  const reader = new Reader(bytes.slice());
  const [version, name, count, index] = [reader.u8(), reader.bytes(NAME_LEN), reader.u16(), reader.u16()];
  if (version !== VERSION || count > MAX_CHALLENGERS || index >= count) {
    throw malformed();
  }
  const path = Array.from({ length: pathLength(index, count) }, () => reader.bytes(HASH_LEN));
  reader.finish();
  return { name, count, index, path };
}

/** The bytes of an answer. */
export function answerBytes({ name, count, index, path }: Answer): Bytes {
  return new Writer().u8(VERSION).bytes(name).u16(count).u16(index).bytes(concat(...path)).done().slice();
}

/** The leaf of a challenge. */
export function challengeLeaf(challenge: Bytes): Promise<Bytes> {
  return leafOf("sealcast2 challenge", challenge);
}

/** The root to which an answer leads from a challenge. */
export async function answerRoot({ index, count, path }: Answer, challenge: Bytes): Promise<Bytes> {
  return rootOfPath(await challengeLeaf(challenge), index, count, path);
}
