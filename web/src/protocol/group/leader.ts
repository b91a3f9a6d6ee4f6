// The camera's side of a group: who is a member, when epochs begin, and the sheets that say so (groups.md, section 7).

import { type Bytes } from "../bytes.ts";
import { misuse } from "../error.ts";
import { type Identity } from "../keys/identity.ts";
import { type SealLimits, type Sealer } from "../seal/sealer.ts";
import { type Suite } from "../seal/suite.ts";
import { MAX_RATCHET } from "./epochs.ts";
import { type LeaderRefusal, Pending } from "./pending.ts";
import { type NodeSecret, soundOf } from "./secret.ts";
import { RUN_LEN, type Scope, sheetBytes } from "./sheet.ts";
import { Tree } from "./tree.ts";

/** Milliseconds from the first of an epoch's changes until it is in force, at most. */
export const IN_FORCE_WITHIN = 1_000;
/** Milliseconds after its announcement within which an epoch is in force, at most. */
export const SWITCH_WITHIN = 500;
/**
 * Places in the group of a page: one for each viewer that is enrolled, and one for each that has a session. There are
 * at most 256, so that every sheet is full (`FULL_UP_TO` of the specification).
 */
export const MAX_PLACES = 128;

/** Epoch numbers that the program has reserved, from `next` up to `end`, without it (groups.md, section 1). */
export interface EpochNumbers {
  readonly next: bigint;
  readonly end: bigint;
}

/** Settings of a leader. */
export interface LeaderConfig {
  readonly identity: Identity;
  /** The number of the camera's stream, 1 to 15. */
  readonly stream: number;
  readonly suite: Suite;
  readonly limits: SealLimits;
}

/** An epoch that was announced. */
export interface Announcement {
  readonly epoch: bigint;
  /** The sheet for everybody; absent where members reach the epoch by themselves. */
  readonly sheet?: Bytes;
  readonly admitted: readonly number[];
  readonly removed: readonly number[];
}

/** The epoch under which records are sealed. */
export interface InForce {
  readonly epoch: bigint;
  readonly sealer: Sealer;
  /** Seals the sound beside the stream. */
  readonly sound: Sealer;
}

/** Leads the group of one stream, in one run. One call at a time: the caller awaits each. Times are milliseconds. */
export class Leader {
  readonly #config: LeaderConfig;
  readonly #tree: Tree;
  #numbers: EpochNumbers;
  #pending = new Pending();
  /** When the epoch that was announced is in force at the latest. */
  #underWay: number | undefined;
  #lastSheet: bigint;
  #effect: bigint;

  private constructor(config: LeaderConfig, tree: Tree, numbers: EpochNumbers, group: bigint) {
    this.#config = config;
    this.#tree = tree;
    this.#numbers = numbers;
    this.#lastSheet = tree.epoch;
    this.#effect = group;
  }

