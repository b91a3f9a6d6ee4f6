// The lines of the log of events: bounded, and the same thing over and over is one line with a count.

import { plain } from "../protocol/index.ts";

/** Lines that are kept. */
export const MAX_LINES = 100;
/** Characters of a line. */
const MAX_LENGTH = 300;

/** One line. */
export interface LogLine {
  /** Time of the last time that it happened. */
  readonly at: Date;
  readonly words: string;
  readonly bad: boolean;
  readonly times: number;
}

/** Keeps the newest lines, the newest first. */
export class Log {
  #lines: LogLine[] = [];

  get lines(): readonly LogLine[] {
    return this.#lines;
  }

  /** Adds an event. True if it is a line of its own, false if the newest line now counts one more. */
  add(at: Date, text: string, bad: boolean): boolean {
    const line = plain(text);
    const words = line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH)}…` : line;
    const newest = this.#lines[0];
    if (newest?.words === words && newest.bad === bad) {
      this.#lines[0] = { at, words, bad, times: newest.times + 1 };
      return false;
    }
    this.#lines = [{ at, words, bad, times: 1 }, ...this.#lines.slice(0, MAX_LINES - 1)];
    return true;
  }
}
