// Freezes of the picture, as browsers count them in calls (W3C, Identifiers for WebRTC's Statistics API, freezeCount
// and totalFreezesDuration). The program counts them in the same way.

/** Intervals of which the usual one is the mean, and how many there must be. */
const AVERAGED = 30;
const LEAST = 5;
/** A freeze is longer than the usual interval by so many milliseconds, and by twice that interval. */
const LONGER = 150;

/** Finds freezes among the pictures that are drawn. */
export class Freezes {
  #last: number | undefined;
  /** The last intervals in which nothing froze, ms. */
  #usual: number[] = [];
  /** Freezes so far, and how long they lasted together, ms. */
  count = 0;
  length = 0;

  /** A picture is drawn at this monotonic time, ms. */
  drawn(now: number): void {
    const interval = now - (this.#last ?? now);
    const begins = this.#last === undefined;
    this.#last = now;
    if (begins) {
      return;
    }
    const mean = this.#usual.reduce((sum, one) => sum + one, 0) / Math.max(1, this.#usual.length);
    if (this.#usual.length >= LEAST && interval >= Math.max(3 * mean, mean + LONGER)) {
      this.count += 1;
      this.length += interval;
      return;
    }
    this.#usual = [...this.#usual, interval].slice(-AVERAGED);
  }
}
