// Cuts a frame into the pieces that records seal, and says which of them are encrypted (selection.md).

import { type Bytes } from "../bytes.ts";
import { misuse } from "../error.ts";
import { MAX_RECORD } from "../wire/framing.ts";
import { HEADER_LEN, TAG_LEN } from "../wire/header.ts";
import { MAX_RATE, type Selection } from "../wire/selection.ts";
import { type StreamInfo } from "./info.ts";
import { type PlannedRange } from "./plan.ts";
import { Planner, type Unsplit } from "./planner.ts";
import { type Layout, MAX_FRAME, PREAMBLE_LEN } from "./preamble.ts";
import { type Unit } from "./unit.ts";

/** Longest record with the unit `packet`. */
const PACKET_RECORD = 1_200;

/** A piece of a frame. */
export interface Piece {
  readonly data: Bytes;
  readonly first: boolean;
  readonly last: boolean;
  readonly encrypt: boolean;
}

/** True if a codec configuration is encrypted: it is in clear only where everything is. */
export function encryptsDescription(selection: Selection): boolean {
  return selection.mode !== "none";
}

/** Draws which units of a rate are encrypted (splitmix32). Its seed is no secret: it repeats an experiment. */
class Draw {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** 0 to 999, all about equally often. */
  thousandth(): number {
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) % MAX_RATE;
  }
}

/** Ranges of a plan that are still ahead. */
class Ahead {
  readonly #ranges: readonly PlannedRange[];
  #next = 0;

  constructor(ranges: readonly PlannedRange[]) {
    this.#ranges = ranges;
  }

  /** Where the next range ends. */
  get nextEnd(): number {
    return this.#ranges[this.#next]?.end ?? Infinity;
  }

  /** True if anything up to `end` is to be encrypted. Passes over the ranges that end there or before. */
  takeTo(end: number): boolean {
    let encrypt = false;
    for (let range = this.#ranges[this.#next]; range !== undefined; range = this.#ranges[this.#next]) {
      encrypt ||= range.encrypt;
      this.#next += range.end <= end ? 1 : 0;
      if (range.end >= end) {
        break;
      }
    }
    return encrypt;
  }
}

/** A frame that is ready to be cut. */
export interface CutFrame {
  readonly layout: Layout;
  /** In order. The first leaves room for the preamble. */
  readonly pieces: Iterable<Piece>;
}

/** Cuts the frames of one session. */
export class Cutter {
  readonly #unit: Unit;
  readonly #draw: Draw;
  readonly #planner = new Planner();

  constructor(unit: Unit, seed: number) {
    this.#unit = unit;
    this.#draw = new Draw(seed);
  }

  /** Takes a stream's description, by which its frames are parsed. */
  describe(stream: number, info: StreamInfo): void {
    this.#planner.describe(stream, info);
  }

  /** The slices and images that a level encrypted whole because they could not be split; `undefined` for none. */
  get unsplit(): Unsplit | undefined {
    return this.#planner.unsplit;
  }

  /** Plans a frame and cuts it. At levels 2 and 3 images are laid out anew. */
  cut(selection: Selection, stream: number, keyframe: boolean, frame: Bytes): CutFrame {
    if (frame.length > MAX_FRAME) {
      throw misuse("a frame has at most 16 MiB");
    }
    const { data, layout, ranges } = this.#planner.plan(selection, stream, keyframe, frame);
    const rate = selection.mode === "rate" ? selection.thousandths : undefined;
    return { layout, pieces: this.#pieces(data, ranges, rate) };
  }

  *#pieces(data: Bytes, ranges: readonly PlannedRange[], rate: number | undefined): Generator<Piece, void, undefined> {
    const longest = this.#unit === "packet" ? PACKET_RECORD : MAX_RECORD;
    const room = longest - HEADER_LEN - TAG_LEN;
    const unit = typeof this.#unit === "string" ? MAX_FRAME : this.#unit.chunk;
    const drawn = (): boolean | undefined => (rate === undefined ? undefined : this.#draw.thousandth() < rate);
    const plan = new Ahead(ranges);
    let [from, unitEnd] = [0, 0];
    let draw: boolean | undefined;
    for (let last = false; !last; ) {
      const first = from === 0;
      // With `packet` each record is a unit of its own.
      if (first || from >= unitEnd || this.#unit === "packet") {
        draw = drawn();
        unitEnd = from + unit;
      }
      let to = Math.min(data.length, unitEnd, from + room - (first ? PREAMBLE_LEN : 0));
      if (this.#unit === "frame") {
        to = Math.min(to, plan.nextEnd);
      }
      const planned = plan.takeTo(to);
      last = to === data.length;
      yield { data: data.subarray(from, to), first, last, encrypt: draw ?? planned };
      from = to;
    }
  }
}
