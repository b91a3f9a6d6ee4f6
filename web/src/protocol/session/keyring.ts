// The epochs whose keys an end holds (protocol.md, section 4, "Rekeying").

import { type Refusal } from "../error.ts";
import { type EpochKeys, type EpochSecret, type Side, epochKeys, wireNumber } from "../keys/epoch.ts";
import { openRecord } from "../seal/open-record.ts";
import { type Opened, type Opener } from "../seal/opener.ts";
import { type SealLimits } from "../seal/sealer.ts";
import { type Suite } from "../seal/suite.ts";
import { type Accept, Kind } from "../wire/header.ts";
import { type Bytes } from "../bytes.ts";

/** Milliseconds for which the openers of an epoch are kept after the switch to the next. */
const OLD_EPOCH_WINDOW = 5_000;
/** Old epochs that are kept at most. */
const MAX_OLD_EPOCHS = 5;

const OPENER = { [Kind.Control]: "control", [Kind.Media]: "media", [Kind.Cell]: "cell" } as const;

interface Next {
  readonly keys: EpochKeys;
  readonly secret: EpochSecret;
}

interface Old {
  readonly keys: EpochKeys;
  readonly until: number;
}

/** A record that was opened, and whether it is of the epoch after the current one. */
export interface OpenedRecord {
  readonly opened: Opened;
  readonly next: boolean;
}

/** The current epoch, some before it for late records, and the next one from the agreement to the switch. */
export class KeyRing {
  readonly #suite: Suite;
  readonly #side: Side;
  readonly #limits: SealLimits;
  #secret: EpochSecret;
  #current: EpochKeys;
  #since: number;
  readonly #old: Old[] = [];
  #next: Next | undefined;

  private constructor(
    suite: Suite, side: Side, limits: SealLimits, secret: EpochSecret, keys: EpochKeys, since: number,
  ) {
    this.#suite = suite;
    this.#side = side;
    this.#limits = limits;
    this.#secret = secret;
    this.#current = keys;
    this.#since = since;
  }

  static async create(
    secret: EpochSecret, suite: Suite, side: Side, limits: SealLimits, now: number,
  ): Promise<KeyRing> {
    return new KeyRing(suite, side, limits, secret, await epochKeys(secret, suite, side, limits), now);
  }

  get current(): EpochKeys {
    return this.#current;
  }

  get secret(): EpochSecret {
    return this.#secret;
  }

  /** When the current epoch began, by the monotonic clock. */
  get since(): number {
    return this.#since;
  }

  /** Number of the next epoch. */
  get nextNumber(): bigint {
    return this.#current.number + 1n;
  }

  get hasNext(): boolean {
    return this.#next !== undefined;
  }

  /** Records sealed under the current keys of control or media, whichever are more. */
  get sealed(): number {
    return Math.max(this.#current.seal.control.sealed, this.#current.seal.media.sealed);
  }

  /** Installs the next epoch's keys, so that its records can be opened. */
  async installNext(secret: EpochSecret): Promise<void> {
    this.#next = { secret, keys: await epochKeys(secret, this.#suite, this.#side, this.#limits) };
  }

  /** Seals under the next epoch from here on, and wipes the secret of the one before. Returns the new number. */
  switch(now: number): bigint | undefined {
    if (this.#next === undefined) {
      return undefined;
    }
    this.#old.push({ keys: this.#current, until: now + OLD_EPOCH_WINDOW });
    if (this.#old.length > MAX_OLD_EPOCHS) {
      this.#old.shift();
    }
    this.#secret.wipe();
    [this.#secret, this.#current, this.#since] = [this.#next.secret, this.#next.keys, now];
    this.#next = undefined;
    return this.#current.number;
  }

  /** Forgets the keys of old epochs whose window is over. */
  retire(now: number): void {
    while ((this.retirement ?? Infinity) <= now) {
      this.#old.shift();
    }
  }

  /** When the oldest epoch's window is over. */
  get retirement(): number | undefined {
    return this.#old[0]?.until;
  }

  /** Wipes all secrets at the end of the session. */
  wipe(): void {
    this.#secret.wipe();
    this.#next?.secret.wipe();
  }

  #keysOf(epoch: number): EpochKeys | undefined {
    const known = [this.#current, this.#next?.keys, ...this.#old.map(({ keys }) => keys)];
    return known.find((keys) => keys !== undefined && wireNumber(keys.number) === epoch);
  }

  /** Opens a record, or says why it is refused. */
  async open(record: Bytes, accept: Accept): Promise<OpenedRecord | Refusal> {
    let found: EpochKeys | undefined;
    const opened = await openRecord(record, accept, (kind, epoch): Opener | undefined => {
      found = this.#keysOf(epoch);
      return found?.open[OPENER[kind]];
    });
    return typeof opened === "string" ? opened : { opened, next: found !== undefined && found === this.#next?.keys };
  }

  /** True if a key failed to open so many records that the session must end. */
  get integritySpent(): boolean {
    const all = [this.#current, this.#next?.keys, ...this.#old.map(({ keys }) => keys)];
    return all.some((keys) => keys !== undefined && Object.values(keys.open).some((opener) => opener.integritySpent));
  }
}
