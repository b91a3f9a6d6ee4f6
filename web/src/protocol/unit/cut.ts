// Cuts a frame into the pieces that records seal, and says which of them are encrypted (selection.md).

import { type Bytes } from "../bytes.ts";
import { ProtocolError, misuse } from "../error.ts";
import { MAX_RECORD } from "../wire/framing.ts";
import { HEADER_LEN, TAG_LEN } from "../wire/header.ts";
import { MAX_LEVEL, MAX_RATE, type Selection } from "../wire/selection.ts";
import { MAX_FRAME, PREAMBLE_LEN } from "./preamble.ts";
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

/** True for the selections that a browser publisher can put into force. */
export function canSelect(selection: Selection): boolean {
  const { mode } = selection;
  return mode === "level" ? selection.level === MAX_LEVEL : mode !== "headers" && mode !== "headers+keyframes";
}

/** @throws ProtocolError `unsupported` for a selection that needs a parser of slices */
export function checkSelection(selection: Selection): void {
  if (!canSelect(selection)) {
    throw new ProtocolError("unsupported", "a browser publisher selects all, none, a rate, keyframes or level 4");
  }
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

/** Cuts the frames of one session. */
export class Cutter {
  readonly #unit: Unit;
  readonly #draw: Draw;

  constructor(unit: Unit, seed: number) {
    this.#unit = unit;
    this.#draw = new Draw(seed);
  }

  /** The pieces of a frame, in order. The first leaves room for the preamble. */
  *cut(frame: Bytes, keyframe: boolean, selection: Selection): Generator<Piece, void, undefined> {
    if (frame.length > MAX_FRAME) {
      throw misuse("a frame has at most 16 MiB");
    }
    const longest = this.#unit === "packet" ? PACKET_RECORD : MAX_RECORD;
    const room = longest - HEADER_LEN - TAG_LEN;
    const unit = typeof this.#unit === "string" ? MAX_FRAME : this.#unit.chunk;
    let from = 0;
    let encrypt = true;
    for (let unitEnd = 0; from < frame.length || from === 0; ) {
      const first = from === 0;
      // With `packet` each record is a unit of its own.
      if (first || from >= unitEnd || this.#unit === "packet") {
        encrypt = this.#encrypts(keyframe, selection);
        unitEnd = from + unit;
      }
      const to = Math.min(frame.length, unitEnd, from + room - (first ? PREAMBLE_LEN : 0));
      yield { data: frame.subarray(from, to), first, last: to === frame.length, encrypt };
      if (to === frame.length) {
        return;
      }
      from = to;
    }
  }

  #encrypts(keyframe: boolean, selection: Selection): boolean {
    switch (selection.mode) {
      case "none":
        return false;
      case "keyframes":
        return keyframe;
      case "rate":
        return this.#draw.thousandth() < selection.thousandths;
      default:
        return true;
    }
  }
}
