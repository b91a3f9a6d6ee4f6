// X25519 (RFC 7748) and ECDH over P-256 as key encapsulation: a fresh key pair on each side.

import { x25519 as nobleX25519 } from "@noble/curves/ed25519.js";

import { type Bytes, concat, isZero, wipe } from "../bytes.ts";
import { ProtocolError } from "../error.ts";
import { features } from "./features.ts";
import { type DecapsulationKey, type Encapsulation, type Mechanism } from "./mechanism.ts";
import { subtle } from "./primitives.ts";

/** Bytes of an X25519 key and of its shared secret. */
export const X25519_LEN = 32;
/** Bytes of an uncompressed point of P-256. */
export const P256_POINT_LEN = 65;
/** First byte of an uncompressed point. */
const UNCOMPRESSED = 4;
const SECRET_BITS = 256;
/** What stands before an X25519 key in PKCS #8 (RFC 8410). */
const X25519_PKCS8 = Uint8Array.from([0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x6e, 4, 0x22, 4, 0x20]);

/** A key pair of a curve: its public half as bytes, and the agreement with another public key. */
interface CurveKey {
  readonly publicKey: Bytes;
  agree(other: Bytes): Promise<Bytes>;
}

function badShare(): ProtocolError {
  return new ProtocolError("share");
}

/** All zeros is the result for a point of small order, which a peer may not send (RFC 7748, section 6.1). */
function contributory(secret: Bytes): Bytes {
  if (isZero(secret)) {
    throw badShare();
  }
  return secret;
}

function nobleKey(secret: Bytes): CurveKey {
  return {
    publicKey: Uint8Array.from(nobleX25519.getPublicKey(secret)),
    agree(other) {
      try {
        return Promise.resolve(contributory(Uint8Array.from(nobleX25519.getSharedSecret(secret, other))));
      } catch {
        return Promise.reject(badShare());
      }
    },
  };
}

function webKey(name: "X25519" | "P-256", privateKey: CryptoKey, publicKey: Bytes): CurveKey {
  const algorithm = name === "X25519" ? { name } : { name: "ECDH", namedCurve: name };
  return {
    publicKey,
    async agree(other) {
      if (name === "P-256" && other[0] !== UNCOMPRESSED) {
        // OpenSSL, and Node with it, also reads the hybrid form, which is not the one of the protocol.
        throw badShare();
      }
      try {
        const peer = await subtle().importKey("raw", other, algorithm, true, []);
        const bits = await subtle().deriveBits({ name: algorithm.name, public: peer }, privateKey, SECRET_BITS);
        return contributory(new Uint8Array(bits));
      } catch {
        // Browsers disagree about which error a bad point is.
        throw badShare();
      }
    },
  };
}

async function x25519Key(): Promise<CurveKey> {
  if (!(await features()).x25519) {
    return nobleKey(Uint8Array.from(nobleX25519.utils.randomSecretKey()));
  }
  const pair = await subtle().generateKey({ name: "X25519" }, false, ["deriveBits"]);
  return webKey("X25519", pair.privateKey, new Uint8Array(await subtle().exportKey("raw", pair.publicKey)));
}

async function p256Key(): Promise<CurveKey> {
  const pair = await subtle().generateKey({ name: "ECDH", namedCurve: "P-256" }, false, ["deriveBits"]);
  return webKey("P-256", pair.privateKey, new Uint8Array(await subtle().exportKey("raw", pair.publicKey)));
}

/** The X25519 key pair of a given secret, for vectors: `agree` runs in WebCrypto where that has X25519. */
export async function x25519FromSecret(secret: Bytes): Promise<CurveKey> {
  const noble = nobleKey(secret);
  if (!(await features()).x25519) {
    return noble;
  }
  const pkcs8 = concat(X25519_PKCS8, secret);
  const key = await subtle().importKey("pkcs8", pkcs8, { name: "X25519" }, false, ["deriveBits"]);
  wipe(pkcs8);
  return webKey("X25519", key, noble.publicKey);
}

/** The P-256 key pair of a given scalar and its public point, for vectors. */
export async function p256FromScalar(scalar: Bytes, point: Bytes): Promise<CurveKey> {
  const text = (bytes: Bytes): string =>
    btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const [x, y] = [text(point.subarray(1, 33)), text(point.subarray(33))];
  const jwk = { kty: "EC", crv: "P-256", d: text(scalar), x, y };
  const key = await subtle().importKey("jwk", jwk, { name: "ECDH", namedCurve: "P-256" }, false, ["deriveBits"]);
  return webKey("P-256", key, point);
}

/** The private half of a share that is a curve's public key. */
export function decapsulationKey(key: CurveKey, length: number): DecapsulationKey {
  return {
    share: key.publicKey,
    async decapsulate(ciphertext) {
      if (ciphertext.length !== length) {
        throw badShare();
      }
      return key.agree(ciphertext);
    },
  };
}

function curveMechanism(id: number, name: string, length: number, fresh: () => Promise<CurveKey>): Mechanism {
  return {
    id,
    name,
    async generate() {
      return decapsulationKey(await fresh(), length);
    },
    async encapsulate(share): Promise<Encapsulation> {
      if (share.length !== length) {
        throw badShare();
      }
      const key = await fresh();
      return { ciphertext: key.publicKey, secret: await key.agree(share) };
    },
  };
}

/** Mechanism 2. */
export const X25519: Mechanism = curveMechanism(2, "x25519", X25519_LEN, x25519Key);
/** Mechanism 3. A point off the curve is refused by WebCrypto's import. */
export const P256: Mechanism = curveMechanism(3, "p256", P256_POINT_LEN, p256Key);
