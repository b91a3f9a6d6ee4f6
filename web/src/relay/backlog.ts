// How many bytes of what a page gave to a relay's connection have not left it yet.

/** Milliseconds without a byte leaving after which nothing can be waiting: what was given had gone elsewhere. */
const STILL = 500;

/**
 * Compares what was given to the library with what the browser says that it has sent. The library leaves out what gets
 * too old, and what nobody asks for, so a difference that stands still is none.
 */
export class Backlog {
  #given = 0;
  /** What was given and sent when the two were last known to be the same. */
  #base: { readonly given: number; readonly sent: number } | undefined;
  #sent = 0;
  #moved = -Infinity;

  /** So many bytes were given. */
  gave(bytes: number): void {
    this.#given += bytes;
  }

  /** The browser has sent so many bytes in all. `wanted`: somebody asks for them, else they stay here. */
  sent(now: number, bytes: number, wanted: boolean): void {
    const moves = bytes > this.#sent;
    this.#moved = moves ? now : this.#moved;
    this.#sent = bytes;
    if (this.#base === undefined || !wanted || this.waiting === 0 || now - this.#moved >= STILL) {
      this.#base = { given: this.#given, sent: bytes };
      this.#moved = now;
    }
  }

  /** Bytes that wait; 0 while nothing is known. */
  get waiting(): number {
    const base = this.#base;
    return base === undefined ? 0 : Math.max(0, this.#given - base.given - (this.#sent - base.sent));
  }
}
