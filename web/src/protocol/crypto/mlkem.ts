// ML-KEM-768 (FIPS 203): WebCrypto's where it has it, else that of @noble/post-quantum.

import { ml_kem768 } from "@noble/post-quantum/ml-kem.js";

import { type Bytes, concat, wipe } from "../bytes.ts";
import { ProtocolError } from "../error.ts";
import { X25519, X25519_LEN } from "./curves.ts";
import { type SubtleKem, features } from "./features.ts";
import { type DecapsulationKey, type Encapsulation, type Mechanism } from "./mechanism.ts";
import { subtle } from "./primitives.ts";

/** Bytes of an ML-KEM-768 encapsulation key. */
export const MLKEM_SHARE_LEN = 1184;
/** Bytes of an ML-KEM-768 ciphertext. */
export const MLKEM_CIPHERTEXT_LEN = 1088;

const NAME = "ML-KEM-768";
const RAW_PUBLIC = "raw-public" as unknown as "raw";
const RAW_SEED = "raw-seed" as unknown as "raw";

function usages(...names: string[]): KeyUsage[] {
  return names as unknown as KeyUsage[];
}

function kem(): SubtleKem {
  return subtle() as SubtleKem;
}

function checkLength(bytes: Bytes, length: number): void {
  if (bytes.length !== length) {
    throw new ProtocolError("share");
  }
}

function webKey(share: Bytes, privateKey: CryptoKey): DecapsulationKey {
  return {
    share,
    async decapsulate(ciphertext) {
      checkLength(ciphertext, MLKEM_CIPHERTEXT_LEN);
      return new Uint8Array(await kem().decapsulateBits(NAME, privateKey, ciphertext));
    },
  };
}

function nobleKey(share: Bytes, secretKey: Uint8Array): DecapsulationKey {
  return {
    share,
    decapsulate(ciphertext) {
      try {
        checkLength(ciphertext, MLKEM_CIPHERTEXT_LEN);
        return Promise.resolve(Uint8Array.from(ml_kem768.decapsulate(ciphertext, secretKey)));
      } catch {
        return Promise.reject(new ProtocolError("share"));
      } finally {
        wipe(secretKey);
      }
    },
  };
}

async function generate(): Promise<DecapsulationKey> {
  if (!(await features()).mlkem768) {
    const pair = ml_kem768.keygen();
    return nobleKey(Uint8Array.from(pair.publicKey), pair.secretKey);
  }
  const wanted = usages("encapsulateBits", "decapsulateBits");
  const pair = (await subtle().generateKey({ name: NAME }, false, wanted)) as CryptoKeyPair;
  return webKey(new Uint8Array(await subtle().exportKey(RAW_PUBLIC, pair.publicKey)), pair.privateKey);
}

/** The key pair of a given seed (d ‖ z), for vectors. */
export async function mlkemFromSeed(seed: Bytes): Promise<DecapsulationKey> {
  const pair = ml_kem768.keygen(seed);
  const share = Uint8Array.from(pair.publicKey);
  if (!(await features()).mlkem768) {
    return nobleKey(share, pair.secretKey);
  }
  const key = await subtle().importKey(RAW_SEED, seed, { name: NAME }, false, usages("decapsulateBits"));
  return webKey(share, key);
}

async function encapsulate(share: Bytes): Promise<Encapsulation> {
  checkLength(share, MLKEM_SHARE_LEN);
  try {
    if (!(await features()).mlkem768) {
      const { cipherText, sharedSecret } = ml_kem768.encapsulate(share);
      return { ciphertext: Uint8Array.from(cipherText), secret: Uint8Array.from(sharedSecret) };
    }
    // The import checks that the coefficients are below the modulus (FIPS 203, section 7.2).
    const key = await subtle().importKey(RAW_PUBLIC, share, { name: NAME }, false, usages("encapsulateBits"));
    const { ciphertext, sharedKey } = await kem().encapsulateBits(NAME, key);
    return { ciphertext: new Uint8Array(ciphertext), secret: new Uint8Array(sharedKey) };
  } catch {
    throw new ProtocolError("share");
  }
}

/** Mechanism 4. It is not in the default policy: without a curve it rests on one young assumption alone. */
export const MLKEM768: Mechanism = { id: 4, name: "mlkem768", generate, encapsulate };

/** The private half of a hybrid share: both secrets, that of ML-KEM first. */
export function hybridKey(mlkem: DecapsulationKey, curve: DecapsulationKey): DecapsulationKey {
  return {
    share: concat(mlkem.share, curve.share),
    async decapsulate(ciphertext) {
      checkLength(ciphertext, MLKEM_CIPHERTEXT_LEN + X25519_LEN);
      const [first, second] = [
        await mlkem.decapsulate(ciphertext.subarray(0, MLKEM_CIPHERTEXT_LEN)),
        await curve.decapsulate(ciphertext.subarray(MLKEM_CIPHERTEXT_LEN)),
      ];
      const both = concat(first, second);
      wipe(first, second);
      return both;
    },
  };
}

/** Mechanism 1, the default: it holds while either of its parts does. */
export const X25519_MLKEM768: Mechanism = {
  id: 1,
  name: "x25519-mlkem768",
  async generate() {
    return hybridKey(await generate(), await X25519.generate());
  },
  async encapsulate(share) {
    checkLength(share, MLKEM_SHARE_LEN + X25519_LEN);
    const first = await encapsulate(share.subarray(0, MLKEM_SHARE_LEN));
    const second = await X25519.encapsulate(share.subarray(MLKEM_SHARE_LEN));
    const secret = concat(first.secret, second.secret);
    wipe(first.secret, second.secret);
    return { ciphertext: concat(first.ciphertext, second.ciphertext), secret };
  },
};
