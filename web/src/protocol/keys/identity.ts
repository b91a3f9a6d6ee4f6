// Identities (keys.md, section 1): Ed25519 key pairs whose secret half cannot be read back where WebCrypto has Ed25519.

import { ed25519 } from "@noble/curves/ed25519.js";

import { type Bytes, concat, wipe } from "../bytes.ts";
import { features } from "../crypto/features.ts";
import { subtle } from "../crypto/primitives.ts";
import { ProtocolError, misuse } from "../error.ts";
import { decodeBase32 } from "../wire/base32.ts";
import { SIGNATURE_LEN } from "../wire/kem-field.ts";
import { PeerId } from "../wire/peer-id.ts";

/** Bytes of a seed. */
export const SEED_LEN = 32;
const FIRST_LINE = "sealcast-identity-1";
/** What stands before an Ed25519 seed in PKCS #8 (RFC 8410). */
const PKCS8 = Uint8Array.from([0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20]);
const ALGORITHM = { name: "Ed25519" };

/** An identity: who this end is. */
export interface Identity {
  readonly peerId: PeerId;
  /** Signs a message; 64 bytes. */
  sign(message: Bytes): Promise<Bytes>;
  /** What a store keeps: a key that cannot be read where the browser has Ed25519, else the seed. */
  readonly stored: StoredIdentity;
}

/** An identity as a store keeps it. */
export type StoredIdentity =
  | { readonly kind: "webcrypto"; readonly publicKey: Bytes; readonly privateKey: CryptoKey }
  | { readonly kind: "seed"; readonly seed: Bytes };

function peerIdOf(publicKey: Bytes): PeerId {
  const id = PeerId.fromBytes(publicKey);
  if (id === undefined) {
    throw new ProtocolError("library", "a key pair has no valid peer id");
  }
  return id;
}

function webIdentity(publicKey: Bytes, privateKey: CryptoKey): Identity {
  return {
    peerId: peerIdOf(publicKey),
    stored: { kind: "webcrypto", publicKey, privateKey },
    async sign(message) {
      return new Uint8Array(await subtle().sign(ALGORITHM, privateKey, message));
    },
  };
}

function seedIdentity(seed: Bytes): Identity {
  return {
    peerId: peerIdOf(Uint8Array.from(ed25519.getPublicKey(seed))),
    stored: { kind: "seed", seed },
    sign: (message) => Promise.resolve(Uint8Array.from(ed25519.sign(message, seed))),
  };
}

/** A new identity. Where WebCrypto has Ed25519, nobody can read its secret half, this library included. */
export async function generateIdentity(): Promise<Identity> {
  if (!(await features()).ed25519) {
    return seedIdentity(Uint8Array.from(ed25519.utils.randomSecretKey()));
  }
  const pair = (await subtle().generateKey(ALGORITHM, false, ["sign", "verify"])) as CryptoKeyPair;
  return webIdentity(new Uint8Array(await subtle().exportKey("raw", pair.publicKey)), pair.privateKey);
}

/** The identity of a seed of 32 bytes, which is copied. */
export async function identityFromSeed(seed: Bytes): Promise<Identity> {
  if (seed.length !== SEED_LEN) {
    throw misuse("a seed has 32 bytes");
  }
  if (!(await features()).ed25519) {
    return seedIdentity(seed.slice());
  }
  const pkcs8 = concat(PKCS8, seed);
  const privateKey = await subtle().importKey("pkcs8", pkcs8, ALGORITHM, false, ["sign"]);
  wipe(pkcs8);
  // WebCrypto derives a public key only of keys that can be read, so this one comes from elsewhere.
  return webIdentity(Uint8Array.from(ed25519.getPublicKey(seed)), privateKey);
}

/** The identity that a store kept. */
export function restoreIdentity(stored: StoredIdentity): Identity {
  return stored.kind === "seed" ? seedIdentity(stored.seed) : webIdentity(stored.publicKey, stored.privateKey);
}

/**
 * The seed in an identity file's text, for moving an identity into a browser. It is a secret: wipe it after use.
 * @throws ProtocolError `identity-file`, without any part of the text
 */
export function seedOfIdentityFile(text: string): Bytes {
  const [first, second, rest, ...more] = text.split("\n");
  const whole = first === FIRST_LINE && rest === "" && more.length === 0;
  const seed = whole ? decodeBase32(second ?? "", SEED_LEN) : undefined;
  if (seed === undefined) {
    throw new ProtocolError("identity-file");
  }
  return seed;
}

/** Tells whether a signature over a message is that of one peer. */
export type SignatureCheck = (message: Bytes, signature: Bytes) => Promise<boolean>;

/** The check of one peer's signatures: its key is read once, which costs as much as a signature. */
export async function signatureCheck(peer: PeerId): Promise<SignatureCheck> {
  const native = (await features()).ed25519;
  // Without a point that has the y of this peer id, it has signed nothing.
  const key = native
    ? await subtle().importKey("raw", peer.bytes, ALGORITHM, false, ["verify"]).catch(() => undefined) : undefined;
  return async (message, signature) => {
    if (signature.length !== SIGNATURE_LEN || (native && key === undefined)) {
      return false;
    }
    try {
      return key === undefined
        ? ed25519.verify(signature, message, peer.bytes, { zip215: false })
        : await subtle().verify(ALGORITHM, key, signature, message);
    } catch {
      // The substitute throws where the peer id or a part of the signature is no point.
      return false;
    }
  };
}

/** True if `signature` is that of `peer` over `message`. */
export async function verifySignature(peer: PeerId, message: Bytes, signature: Bytes): Promise<boolean> {
  const check = await signatureCheck(peer);
  return check(message, signature);
}
