// What each end says of itself in its sealed part (keys.md, section 4): identity and wish, signed.

import { type Bytes, ascii, concat } from "../bytes.ts";
import { ProtocolError } from "../error.ts";
import { PEER_ID_LEN, type PeerId } from "../wire/peer-id.ts";
import { type HandshakeConfig } from "./handshake.ts";
import { verifySignature } from "./identity.ts";
import { type Role } from "./messages.ts";
import { type SealedPart, openPart, sealPart } from "./schedule.ts";
import { FRAMES, NO_WISH, WISH_LEN, type Wish, parseWish, wishBytes } from "./wish.ts";

const SIDES = { reply: "responder", finish: "initiator" } as const;

/** A sealed part, opened; nothing about it is verified. */
export interface Claim {
  readonly identity: Bytes;
  readonly wish: Bytes;
  readonly signature: Bytes;
}

function signedBytes(part: SealedPart, role: Role, hash: Bytes, identity: Bytes, wish: Bytes): Bytes {
  return concat(ascii(`sealcast2 ${SIDES[part]} ${role}\0`), hash, identity, wish);
}

/** The sealed part of this end. */
export async function sealClaim(part: SealedPart, config: HandshakeConfig, hs: Bytes, hash: Bytes): Promise<Bytes> {
  const { identity, role } = config;
  const wish = role === "viewer" ? wishBytes(config.wish ?? FRAMES) : NO_WISH;
  const id = identity.peerId.bytes;
  const signature = await identity.sign(signedBytes(part, role, hash, id, wish));
  return sealPart(hs, part, hash, concat(id, wish, signature));
}

/** Opens the sealed part of the other end. @throws ProtocolError `sealed` */
export async function openClaim(part: SealedPart, hs: Bytes, hash: Bytes, sealed: Bytes): Promise<Claim> {
  const bytes = await openPart(hs, part, hash, sealed);
  if (bytes === undefined) {
    throw new ProtocolError("sealed");
  }
  return {
    identity: bytes.subarray(0, PEER_ID_LEN),
    wish: bytes.subarray(PEER_ID_LEN, PEER_ID_LEN + WISH_LEN),
    signature: bytes.subarray(PEER_ID_LEN + WISH_LEN),
  };
}

/**
 * Checks the signature, by `id`, and then the wish. Returns the wish of a viewer; a publisher has none.
 * @throws ProtocolError `signature`, `wish`
 */
export async function verifyClaim(
  { wish, signature }: Claim, part: SealedPart, role: Role, hash: Bytes, id: PeerId,
): Promise<Wish | undefined> {
  if (!(await verifySignature(id, signedBytes(part, role, hash, id.bytes, wish), signature))) {
    throw new ProtocolError("signature");
  }
  const wished = role === "viewer" ? parseWish(wish) : undefined;
  const fits = role === "viewer" ? wished !== undefined : wish.every((byte) => byte === 0);
  if (!fits) {
    throw new ProtocolError("wish");
  }
  return wished;
}
