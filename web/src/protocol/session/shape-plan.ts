// What a constant rate means: how many cells of which size, and when (shaping.md).

import { ProtocolError } from "../error.ts";
import { type CellPlan, MAX_CELL, MIN_CELL } from "../wire/cell.ts";
import { LENGTH_PREFIX } from "../wire/framing.ts";

/** Rates that can be kept, in bit/s. */
export const MIN_RATE = 64_000;
export const MAX_RATE = 200_000_000;

/** Bytes around a cell: its length on a byte stream. */
const AROUND = LENGTH_PREFIX;
const SECOND = 1_000_000_000;
/** Nanoseconds between two ticks that are aimed at, and the most before cells get shorter instead. */
const AIM = 5_000_000;
const LONGEST = 10_000_000;
/** The viewer's cells are the shortest, at most an eighth of the publisher's rate, 20 to 250 ms apart. */
const REPLY_SHARE = 8;
const REPLY_SOONEST = 20_000_000;
const REPLY_LATEST = 250_000_000;

/** The cells of both ends of a session. */
export interface ShapePlan {
  readonly publisher: CellPlan;
  readonly viewer: CellPlan;
}

function time(bytes: number, rate: number): number {
  return Math.floor((bytes * 8 * SECOND) / rate);
}

/**
 * The plan of a publisher that sends `rate` bit/s, counted from the length before each record to its tag.
 * @throws ProtocolError `unsupported` for a rate out of bounds
 */
export function constantRate(rate: number): ShapePlan {
  if (!(rate >= MIN_RATE && rate <= MAX_RATE)) {
    throw new ProtocolError("unsupported", "a constant rate is 64 kbit/s to 200 Mbit/s");
  }
  const longest = MAX_CELL + AROUND;
  let [cells, length] = [1, longest];
  if (time(longest, rate) > LONGEST) {
    length = Math.min(longest, Math.max(MIN_CELL + AROUND, Math.floor((rate * LONGEST) / 8 / SECOND)));
  } else {
    const each = time(longest, rate);
    cells = Math.max(1, Math.floor((AIM + each / 2) / each));
  }
  const reply = time(MIN_CELL + AROUND, rate / REPLY_SHARE);
  return {
    publisher: { tick: time(cells * length, rate), cells, size: length - AROUND },
    viewer: { tick: Math.min(REPLY_LATEST, Math.max(REPLY_SOONEST, reply)), cells: 1, size: MIN_CELL },
  };
}
