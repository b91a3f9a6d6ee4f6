// Whether a flash and a beep of the same media time are presented together: the page's own schedule of pictures and
// sound, on a clock that goes on only here.

import { type Picture } from "../src/media/codecs.ts";
import { Screen } from "../src/media/screen.ts";
import { Playout, QUANTUM } from "../src/sound/playout.ts";
import { type Time } from "../src/worker/clock.ts";
import { assert, sequence, test } from "./support/harness.ts";

const RATE = 48_000;
/** Milliseconds up to which nobody sees that lips are not in time. */
const IN_TIME = 40;
/** Milliseconds of a packet of AAC, of a picture, and from one flash and its beep to the next. */
const PACKET = 1_024_000 / RATE;
const PICTURE = 40;
const FLASH = 1_000;
const BEEP = 100;
/** Milliseconds from rendering a sample to when it leaves, as Chromium's output has them. */
const OUTPUT = 10;
/** Milliseconds from a picture until it is encoded, and for decoding it; a packet of sound takes one. */
const ENCODING = 8;
const DECODING = 6;
/** Seconds before the first flash that counts, and of those that do. */
const BEGINNING = 4;
const SECONDS = 10;

/** What differs between two courses. */
interface Course {
  /** Milliseconds for which pictures are held back. */
  readonly holdBack: number;
  /** Milliseconds of the path, from and to; it keeps the order of what it carries. */
  readonly path: readonly [least: number, most: number];
  /** Parts by which the clock of the audio output is faster than the page's. */
  readonly drift?: number;
  /** True: a packet has a time as soon as its first sample, as in a file that is published. */
  readonly fromFile?: boolean;
}

/** Sound at a media time (ms): a beep in the beginning of each second, else silence. */
function soundAt(media: number): number {
  return media % FLASH < BEEP ? 0.5 * Math.cos((2 * Math.PI * media * 1_000) / 1_000) : 0;
}

/** Time that goes on where `now` is set. */
class ManualTime implements Time {
  at = 1_000;
  #timers: { readonly at: number; readonly body: () => void }[] = [];

  now(): ReturnType<Time["now"]> {
    return { monotonic: this.at, wall: 0n };
  }

  after(milliseconds: number, body: () => void): () => void {
    const timer = { at: this.at + milliseconds, body };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((one) => one !== timer);
    };
  }

  go(milliseconds: number): void {
    this.at += milliseconds;
    for (const timer of this.#timers.filter(({ at }) => at <= this.at)) {
      this.#timers = this.#timers.filter((one) => one !== timer);
      timer.body();
    }
  }
}

/** A page that watches. Presented are times of the page's clock, by second of the media. */
class Page {
  readonly #course: Course;
  readonly #time = new ManualTime();
  readonly #began = this.#time.at;
  readonly #playout = new Playout(RATE);
  readonly #screen: Screen<number>;
  readonly #random = sequence(7);
  readonly flashes = new Map<number, number>();
  readonly beeps = new Map<number, number>();
  #quanta = 0;
  #quietSince = 0;
  #arrivals: { readonly at: number; readonly arrive: () => void }[] = [];
  readonly #last = { picture: 0, sound: 0 };
  #pictures = 0;
  #packets = 0;

