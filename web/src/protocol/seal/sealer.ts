// Seals records under one key and numbers them (protocol.md, section 2).

import { type Bytes } from "../bytes.ts";
import { aesSeal } from "../crypto/primitives.ts";
import { ProtocolError, misuse } from "../error.ts";
import { MAX_RECORD } from "../wire/framing.ts";
import { Flag, HEADER_LEN, Kind, MAX_SEQ, TAG_LEN, writeHeader } from "../wire/header.ts";
import { nonceOf } from "./nonce.ts";
import { MAX_BLOCKS, blocksOf } from "./suite.ts";

/** Hard limits on one key. */
export interface SealLimits {
  /** Records; never above 2³². */
  readonly records: number;
  /** Blocks; never above 2³⁴. */
  readonly blocks: number;
}

/** No limits but those of the counter and of AES-GCM. */
export const WIDEST_LIMITS: SealLimits = { records: MAX_SEQ + 1, blocks: MAX_BLOCKS };

/** What a record's header says beside what the sealer knows. */
export interface RecordMeta {
  readonly flags: number;
  readonly stream: number;
  /** The wall clock in nanoseconds since 1970. */
  readonly timestamp: bigint;
}

/** The only place where a nonce for sealing is made. */
export class Sealer {
  readonly #key: CryptoKey;
  readonly #base: Bytes;
  readonly #kind: Kind;
  readonly #epoch: number;
  readonly #limits: SealLimits;
  #sealed = 0;
  #blocks = 0;

  constructor(key: CryptoKey, base: Bytes, kind: Kind, epoch: number, limits: SealLimits) {
    this.#key = key;
    this.#base = base;
    this.#kind = kind;
    this.#epoch = epoch;
    this.#limits = {
      records: Math.min(limits.records, WIDEST_LIMITS.records),
      blocks: Math.min(limits.blocks, WIDEST_LIMITS.blocks),
    };
  }

  /** Records sealed so far. */
  get sealed(): number {
    return this.#sealed;
  }

  /**
   * A sealed record whose payload is `parts` one after the other. The number is taken before anything is awaited, so
   * records may be sealed at the same time.
   *
   * @throws ProtocolError `exhausted` at a limit: nothing is sealed then, and nothing may be sent instead
   */
  async seal(meta: RecordMeta, parts: readonly Bytes[]): Promise<Bytes> {
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    const encrypted = (meta.flags & Flag.Encrypted) !== 0;
    if (HEADER_LEN + length + TAG_LEN > MAX_RECORD || (!encrypted && this.#kind !== Kind.Media)) {
      throw misuse("a record is longer than MAX_RECORD, or other than media in clear");
    }
    const seq = this.#take(length);
    const { flags, stream, timestamp } = meta;
    const record = new Uint8Array(HEADER_LEN + length + TAG_LEN);
    writeHeader({ kind: this.#kind, epoch: this.#epoch, seq, flags, stream, timestamp }, record);
    let at = HEADER_LEN;
    for (const part of parts) {
      record.set(part, at);
      at += part.length;
    }
    const from = encrypted ? HEADER_LEN : at;
    const nonce = nonceOf(this.#base, seq);
    const sealed = await aesSeal(this.#key, nonce, record.subarray(0, from), record.subarray(from, at));
    record.set(sealed, from);
    return record;
  }

  #take(length: number): number {
    const blocks = this.#blocks + blocksOf(length);
    if (this.#sealed >= this.#limits.records || blocks > this.#limits.blocks) {
      throw new ProtocolError("exhausted");
    }
    const seq = this.#sealed;
    this.#sealed += 1;
    this.#blocks = blocks;
    return seq;
  }
}
