// Plans which parts of a frame a publisher encrypts (selection.md). Whatever it leaves in clear is still authenticated.

import { type Bytes } from "../bytes.ts";
import { asProtocolError } from "../error.ts";
import { MAX_LEVEL, type Selection } from "../wire/selection.ts";
import { NalType, isSlice, nalType, nalUnits } from "./annexb.ts";
import { ParameterSets } from "./h264/parameter-sets.ts";
import { parseSlice } from "./h264/slice.ts";
import { isIntra, sliceKind } from "./h264/slice-header.ts";
import { SLICE_HEAD, planH264Headers, planJpegHeaders } from "./headers.ts";
import { type Codec, type StreamInfo } from "./info.ts";
import { type SplitFrame, splitImage } from "./jpeg-split/split.ts";
import { MIN_CLEAR, Plan, type PlannedRange } from "./plan.ts";
import { type Layout } from "./preamble.ts";

/**
 * Level 2 encrypts this part of an intra slice, one in so many: the top of the picture. What follows can be read only
 * by who finds a macroblock in it, since every code depends on those before it.
 */
const BEGIN_PART = 4;
/** The least of it in bytes. A quarter of a short slice would be no more than its header and a few macroblocks. */
const BEGIN_LEAST = 512;
/** Zig-zag index of the last coefficient of an image that level 2 encrypts: DC alone. Level 3 adds the lowest AC. */
const DC = 0;
const LOW_AC = 5;

const HEADERS = 1;
const INTRA_BEGIN = 2;
const INTRA = 3;

/** Slices and images that levels 2 and 3 encrypted whole because their parts could not be told apart. */
export interface Unsplit {
  readonly count: number;
  /** Why the latest could not be split. */
  readonly reason: string;
}

/** A frame as it is sent, and the ranges of it that are encrypted, in order and up to its end. */
export interface PlannedFrame {
  readonly data: Bytes;
  readonly layout: Layout;
  readonly ranges: readonly PlannedRange[];
}

interface Stream {
  codec: Codec | undefined;
  readonly sets: ParameterSets;
}

/** Plans the frames of one session. It knows the parameter sets of its streams. */
export class Planner {
  readonly #streams = new Map<number, Stream>();
  #unsplit: Unsplit | undefined;

  /** Takes a stream's description. Parameter sets with the same numbers that came before are replaced. */
  describe(stream: number, info: StreamInfo): void {
    const known = this.#stream(stream);
    known.codec = info.codec;
    if (info.codec === "h264") {
      known.sets.takeAll(info.parameters);
    }
  }

  /** The slices and images that could not be split; `undefined` if there were none. */
  get unsplit(): Unsplit | undefined {
    return this.#unsplit;
  }

  /** At most one for each of the 15 numbers that a session accepts. */
  #stream(number: number): Stream {
    const known = this.#streams.get(number) ?? { codec: undefined, sets: new ParameterSets() };
    this.#streams.set(number, known);
    return known;
  }

  /**
   * Plans a frame. Of a stream without a description no headers can be found, and a selection by content encrypts the
   * whole frame. For a rate the plan only says that everything may be encrypted: the cutter draws.
   */
  plan(selection: Selection, stream: number, keyframe: boolean, data: Bytes): PlannedFrame {
    const level = levelOf(selection, keyframe);
    if (typeof level === "boolean") {
      return { data, layout: "source", ranges: [{ end: data.length, encrypt: level }] };
    }
    const { codec, sets } = this.#stream(stream);
    const plan = new Plan(data.length);
    if (codec === "h264") {
      if (level === HEADERS) {
        planH264Headers(data, plan);
      } else {
        this.#planH264(level, sets, data, plan);
      }
    } else if (codec === "mjpeg") {
      const split = level === HEADERS ? undefined : this.#split(data, level === INTRA_BEGIN ? DC : LOW_AC);
      if (split !== undefined) {
        const ranges = [{ end: split.first, encrypt: true }, { end: split.data.length, encrypt: false }];
        return { data: split.data, layout: "split-scan", ranges };
      }
      if (level === HEADERS) {
        planJpegHeaders(data, plan);
      }
    }
    return { data, layout: "source", ranges: plan.finish() };
  }

  /** Lays out an image anew, with its first coefficients before the others, if those are worth it. */
  #split(data: Bytes, last: number): SplitFrame | undefined {
    try {
      const split = splitImage(data, last);
      return split.data.length - split.first >= MIN_CLEAR ? split : undefined;
    } catch (thrown) {
      this.#noteUnsplit(thrown);
      return undefined;
    }
  }

  #noteUnsplit(thrown: unknown): void {
    const { reason, message } = asProtocolError(thrown);
    if (reason !== "not-split") {
      throw thrown;
    }
    this.#unsplit = { count: (this.#unsplit?.count ?? 0) + 1, reason: message };
  }

  /** Plans a frame at level 2 or 3. */
  #planH264(level: number, sets: ParameterSets, data: Bytes, plan: Plan): void {
    for (const { first, end } of nalUnits(data)) {
      const unit = data.subarray(first, end);
      const type = nalType(unit[0]);
      if (isSlice(type)) {
        this.#planSlice(level, sets, first, unit, plan);
      } else {
        if (level === INTRA && (type === NalType.Sps || type === NalType.Pps)) {
          sets.take(unit);
        }
        plan.encryptTo(end);
      }
    }
  }

  /** Plans a slice whose NAL unit begins at `first`. */
  #planSlice(level: number, sets: ParameterSets, first: number, unit: Bytes, plan: Plan): void {
    const end = first + unit.length;
    const kind = sliceKind(unit);
    if (level === INTRA_BEGIN && kind !== undefined) {
      const begin = isIntra(kind) ? Math.max(Math.floor(unit.length / BEGIN_PART), BEGIN_LEAST) : 1 + SLICE_HEAD;
      plan.encryptTo(Math.min(end, first + begin));
      plan.clearTo(end);
      return;
    }
    // Level 3, or a slice of which not even the kind is known.
    if (level === INTRA && (kind === undefined || !isIntra(kind))) {
      try {
        planInterSlice(sets, first, unit, plan);
        return;
      } catch (thrown) {
        this.#noteUnsplit(thrown);
      }
    }
    plan.encryptTo(end);
  }
}

/** The level of a selection by content; of any other whether it encrypts this frame. */
function levelOf(selection: Selection, keyframe: boolean): number | boolean {
  switch (selection.mode) {
    case "all":
    case "rate":
      return true;
    case "none":
      return false;
    case "keyframes":
      return keyframe;
    case "headers":
      return HEADERS;
    case "headers+keyframes":
      return keyframe || HEADERS;
    case "level":
      return selection.level === MAX_LEVEL || selection.level;
  }
}

/** Plans a P or B slice at level 3: its header and its intra macroblocks are encrypted. Plans nothing if it fails. */
function planInterSlice(sets: ParameterSets, first: number, unit: Bytes, plan: Plan): void {
  const { dataBit, macroblocks } = parseSlice(unit, sets);
  plan.encryptTo(first + Math.min(Math.max(1 + SLICE_HEAD, Math.ceil(dataBit / 8)), unit.length));
  for (const { kind, firstBit, endBit } of macroblocks) {
    if (kind !== "inter" && kind !== "skipped") {
      plan.clearTo(first + Math.floor(firstBit / 8));
      plan.encryptTo(first + Math.ceil(endBit / 8));
    }
  }
  plan.clearTo(first + unit.length);
}
