// How old the picture is at most, on a clock of the test's own (signatures.md, section 6).

import { type Bytes } from "../src/protocol/bytes.ts";
import { parseAnswer } from "../src/protocol/live/answer.ts";
import { MARGIN, MAX_GROUP, MAX_ROUND_TRIP, MIN_GROUP, PictureAge } from "../src/protocol/live/picture-age.ts";
import { answerTo } from "./support/group-camera.ts";
import { assert, same, test } from "./support/harness.ts";

const TIMES = { roundTrip: 40, group: 2_000 };

function bytesOf(number: number): Bytes {
  return new Uint8Array(16).fill(number);
}

/** A challenge that is sent now. */
function ask(age: PictureAge, now: number, number = now / 100): Bytes {
  const random = bytesOf(number);
  assert(age.challenge(now, random), `a challenge is due at ${now}`);
  return random;
}

test("the age is counted from the challenge that a frame answers, and beyond the limit there is an alarm", async () => {
  const age = new PictureAge(TIMES, 0);
  same(age.state(0), { state: "waiting" }, "before the first challenge");
  const { root, answer } = await answerTo(ask(age, 10, 1));
  age.verified(50, root);
  same(age.state(55), { state: "waiting" }, "before the answer");
  assert(await age.answer(parseAnswer(answer)), "it is mine");
  same(age.state(60), { state: "live", atMost: 50 }, "with the answer");
  same(age.state(2_070), { state: "live", atMost: 2_060 }, "at the limit");
  same(age.state(2_071), { state: "alarm", cause: "freeze" }, "beyond it, without frames");
});

test("an answer before its frame counts once the frame is verified", async () => {
  const age = new PictureAge(TIMES, 0);
  const { root, answer } = await answerTo(ask(age, 0));
  assert(await age.answer(parseAnswer(answer)), "it is mine");
  same(age.state(40), { state: "waiting" }, "before the frame");
  age.verified(80, root);
  same(age.state(80), { state: "live", atMost: 80 }, "with it");
});

test("frames that answer others alone are stale", async () => {
  const age = new PictureAge(TIMES, 0);
  ask(age, 0);
  for (let at = 1; at <= 21; at += 1) {
    const { root, answer } = await answerTo(bytesOf(100 + at));
    age.verified(at * 100, root);
    same(await age.answer(parseAnswer(answer)), false, "the answer is another viewer's");
  }
  same(age.state(2_060), { state: "waiting" }, "at the limit");
  same(age.state(2_061), { state: "alarm", cause: "stale" }, "beyond it");
});

test("who is answered asks seldom, and who is not soon asks again", async () => {
  const age = new PictureAge(TIMES, 0);
  const sent: number[] = [];
  for (let at = 0; at < 10_000; at += 20) {
    if (age.deadline <= at) {
      sent.push(at);
      const { root, answer } = await answerTo(ask(age, at, sent.length));
      age.verified(at, root);
      const isLost = at >= 4_000 && at < 5_000;
      assert(isLost || (await age.answer(parseAnswer(answer))), "it is mine");
    }
    assert(age.state(at).state !== "alarm", `no alarm at ${at}`);
  }
  const count = (from: number, to: number): number => sent.filter((at) => at >= from && at < to).length;
  same([count(0, 4_000), count(4_000, 5_000), count(5_200, 10_000)], [6, 5, 7], "challenges");
});

test("challenges come at a constant pace while none is answered", () => {
  const age = new PictureAge(TIMES, 0);
  for (let number = 0; number < 500; number += 1) {
    same(age.challenge(number * 50, bytesOf(number & 0xff)), number % 4 === 0, "one every 200 ms");
    assert(age.deadline > number * 50, "the next one is due later");
  }
});

test("an alarm ends with the next answer", async () => {
  const age = new PictureAge(TIMES, 0);
  ask(age, 0, 200);
  let last = bytesOf(0);
  for (let at = 200; at <= 2_000; at += 200) {
    last = ask(age, at);
  }
  same(age.state(2_061), { state: "alarm", cause: "freeze" }, "nothing came");
  const { root, answer } = await answerTo(last);
  age.verified(2_100, root);
  await age.answer(parseAnswer(answer));
  same(age.state(2_110), { state: "live", atMost: 110 }, "the newest challenge was sent at 2000");
});

test("a picture that is repeated raises the alarm although its signatures are right", async () => {
  const age = new PictureAge(TIMES, 0);
  const { root, answer } = await answerTo(ask(age, 0, 99));
  age.verified(30, root);
  await age.answer(parseAnswer(answer));
  for (let at = 800; at <= 2_200; at += 200) {
    ask(age, at);
    // A relay shows the same answers again and again.
    age.verified(at, root);
    same(await age.answer(parseAnswer(answer)), false, "it answers nothing that waits");
  }
  same(age.state(2_200), { state: "alarm", cause: "stale" }, "it is old");
});

test("a forged answer does not keep the camera's away", async () => {
  const age = new PictureAge(TIMES, 0);
  const { root, answer } = await answerTo(ask(age, 0, 7));
  age.verified(30, root);
  // The name is right, and the place is another one.
  const forged = new Uint8Array([...answer.slice(0, 5), 0, 2, 0, 0, ...bytesOf(1), ...bytesOf(2)]);
  assert(await age.answer(parseAnswer(forged)), "it has the right name");
  same(age.state(40), { state: "waiting" }, "it leads elsewhere");
  assert(await age.answer(parseAnswer(answer)), "the camera's");
  same(age.state(40), { state: "live", atMost: 40 }, "it counts");
});

test("what somebody stretched counts up to its bound", () => {
  same(new PictureAge({ roundTrip: 10, group: 3_600_000 }, 0).limit, 10 + MAX_GROUP + MARGIN, "a keyframe held back");
  const age = new PictureAge({ roundTrip: 60_000, group: 40 }, 0);
  same(age.limit, MAX_ROUND_TRIP + MIN_GROUP + MARGIN, "limit");
  ask(age, 0);
  same([age.state(2_020), age.state(2_021)], [{ state: "waiting" }, { state: "alarm", cause: "freeze" }], "states");
});
