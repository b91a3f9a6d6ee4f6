// Counts of refused records, and when they end a session on a byte stream (protocol.md, section 2).

import { type Refusal } from "../error.ts";

/** Refusals in a row that end a session on a byte stream. */
export const MAX_CONSECUTIVE_REFUSALS = 16;

/** How many records were refused for each reason. */
export type RefusalCounts = Readonly<Record<Refusal, number>>;

/** Counts refusals of one session. */
export class Refusals {
  readonly #counts: Record<Refusal, number> = {
    malformed: 0,
    cleartext: 0,
    "outside-cell": 0,
    "unknown-epoch": 0,
    replay: 0,
    tag: 0,
  };
  #inARow = 0;

  /** The counts so far. */
  get counts(): RefusalCounts {
    return { ...this.#counts };
  }

  /** Counts a refusal that says nothing about the stream, such as an alert that anybody could have sent. */
  count(reason: Refusal): void {
    this.#counts[reason] += 1;
  }

  /** A record was opened. */
  opened(): void {
    this.#inARow = 0;
  }

  /**
   * A record of a byte stream was refused. Returns why the connection must end, if it must: where a record is malformed
   * the framing cannot be trusted any more.
   */
  refused(reason: Refusal): "framing" | "too-many-refusals" | undefined {
    this.count(reason);
    this.#inARow += 1;
    if (reason === "malformed") {
      return "framing";
    }
    return this.#inARow >= MAX_CONSECUTIVE_REFUSALS ? "too-many-refusals" : undefined;
  }
}
