// The openers that a member holds: of the epoch in use, and of some around it (groups.md, section 8).

import { type Bytes, equal } from "../bytes.ts";
import { type Refusal } from "../error.ts";
import { type Opened, type Opener } from "../seal/opener.ts";
import { type Suite } from "../seal/suite.ts";
import { type Header } from "../wire/header.ts";
import { ROOT } from "./node.ts";
import { type Group, type NodeSecret, hasSound, soundOf } from "./secret.ts";

/** Steps of the ratchet from a sheet, at most. */
export const MAX_RATCHET = 64n;
/** Milliseconds for which the openers of earlier epochs are kept, from when a later one is in use. */
const OLD_EPOCH_WINDOW = 5_000;
/** Earlier epochs kept at most. */
const MAX_OLD_EPOCHS = 16;
/** Later epochs kept at most, of which no frame is known to be the camera's. */
const MAX_AHEAD = 4;
/** Epochs before a sheet's whose openers are made when it is taken, for records under way. */
const UNDER_WAY = 2n;

/** What a sheet says of its epoch, and what later ones are derived from. */
export interface Base {
  readonly group: Group;
  readonly suite: Suite;
  readonly epoch: bigint;
  /** The group secret. */
  readonly secret: NodeSecret;
}

/** The openers of an epoch: of the group's stream, and of the sound beside it. */
interface Openers {
  readonly picture: Opener;
  readonly sound: Opener;
}

interface Held {
  readonly epoch: bigint;
  readonly openers: Openers;
  /** When it is dropped, of an epoch before the one in use. */
  until: number;
}

/** A media record of a group that was opened, with the full number of its epoch. */
export interface OpenedInEpoch {
  readonly opened: Opened;
  readonly epoch: bigint;
}

/** The group secret of an epoch that the ratchet leads to; the caller wipes it. */
async function secretOf(base: Base, epoch: bigint): Promise<NodeSecret | undefined> {
  const steps = epoch - base.epoch;
  return steps < 0n || steps > MAX_RATCHET
    ? undefined : base.secret.ratcheted(base.group, ROOT, base.epoch, epoch);
}

async function openersOf(base: Base, epoch: bigint): Promise<Openers | undefined> {
  const secret = await secretOf(base, epoch);
  if (secret === undefined) {
    return undefined;
  }
  const { group, suite } = base;
  const [picture, sound] = await Promise.all([
    secret.opener(group, epoch, suite), secret.opener(soundOf(group), epoch, suite),
  ]);
  secret.wipe();
  return { picture, sound };
}

/** True if both are of one run of one leader, so that numbers and replay windows go on. */
function goesOn(before: Base, next: Base): boolean {
  return equal(before.group.run, next.group.run) && before.suite.id === next.suite.id;
}

/** Openers by epoch. One call at a time: the caller awaits each. */
export class GroupEpochs {
  #base: Base;
  /** The newest epoch of which a frame is known to be the camera's. */
  #inUse: bigint;
  /** In ascending order; at most `MAX_OLD_EPOCHS`, the one in use, and `MAX_AHEAD`. */
  #held: Held[] = [];

  constructor(base: Base) {
    this.#base = base;
    this.#inUse = base.epoch;
  }

  /** Goes on from a sheet, whose epoch is later than that of the last one. */
  async rebase(base: Base): Promise<void> {
    const before = this.#base;
    this.#base = base;
    if (!goesOn(before, base)) {
      this.#held = [];
      this.#inUse = base.epoch;
      return;
    }
    const own = await secretOf(before, base.epoch);
    if (own?.equals(base.secret) !== true) {
      this.#held = this.#held.filter(({ epoch }) => epoch < base.epoch);
      this.#inUse = this.#inUse < base.epoch ? this.#inUse : base.epoch;
    }
    own?.wipe();
    const first = base.epoch > UNDER_WAY ? base.epoch - UNDER_WAY : 0n;
    // Epochs in which no frame was known to be the camera's were perhaps one member's alone, and would take the place
    // of the sheet's.
    this.#held = this.#held.filter(({ epoch }) => epoch <= this.#inUse || epoch >= first);
    for (let epoch = first; epoch < base.epoch; epoch += 1n) {
      if (epoch >= this.#inUse && this.#find(epoch) === undefined) {
        this.#insert(epoch, await openersOf(before, epoch));
      }
    }
    this.#bound();
  }

