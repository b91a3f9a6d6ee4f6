// How many pictures a second are taken of a source that gives more.

/**
 * Chooses pictures by their time, so that no more than `rate` a second are taken. A source that keeps this rate by
 * itself loses none, though its pictures come up to half an interval early or late: one picture may be ahead.
 */
export class Pace {
  readonly #interval: number;
  #next = -Infinity;

  /** @param rate pictures a second */
  constructor(rate: number) {
    this.#interval = 1_000 / rate;
  }

  /** True if the picture that came at this time (ms) is taken. */
  take(at: number): boolean {
    if (at < this.#next - this.#interval) {
      return false;
    }
    // After a pause the count begins anew, or pictures would be taken too fast until it has caught up.
    const onTime = at <= this.#next + this.#interval;
    this.#next = (onTime ? this.#next : at) + this.#interval;
    return true;
  }
}
