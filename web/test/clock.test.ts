// What a worker knows of the publisher's clock, and how often it asks for keyframes.

import { PeerClock } from "../src/worker/clock.ts";
import { KeyframeRequests } from "../src/worker/keyframes.ts";
import { assert, same, test } from "./support/harness.ts";
import { VirtualTime } from "./support/virtual-time.ts";

const MS = 1_000_000n;

function reading(offset: bigint, roundTrip: bigint): Parameters<PeerClock["note"]>[0] {
  return { offset, roundTrip, uncertainty: (roundTrip + 1n) / 2n };
}

test("the exchange that bounds the clock best counts, and its bound grows with its age", () => {
  const clock = new PeerClock();
  same([clock.estimate(0), clock.roundTrip], [undefined, undefined], "nothing is known");
  clock.note(reading(100n * MS, 20n * MS), 0);
  clock.note(reading(103n * MS, 4n * MS), 500);
  clock.note(reading(95n * MS, 40n * MS), 1_000);
  const estimate = clock.estimate(1_000);
  same([estimate?.offset, clock.roundTrip], [103n * MS, 40], "the shortest");
  assert(Math.abs((estimate?.uncertainty ?? 0) - 2.15) < 1e-9, "half of it, the timer's resolution, and the drift");
  assert(Math.abs((clock.estimate(10_500)?.uncertainty ?? 0) - 3.1) < 1e-9, "100 ppm");
});

test("an offset that no error explains means that a clock was set", () => {
  const clock = new PeerClock();
  same(clock.note(reading(100n * MS, 4n * MS), 0), false, "the first");
  same(clock.note(reading(104n * MS, 4n * MS), 500), false, "both may be right");
  same(clock.note(reading(500n * MS, 30n * MS), 1_000), true, "a step");
  same(clock.estimate(1_000)?.offset, 500n * MS, "what was before is forgotten");
});

test("exchanges of half a minute are remembered", () => {
  const clock = new PeerClock();
  clock.note(reading(1n, 0n), 0);
  for (let count = 0; count < 64; count += 1) {
    same(clock.estimate(count)?.offset, 1n, `after ${count}`);
    clock.note(reading(2n, 20n * MS), 1);
  }
  same(clock.estimate(64)?.offset, 2n, "after 64");
});

test("a keyframe is asked for at once, then each quarter of a second, until it comes", async () => {
  const time = new VirtualTime();
  const asked: number[] = [];
  const requests = new KeyframeRequests(time, () => {
    asked.push(time.now().monotonic - 1_000);
  });
  for (let count = 0; count < 20; count += 1) {
    requests.ask(1);
    await time.pass(20);
  }
  await time.pass(1_000);
  same(asked, [0, 250, 500], "requests");
  requests.ask(1);
  requests.ask(1);
  requests.settle();
  await time.pass(1_000);
  same(asked.length, 4, "what waited is not sent once it came");
});
