// When sound is played, on a clock that counts samples and is not that of the publisher.

import { type Pcm, type PlayoutReport } from "../src/sound/pcm.ts";
import { Playout, QUANTUM } from "../src/sound/playout.ts";
import { assert, same, sequence, test } from "./support/harness.ts";
import { tone, toneAt } from "./support/tone.ts";

const RATE = 48_000;
const LENGTH = 960;
const PACKET = (LENGTH * 1_000) / RATE;
const PICTURE = 40;
/** Where media time 0 is on the context's clock, and how long after it is rendered a sample leaves (ms). */
const ORIGIN = 700;
const LEAVES = 10;

/** How a stage differs from a quiet one. */
interface Course {
  /** Parts by which the publisher's clock is faster. */
  readonly drift?: number;
  /** Milliseconds after its media time at which a packet has come (`undefined`: it is lost), and a picture is drawn. */
  readonly packet?: (number: number) => number | undefined;
  readonly picture?: (number: number) => number | undefined;
  readonly rate?: number;
}

/** A publisher, and the audio thread that plays what it sends. */
class Stage {
  readonly playout = new Playout(RATE);
  readonly #course: Course;
  #quantum = 0;
  #packet = 0;
  #picture = 0;
  /** What was rendered last, from `began` on (ms). */
  rendered: number[] = [];
  began = 0;

  constructor(course: Course = {}) {
    this.#course = course;
  }

