// Suites: what seals records (protocol.md, "Suites"; limits in keys.md, section 6).

/** A suite. Both that a browser peer has are AES-GCM with nonces of 12 bytes. */
export interface Suite {
  /** Its identifier on the wire. */
  readonly id: number;
  /** Its name in logs. */
  readonly name: string;
  /** Bytes of a key. */
  readonly keyLength: number;
}

/** Suite 1. */
export const AES_128_GCM: Suite = { id: 1, name: "aes-128-gcm", keyLength: 16 };
/** Suite 2. */
export const AES_256_GCM: Suite = { id: 2, name: "aes-256-gcm", keyLength: 32 };

/** Blocks per key of AES-GCM: 2³⁴ keep an attacker's advantage under 2⁻⁶⁰. */
export const MAX_BLOCKS = 2 ** 34;
/** Bytes of a block. */
const BLOCK = 16;
/** Blocks of a record beside its payload: header, lengths and the tag's own. */
const BLOCKS_AROUND = 3;

/** The blocks that a record with a payload of so many bytes counts for. */
export function blocksOf(payload: number): number {
  return Math.ceil(payload / BLOCK) + BLOCKS_AROUND;
}
