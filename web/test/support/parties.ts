// Ends of handshakes as vectors/handshake.json describes them, with mechanisms that repeat.

import { type Bytes } from "../../src/protocol/bytes.ts";
import {
  P256, P256_POINT_LEN, X25519, X25519_LEN, decapsulationKey, p256FromScalar, x25519FromSecret,
} from "../../src/protocol/crypto/curves.ts";
import { type DecapsulationKey, type Mechanism } from "../../src/protocol/crypto/mechanism.ts";
import { MLKEM768, X25519_MLKEM768, hybridKey, mlkemFromSeed } from "../../src/protocol/crypto/mlkem.ts";
import { misuse } from "../../src/protocol/error.ts";
import { type HandshakeConfig } from "../../src/protocol/keys/handshake.ts";
import { identityFromSeed } from "../../src/protocol/keys/identity.ts";
import { HelloKeys, PresharedKey } from "../../src/protocol/keys/psk.ts";
import { parseWish } from "../../src/protocol/keys/wish.ts";
import { type Suite } from "../../src/protocol/seal/suite.ts";
import { Invite } from "../../src/protocol/wire/invite.ts";
import { PeerId } from "../../src/protocol/wire/peer-id.ts";
import { assert, hex, same, toHex } from "./harness.ts";

/** One end, as the vectors have it. */
export interface Party {
  readonly role: number;
  readonly wish: string;
  readonly identity_seed: string;
  readonly peer_id: string;
  readonly psks: readonly { readonly invite?: string; readonly enrolment?: string }[];
  readonly suites: readonly number[];
  readonly mechanisms: readonly number[];
  readonly random: string;
  readonly pinned_peer?: string;
  readonly share_mechanism?: number;
  readonly cookie?: string;
}

/** The initiator's secret for one of its hellos. */
export interface KeyPair {
  readonly hello: number;
  readonly mechanism: number;
  readonly share: string;
  readonly x25519_secret?: string;
  readonly p256_scalar?: string;
  readonly mlkem768_seed?: string;
}

/** What the responder made of a share. */
export interface Encapsulated {
  readonly ciphertext: string;
  readonly ss: string;
}

const REAL: ReadonlyMap<number, Mechanism> = new Map(
  [X25519_MLKEM768, X25519, P256, MLKEM768].map((mechanism) => [mechanism.id, mechanism]),
);

/** True for the mechanisms that a browser peer has. */
export function isKnown(mechanism: number): boolean {
  return REAL.has(mechanism);
}

async function fixedKey(pair: KeyPair): Promise<DecapsulationKey> {
  const curve = async (): Promise<DecapsulationKey> =>
    decapsulationKey(await x25519FromSecret(hex(pair.x25519_secret ?? "")), X25519_LEN);
  const kem = (): Promise<DecapsulationKey> => mlkemFromSeed(hex(pair.mlkem768_seed ?? ""));
  switch (pair.mechanism) {
    case 1:
      return hybridKey(await kem(), await curve());
    case 2:
      return curve();
    case 3: {
      const key = await p256FromScalar(hex(pair.p256_scalar ?? ""), hex(pair.share));
      return decapsulationKey(key, P256_POINT_LEN);
    }
    case 4:
      return kem();
    default:
      throw misuse("the vectors need a mechanism that no browser peer has");
  }
}

/**
 * A mechanism whose key pairs and encapsulation are given. Decapsulation, and the check of shares, are the real ones. A
 * mechanism that no browser peer has can be offered, and fails where it is used.
 */
export function fixedMechanism(id: number, pairs: readonly KeyPair[], made?: Encapsulated): Mechanism {
  const left = pairs.filter((pair) => pair.mechanism === id);
  return {
    id,
    name: `mechanism ${id}`,
    async generate() {
      const pair = left.shift();
      if (pair === undefined) {
        throw misuse("the vectors have no such key pair");
      }
      const key = await fixedKey(pair);
      same(toHex(key.share), pair.share, "share");
      return key;
    },
    async encapsulate(share) {
      const real = REAL.get(id);
      if (real === undefined) {
        throw misuse("the vectors need a mechanism that no browser peer has");
      }
      const drawn = await real.encapsulate(share);
      return made === undefined ? drawn : { ciphertext: hex(made.ciphertext), secret: hex(made.ss) };
    },
  };
}

/** The peer id of 32 bytes in hex. */
export function peerId(text: string): PeerId {
  const id = PeerId.fromBytes(hex(text));
  assert(id !== undefined, "the vector has a peer id");
  return id;
}

async function presharedKey(key: Party["psks"][number]): Promise<PresharedKey> {
  return key.invite === undefined
    ? PresharedKey.fromBytes(hex(key.enrolment ?? ""))
    : PresharedKey.fromInvite(new Invite(hex(key.invite)));
}

const helloKeys = new Map<Party, Promise<HelloKeys>>();

async function makeHelloKeys(party: Party): Promise<HelloKeys> {
  const psks = await Promise.all(party.psks.map(presharedKey));
  return HelloKeys.create(peerId(party.pinned_peer ?? party.peer_id), psks);
}

/** Suites by their identifiers only: a handshake does not use them. */
function suite(id: number): Suite {
  return { id, name: `suite ${id}`, keyLength: 32 };
}

/** The configuration of an end. */
export async function configOf(party: Party, mechanism: (id: number) => Mechanism): Promise<HandshakeConfig> {
  // An end with 128 keys appears in many cases.
  const keys = helloKeys.get(party) ?? makeHelloKeys(party);
  helloKeys.set(party, keys);
  const wish = parseWish(hex(party.wish));
  return {
    role: party.role === 1 ? "publisher" : "viewer",
    identity: await identityFromSeed(hex(party.identity_seed)),
    helloKeys: await keys,
    suites: party.suites.map(suite),
    mechanisms: party.mechanisms.map(mechanism),
    ...(wish !== undefined && { wish }),
  };
}

/** The random bytes of an end. */
export function randomOf(party: Party): Bytes {
  return hex(party.random);
}