  get now(): number {
    return (this.#quantum * QUANTUM * 1_000) / RATE;
  }

  /** The publisher's media time at a context time. */
  media(at: number): number {
    return (at - ORIGIN) * (1 + (this.#course.drift ?? 0));
  }

  /** Seconds pass; keeps what is rendered of the last one. */
  run(seconds: number): PlayoutReport {
    const until = this.now + seconds * 1_000;
    this.began = until - 1_000;
    this.rendered = [];
    const out = [new Float32Array(QUANTUM), new Float32Array(QUANTUM)];
    while (this.now < until) {
      this.#send();
      this.playout.render(this.now, out);
      if (this.now >= this.began) {
        this.rendered.push(...(out[0] ?? []));
      }
      this.#quantum += 1;
    }
    return this.playout.report(this.now, 0);
  }

  #send(): void {
    const { packet = () => 3, picture = () => 12, rate = RATE } = this.#course;
    const length = (LENGTH * rate) / RATE;
    for (let late = packet(this.#packet); this.#due(this.#packet * PACKET, late ?? 0); late = packet(this.#packet)) {
      if (late !== undefined) {
        this.playout.push(tone(this.#packet * PACKET, rate, length), this.now);
      }
      this.#packet += 1;
    }
    const drawn = (): number | undefined => picture(this.#picture);
    for (let late = drawn(); this.#due(this.#picture * PICTURE, late ?? 0); late = drawn()) {
      if (late !== undefined) {
        // It is drawn now, when what was rendered some time ago leaves.
        this.playout.shown(this.#picture * PICTURE, this.now - LEAVES, this.now);
      }
      this.#picture += 1;
    }
  }

  #due(media: number, late: number): boolean {
    return this.media(this.now - late) >= media;
  }

  /** The largest change from one sample to the next in what was rendered: a click is a large one. */
  get steepest(): number {
    return this.rendered.reduce((most, value, at, all) => Math.max(most, Math.abs(value - (all[at - 1] ?? value))), 0);
  }
}

/** A tone of 440 Hz and half the scale changes by so much from one sample to the next. */
const STEEP = (2 * Math.PI * 440 * 0.5) / RATE;

/** Fails unless the rendered second is the tone at one and the same delay. */
function checkTone({ rendered, began }: Stage, delay: number): void {
  const wrong = rendered.reduce((most, value, at) =>
    Math.max(most, Math.abs(value - toneAt(began + (at * 1_000) / RATE - delay))), 0);
  assert(wrong < 1e-3, `the tone is whole, ${wrong} off`);
}

test("sound that can be in time with the picture is, to the sample", () => {
  // The picture has 60 ms of delay where it is seen, and sound needs less.
  const stage = new Stage({ picture: () => 60 });
  const { skew, silence, correction, playing } = stage.run(15);
  const begins = silence;
  assert(playing && correction === 0, `it is played as it is: ${correction}`);
  assert(skew !== undefined && Math.abs(skew.median) < 6, `lips are in time: ${skew?.median}`);
  same(stage.run(5).silence, begins, "without any silence");
  checkTone(stage, stage.playout.delay(stage.now) === undefined ? NaN : (stage.began + stage.now) / 2 -
    mediaPlayed(stage, (stage.began + stage.now) / 2));
});

/** The media time of what was rendered at a context time, by the phase of the tone around what was aimed at. */
function mediaPlayed(stage: Stage, at: number): number {
  const aimed = at - (stage.playout.delay(stage.now) ?? 0);
  const errors = Array.from({ length: 1_001 }, (_, step) => (step - 500) / 100);
  const index = Math.round(((at - stage.began) * RATE) / 1_000);
  const wrong = (shift: number): number => {
    let sum = 0;
    for (let sample = 0; sample < 200; sample += 1) {
      sum += Math.abs((stage.rendered[index + sample] ?? 0) - toneAt(aimed + shift + (sample * 1_000) / RATE));
    }
    return sum;
  };
  const best = errors.reduce((least, shift) => (wrong(shift) < wrong(least) ? shift : least), 0);
  return aimed + best + (index * 1_000) / RATE - (at - stage.began);
}

test("sound that comes too late for the picture is played as early as it is whole", () => {
  const stage = new Stage({ packet: () => 30, picture: () => 5 });
  const { skew, silence } = stage.run(5);
  // It leaves 30 ms and the margin after its media time, and the output's 10 later; the picture is 5 ms old.
  assert(skew !== undefined && skew.median > 35 && skew.median < 45, `the picture stays as early: ${skew?.median}`);
  same(stage.run(5).silence, silence, "without any silence");
});

for (const ppm of [200, -200]) {
  test(`clocks that differ by ${ppm} ppm are followed without a gap`, () => {
    const stage = new Stage({ drift: ppm / 1e6, picture: () => 60 });
    const { silence, left } = stage.run(10);
    let furthest = 0;
    for (let half = 0; half < 4; half += 1) {
      const { skew } = stage.run(30);
      furthest = Math.max(furthest, Math.abs(skew?.median ?? Infinity));
      assert(stage.steepest < 1.2 * STEEP, "nothing clicks");
    }
    assert(furthest < 10, `lips stay in time over two minutes: ${furthest} ms`);
    const end = stage.playout.report(stage.now, 0);
    same([end.silence, end.left], [silence, left], "nothing is left out or waited for");
  });
}

test("a packet that is lost is silence of its length, and moves nothing", () => {
  const stage = new Stage({ packet: (number) => (number % 100 === 99 ? undefined : 3), picture: () => 60 });
  const before = stage.run(1.9);
  const after = stage.run(10);
  const lost = 5;
  const gaps = after.silence - before.silence;
  assert(Math.abs(gaps - lost * PACKET) < 4, `${gaps} ms of silence for ${lost} packets`);
  assert(Math.abs(after.skew?.median ?? Infinity) < 10, "in time");
  assert(stage.steepest < 0.05, `nothing clicks: ${stage.steepest}`);
});

test("packets that come unevenly are played evenly", () => {
  const next = sequence(11);
  const late = Array.from({ length: 1_000 }, () => next() % 20);
  const stage = new Stage({ packet: (number) => 3 + (late[number % late.length] ?? 0), picture: () => 12 });
  stage.run(6);
  const { silence } = stage.playout.report(stage.now, 0);
  const after = stage.run(8);
  assert(after.silence - silence < 2 * PACKET, `${after.silence - silence} ms of silence in eight seconds (seed 11)`);
  assert(Math.abs(after.skew?.median ?? Infinity) < 40, `in time: ${after.skew?.median}`);
});

test("a picture that is held back holds the sound back", () => {
  let hold = 12;
  const stage = new Stage({ picture: () => hold });
  stage.run(4);
  hold = 200;
  stage.run(4);
  const { skew } = stage.run(4);
  assert(Math.abs(skew?.median ?? Infinity) < 10, `in time again: ${skew?.median}`);
});

test("a picture that falters moves no sound, and what had waited for the page delays it only at first", () => {
  // Each fifth second the pictures are 300 ms late; the first two seconds of sound come at once.
  const falters = (number: number): number => (number % 125 < 25 ? 300 : 12);
  const stage = new Stage({ picture: falters, packet: (number) => (number < 100 ? 2_000 - number * PACKET : 3) });
  stage.run(6);
  const { silence, left } = stage.playout.report(stage.now, 0);
  const after = stage.run(20);
  same([after.silence, after.left], [silence, left], "nothing is left out or waited for");
  assert(after.waiting < 60, `sound is early again: ${after.waiting} ms wait`);
});

test("after a pause sound goes on in time, and nothing old is heard", () => {
  let paused = false;
  const stage = new Stage({ packet: () => (paused ? undefined : 3), picture: () => 60 });
  stage.run(3);
  paused = true;
  const quiet = stage.run(10);
  assert(!quiet.playing && stage.rendered.every((value) => Math.abs(value) < 1e-3), "silence");
  paused = false;
  const { skew, playing } = stage.run(3);
  assert(playing && Math.abs(skew?.median ?? Infinity) < 10, `in time: ${skew?.median}`);
});

test("another timeline is played from its beginning, and a picture of none is not followed", () => {
  const stage = new Stage({ picture: () => 60 });
  stage.run(3);
  stage.playout.push(tone(10 * 3_600_000, RATE, LENGTH), stage.now);
  assert(stage.run(3).playing, "a packet from hours later costs itself");
  stage.playout.anew();
  const fresh = new Playout(RATE);
  fresh.shown(-3_600_000, 0, 0);
  const out = [new Float32Array(QUANTUM)];
  let heard = false;
  for (let at = 0; at < 500; at += 1) {
    const now = (at * QUANTUM * 1_000) / RATE;
    fresh.push(tone(now, RATE, QUANTUM), now);
    fresh.render(now, out);
    heard ||= (out[0] ?? []).some((value) => Math.abs(value) > 0.4);
  }
  assert(heard, "a picture an hour away holds nothing back");
});

test("sound of another rate keeps its pitch, and one channel is heard on both sides", () => {
  const stage = new Stage({ rate: 8_000, picture: () => 60 });
  stage.run(5);
  const crossings = stage.rendered.filter((value, at) => value >= 0 && (stage.rendered[at - 1] ?? 0) < 0).length;
  assert(Math.abs(crossings - 440) <= 2, `${crossings} periods in a second`);
  const playout = new Playout(RATE);
  const out = [new Float32Array(QUANTUM), new Float32Array(QUANTUM)];
  for (let at = 0; at < 100; at += 1) {
    const now = (at * QUANTUM * 1_000) / RATE;
    playout.push(tone(now, RATE, QUANTUM), now);
    playout.render(now, out);
  }
  same(out[1], out[0], "both sides");
  assert((out[0] ?? []).some((value) => value !== 0), "something is heard");
});

test("what waits is bounded, whatever comes", () => {
  const playout = new Playout(RATE);
  for (let number = 0; number < 5_000; number += 1) {
    playout.push(tone(number * PACKET, RATE, LENGTH), 0);
  }
  const { waiting } = playout.report(0, 0);
  playout.render(0, [new Float32Array(QUANTUM)]);
  assert(waiting <= 5_000 * PACKET, "reported");
  const held = playout.report(0, 0).waiting;
  assert(held <= 2_100, `${held} ms wait`);
  const none: readonly Pcm[] = [
    { at: 0, rate: 0, planes: [new Float32Array(9)] }, { at: NaN, rate: RATE, planes: [new Float32Array(9)] },
    { at: 0, rate: RATE, planes: [] }, { at: 0, rate: RATE, planes: [new Float32Array(9), new Float32Array(8)] },
  ];
  const empty = new Playout(RATE);
  for (const pcm of none) {
    empty.push(pcm, 0);
  }
  same(empty.report(0, 0).waiting, 0, "what is no sound is not taken");
});
