// When which sample of sound is played: pure computation on the audio thread's clock, which counts samples.

import { type Pcm, type PlayoutReport, type Skew } from "./pcm.ts";
import { Segment } from "./segment.ts";

/** Milliseconds of sound that wait at most, and pieces. */
const MAX_WAITING = 2_000;
const MAX_PIECES = 512;
/** Arrivals of which lateness is remembered, about four seconds of them, and the share that may come too late. */
const ARRIVALS = 192;
const TOO_LATE = 0.03;
/** While sound begins only so many count: what had waited for this page comes all at once, and late. */
const FIRST_ARRIVALS = 12;
/** Milliseconds between the time at which all but those have come and the time at which they are played. */
const MARGIN = 4;
/** Milliseconds for which the delay of a picture counts, and how many are remembered. */
const PICTURE_WINDOW = 4_000;
const MAX_PICTURES = 256;
/** The share of them that is earlier than the delay that sound follows: a picture that falters moves no sound. */
const EARLY = 0.25;
/**
 * Milliseconds by which sound is held back at most after it came. It fits into what waits at most. A picture that is
 * later than that is not on the same timeline.
 */
const MAX_HELD = 1_500;
/** Sound that is off by more than this (ms) is corrected by its rate until it is off by less than the second. */
const NOTICED = 5;
const CALM = 1;
/** The correction: in how many milliseconds it would be right, and the most of it. 0.5 % is not heard. */
const CORRECTED_IN = 1_500;
const MAX_CORRECTION = 0.005;
/** Sound that is off by more than this (ms) is left out, or waited for in silence; sooner while it begins. */
const JUMP = 40;
const FIRST_JUMP = 8;
/** Milliseconds for which it begins. */
const BEGINNING = 1_500;
/** Quanta of which it is remembered what was played: more than a second. */
const HISTORY = 1_024;
/** Milliseconds for which a measured skew counts. */
const SKEW_WINDOW = 1_000;
const MAX_SKEWS = 64;
/** What is left of a sample's value after another, where sound breaks off; and how fast it comes back. */
const TAIL = 0.96;
const RISE = 1 / 64;

const MS_PER_S = 1_000;

/** What was played in a quantum: from which media time on, by how much a sample went on, and whether it was heard. */
interface Played {
  readonly now: number;
  readonly media: number;
  readonly pace: number;
  readonly heard: boolean;
}

/** The value below which a share of the values lies; `undefined` without any. */
function quantile(values: readonly number[], share: number): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
}

/**
 * Plays sound with the picture. Both have a delay on the audio thread's clock: the time at which something leaves minus
 * its media time. The picture is as early as it can be, and sound has its delay, or, where it comes too late for that,
 * the least at which it is whole. All times are in milliseconds; `now` is the context time of the next quantum.
 */
export class Playout {
  readonly #perSample: number;
  readonly #queue: Segment[] = [];
  #lateness: number[] = [];
  #pictures: { readonly at: number; readonly delay: number }[] = [];
  /** Delays as they are known: at which half of the sound has come, at which all that counts, and the picture's. */
  #usual = 0;
  #arrivalDelay: number | undefined;
  #pictureDelay: number | undefined;
  /** The media time that is rendered next, and when there was the first. */
  #position: number | undefined;
  #begun = 0;
  #correction = 0;
  #history: Played[] = [];
  #skews: { readonly at: number; readonly skew: number }[] = [];
  /** Where sound breaks off, its last values fade; where it begins, it rises. */
  #tail: number[] = [];
  #last: number[] = [];
  #gain = 0;
  #silence = 0;
  #left = 0;

  /** @param rate samples a second of the output */
  constructor(rate: number) {
    this.#perSample = MS_PER_S / rate;
  }

  /** Forgets the stream: another one begins. */
  anew(): void {
    this.#queue.length = 0;
    this.#lateness = [];
    this.#pictures = [];
    this.#arrivalDelay = undefined;
    this.#pictureDelay = undefined;
    this.#position = undefined;
    this.#history = [];
    this.#skews = [];
    this.#breakOff();
  }

  /** Sound has come. */
  push(pcm: Pcm, now: number): void {
    const segment = Segment.after(this.#queue.at(-1), pcm);
    if (segment === undefined) {
      return;
    }
    this.#lateness.push(now - pcm.at);
    this.#lateness = this.#lateness.slice(this.#begins(now) ? -FIRST_ARRIVALS : -ARRIVALS);
    this.#usual = quantile(this.#lateness, 0.5) ?? 0;
    this.#arrivalDelay = (quantile(this.#lateness, 1 - TOO_LATE) ?? 0) + MARGIN;
    const before = this.#queue.at(-1);
    if (before !== undefined && segment.end < before.begin) {
      // Media time went back: what waits is of a time that is over.
      this.#queue.length = 0;
    }
    this.#queue.push(segment);
    while (this.#queue.length > MAX_PIECES || segment.end - (this.#queue[0]?.begin ?? segment.begin) > MAX_WAITING) {
      this.#queue.shift();
    }
  }

  /** The picture of a media time came onto the canvas when the sample of the context time `leaves` left. */
  shown(media: number, leaves: number, now: number): void {
    this.#pictures = this.#pictures.filter(({ at }) => at > now - PICTURE_WINDOW).slice(1 - MAX_PICTURES);
    this.#pictures.push({ at: now, delay: leaves - media });
    this.#pictureDelay = quantile(this.#pictures.map(({ delay }) => delay), EARLY);
    const played = this.#playedAt(leaves);
    if (played !== undefined) {
      this.#skews.push({ at: now, skew: media - played });
      if (this.#skews.length > MAX_SKEWS) {
        this.#skews.shift();
      }
    }
  }

  /** The media time of the sample that left then, if one was heard. */
  #playedAt(leaves: number): number | undefined {
    const quantum = this.#history.findLast(({ now }) => now <= leaves);
    if (quantum?.heard !== true) {
      return undefined;
    }
    return quantum.media + (leaves - quantum.now) * quantum.pace;
  }

