// Epochs: their secrets, and the keys that follow from them (keys.md, section 5).

import { type Bytes, concat, wipe } from "../bytes.ts";
import { HASH_LEN, aesKey, expandLabel, extract, sha256 } from "../crypto/primitives.ts";
import { misuse } from "../error.ts";
import { Opener } from "../seal/opener.ts";
import { type SealLimits, Sealer } from "../seal/sealer.ts";
import { type Suite } from "../seal/suite.ts";
import { Kind, MAX_SEQ } from "../wire/header.ts";
import { entry } from "./transcript.ts";

/** Bytes of a nonce's base: the record's number follows it. */
export const BASE_LEN = 8;
const PURPOSES = { control: Kind.Control, media: Kind.Media, cell: Kind.Cell } as const;

/** What a key protects. */
export type Purpose = keyof typeof PURPOSES;
/** Who seals: the initiator or the responder. */
export type Direction = "i" | "r";
/** The side of a connection that an end is. */
export type Side = "initiator" | "responder";

/** One traffic key as bytes, for vectors. A program uses the sealers and openers of `epochKeys`. */
export async function trafficKey(
  secret: Bytes, suite: Suite, epoch: bigint, purpose: Purpose, direction: Direction,
): Promise<{ key: Bytes; base: Bytes }> {
  const context = new Uint8Array(9);
  context[0] = suite.id;
  new DataView(context.buffer).setBigUint64(1, epoch);
  return {
    key: await expandLabel(secret, `${purpose} key ${direction}`, context, suite.keyLength),
    base: await expandLabel(secret, `${purpose} base ${direction}`, context, BASE_LEN),
  };
}

/** The sealer of records of one purpose in one direction. */
export async function sealerFor(
  epoch: EpochSecret, suite: Suite, purpose: Purpose, direction: Direction, limits: SealLimits,
): Promise<Sealer> {
  const { key, base } = await trafficKey(epoch.bytes, suite, epoch.number, purpose, direction);
  const imported = await aesKey(key);
  wipe(key);
  return new Sealer(imported, base, PURPOSES[purpose], wireNumber(epoch.number), limits);
}

/** The opener of records of one purpose in one direction. */
export async function openerFor(
  epoch: EpochSecret, suite: Suite, purpose: Purpose, direction: Direction,
): Promise<Opener> {
  const { key, base } = await trafficKey(epoch.bytes, suite, epoch.number, purpose, direction);
  const imported = await aesKey(key);
  wipe(key);
  return new Opener(imported, base);
}

/** An epoch's number as records have it: the low 16 bits. */
export function wireNumber(epoch: bigint): number {
  return Number(epoch & 0xffffn);
}

/** `E_n` and `n`. */
export class EpochSecret {
  readonly number: bigint;
  /** The secret itself; `wipe` overwrites it. */
  readonly bytes: Bytes;

  /** @param bytes 32 secret bytes, which this takes over */
  constructor(number: bigint, bytes: Bytes) {
    if (bytes.length !== HASH_LEN) {
      throw misuse("an epoch's secret has 32 bytes");
    }
    this.number = number;
    this.bytes = bytes;
  }

  /** `E_{n+1}` from the two messages of an exchange and the secret of their mechanism, which is wiped. */
  async next(offer: Bytes, answer: Bytes, shared: Bytes): Promise<EpochSecret> {
    const messages = await sha256(concat(entry(offer), entry(answer)));
    const salt = await expandLabel(this.bytes, "rekey", messages, HASH_LEN);
    const bytes = await extract(salt, shared);
    wipe(salt, shared);
    return new EpochSecret(this.number + 1n, bytes);
  }

  wipe(): void {
    wipe(this.bytes);
  }
}

/** The sealers and openers of one end in one epoch. */
export interface EpochKeys {
  readonly number: bigint;
  readonly seal: Readonly<Record<Purpose, Sealer>>;
  readonly open: Readonly<Record<Purpose, Opener>>;
}

/** The keys of an epoch for the end on this side. Cells have no limit on records but the counter's. */
export async function epochKeys(
  epoch: EpochSecret, suite: Suite, side: Side, limits: SealLimits,
): Promise<EpochKeys> {
  const [own, peer]: [Direction, Direction] = side === "initiator" ? ["i", "r"] : ["r", "i"];
  const ofCells = { ...limits, records: MAX_SEQ + 1 };
  return {
    number: epoch.number,
    seal: {
      control: await sealerFor(epoch, suite, "control", own, limits),
      media: await sealerFor(epoch, suite, "media", own, limits),
      cell: await sealerFor(epoch, suite, "cell", own, ofCells),
    },
    open: {
      control: await openerFor(epoch, suite, "control", peer),
      media: await openerFor(epoch, suite, "media", peer),
      cell: await openerFor(epoch, suite, "cell", peer),
    },
  };
}

