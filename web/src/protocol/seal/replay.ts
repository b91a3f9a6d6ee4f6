// The replay window (protocol.md, section 2, after RFC 6479): a ring of words that are only ever cleared as a whole.

/** Bits of the window. */
export const REPLAY_WINDOW = 4_096;
const WORD_BITS = 32;
/** One word more than the window has, so that a partly used word never costs a number that is inside it. */
const WORDS = REPLAY_WINDOW / WORD_BITS + 1;

/** Which numbers under one key were opened. */
export class ReplayWindow {
  /** One above the highest number opened. */
  #next = 0;
  readonly #words = new Uint32Array(WORDS);

  /** True if a record with this number may still be accepted. */
  accepts(seq: number): boolean {
    if (seq >= this.#next) {
      return true;
    }
    const inside = this.#next - 1 - seq < REPLAY_WINDOW;
    return inside && ((this.#words[slot(seq)] ?? 0) & bit(seq)) === 0;
  }

  /** True if numbers before this one and after all that were opened are missing. */
  skips(seq: number): boolean {
    return seq > this.#next;
  }

  /** Notes that a record with this number was opened. */
  mark(seq: number): void {
    if (seq >= this.#next) {
      const newest = word(Math.max(this.#next - 1, 0));
      const passed = Math.min(word(seq) - newest, WORDS);
      for (let number = 1; number <= passed; number += 1) {
        this.#words[(newest + number) % WORDS] = 0;
      }
      this.#next = seq + 1;
    }
    const at = slot(seq);
    this.#words[at] = (this.#words[at] ?? 0) | bit(seq);
  }
}

function word(seq: number): number {
  return Math.floor(seq / WORD_BITS);
}

function slot(seq: number): number {
  return word(seq) % WORDS;
}

function bit(seq: number): number {
  return 1 << (seq % WORD_BITS);
}
