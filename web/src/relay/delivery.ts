// Takes a track of the camera's broadcast from the relay: its newest group first, then each that follows, in order.

import { type Bytes } from "../protocol/bytes.ts";
import { type RelayedObject, type RelayTrack } from "../protocol/index.ts";
import { type Time } from "../worker/clock.ts";
import { type Broadcast, type IncomingGroup, MAX_OBJECT, type Subscription } from "./relay.ts";

/** Groups of a track that wait for the one before; further ones stay with the library. */
const MAX_WAITING = 64;
/** Milliseconds for which a group waits for one with a number in between: relays send the newest of several first. */
const REORDERED = 50;
/** Milliseconds for which a group may stall while a later one is there. */
const PATIENCE = 500;
/** Milliseconds before a track that failed is asked for again. */
const RETRY = 250;
/** Keys before proofs before video: each is useless without those before it, and they are small. So is sound. */
const PRIORITIES: Readonly<Record<RelayTrack, number>> = { keys: 3, proofs: 2, sound: 2, video: 1 };

/** Takes an object. Where a promise comes back, no more is read of the track before it is settled. */
export type TakeObject = (object: RelayedObject) => Promise<void> | undefined;

/** Groups that came, and wait for their turn. */
class Waiting {
  readonly groups = new Map<number, IncomingGroup>();
  ended = false;
  #wake: (() => void)[] = [];

  /** Resolves at the next change, or when the time is over. */
  changed(time: Time, milliseconds?: number): Promise<"changed" | "late"> {
    return new Promise((resolve) => {
      const cancel = milliseconds === undefined ? undefined : time.after(milliseconds, () => {
        resolve("late");
      });
      this.#wake.push(() => {
        cancel?.();
        resolve("changed");
      });
    });
  }

  wake(): void {
    for (const one of this.#wake.splice(0)) {
      one();
    }
  }
}

/** One track, until it is left. */
export class Delivery {
  readonly #broadcast: Broadcast;
  readonly #track: RelayTrack;
  readonly #time: Time;
  readonly #take: TakeObject;
  /** The newest group of which something was given: no subscription gives it, or an older one, again. */
  #begun: number | undefined;
  #left = false;
  #leave: (() => void) | undefined;

  constructor(broadcast: Broadcast, track: RelayTrack, time: Time, take: TakeObject) {
    this.#broadcast = broadcast;
    this.#track = track;
    this.#time = time;
    this.#take = take;
  }

  /** Gives what comes, until it is left. Never rejects. */
  async run(): Promise<void> {
    while (!this.#left) {
      // A track can fail while its broadcast lasts, such as when a relay hands over to another.
      await this.#subscribe().catch(() => undefined);
      await this.#pause();
    }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#left) {
        resolve();
        return;
      }
      const cancel = this.#time.after(RETRY, resolve);
      this.#leave = () => {
        cancel();
        resolve();
      };
    });
  }

  /** Nothing more is given. */
  leave(): void {
    this.#left = true;
    this.#leave?.();
  }

  async #subscribe(): Promise<void> {
    const from = this.#begun === undefined ? {} : { from: this.#begun + 1 };
    const subscription = await this.#broadcast.subscribe(this.#track, { priority: PRIORITIES[this.#track], ...from });
    const waiting = new Waiting();
    const leave = (): void => {
      waiting.ended = true;
      subscription.leave();
      waiting.wake();
    };
    this.#leave = leave;
    if (this.#left) {
      leave();
      return;
    }
    void this.#collect(subscription, waiting);
    for (let group = await this.#next(waiting); group !== undefined; group = await this.#next(waiting)) {
      this.#begun = group.number;
      await this.#give(group, waiting);
    }
    leave();
  }

  async #collect(subscription: Subscription, waiting: Waiting): Promise<void> {
    try {
      for (let first = true; ; first = false) {
        if (waiting.groups.size >= MAX_WAITING) {
          await waiting.changed(this.#time);
        }
        const group = await subscription.next();
        if (group === undefined || this.#left) {
          break;
        }
        if (first) {
          subscription.keepFrom(group.number);
        }
        if (this.#begun !== undefined && group.number <= this.#begun) {
          group.leave();
        } else {
          waiting.groups.set(group.number, group);
          waiting.wake();
        }
      }
    } catch {
      // What waits is still given.
    }
    waiting.ended = true;
    waiting.wake();
  }

  /** The oldest group that waits, unless one in between can still come. */
  async #next(waiting: Waiting): Promise<IncomingGroup | undefined> {
    for (let late = false; !this.#left; ) {
      const oldest = [...waiting.groups.keys()].sort((a, b) => a - b)[0];
      const inTurn = this.#begun === undefined || oldest === this.#begun + 1;
      if (oldest !== undefined && (inTurn || late || waiting.ended)) {
        const group = waiting.groups.get(oldest);
        waiting.groups.delete(oldest);
        waiting.wake();
        return group;
      }
      if (waiting.ended) {
        return undefined;
      }
      late = (await waiting.changed(this.#time, oldest === undefined ? undefined : REORDERED)) === "late";
    }
    return undefined;
  }

  /** Gives the objects of a group. The rest of it is left out if it stalls while a later one is there. */
  async #give(group: IncomingGroup, waiting: Waiting): Promise<void> {
    for (let begins = true; !this.#left; begins = false) {
      const object = await this.#object(group, waiting);
      if (object === undefined || object.length > MAX_OBJECT) {
        break;
      }
      await this.#take({ track: this.#track, begins, bytes: object });
    }
    group.leave();
  }

  async #object(group: IncomingGroup, waiting: Waiting): Promise<Bytes | undefined> {
    // A relay or the publisher can give a group up.
    const next = group.next().catch(() => undefined);
    for (;;) {
      const stalls = waiting.changed(this.#time, waiting.groups.size > 0 ? PATIENCE : undefined);
      const first = await Promise.race([next.then((object) => ({ object })), stalls]);
      if (first === "late" || this.#left) {
        return undefined;
      }
      if (first !== "changed") {
        // The timer of this wait, and its place among those that wait, go.
        waiting.wake();
        return first.object;
      }
    }
  }
}
