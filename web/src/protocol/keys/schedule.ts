// The key schedule of the handshake (keys.md, section 4).

import { type Bytes, wipe } from "../bytes.ts";
import { HASH_LEN, aesKey, aesOpen, aesSeal, expandLabel, extract } from "../crypto/primitives.ts";
import { type PresharedKey } from "./psk.ts";

const EMPTY = new Uint8Array(0);
const IV_LEN = 12;
const SESSION_ID_LEN = 8;

/** `hs`: from it follows all that a handshake agrees on. Wipe it after use. */
export async function handshakeSecret(psk: PresharedKey, shared: Bytes): Promise<Bytes> {
  const salt = await psk.derive("handshake", EMPTY, HASH_LEN);
  const hs = await extract(salt, shared);
  wipe(salt);
  return hs;
}

/** Which of the two sealed parts of a handshake. */
export type SealedPart = "reply" | "finish";

async function partKey(hs: Bytes, part: SealedPart, hash: Bytes): Promise<{ key: CryptoKey; iv: Bytes }> {
  const bytes = await expandLabel(hs, `${part} key`, hash, HASH_LEN);
  const key = await aesKey(bytes);
  wipe(bytes);
  return { key, iv: await expandLabel(hs, `${part} iv`, hash, IV_LEN) };
}

/** Seals a part with AES-256-GCM, whatever the suite. `hash` is th1 for the reply and th2 for the finish. */
export async function sealPart(hs: Bytes, part: SealedPart, hash: Bytes, content: Bytes): Promise<Bytes> {
  const { key, iv } = await partKey(hs, part, hash);
  return aesSeal(key, iv, hash, content);
}

/** Opens a part; `undefined` if it is not authentic. */
export async function openPart(hs: Bytes, part: SealedPart, hash: Bytes, sealed: Bytes): Promise<Bytes | undefined> {
  const { key, iv } = await partKey(hs, part, hash);
  return aesOpen(key, iv, hash, sealed);
}

/** What a handshake agrees on. */
export interface HandshakeResult {
  /** `E_0`, a secret. */
  readonly epoch0: Bytes;
  /** Names the session in logs; public. */
  readonly sessionId: Bytes;
  /** Names the session in signatures. */
  readonly binding: Bytes;
  /** The pre-shared key of later handshakes, if the responder enrols the initiator; a secret. */
  readonly enrolment: Bytes;
  /** What the keys of a group's member follow from (groups.md, section 5); a secret. */
  readonly exporter: Bytes;
}

/** What follows from `hs` and the hash of the whole transcript. */
export async function handshakeResult(hs: Bytes, th3: Bytes): Promise<HandshakeResult> {
  return {
    epoch0: await expandLabel(hs, "epoch", th3, HASH_LEN),
    sessionId: await expandLabel(hs, "session id", th3, SESSION_ID_LEN),
    binding: await expandLabel(hs, "binding", th3, HASH_LEN),
    enrolment: await expandLabel(hs, "enrolment", th3, HASH_LEN),
    exporter: await expandLabel(hs, "exporter", th3, HASH_LEN),
  };
}
