// The rate of a publisher follows a path that is simulated, in virtual time; pictures are taken at the chosen rate.

import { LEAST_RATE, RateController } from "../src/worker/publish-rate.ts";
import { Pace } from "../src/media/pace.ts";
import { assert, same, sequence, test } from "./support/harness.ts";

const FRAME = 40;
const STEP = 10;
/** A keyframe is so many times as long as other pictures, and comes each ten seconds. */
const KEYFRAME = 8;
const KEYFRAMES = 10_000;

/** A path, and a publisher on it that leaves out pictures as long as too much waits. */
class Simulation {
  readonly controller: RateController;
  readonly #random: () => number;
  /** The rate in each second, and how long its bytes waited at most (ms at the path's capacity). */
  readonly seconds: { readonly rate: number; readonly wait: number }[] = [];
  #now = 0;
  #backlog = 0;
  #encoding: number;

  constructor(chosen: number, seed: number) {
    this.controller = new RateController(chosen);
    this.#encoding = this.controller.rate;
    this.#random = sequence(seed);
  }

  /** Runs for so many seconds on a path of this capacity (bit/s). */
  run(seconds: number, capacity: number): void {
    for (let second = 0; second < seconds; second += 1) {
      let most = 0;
      for (const until = this.#now + 1_000; this.#now < until; this.#now += STEP) {
        this.#step(capacity);
        most = Math.max(most, this.#backlog);
      }
      this.seconds.push({ rate: this.controller.rate, wait: (most * 8_000) / capacity });
    }
  }

  #step(capacity: number): void {
    this.#backlog = Math.max(0, this.#backlog - (capacity * STEP) / 8_000);
    this.controller.observe(this.#now, this.#backlog);
    this.#encoding = this.controller.takeChange() ?? this.#encoding;
    if (this.#now % FRAME === 0 && !this.controller.isFull(this.#now, this.#backlog)) {
      const usual = ((this.#encoding * FRAME) / 8_000) * (0.7 + 0.6 * (this.#random() / 2 ** 32));
      const bytes = this.#now % KEYFRAMES === 0 ? usual * KEYFRAME : usual;
      this.controller.encoded(this.#now, bytes);
      this.#backlog += bytes;
    }
  }
}

test("on a path that carries more the rate rises to the one that was chosen, and keyframes do not lower it", () => {
  const path = new Simulation(4_000_000, 1);
  path.run(60, 20_000_000);
  same(path.seconds[7]?.rate, 4_000_000, "rate after eight seconds");
  assert(path.seconds.slice(7).every(({ rate }) => rate === 4_000_000), "it stays");
});

for (const capacity of [300_000, 1_000_000, 3_000_000]) {
  test(`on a path of ${capacity} bit/s the rate stays near what it carries, and little waits`, () => {
    for (const seed of [1, 2, 3]) {
      const path = new Simulation(6_000_000, seed);
      path.run(60, capacity);
      const later = path.seconds.slice(10);
      const mean = later.reduce((sum, { rate }) => sum + rate, 0) / later.length;
      assert(mean > 0.6 * capacity && mean < 1.2 * capacity, `mean ${mean} (seed ${seed})`);
      // A keyframe is as long as eight pictures, so for that long it waits by itself.
      const waits = later.map(({ wait }) => wait).sort((a, b) => a - b);
      const [median = 0, most = 0] = [waits[waits.length >> 1], waits.at(-1)];
      assert(median < 250 && most < 900, `waits ${median} and ${most} ms (seed ${seed})`);
    }
  });
}

test("the rate falls within three seconds when the path narrows, and rises again when it widens", () => {
  const path = new Simulation(4_000_000, 5);
  path.run(10, 10_000_000);
  path.run(3, 600_000);
  const narrow = path.seconds.at(-1)?.rate ?? 0;
  assert(narrow < 900_000, `narrow ${narrow}`);
  path.run(20, 10_000_000);
  same(path.seconds.at(-1)?.rate, 4_000_000, "wide");
});

test("the rate never leaves its bounds", () => {
  const path = new Simulation(2_000_000, 9);
  path.run(20, 20_000);
  assert(path.seconds.every(({ rate }) => rate >= LEAST_RATE && rate <= 2_000_000), "bounds");
  same(path.seconds.at(-1)?.rate, LEAST_RATE, "least");
  same(new RateController(100_000).rate, 100_000, "a rate below the least is the publisher's choice");
});

test("what waits behind the browser shows in the round trip, and lowers the rate once for each effect", () => {
  const controller = new RateController(4_000_000);
  controller.observeRoundTrip(0, 40);
  controller.observeRoundTrip(500, 130);
  same([controller.rate, controller.isFull(500, 0)], [1_000_000, false], "90 ms more");
  controller.observeRoundTrip(1_000, 190);
  same(controller.rate, 700_000, "150 ms more");
  same([controller.isFull(1_049, 0), controller.isFull(1_050, 0)], [true, false], "the path empties itself");
  controller.observeRoundTrip(1_300, 400);
  same(controller.rate, 700_000, "at once after that");
  controller.observeRoundTrip(1_500, 400);
  same(controller.rate, 490_000, "later");
});

test("an exchange of clocks that does not come stops the encoder, and lowers the rate once", () => {
  const controller = new RateController(4_000_000);
  controller.observe(0, 0);
  same(controller.isFull(5_000, 0), false, "before the first one nothing is late");
  controller.observeRoundTrip(5_000, 40);
  same([controller.isFull(5_690, 0), controller.isFull(5_691, 0)], [false, true], "late");
  for (let now = 5_691; now < 8_000; now += 50) {
    controller.observe(now, 0);
  }
  same(controller.rate, 700_000, "rate");
  controller.observeRoundTrip(8_000, 2_500);
  same(controller.isFull(8_000, 0), true, "what was sent before it was late may still wait");
  same(controller.isFull(8_060, 0), false, "and then has left");
});

test("an encoder that makes more than the rate allows has to wait", () => {
  const controller = new RateController(4_000_000);
  controller.encoded(0, 50_000);
  same(controller.isFull(0, 0), false, "a keyframe as long as 400 ms");
  controller.encoded(0, 25_000);
  same([controller.isFull(0, 0), controller.isFull(199, 0), controller.isFull(200, 0)], [true, true, false], "more");
});

for (const [capacity, least] of [[500_000, 0], [600_000, 15_000], [2_000_000, 0]] as const) {
  test(`what waits where no browser sees it stays bounded at ${capacity} bit/s`, () => {
    const controller = new RateController(4_000_000);
    const random = sequence(4);
    const pongs: { readonly at: number; readonly trip: number }[] = [];
    const waits: number[] = [];
    let [encoding, queue] = [controller.rate, 0];
    for (let now = 0; now < 60_000; now += STEP) {
      queue = Math.max(0, queue - (capacity * STEP) / 8_000);
      const wait = (queue * 8_000) / capacity;
      if (now % 500 === 0) {
        pongs.push({ at: now + wait + 20, trip: wait + 20 });
      }
      for (let next = pongs[0]; next !== undefined && next.at <= now; next = pongs[0]) {
        controller.observeRoundTrip(now, next.trip);
        pongs.shift();
      }
      controller.observe(now, 0);
      encoding = controller.takeChange() ?? encoding;
      if (now % FRAME === 0 && !controller.isFull(now, 0)) {
        // No encoder makes less of a picture than this one's least.
        const bytes = Math.max(least, ((encoding * FRAME) / 8_000) * (0.7 + 0.6 * (random() / 2 ** 32)));
        controller.encoded(now, bytes);
        queue += bytes;
      }
      waits.push(wait);
    }
    const most = (from: number, to: number): number => Math.max(...waits.slice(from / STEP, to / STEP));
    assert(most(0, 10_000) < 3_000, `${most(0, 10_000)} ms at first`);
    assert(most(10_000, 60_000) < 800, `${most(10_000, 60_000)} ms later`);
    const usual = waits.slice(1_000).sort((a, b) => a - b)[2_500] ?? 0;
    assert(usual < 200, `${usual} ms usually`);
  });
}

test("the encoder is configured anew only for a change that is worth it", () => {
  const controller = new RateController(1_000_000);
  let changes = 0;
  for (let now = 0; now <= 10_000; now += 10) {
    controller.observe(now, 0);
    changes += controller.takeChange() === undefined ? 0 : 1;
  }
  same(controller.rate, 1_000_000, "rate");
  assert(changes >= 5 && changes <= 18, `${changes} changes`);
  same(controller.takeChange(), undefined, "no change");
});

/** How many of the pictures at these times are taken. */
function taken(rate: number, times: readonly number[]): number {
  const pace = new Pace(rate);
  return times.filter((at) => pace.take(at)).length;
}

test("a source of the chosen rate loses no picture, and a faster one as many as needed", () => {
  const random = sequence(3);
  const times = (rate: number, jitter: number): number[] =>
    Array.from({ length: rate * 10 }, (_, at) => (at * 1_000) / rate + jitter * (random() / 2 ** 32 - 0.5));
  same([taken(25, times(25, 0)), taken(30, times(30, 30)), taken(30, times(20, 10))], [250, 300, 200], "not faster");
  for (const [rate, source] of [[25, 30], [15, 60], [10, 25], [1, 30]] as const) {
    const count = taken(rate, times(source, 5));
    assert(Math.abs(count - rate * 10) <= 1, `${count} of ${source * 10} for ${rate} a second`);
  }
  const paused = [0, 40, 80, 5_000, 5_010, 5_020, 5_040];
  same(taken(25, paused), 6, "after a pause the count begins anew");
});
