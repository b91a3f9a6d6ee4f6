// A camera's ML-DSA-65 key, and what its identity says of it (signatures.md, section 5).

import { type Bytes, ascii, concat, equal } from "../bytes.ts";
import { MLDSA_KEY_LEN, type MldsaCheck, mldsaCheck } from "../crypto/mldsa.ts";
import { sha256 } from "../crypto/primitives.ts";
import { malformed } from "../error.ts";
import { type SignatureCheck } from "../keys/identity.ts";
import { SIGNATURE_LEN } from "../wire/kem-field.ts";
import { type PeerId } from "../wire/peer-id.ts";
import { Reader } from "../wire/reader.ts";

const VERSION = 1;

/** Why a certificate is not accepted. */
export type CertificateRefusal = "malformed" | "pinned" | "signature";

/** The key with which a camera signs groups of pictures, vouched for by its identity. */
export interface GopKey {
  readonly camera: PeerId;
  /** The id to pin, for judging recordings when Ed25519 is broken. */
  readonly id: Bytes;
  readonly check: MldsaCheck;
}

/** The id of a key, by which a verifier knows it again. */
export function gopKeyId(key: Bytes): Promise<Bytes> {
  return sha256(concat(ascii("sealcast2 gop key id\0"), key));
}

function parse(bytes: Bytes): { key: Bytes; signature: Bytes } {
  const reader = new Reader(bytes);
  const version = reader.u8();
  const certificate = { key: reader.bytes(MLDSA_KEY_LEN).slice(), signature: reader.bytes(SIGNATURE_LEN) };
  reader.finish();
  if (version !== VERSION) {
    throw malformed();
  }
  return certificate;
}

/**
 * Accepts the key in a certificate as the camera's, or says why not.
 * @param check the check of the camera's signatures
 * @param pinned the id under which the key is known; without it the certificate is as good as Ed25519 is today
 */
export async function acceptCertificate(
  bytes: Bytes, camera: PeerId, check: SignatureCheck, pinned?: Bytes,
): Promise<GopKey | CertificateRefusal> {
  let certificate: ReturnType<typeof parse>;
  try {
    certificate = parse(bytes);
  } catch {
    return "malformed";
  }
  const { key, signature } = certificate;
  const id = await gopKeyId(key);
  if (pinned !== undefined && !equal(pinned, id)) {
    return "pinned";
  }
  const signed = await check(concat(ascii("sealcast2 gop key\0"), key), signature);
  return signed ? { camera, id, check: await mldsaCheck(key) } : "signature";
}
