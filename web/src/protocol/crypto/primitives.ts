// SHA-256, HMAC, HKDF (RFC 5869) and AES-GCM by WebCrypto, which every current browser has. Nothing here draws
// randomness.

import { type Bytes, ascii, concat } from "../bytes.ts";
import { ProtocolError, asProtocolError } from "../error.ts";

/** Bytes of a SHA-256 hash, and of all secrets of the key schedule. */
export const HASH_LEN = 32;
/** Bytes of an AES-GCM tag. */
const TAG_BITS = 128;

/** WebCrypto of this context; a page that is not a secure context has none. */
export function subtle(): SubtleCrypto {
  const found = (globalThis.crypto as { readonly subtle?: SubtleCrypto } | undefined)?.subtle;
  if (found === undefined) {
    throw new ProtocolError("library", "open the page over https or from this machine: elsewhere WebCrypto is missing");
  }
  return found;
}

/** SHA-256 of these bytes. */
export async function sha256(bytes: Bytes): Promise<Bytes> {
  return new Uint8Array(await subtle().digest("SHA-256", bytes));
}

/** A key of HMAC-SHA-256 that cannot be read back. */
export function hmacKey(key: Bytes): Promise<CryptoKey> {
  return subtle().importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
}

/** HMAC-SHA-256. */
export async function hmac(key: Bytes | CryptoKey, message: Bytes): Promise<Bytes> {
  const imported = key instanceof Uint8Array ? await hmacKey(key) : key;
  return new Uint8Array(await subtle().sign("HMAC", imported, message));
}

/** HKDF-Extract: HMAC with the salt as its key, which here is never empty. */
export async function extract(salt: Bytes, ikm: Bytes): Promise<Bytes> {
  return hmac(salt, ikm);
}

/** What HKDF-Expand is told by `expandLabel`. */
export function expandInfo(label: string, context: Bytes, length: number): Bytes {
  const name = ascii(`sealcast2 ${label}`);
  if (length > 255 * HASH_LEN || name.length > 255 || context.length > 255) {
    throw new ProtocolError("misuse", "a label, its context or the length is too long");
  }
  const lengths = Uint8Array.of(length >> 8, length & 0xff, name.length);
  return concat(lengths, name, Uint8Array.of(context.length), context);
}

/** `EL(secret, label, context, length)` of keys.md, section 2. The label is without `"sealcast2 "`. */
export async function expandLabel(
  secret: Bytes | CryptoKey, label: string, context: Bytes, length: number,
): Promise<Bytes> {
  const info = expandInfo(label, context, length);
  const out = new Uint8Array(length);
  let block: Bytes = new Uint8Array(0);
  for (let at = 0, counter = 1; at < length; at += HASH_LEN, counter += 1) {
    block = await hmac(secret, concat(block, info, Uint8Array.of(counter)));
    out.set(block.subarray(0, Math.min(HASH_LEN, length - at)), at);
  }
  return out;
}

/** An AES-GCM key that cannot be read back. */
export async function aesKey(key: Bytes): Promise<CryptoKey> {
  return subtle().importKey("raw", key, "AES-GCM", false, ["encrypt", "decrypt"]);
}

/** Ciphertext and tag. */
export async function aesSeal(key: CryptoKey, iv: Bytes, aad: Bytes, plaintext: Bytes): Promise<Bytes> {
  const parameters = { name: "AES-GCM", iv, additionalData: aad, tagLength: TAG_BITS };
  try {
    return new Uint8Array(await subtle().encrypt(parameters, key, plaintext));
  } catch (thrown) {
    throw asProtocolError(thrown);
  }
}

/** The plaintext, or `undefined` if the tag does not fit. */
export async function aesOpen(key: CryptoKey, iv: Bytes, aad: Bytes, sealed: Bytes): Promise<Bytes | undefined> {
  const parameters = { name: "AES-GCM", iv, additionalData: aad, tagLength: TAG_BITS };
  try {
    return new Uint8Array(await subtle().decrypt(parameters, key, sealed));
  } catch {
    // WebCrypto throws one and the same OperationError for every input that is not authentic.
    return undefined;
  }
}
