// ML-DSA-65 (FIPS 204, pure, empty context), of which a browser peer only verifies: WebCrypto's where it has it, else
// that of @noble/post-quantum.

import { ml_dsa65 } from "@noble/post-quantum/ml-dsa.js";

import { type Bytes } from "../bytes.ts";
import { features } from "./features.ts";
import { subtle } from "./primitives.ts";

/** Bytes of an ML-DSA-65 public key (FIPS 204, table 2). */
export const MLDSA_KEY_LEN = 1952;
/** Bytes of an ML-DSA-65 signature (FIPS 204, table 2). */
export const MLDSA_SIGNATURE_LEN = 3309;

const ALGORITHM = { name: "ML-DSA-65" };
const RAW_PUBLIC = "raw-public" as unknown as "raw";

/** Tells whether a signature over a content fits one key. */
export type MldsaCheck = (content: Bytes, signature: Bytes) => Promise<boolean>;

/** The check of signatures with a key of 1952 bytes: every such key has the form of one. */
export async function mldsaCheck(key: Bytes): Promise<MldsaCheck> {
  if (!(await features()).mldsa65) {
    return (content, signature) => Promise.resolve(ml_dsa65.verify(signature, content, key));
  }
  const imported = await subtle().importKey(RAW_PUBLIC, key, ALGORITHM, false, ["verify"]);
  return (content, signature) => subtle().verify(ALGORITHM, imported, signature, content);
}