  /**
   * A leader without members, and its first epoch, which is in force.
   * @param numbers those that the program reserved before this call
   * @param group the number of the group of pictures that begins next
   * @param run 16 fresh random bytes, and `seed` 32 others
   */
  static async create(
    config: LeaderConfig, numbers: EpochNumbers, group: bigint, run: Bytes, seed: Bytes,
  ): Promise<{ readonly leader: Leader; readonly first: InForce }> {
    if (numbers.next >= numbers.end || run.length !== RUN_LEN) {
      throw misuse("a leader needs epoch numbers that were reserved, and 16 random bytes");
    }
    const { identity, stream } = config;
    const tree = await Tree.create({ camera: identity.peerId, stream, run: run.slice() }, numbers.next, seed);
    const leader = new Leader(config, tree, { ...numbers, next: numbers.next + 1n }, group);
    return { leader, first: await leader.#inForce() };
  }

  /** Takes further numbers, which the program has reserved: those up to `end`, without it. */
  reserve(end: bigint): void {
    this.#numbers = { ...this.#numbers, end: end > this.#numbers.end ? end : this.#numbers.end };
  }

  get numbersLeft(): bigint {
    return this.#numbers.end - this.#numbers.next;
  }

  /** The newest announced epoch. */
  get epoch(): bigint {
    return this.#tree.epoch;
  }

  /** Members, as of the newest announced epoch. */
  get members(): number {
    return this.#tree.members;
  }

  /** Makes a member, from the next epoch on; `key` is its member key, which this takes over. */
  admit(now: number, member: number, key: NodeSecret): LeaderRefusal | undefined {
    return this.#pending.admit(now, member, key, this.#tree.seats(member), this.#tree.members, MAX_PLACES);
  }

  /** Removes a member, or takes its admission back. */
  remove(now: number, member: number): LeaderRefusal | undefined {
    return this.#pending.remove(now, member, this.#tree.seats(member));
  }

  /** Draws a new group secret with the next epoch. */
  rekey(now: number): void {
    this.#pending.rekey(now);
  }

  /**
   * Announces the next epoch, if changes wait and the one before is in force.
   * @param nextGroup the number of the group of pictures that begins next
   * @param seed 32 fresh random bytes
   * @throws ProtocolError `misuse` without a reserved number; the changes go on waiting
   */
  async announce(now: number, nextGroup: bigint, seed: Bytes): Promise<Announcement | undefined> {
    const pending = this.#pending;
    if (pending.since === undefined || this.#underWay !== undefined) {
      return undefined;
    }
    const epoch = this.#numbers.next;
    if (epoch >= this.#numbers.end) {
      throw misuse("the reserved epoch numbers are used up");
    }
    this.#numbers = { ...this.#numbers, next: epoch + 1n };
    this.#pending = new Pending();
    const renew = pending.renew || epoch - this.#lastSheet >= MAX_RATCHET;
    this.#underWay = Math.min(pending.since + IN_FORCE_WITHIN, now + SWITCH_WITHIN);
    const renewed = await this.#tree.advance(epoch, { leave: pending.leave, join: pending.join, renew }, seed);
    this.#effect = nextGroup > this.#effect ? nextGroup : this.#effect;
    const changes = { epoch, admitted: [...pending.join.keys()], removed: [...pending.leave] };
    if (renewed.size === 0) {
      return changes;
    }
    this.#lastSheet = epoch;
    return { ...changes, sheet: await this.fullSheet() };
  }

  /** The epoch to seal under from here on, if it is time for the one that was announced. */
  async switch(now: number, groupBegins: boolean): Promise<InForce | undefined> {
    if (this.#underWay === undefined || (!groupBegins && now < this.#underWay)) {
      return undefined;
    }
    this.#underWay = undefined;
    return this.#inForce();
  }

  /** When `announce` or `switch` is due; `undefined` while nothing waits. */
  get deadline(): number | undefined {
    return this.#underWay ?? this.#pending.since;
  }

  /** The full sheet of the newest announced epoch. */
  async fullSheet(): Promise<Bytes> {
    return this.#sheet("full", await this.#tree.allWraps());
  }

  /** The sheet of the newest announced epoch for one member; `undefined` if it is none. */
  async pathSheet(member: number): Promise<Bytes | undefined> {
    const wraps = await this.#tree.wrapsOf(member);
    return wraps && this.#sheet("path", wraps);
  }

  #sheet(scope: Scope, wraps: ReadonlyMap<number, Bytes>): Promise<Bytes> {
    const { suite, identity } = this.#config;
    const head = { scope, suite: suite.id, group: this.#tree.group, epoch: this.#tree.epoch, effect: this.#effect };
    return sheetBytes(head, wraps, identity);
  }

  async #inForce(): Promise<InForce> {
    const { epoch, group, groupSecret } = this.#tree;
    const { suite, limits } = this.#config;
    const [sealer, sound] = await Promise.all([
      groupSecret.sealer(group, epoch, suite, limits), groupSecret.sealer(soundOf(group), epoch, suite, limits),
    ]);
    return { epoch, sealer, sound };
  }

  /** Overwrites all secrets. */
  wipe(): void {
    this.#tree.wipe();
    for (const key of this.#pending.join.values()) {
      key.wipe();
    }
  }
}
