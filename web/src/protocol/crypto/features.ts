// Which primitives WebCrypto has here, found out once. Only these four are missing in some current browsers.

import { subtle } from "./primitives.ts";

/** True for each primitive that WebCrypto has; the others come from the noble packages. */
export interface Features {
  readonly ed25519: boolean;
  readonly x25519: boolean;
  /** ML-KEM-768 with `encapsulateBits`, as in the WICG draft "Modern Algorithms in the Web Cryptography API". */
  readonly mlkem768: boolean;
  /** ML-DSA-65, as in the same draft. */
  readonly mldsa65: boolean;
}

/** The parts of that draft that TypeScript's types do not know yet. */
export interface SubtleKem extends SubtleCrypto {
  encapsulateBits(algorithm: string, key: CryptoKey): Promise<{ sharedKey: ArrayBuffer; ciphertext: ArrayBuffer }>;
  decapsulateBits(algorithm: string, key: CryptoKey, ciphertext: BufferSource): Promise<ArrayBuffer>;
}

const RAW_PUBLIC = "raw-public" as unknown as "raw";

let found: Promise<Features> | undefined;

/** What WebCrypto has here. The first call tries each; later calls return the same. */
export function features(): Promise<Features> {
  found ??= detect();
  return found;
}

/** Pretends for a test that WebCrypto lacks some primitives; without an argument, detects anew. */
export function overrideFeatures(forced?: Features): void {
  found = forced === undefined ? undefined : Promise.resolve(forced);
}

async function works(trial: () => Promise<unknown>): Promise<boolean> {
  try {
    await trial();
    return true;
  } catch {
    return false;
  }
}

async function detect(): Promise<Features> {
  const crypto = subtle();
  const ed25519 = works(() => crypto.generateKey({ name: "Ed25519" }, false, ["sign", "verify"]));
  const x25519 = works(() => crypto.generateKey({ name: "X25519" }, false, ["deriveBits"]));
  const mlkem768 = works(async () => {
    const usages = ["encapsulateBits", "decapsulateBits"] as unknown as KeyUsage[];
    const pair = (await crypto.generateKey({ name: "ML-KEM-768" }, false, usages)) as CryptoKeyPair;
    // A browser that has the keys but not the export could not send them.
    await crypto.exportKey(RAW_PUBLIC, pair.publicKey);
  });
  const mldsa65 = works(async () => {
    const pair = (await crypto.generateKey({ name: "ML-DSA-65" }, false, ["sign", "verify"])) as CryptoKeyPair;
    await crypto.exportKey(RAW_PUBLIC, pair.publicKey);
  });
  return { ed25519: await ed25519, x25519: await x25519, mlkem768: await mlkem768, mldsa65: await mldsa65 };
}
