// A piece of sound that waits to be played, and its values between its samples.

import { type Pcm } from "./pcm.ts";

/** Samples of the piece before that stand before a piece: what lies between two samples follows from four. */
const BEFORE = 3;
/** Samples after a place that it needs. */
const AFTER = 2;
/** Pieces whose times differ from each other by less (ms) follow one another: stamps are rounded. */
const ADJACENT = 3;
const MS_PER_S = 1_000;

/** Samples and the time that they fill. */
export class Segment {
  /** Media times (ms): from the first that it has a value for, up to and without the last. */
  readonly begin: number;
  readonly end: number;
  readonly #at: number;
  readonly #rate: number;
  readonly #planes: readonly Float32Array[];
  /** Media time behind its last sample. */
  readonly #over: number;

  private constructor(at: number, rate: number, planes: readonly Float32Array[], begin: number) {
    const length = (planes[0]?.length ?? BEFORE) - BEFORE;
    this.#at = at;
    this.#rate = rate;
    this.#planes = planes;
    this.#over = at + (length * MS_PER_S) / rate;
    this.begin = begin;
    this.end = this.#over - (AFTER * MS_PER_S) / rate;
  }

  /** The segment of these samples behind another; `undefined` for samples that are none. */
  static after(before: Segment | undefined, { at, rate, planes }: Pcm): Segment | undefined {
    const length = planes[0]?.length ?? 0;
    const whole = planes.every((plane) => plane.length === length);
    if (length <= AFTER || !whole || !(rate > 0) || !Number.isFinite(at)) {
      return undefined;
    }
    const follows = before !== undefined && before.#rate === rate && before.#planes.length === planes.length &&
      Math.abs(at - before.#over) < ADJACENT;
    const from = follows ? before.#over : at;
    const joined = planes.map((plane, channel) => {
      const own = new Float32Array(BEFORE + length);
      own.set(plane, BEFORE);
      if (follows) {
        own.set(before.#planes[channel]?.subarray(-BEFORE) ?? []);
      }
      return own;
    });
    return new Segment(from, rate, joined, follows ? before.end : from);
  }

  /**
   * The value of a channel at a media time between `begin` and `end`, by a cubic through the samples around it. A
   * channel that there is not has the values of the last one.
   */
  value(channel: number, media: number): number {
    const plane = this.#planes[Math.min(channel, this.#planes.length - 1)];
    if (plane === undefined) {
      return 0;
    }
    const place = ((media - this.#at) * this.#rate) / MS_PER_S + BEFORE;
    const at = Math.floor(place);
    const part = place - at;
    const [a, b, c, d] = [plane[at - 1] ?? 0, plane[at] ?? 0, plane[at + 1] ?? 0, plane[at + 2] ?? 0];
    // Catmull and Rom's cubic, in the order of Horner.
    return b + 0.5 * part * (c - a + part * (2 * a - 5 * b + 4 * c - d + part * (3 * (b - c) + d - a)));
  }
}
