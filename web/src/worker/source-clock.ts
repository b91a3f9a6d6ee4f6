// Puts the timestamps of a camera or a microphone onto this worker's clock, so that picture and sound have one time.

/** Milliseconds between what was thought of a source's clock and what it says, from which on it counts as set anew. */
const BELIEVED = 1_000;
/** Milliseconds for which the least delay counts, and how fast the estimate then follows a longer one (parts of 1). */
const WINDOW = 10_000;
const FOLLOWS = 1e-3;

/**
 * The clock of one source. What it gives comes here late, by more or less: what came with the least delay says how the
 * clocks differ. So each is put where it would have come with that delay. All times are milliseconds.
 */
export class SourceClock {
  /** This worker's time minus the source's, with the least delay: as it is taken to be, and as it was seen. */
  #offset: number | undefined;
  #seen = 0;
  /** The least of the window under way, and when that ends. */
  #least = Infinity;
  #until = 0;
  #last = 0;

  /** Something with this timestamp came at this time. Returns when it would have come with the least delay. */
  came(timestamp: number, now: number): number {
    const seen = now - timestamp;
    if (this.#offset === undefined || Math.abs(seen - this.#offset) >= BELIEVED) {
      [this.#offset, this.#seen, this.#least, this.#until] = [seen, seen, Infinity, now + WINDOW];
    }
    this.#seen = Math.min(this.#seen, seen);
    this.#least = Math.min(this.#least, seen);
    if (now >= this.#until) {
      [this.#seen, this.#least, this.#until] = [this.#least, Infinity, now + WINDOW];
    }
    // Clocks that drift apart make the least delay longer for ever; one late picture does not.
    const step = Math.max(0, now - this.#last) * FOLLOWS;
    const followed = Math.max(this.#offset, Math.min(this.#seen, this.#offset + step));
    this.#offset = Math.min(seen, followed);
    this.#last = now;
    return this.at(timestamp);
  }

  /** The same of a timestamp, by what is known. */
  at(timestamp: number): number {
    return timestamp + (this.#offset ?? 0);
  }
}
