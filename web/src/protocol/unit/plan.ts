// The ranges into which a selection divides a frame (selection.md).

/**
 * Ranges of one frame at most. They are enough for a thousand slices, more than encoders make. Everything after them is
 * encrypted.
 */
export const MAX_RANGES = 2_048;
/**
 * The shortest range in bytes that is left in clear. A shorter one is not worth a record of its own, whose header and
 * tag are nearly as long, and is encrypted together with the range before it.
 */
export const MIN_CLEAR = 64;

/** A range of a frame. It begins where the one before it ends. */
export interface PlannedRange {
  /** The offset of the first byte after it. */
  readonly end: number;
  readonly encrypt: boolean;
}

/** A plan in the making, range by range. */
export class Plan {
  readonly #length: number;
  readonly #ranges: { end: number; readonly encrypt: boolean }[] = [];

  /** A plan for a frame of so many bytes. */
  constructor(length: number) {
    this.#length = length;
  }

  /** Encrypts up to `end`. */
  encryptTo(end: number): void {
    this.#extend(end, true);
  }

  /** Leaves the bytes before `end` in clear, if they are enough and there is room for another range. */
  clearTo(end: number): void {
    const from = this.#ranges.at(-1)?.end ?? 0;
    // The last place is kept for the range that encrypts the rest.
    const worthIt = end - from >= MIN_CLEAR && this.#ranges.length < MAX_RANGES - 1;
    this.#extend(end, !worthIt);
  }

  #extend(until: number, encrypt: boolean): void {
    const end = Math.min(until, this.#length);
    const last = this.#ranges.at(-1);
    if (last !== undefined && last.end >= end) {
      return;
    }
    if (last?.encrypt === encrypt) {
      last.end = end;
    } else {
      this.#ranges.push({ end, encrypt });
    }
  }

  /** Encrypts the rest. An empty frame has one empty range. */
  finish(): readonly PlannedRange[] {
    this.encryptTo(this.#length);
    return this.#ranges;
  }
}
