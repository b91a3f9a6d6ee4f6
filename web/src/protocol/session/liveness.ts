// Pings, and the detection of lost peers (protocol.md, section 4).

import { type Now } from "../clock/now.ts";

/** Milliseconds between the pings of an established end. */
export const PING_INTERVAL = 500;
/** Milliseconds of silence after which a peer is lost. */
export const PEER_TIMEOUT = 2_000;
/** The same while bytes of an incomplete record keep arriving. */
export const PART_TIMEOUT = 10_000;
/** Pings whose pongs still count. */
const MAX_UNANSWERED = 8;

/** When a peer was heard, and which pings are unanswered. */
export class Liveness {
  #valid: number;
  #bytes: number;
  #nextPing: number;
  readonly #unanswered: bigint[] = [];

  constructor(now: number) {
    this.#valid = now;
    this.#bytes = now;
    this.#nextPing = now;
  }

  /** A valid record came. */
  heard(now: number): void {
    this.#valid = now;
    this.#bytes = now;
  }

  /** Part of a record came. It proves nothing, so it extends the wait only up to a limit. */
  partCame(now: number): void {
    this.#bytes = now;
  }

  isLost(now: number): boolean {
    return now >= this.#lostAt();
  }

  #lostAt(): number {
    return Math.min(this.#bytes + PEER_TIMEOUT, this.#valid + PART_TIMEOUT);
  }

  /** True if a ping is due: it has the wall clock of `now`, and the next one is scheduled. */
  takePing(now: Now): boolean {
    if (now.monotonic < this.#nextPing) {
      return false;
    }
    this.#nextPing = now.monotonic + PING_INTERVAL;
    this.#unanswered.unshift(now.wall);
    this.#unanswered.length = Math.min(this.#unanswered.length, MAX_UNANSWERED);
    return true;
  }

  /** True if a pong with this time answers one of the last pings; once for each. */
  takePong(pinged: bigint): boolean {
    const at = this.#unanswered.indexOf(pinged);
    if (at >= 0) {
      this.#unanswered.splice(at, 1);
    }
    return at >= 0;
  }

  get deadline(): number {
    return Math.min(this.#nextPing, this.#lostAt());
  }
}