  constructor(course: Course) {
    this.#course = course;
    const surface = { resize: () => undefined, show: () => undefined, clear: () => undefined };
    this.#screen = new Screen<number>(surface, {
      drawn: (media) => {
        this.#drawn(media);
      },
      dropped: () => undefined, size: () => undefined,
    }, this.#time, course.holdBack);
    this.#screen.open();
  }

  /** The audio output's own time (ms). */
  get #context(): number {
    return (this.#quanta * QUANTUM * 1_000) / RATE;
  }

  /** When something arrives that is sent so many milliseconds from now; no earlier than the last of its kind. */
  #arrival(after: number, kind: "picture" | "sound"): number {
    const [least, most] = this.#course.path;
    const delay = least + (this.#random() % 1_000) * (most - least) / 1_000;
    this.#last[kind] = Math.max(this.#last[kind], this.#time.at + after + delay);
    return this.#last[kind];
  }

  run(seconds: number): number {
    const { drift = 0 } = this.#course;
    const out = [new Float32Array(QUANTUM), new Float32Array(QUANTUM)];
    const quantum = (QUANTUM * 1_000) / RATE / (1 + drift);
    while (this.#time.at < this.#began + seconds * 1_000) {
      this.#make();
      this.#arrivals = this.#arrivals.filter(({ at, arrive }) => {
        const here = at <= this.#time.at;
        if (here) {
          arrive();
        }
        return !here;
      });
      this.#playout.render(this.#context, out);
      this.#listen(out[0] ?? new Float32Array(0), quantum);
      this.#quanta += 1;
      this.#time.go(quantum);
    }
    return this.#playout.report(this.#context, 0).skew?.median ?? NaN;
  }

  /** The publisher makes pictures and packets, which come after their ways. */
  #make(): void {
    const media = this.#time.at - this.#began;
    for (; this.#pictures * PICTURE <= media; this.#pictures += 1) {
      const of = this.#pictures * PICTURE;
      const picture: Picture = { image: {} as CanvasImageSource, width: 16, height: 16, close: () => undefined };
      const at = this.#arrival(ENCODING, "picture") + DECODING;
      this.#arrivals.push({ at, arrive: () => {
        this.#screen.take(picture, this.#began + of, of);
      } });
    }
    for (; this.#packets * PACKET <= media; this.#packets += 1) {
      const at = this.#packets * PACKET;
      const planes = [Float32Array.from({ length: 1_024 }, (_, sample) => soundAt(at + (sample * 1_000) / RATE))];
      const made = this.#course.fromFile === true ? 0 : PACKET;
      this.#arrivals.push({ at: this.#arrival(made, "sound") + 1, arrive: () => {
        this.#playout.push({ at, rate: RATE, planes }, this.#context);
      } });
    }
  }

  #drawn(media: number): void {
    if (media % FLASH === 0) {
      this.flashes.set(media / FLASH, this.#time.at - this.#began);
    }
    this.#playout.shown(media, this.#context - OUTPUT, this.#context);
  }

  /** Notes when a beep begins to leave. */
  #listen(samples: Float32Array, quantum: number): void {
    samples.forEach((value, index) => {
      const leaves = this.#time.at - this.#began + OUTPUT + (index / QUANTUM) * quantum;
      if (Math.abs(value) > 0.05) {
        if (leaves - this.#quietSince > BEEP) {
          this.beeps.set(Math.round(leaves / FLASH), leaves);
        }
        this.#quietSince = leaves;
      }
    });
  }
}

/** How much later than its flash each beep is presented (ms), and what the page itself says in the end. */
function apart(course: Course): { readonly each: readonly number[]; readonly said: number } {
  const page = new Page(course);
  const said = page.run(BEGINNING + SECONDS);
  const counted = [...page.flashes].filter(([second]) => second >= BEGINNING && second < BEGINNING + SECONDS - 1);
  // Where two pictures are due together the newer one alone is drawn.
  assert(counted.length >= SECONDS - 3, `${counted.length} flashes were seen`);
  const each = counted.map(([second, at]) => (page.beeps.get(second) ?? NaN) - at);
  return { each, said };
}

const COURSES: readonly (readonly [string, Course])[] = [
  ["as early as it can be, of a camera", { holdBack: 0, path: [3, 12] }],
  ["as early as it can be, of a file", { holdBack: 0, path: [3, 12], fromFile: true }],
  ["as early as it can be, with an output whose clock is slow", { holdBack: 0, path: [3, 12], drift: -2e-4 }],
  ["as early as it can be, with an output whose clock is fast", { holdBack: 0, path: [3, 12], drift: 2e-4 }],
  ["held back by 20 ms", { holdBack: 20, path: [3, 12] }],
  ["held back by 50 ms, on an uneven path", { holdBack: 50, path: [3, 50] }],
  ["held back by 200 ms, on a bad path", { holdBack: 200, path: [20, 180], drift: 1e-4 }],
];

for (const [what, course] of COURSES) {
  test(`a beep is presented within 40 ms of its flash where the picture is ${what}`, () => {
    const { each, said } = apart(course);
    const [least, most] = [Math.min(...each), Math.max(...each)];
    assert(least > -IN_TIME && most < IN_TIME, `from ${least.toFixed(1)} to ${most.toFixed(1)} ms after it`);
    assert(said > least - 5 && said < most + 5, `the page says ${said.toFixed(1)} ms, of ${least} to ${most}`);
  });
}

test("sound whose packets come unevenly is later than an early picture, and in time with one that is held back", () => {
  const early = apart({ holdBack: 0, path: [3, 60] });
  const held = apart({ holdBack: 50, path: [3, 60] });
  const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? NaN;
  assert(median(early.each) > IN_TIME, `${median(early.each)} ms`);
  assert(Math.abs(median(held.each)) < IN_TIME, `held back it is in time: ${median(held.each)} ms`);
});
