// Nonces (keys.md, section 5). Only the sealer and the opener make them.

import { type Bytes } from "../bytes.ts";

/** Bytes of a nonce of AES-GCM. */
const NONCE_LEN = 12;

/** `base ‖ u32(seq)`. */
export function nonceOf(base: Bytes, seq: number): Bytes {
  const nonce = new Uint8Array(NONCE_LEN);
  nonce.set(base);
  new DataView(nonce.buffer).setUint32(base.length, seq);
  return nonce;
}
