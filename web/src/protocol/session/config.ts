// Configuration of a session.

import { type Bytes } from "../bytes.ts";
import { misuse } from "../error.ts";
import { type Side } from "../keys/epoch.ts";
import { type HandshakeConfig } from "../keys/handshake.ts";
import { type SealLimits } from "../seal/sealer.ts";
import { MAX_BLOCKS } from "../seal/suite.ts";
import { type PeerId } from "../wire/peer-id.ts";
import { type Unit } from "../unit/unit.ts";
import { type GroupPolicy } from "./membership.ts";
import { type ShapePlan } from "./shape-plan.ts";

/** Soft limits of keys.md, section 6, and the strictest that a program may ask for. */
const MAX_SOFT_RECORDS = 2 ** 20;
const MIN_SOFT_RECORDS = 16;
const MAX_SOFT_AGE = 600_000;
const MIN_SOFT_AGE = 100;
/** The hard limit on records is this many times the soft one. */
const HARD_RECORDS_FACTOR = 2;
/** The hard limit on age is so many milliseconds past the soft one. */
const HARD_AGE_GRACE = 60_000;
/** Milliseconds for which a publisher waits at most for a keyframe to switch at. */
export const SWITCH_PATIENCE = 1_000;

/** When a new epoch is begun. */
export class RekeyPolicy {
  /** Records of one key, soft. */
  readonly softRecords: number;
  /** Milliseconds of an epoch, soft. */
  readonly softAge: number;

  /**
   * @param softRecords 16 to 2²⁰
   * @param softAge 100 to 600 000 milliseconds
   */
  constructor(softRecords = MAX_SOFT_RECORDS, softAge = MAX_SOFT_AGE) {
    const records = Number.isInteger(softRecords) && softRecords >= MIN_SOFT_RECORDS && softRecords <= MAX_SOFT_RECORDS;
    if (!records || !(softAge >= MIN_SOFT_AGE && softAge <= MAX_SOFT_AGE)) {
      throw misuse("an epoch has 16 to 1048576 records, and 100 to 600000 milliseconds");
    }
    this.softRecords = softRecords;
    this.softAge = softAge;
  }

  /** Halfway from the soft to the hard number of records: from here on a new epoch is urgent. */
  get pressingRecords(): number {
    return this.softRecords + (this.softRecords * (HARD_RECORDS_FACTOR - 1)) / 2;
  }

  /** The age at which the next epoch is offered: early enough to be agreed on before the soft age is over. */
  get offerAge(): number {
    return this.softAge - Math.min(SWITCH_PATIENCE, this.softAge / 2);
  }

  /** The age from which on a publisher switches at a keyframe. */
  get switchAge(): number {
    return this.softAge - Math.min(SWITCH_PATIENCE, this.softAge / 8);
  }

  get hardAge(): number {
    return this.softAge + HARD_AGE_GRACE;
  }

  get hardLimits(): SealLimits {
    return { records: this.softRecords * HARD_RECORDS_FACTOR, blocks: MAX_BLOCKS };
  }

  /** True if so many cells were sealed that a new epoch is due; a stricter soft limit does not hold for cells. */
  static cellsUsedUp(cells: number): boolean {
    return cells >= MAX_SOFT_RECORDS;
  }
}

/** Configuration of a session on a byte stream. */
export interface SessionConfig {
  readonly handshake: HandshakeConfig;
  readonly side: Side;
  /** Initiator: the peer id of the ticket. */
  readonly pinned?: PeerId;
  /** Initiator: the mechanism of its first share; else its first. */
  readonly guess?: number;
  readonly rekey?: RekeyPolicy;
  /** Viewer: which groups it joins; none if it does not say. */
  readonly group?: GroupPolicy;
  /** Publisher: the terms of its group, which is offered to the viewer by them; without them it has none. */
  readonly terms?: Bytes;
  /** Publisher: what one record holds; `frame` if it does not say. */
  readonly unit?: Unit;
  /** Publisher: repeats the choice of a selection by rate. Not a secret. */
  readonly selectionSeed?: number;
  /** Publisher: the cells that both ends send, instead of records as they come. */
  readonly shape?: ShapePlan;
}
