// Fields that handshake and control messages share.

import { type Bytes } from "../bytes.ts";
import { malformed } from "../error.ts";

/** Longest share or ciphertext in bytes. */
export const MAX_KEM_FIELD = 2_048;
/** Bytes of a signature. */
export const SIGNATURE_LEN = 64;

/** A share or a ciphertext: 1 to 2 048 bytes. @throws ProtocolError `malformed` */
export function kemField(bytes: Bytes): Bytes {
  if (bytes.length < 1 || bytes.length > MAX_KEM_FIELD) {
    throw malformed();
  }
  return bytes;
}
