// What both ends of a handshake share (protocol.md, section 3; keys.md, section 4).

import { type Bytes } from "../bytes.ts";
import { type Mechanism } from "../crypto/mechanism.ts";
import { type Suite } from "../seal/suite.ts";
import { PeerId } from "../wire/peer-id.ts";
import { type Identity } from "./identity.ts";
import { type Role } from "./messages.ts";
import { type HelloKeys, type UsedKey } from "./psk.ts";
import { type HandshakeResult } from "./schedule.ts";
import { type Wish } from "./wish.ts";

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
  /** Viewer: what it wants; frames if it does not say. */
  readonly wish?: Wish;
}

/** The other end, proved. */
export interface Peer {
  readonly id: PeerId;
  /** Public name of the pre-shared key that it proved to know; absent where none was used. */
  readonly pskName?: Bytes;
  /** What it wants, if it is a viewer. */
  readonly wish?: Wish;
}

/** What a handshake agreed on. */
export interface Agreed extends HandshakeResult {
  readonly peer: Peer;
  readonly suite: Suite;
  readonly mechanism: Mechanism;
}

/** A peer id with the name of the key that it used, and its wish. */
export function peerWith(id: PeerId, used: UsedKey, wish: Wish | undefined): Peer {
  return { id, ...(used.name !== undefined && { pskName: used.name }), ...(wish !== undefined && { wish }) };
}
