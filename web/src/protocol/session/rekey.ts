// The state of agreements on new epochs (protocol.md, section 4, "Rekeying").

import { type Bytes, equal } from "../bytes.ts";
import { type DecapsulationKey } from "../crypto/mechanism.ts";
import { SWITCH_PATIENCE } from "./config.ts";

/** Milliseconds after which an unanswered offer is sent again. */
const OFFER_PATIENCE = 500;
/** Milliseconds between a viewer's requests that are honoured. */
const REQUEST_INTERVAL = 1_000;

/** Why a new epoch was begun. */
export type RekeyCause = "time" | "count" | "demand";

type LeaderState =
  | { readonly name: "idle" }
  | { readonly name: "offered"; readonly key: DecapsulationKey; readonly offer: Bytes; sent: number }
  /** The switch happens at the first keyframe from `from` on, or at `until` if none came before. */
  | { readonly name: "ready"; readonly from: number; readonly until: number };

/** The publisher's half. */
export class RekeyLeader {
  #state: LeaderState = { name: "idle" };
  #cause: RekeyCause = "demand";
  #lastRequest = -Infinity;

  get isIdle(): boolean {
    return this.#state.name === "idle";
  }

  /** True if a viewer's request may be honoured now; the next one must wait then. */
  allowsRequest(now: number): boolean {
    const allowed = this.isIdle && now >= this.#lastRequest + REQUEST_INTERVAL;
    if (allowed) {
      this.#lastRequest = now;
    }
    return allowed;
  }

  /** Notes an offer that is sent now. */
  offered(now: number, key: DecapsulationKey, offer: Bytes, cause: RekeyCause): void {
    this.#state = { name: "offered", key, offer, sent: now };
    this.#cause = cause;
  }

  /** The offer that awaits its answer, and its key. */
  get outstanding(): { readonly key: DecapsulationKey; readonly offer: Bytes } | undefined {
    return this.#state.name === "offered" ? this.#state : undefined;
  }

  /** The offer, if it must be sent again now. */
  repeat(now: number): Bytes | undefined {
    if (this.#state.name !== "offered" || now < this.#state.sent + OFFER_PATIENCE) {
      return undefined;
    }
    this.#state.sent = now;
    return this.#state.offer;
  }

  /** Notes the answer. `lastPart` is the last part of the soft age, in which an epoch that was begun for it ends. */
  answered(now: number, lastPart: readonly [from: number, until: number]): void {
    const [from, until] = this.#cause === "time" ? lastPart : [now, now + SWITCH_PATIENCE];
    this.#state = { name: "ready", from, until };
  }

  /** True if this is the place to switch: a keyframe, or the end of the wait for one. */
  shouldSwitch(now: number, keyframe: boolean): boolean {
    const { name } = this.#state;
    return name === "ready" && ((keyframe && now >= this.#state.from) || now >= this.#state.until);
  }

  /** Notes the switch, and returns why the epoch was begun. */
  switched(): RekeyCause {
    this.#state = { name: "idle" };
    return this.#cause;
  }

  get deadline(): number | undefined {
    switch (this.#state.name) {
      case "idle":
        return undefined;
      case "offered":
        return this.#state.sent + OFFER_PATIENCE;
      case "ready":
        return this.#state.until;
    }
  }
}

/** The viewer's half. */
export class RekeyFollower {
  #answered: { readonly offer: Bytes; readonly answer: Bytes } | undefined;
  #asked = -Infinity;

  /** True if this end may ask for a new epoch by itself now; the next request must wait then. */
  mayAsk(now: number): boolean {
    const allowed = now >= this.mayAskAt;
    if (allowed) {
      this.#asked = now;
    }
    return allowed;
  }

  get mayAskAt(): number {
    return this.#asked + REQUEST_INTERVAL;
  }

  /** The answer to this offer, if it was given already. */
  repeated(offer: Bytes): Bytes | undefined {
    return this.#answered !== undefined && equal(this.#answered.offer, offer) ? this.#answered.answer : undefined;
  }

  /** Notes an answer, so that a repeated offer gets the same one. */
  noteAnswer(offer: Bytes, answer: Bytes): void {
    this.#answered = { offer: offer.slice(), answer };
  }
}

