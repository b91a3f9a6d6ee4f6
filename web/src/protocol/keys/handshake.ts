// What both ends of a handshake share (protocol.md, section 3; keys.md, section 4).

import { type Bytes, ascii, concat } from "../bytes.ts";
import { type Mechanism } from "../crypto/mechanism.ts";
import { type Suite } from "../seal/suite.ts";
import { PeerId } from "../wire/peer-id.ts";
import { type Identity } from "./identity.ts";
import { type Role } from "./messages.ts";
import { type HelloKeys, type UsedKey } from "./psk.ts";
import { type HandshakeResult } from "./schedule.ts";

/** One end of a handshake. */
export interface HandshakeConfig {
  readonly role: Role;
  readonly identity: Identity;
  /** MACs towards the responder, with the pre-shared keys that this end knows. */
  readonly helloKeys: HelloKeys;
  /** 1 to 8 suites in order of preference. */
  readonly suites: readonly Suite[];
  /** 1 to 8 mechanisms in order of preference; an initiator sends a share for the first. */
  readonly mechanisms: readonly Mechanism[];
}

/** The other end, proved. */
export interface Peer {
  readonly id: PeerId;
  /** Public name of the pre-shared key that it proved to know; absent where none was used. */
  readonly pskName?: Bytes;
}

/** What a handshake agreed on. */
export interface Agreed extends HandshakeResult {
  readonly peer: Peer;
  readonly suite: Suite;
  readonly mechanism: Mechanism;
}

/** The whole content that an identity signs under a handshake. */
export function signedBytes(side: "responder" | "initiator", role: Role, hash: Bytes, identity: PeerId): Bytes {
  return concat(ascii(`sealcast2 ${side} ${role}\0`), hash, identity.bytes);
}

/** A peer id with the name of the key that it used. */
export function peerWith(id: PeerId, used: UsedKey): Peer {
  return used.name === undefined ? { id } : { id, pskName: used.name };
}
