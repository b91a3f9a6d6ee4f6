// The clocks of this worker, and what is known of the peer's.

import { type ClockReading, type Now } from "../protocol/index.ts";

/** Both clocks of this worker. */
export function readClocks(): Now {
  const monotonic = performance.now();
  return { monotonic, wall: wallAt(monotonic) };
}

/** The wall clock (ns) at a time of the monotonic clock (ms). */
export function wallAt(monotonic: number): bigint {
  return BigInt(Math.round((performance.timeOrigin + monotonic) * 1_000)) * 1_000n;
}

/** Stops a timer. */
export type Cancel = () => void;

/** Time as the worker uses it; tests have a clock of their own. */
export interface Time {
  now(): Now;
  /** Calls `body` after so many milliseconds. */
  after(milliseconds: number, body: () => void): Cancel;
}

/** The longest wait that browsers know; a longer one would end at once. */
const MAX_WAIT = 0x7fff_ffff;

/** The time of this worker. */
export const REAL_TIME: Time = {
  now: readClocks,
  after(milliseconds, body) {
    const timer = setTimeout(body, Math.min(milliseconds, MAX_WAIT));
    return () => {
      clearTimeout(timer);
    };
  },
};

/** What is known of the peer's clock at one time. */
export interface ClockEstimate {
  /** The peer's wall clock minus ours, in nanoseconds. */
  readonly offset: bigint;
  /** The offset is right to within so many milliseconds, on any path. */
  readonly uncertainty: number;
}

/** Exchanges that are remembered: half a minute of them. */
const REMEMBERED = 64;
/** Milliseconds by which two clocks drift apart in one: 100 ppm, a poor quartz. */
const DRIFT = 1e-4;
/** Milliseconds by which `performance.now` is rounded in pages that are not isolated from other origins. */
const RESOLUTION = 0.1;
const NS_PER_MS = 1e6;

interface Remembered {
  readonly reading: ClockReading;
  readonly at: number;
}

/** The error of an exchange in milliseconds, some time after it. */
function bound({ reading, at }: Remembered, now: number): number {
  return Number(reading.roundTrip) / (2 * NS_PER_MS) + RESOLUTION + Math.max(0, now - at) * DRIFT;
}

/** Estimates the peer's clock: the exchange that bounds it best counts alone. */
export class PeerClock {
  #remembered: Remembered[] = [];

  /**
   * Notes an exchange that ended at this monotonic time. One that no error of the best one explains means that a clock
   * was set: what was known before is then forgotten, and the answer is true.
   */
  note(reading: ClockReading, now: number): boolean {
    const entry = { reading, at: now };
    const best = this.#best(now);
    const apart = best === undefined ? 0 : Math.abs(Number(best.reading.offset - reading.offset)) / NS_PER_MS;
    const stepped = best !== undefined && apart > bound(best, now) + bound(entry, now);
    this.#remembered = stepped ? [entry] : [...this.#remembered.slice(1 - REMEMBERED), entry];
    return stepped;
  }

  /** Round trip of the last exchange in milliseconds. */
  get roundTrip(): number | undefined {
    const last = this.#remembered.at(-1);
    return last && Number(last.reading.roundTrip) / NS_PER_MS;
  }

  /** What is known at this monotonic time. */
  estimate(now: number): ClockEstimate | undefined {
    const best = this.#best(now);
    return best && { offset: best.reading.offset, uncertainty: bound(best, now) };
  }

  #best(now: number): Remembered | undefined {
    let best: Remembered | undefined;
    for (const entry of this.#remembered) {
      if (best === undefined || bound(entry, now) < bound(best, now)) {
        best = entry;
      }
    }
    return best;
  }
}