  /** The delay at which sound is to be played; `undefined` while there is none. */
  delay(now: number): number | undefined {
    const [arrival, picture] = [this.#arrivalDelay, this.#pictureDelay];
    if (arrival === undefined) {
      return undefined;
    }
    const most = this.#usual + MAX_HELD;
    const shown = picture !== undefined && picture < most && now < (this.#pictures.at(-1)?.at ?? 0) + PICTURE_WINDOW;
    return Math.min(most, shown ? Math.max(arrival, picture) : arrival);
  }

  #begins(now: number): boolean {
    return this.#position === undefined || now < this.#begun + BEGINNING;
  }

  /** Fills the channels of the next quantum. */
  render(now: number, channels: readonly Float32Array[]): void {
    const length = channels[0]?.length ?? 0;
    const delay = this.delay(now);
    if (delay !== undefined) {
      this.#steer(now, now - delay);
    }
    const [media, pace] = [this.#position ?? 0, 1 + this.#correction];
    let heard = 0;
    for (let at = 0; at < length; at += 1) {
      heard += this.#sample(channels, at, this.#perSample * pace) ? 1 : 0;
    }
    if (this.#position !== undefined) {
      this.#silence += (length - heard) * this.#perSample;
      this.#history.push({ now, media, pace, heard: 2 * heard > length });
      if (this.#history.length > HISTORY) {
        this.#history.splice(0, HISTORY / 2);
      }
    }
  }

  /** Goes towards the media time that is to be rendered now. */
  #steer(now: number, wanted: number): void {
    const position = this.#position;
    const first = this.#queue[0];
    if (position === undefined) {
      this.#position = first === undefined ? undefined : wanted;
      this.#begun = now;
      return;
    }
    const ahead = position - wanted;
    if (Math.abs(ahead) > (this.#begins(now) ? FIRST_JUMP : JUMP)) {
      this.#left += first === undefined ? 0 : Math.max(0, -ahead);
      this.#position = wanted;
      this.#correction = 0;
      this.#breakOff();
      return;
    }
    const corrects = Math.abs(ahead) > (this.#correction === 0 ? NOTICED : CALM);
    const needed = corrects ? -ahead / CORRECTED_IN : 0;
    this.#correction = Math.min(MAX_CORRECTION, Math.max(-MAX_CORRECTION, needed));
  }

  /** Renders one sample of each channel. False where there is none. */
  #sample(channels: readonly Float32Array[], at: number, step: number): boolean {
    let head = this.#queue[0];
    const position = this.#position;
    while (head !== undefined && position !== undefined && position >= head.end) {
      this.#queue.shift();
      const next = this.#queue[0];
      if (next?.begin !== head.end) {
        this.#breakOff();
      }
      head = next;
    }
    const sounding = head !== undefined && position !== undefined && position >= head.begin ? head : undefined;
    if (sounding === undefined) {
      this.#breakOff();
    }
    this.#gain = sounding === undefined ? 0 : Math.min(1, this.#gain + RISE);
    for (let channel = 0; channel < channels.length; channel += 1) {
      const own = sounding?.value(channel, position ?? 0) ?? 0;
      const tail = (this.#tail[channel] ?? 0) * TAIL;
      const value = own * this.#gain + tail;
      this.#tail[channel] = tail;
      this.#last[channel] = value;
      const out = channels[channel];
      if (out !== undefined) {
        out[at] = value;
      }
    }
    // Where nothing waits, what comes next is waited for; where something does, what is missing before it is lost.
    if (position !== undefined && head !== undefined) {
      this.#position = position + step;
    }
    return sounding !== undefined;
  }

  /** What follows is not what came before: a click would be heard. */
  #breakOff(): void {
    if (this.#gain > 0) {
      this.#gain = 0;
      this.#tail = this.#last.slice();
    }
  }

  /** @param spread how wrong it may be when a sample leaves (ms) */
  report(now: number, spread: number): PlayoutReport {
    const [first] = this.#queue;
    const from = Math.max(this.#position ?? -Infinity, first?.begin ?? 0);
    const waiting = Math.max(0, (this.#queue.at(-1)?.end ?? 0) - from);
    this.#skews = this.#skews.filter(({ at }) => at > now - SKEW_WINDOW);
    const skew = this.#skew(spread);
    return {
      ...(skew && { skew }), waiting, correction: this.#correction, silence: this.#silence, left: this.#left,
      playing: this.#history.at(-1)?.heard === true,
    };
  }

  #skew(spread: number): Skew | undefined {
    const sorted = this.#skews.map(({ skew }) => skew).sort((a, b) => a - b);
    const [least, median, most] = [sorted[0], sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
    if (least === undefined || median === undefined || most === undefined) {
      return undefined;
    }
    return { median, least, most, uncertainty: spread + QUANTUM * this.#perSample };
  }
}

/** Samples that a browser renders at once. */
export const QUANTUM = 128;