  /** The epoch that a header means: the nearest one with these low bits. */
  #epochOf(lowBits: number): bigint {
    return this.#base.epoch + BigInt.asIntN(16, BigInt(lowBits) - this.#base.epoch);
  }

  /** Opens a record, under an opener that is held or one that the ratchet leads to. */
  async open(header: Header, record: Bytes): Promise<OpenedInEpoch | Refusal> {
    const epoch = this.#epochOf(header.epoch);
    const held = this.#find(epoch);
    if (held === undefined && epoch < this.#inUse) {
      // Its opener was dropped, and another one would have forgotten which records it opened.
      return "unknown-epoch";
    }
    const openers = held?.openers ?? (await openersOf(this.#base, epoch));
    const opened = (await this.#of(openers, header)?.open(header, record)) ?? "unknown-epoch";
    if (typeof opened === "string") {
      return opened;
    }
    if (held === undefined) {
      this.#insert(epoch, openers);
      this.#bound();
    }
    return { opened, epoch };
  }

  #of(openers: Openers | undefined, { stream }: Header): Opener | undefined {
    return hasSound(this.#base.group, stream) ? openers?.sound : openers?.picture;
  }

  /** True if a record is of an epoch after the sheet's, and the ratchet does not lead to its key. */
  async waitsForKey(header: Header, record: Bytes): Promise<boolean> {
    const epoch = this.#epochOf(header.epoch);
    if (epoch <= this.#base.epoch || this.#find(epoch) !== undefined) {
      return false;
    }
    const opener = this.#of(await openersOf(this.#base, epoch), header);
    return opener === undefined || typeof (await opener.open(header, record)) === "string";
  }

  /** Notes that a frame under this epoch is the camera's. */
  async confirm(now: number, epoch: bigint): Promise<void> {
    if (epoch <= this.#inUse) {
      return;
    }
    if (this.#find(epoch) === undefined) {
      const openers = await openersOf(this.#base, epoch);
      if (openers === undefined) {
        return;
      }
      this.#insert(epoch, openers);
    }
    this.#inUse = epoch;
    for (const old of this.#held) {
      old.until = old.epoch < epoch ? Math.min(old.until, now + OLD_EPOCH_WINDOW) : old.until;
    }
    this.#bound();
  }

  /** Drops what has been kept long enough. */
  retire(now: number): void {
    this.#held = this.#held.filter(({ until }) => now < until);
  }

  /** True if so many records failed under one key that it may not be used any more. */
  get integritySpent(): boolean {
    return this.#held.some(({ openers: { picture, sound } }) => picture.integritySpent || sound.integritySpent);
  }

  #find(epoch: bigint): Held | undefined {
    return this.#held.find((held) => held.epoch === epoch);
  }

  #insert(epoch: bigint, openers: Openers | undefined): void {
    if (openers !== undefined) {
      this.#held.push({ epoch, openers, until: Infinity });
      this.#held.sort((a, b) => (a.epoch < b.epoch ? -1 : 1));
    }
  }

  /** Drops the earliest of too many earlier epochs, and the furthest of too many later ones. */
  #bound(): void {
    const old = this.#held.filter(({ epoch }) => epoch < this.#inUse);
    const used = this.#held.filter(({ epoch }) => epoch === this.#inUse);
    const ahead = this.#held.filter(({ epoch }) => epoch > this.#inUse);
    this.#held = [...old.slice(-MAX_OLD_EPOCHS), ...used, ...ahead.slice(0, MAX_AHEAD)];
  }
}
