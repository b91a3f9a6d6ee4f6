// The direction of a session that the other end sends.

import { CarrierError } from "../carrier/carrier.ts";
import { type Time } from "../worker/clock.ts";
import { type SessionObject, parseObject } from "./object.ts";
import { GROUP_BYTES, GROUP_OBJECTS } from "./outlet.ts";
import { APPEARANCE, type Broadcast, type IncomingGroup, type Subscription } from "./relay.ts";

/** Before all other tracks: what is asked in a session is asked by somebody who waits. */
const PRIORITY = 4;
/** Groups that came before one whose turn it is. The window of the other end has fewer. */
const MAX_EARLY = 8;

const UNINTELLIGIBLE = "the other end of the session sent what is not of a session";
const MISSING = "bytes of the session were lost at the relay";
const GIVEN_UP = "the camera, or a relay on the way, gave the session up";

/** The track of the other end, whose objects are read in order, without a gap. One call at a time. */
export class Inlet {
  readonly #subscription: Subscription;
  readonly #time: Time;
  /** The number of the group whose turn it is. */
  #turn = 0;
  #group: IncomingGroup | undefined;
  #objects = 0;
  #bytes = 0;
  readonly #early = new Map<number, IncomingGroup>();
  #failed: CarrierError | undefined;
  #wake: (() => void) | undefined;

  private constructor(subscription: Subscription, time: Time) {
    this.#subscription = subscription;
    this.#time = time;
    void this.#collect();
  }

  /** Subscribes, and waits until the other end is there. @throws CarrierError */
  static async open(broadcast: Broadcast, track: string, time: Time): Promise<Inlet> {
    const wanted = { priority: PRIORITY, from: 0, whole: true };
    const subscription = await broadcast.subscribe(track, wanted).catch(() => {
      throw new CarrierError(GIVEN_UP);
    });
    const inlet = new Inlet(subscription, time);
    const first = await inlet.next();
    if (first.type !== "taken" || first.pieces !== 0n) {
      throw new CarrierError(UNINTELLIGIBLE);
    }
    return inlet;
  }

  /** The next object. @throws CarrierError if something is missing, or is not what an end of a session sends */
  async next(): Promise<SessionObject> {
    for (;;) {
      const group = this.#group ?? await this.#nextGroup();
      const object = await group.next().catch(() => {
        throw new CarrierError(GIVEN_UP);
      });
      if (object === undefined) {
        this.#group = undefined;
        this.#turn += 1;
        continue;
      }
      this.#objects += 1;
      this.#bytes += object.length;
      const parsed = parseObject(object);
      if (parsed === undefined || this.#objects > GROUP_OBJECTS || this.#bytes > GROUP_BYTES) {
        throw new CarrierError(UNINTELLIGIBLE);
      }
      return parsed;
    }
  }

  async #nextGroup(): Promise<IncomingGroup> {
    for (;;) {
      const group = this.#early.get(this.#turn);
      if (group !== undefined) {
        this.#early.delete(this.#turn);
        this.#group = group;
        this.#objects = 0;
        this.#bytes = 0;
        return group;
      }
      if (this.#failed !== undefined) {
        throw this.#failed;
      }
      await new Promise<void>((resolve) => {
        // A later one has come, so this one should have, too.
        const cancel = this.#early.size === 0 ? undefined : this.#time.after(APPEARANCE, () => {
          this.#failed ??= new CarrierError(MISSING);
          resolve();
        });
        this.#wake = () => {
          cancel?.();
          resolve();
        };
      });
    }
  }

  async #collect(): Promise<void> {
    try {
      for (;;) {
        const group = await this.#subscription.next();
        if (group === undefined) {
          break;
        }
        if (group.number < this.#turn || this.#early.size >= MAX_EARLY) {
          throw new CarrierError(MISSING);
        }
        this.#early.set(group.number, group);
        this.#wake?.();
      }
      this.#failed ??= new CarrierError(GIVEN_UP);
    } catch (thrown) {
      this.#failed ??= thrown instanceof CarrierError ? thrown : new CarrierError(GIVEN_UP);
    }
    this.#wake?.();
  }

  /** No more is wanted. */
  leave(): void {
    this.#group?.leave();
    this.#subscription.leave();
  }
}
