// The encoder follows what the path carries.
//
// A stream of bytes in order loses nothing and says nothing: it only takes bytes later. So what waits is the signal, in
// the carrier of this browser, and behind it, where only the exchanges of clocks tell: their messages wait in the same
// line.

import { PING_INTERVAL } from "../protocol/index.ts";

/** Bits a second at least: less is no picture. */
export const LEAST_RATE = 150_000;
/** Milliseconds of waiting bytes above which the rate falls. */
export const TARGET_WAIT = 100;
/** The same above which pictures are left out before they are encoded: the rate has had time to fall. */
export const GATE_WAIT = 200;
/** Milliseconds by which an exchange may be late before bytes are taken to wait somewhere on the way. */
const LATE = 150;
/** Milliseconds that pictures may be longer than the rate allows: a keyframe is. Encoders are not exact, either. */
const BURST = 400;
/** Part of the chosen rate at which a session begins: a path that carries less is then found before much waits. */
const BEGIN = 0.25;
/** Milliseconds for which nothing is encoded at most so that the path is emptied. */
const LONGEST_PAUSE = 1_000;
/** Below this part of the target the rate rises. */
const CALM = 0.5;
/** Milliseconds for which bytes must wait all the time: a keyframe alone waits as well, and soon has left. */
const STANDING = 150;
/** Milliseconds between changes: the effect of one shows only then. */
const RISE_INTERVAL = 200;
const FALL_INTERVAL = 400;
/** Part of the highest rate that is added; on a path that carries much less of it, part of the present one. */
const RISE = 0.03;
const RISE_OF_RATE = 0.1;
/** Part of the rate that is left. */
const FALL = 0.7;
/** Exchanges of clocks among which the shortest is the path's own round trip: half a minute. */
const REMEMBERED = 60;
/** Part by which the encoder's rate must be wrong before it is configured anew, which costs it a moment. */
const WORTH_IT = 0.08;

/**
 * Additive increase, multiplicative decrease. It reads no clock: times are milliseconds of any origin. Call `observe`
 * several times a second.
 */
export class RateController {
  readonly #ceiling: number;
  readonly #floor: number;
  readonly #roundTrips: number[] = [];
  #rate: number;
  /** Since when bytes have waited too long, without a break. */
  #waitingSince: number | undefined;
  /** Since when little has waited, without a break. */
  #calmSince: number | undefined;
  /** When the last exchange of clocks ended; not yet, and nothing is late. */
  #exchanged = Infinity;
  /** The same, of the exchange after which one was late and the rate fell for it. */
  #fellAfter = Infinity;
  /** Bytes of pictures beyond what the rate allowed up to this time. */
  #debt = 0;
  #debtAt = -Infinity;
  /** Until when the path is left to empty itself. */
  #pausedUntil = -Infinity;
  #rose = -Infinity;
  #fell = -Infinity;
  #applied: number;

  /** @param chosen bits a second at most */
  constructor(chosen: number) {
    this.#ceiling = chosen;
    this.#floor = Math.min(LEAST_RATE, chosen);
    this.#rate = Math.max(this.#floor, chosen * BEGIN);
    this.#applied = this.#rate;
  }

  /** Bits a second now. */
  get rate(): number {
    return Math.round(this.#rate);
  }

  /** Milliseconds that so many bytes take at this rate. */
  milliseconds(bytes: number): number {
    return (bytes * 8_000) / this.#rate;
  }

  /** True if so much waits that the next picture is better left out, before it is encoded. */
  isFull(now: number, backlog: number): boolean {
    const waits = this.milliseconds(backlog) > GATE_WAIT || this.milliseconds(this.#debtNow(now)) > BURST;
    return waits || now < this.#pausedUntil || this.#lateBy(now) > 0;
  }

  /** Notes the bytes of a picture that was encoded. */
  encoded(now: number, bytes: number): void {
    this.#debt = this.#debtNow(now) + bytes;
    this.#debtAt = now;
  }

  #debtNow(now: number): number {
    return this.#debt === 0 ? 0 : Math.max(0, this.#debt - ((now - this.#debtAt) * this.#rate) / 8_000);
  }

  /** For how many milliseconds the next exchange of clocks has been late; negative if it is not. */
  #lateBy(now: number): number {
    return now - this.#exchanged - PING_INTERVAL - this.#shortest - LATE;
  }

  get #shortest(): number {
    return Math.min(...this.#roundTrips);
  }

  /** Notes how many bytes wait in the carrier. */
  observe(now: number, backlog: number): void {
    const wait = this.milliseconds(backlog);
    this.#waitingSince = wait > TARGET_WAIT ? (this.#waitingSince ?? now) : undefined;
    this.#calmSince = wait < TARGET_WAIT * CALM ? (this.#calmSince ?? now) : undefined;
    const standing = this.#waitingSince !== undefined && now - this.#waitingSince >= STANDING;
    if (standing) {
      this.#fall(now);
    } else if (this.#lateBy(now) > 0) {
      // Once: nothing is encoded until it has come.
      if (this.#fellAfter !== this.#exchanged) {
        this.#fellAfter = this.#exchanged;
        this.#fall(now);
      }
      this.#calmSince = undefined;
    } else if (this.#calmSince !== undefined && now - Math.max(this.#calmSince, this.#rose) >= RISE_INTERVAL) {
      const more = Math.min(this.#ceiling * RISE, this.#rate * RISE_OF_RATE);
      this.#rate = Math.min(this.#ceiling, this.#rate + more);
      this.#rose = now;
    }
  }

  /** Notes the round trip of an exchange of clocks (ms): what it takes above the shortest waited behind our bytes. */
  observeRoundTrip(now: number, roundTrip: number): void {
    if (roundTrip < 0) {
      // A clock was set in between, so it says nothing but that the path is there.
      this.#exchanged = now;
      return;
    }
    this.#roundTrips.push(roundTrip);
    if (this.#roundTrips.length > REMEMBERED) {
      this.#roundTrips.shift();
    }
    const pausedFor = Math.max(0, this.#lateBy(now));
    this.#exchanged = now;
    const wait = roundTrip - this.#shortest - TARGET_WAIT;
    if (wait > 0) {
      this.#fall(now);
      this.#pausedUntil = now + Math.min(wait - pausedFor, LONGEST_PAUSE);
    }
  }

  #fall(now: number): void {
    this.#calmSince = undefined;
    if (now - this.#fell >= FALL_INTERVAL) {
      this.#rate = Math.max(this.#floor, this.#rate * FALL);
      this.#fell = now;
      this.#waitingSince = undefined;
    }
  }

  /** The rate to configure, if the encoder's is wrong enough. */
  takeChange(): number | undefined {
    const off = Math.abs(this.#rate - this.#applied) / this.#applied;
    const atEnd = (this.#rate === this.#ceiling || this.#rate === this.#floor) && this.#applied !== this.#rate;
    if (off < WORTH_IT && !atEnd) {
      return undefined;
    }
    this.#applied = this.#rate;
    return this.rate;
  }
}
