// Signatures on the messages that agree on a new epoch (keys.md, section 5).

import { type Bytes, ascii, concat } from "../bytes.ts";
import { sha256 } from "../crypto/primitives.ts";
import { SIGNATURE_LEN } from "../wire/kem-field.ts";
import { type PeerId } from "../wire/peer-id.ts";
import { type Identity, verifySignature } from "./identity.ts";
import { entry } from "./transcript.ts";

/** What one exchange is about. */
export interface RekeyContext {
  /** `binding` of the session. */
  readonly binding: Bytes;
  /** Number of the epoch to agree on. */
  readonly epoch: bigint;
}

/**
 * The whole content that is signed.
 * @param head the message without its signature
 * @param offer the whole offer, if `head` is that of an answer
 */
export async function signedRekey(context: RekeyContext, head: Bytes, offer?: Bytes): Promise<Bytes> {
  const label = ascii(offer === undefined ? "sealcast2 rekey offer\0" : "sealcast2 rekey answer\0");
  const number = new Uint8Array(8);
  new DataView(number.buffer).setBigUint64(0, context.epoch);
  const messages = offer === undefined ? entry(head) : concat(entry(offer), entry(head));
  return concat(label, context.binding, number, await sha256(messages));
}

/** The message that begins with `head`: its signature is added. */
export async function signRekey(identity: Identity, context: RekeyContext, head: Bytes, offer?: Bytes): Promise<Bytes> {
  return concat(head, await identity.sign(await signedRekey(context, head, offer)));
}

/** True if a message's last 64 bytes are the signature that `peer` must make. */
export async function verifyRekey(
  peer: PeerId, context: RekeyContext, message: Bytes, offer?: Bytes,
): Promise<boolean> {
  const at = message.length - SIGNATURE_LEN;
  if (at < 0) {
    return false;
  }
  const signed = await signedRekey(context, message.subarray(0, at), offer);
  return verifySignature(peer, signed, message.subarray(at));
}
