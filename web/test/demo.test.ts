// What the demo's page says of a flipped bit.

import { Flip } from "../src/demo/flip.ts";
import { story } from "../src/demo/flip-view.ts";
import { assert, same, test } from "./support/harness.ts";

/** Frames 40 ms apart, as a worker tells them: each when the next one is drawn. */
function play(flip: Flip, frames: readonly number[], begin: number): void {
  frames.slice(0, -1).forEach((frame, at) => {
    flip.frame(frame, begin + (frames[at + 1] ?? 0) * 40);
  });
}

test("a refused frame is told with its reason, the standstill, and the frames that are missing", () => {
  const flip = new Flip();
  flip.figures({}, 10, 0);
  play(flip, [1, 2, 3], 7_000);
  flip.ask(100);
  same(flip.state, { step: "asked" }, "at first");
  play(flip, [3, 4, 8, 9, 10], 7_000);
  same(flip.state.step, "asked", "a gap alone is no refusal");
  flip.figures({ tag: 1 }, 20, 500);
  same(flip.state, { step: "on", reason: "tag", still: 160, missing: 3 }, "in the end");
  const words = story(flip.state).join(" ");
  assert(/\(tag: not authentic\).*stood for 160 ms\. 3 frames are missing/.test(words), words);
});

test("of several gaps the longest standstill is told", () => {
  const flip = new Flip();
  flip.figures({ replay: 2 }, 10, 0);
  flip.ask(0);
  play(flip, [1, 2, 4, 5, 10, 11, 12], 0);
  flip.figures({ replay: 2, tag: 1 }, 20, 500);
  same(flip.state, { step: "on", reason: "tag", still: 200, missing: 4 }, "state");
});

test("a refusal that the figures tell first waits for the gap, and not for long", () => {
  const flip = new Flip();
  flip.ask(0);
  flip.figures({ tag: 1 }, 5, 500);
  same(flip.state, { step: "refused", reason: "tag" }, "without a gap");
  flip.figures({ tag: 1 }, 5, 2_500);
  same(flip.state.step, "refused", "as long as nothing is drawn");
  flip.figures({ tag: 1 }, 9, 3_000);
  same(flip.state, { step: "on", reason: "tag" }, "without a length");
  assert(!/stood|missing/.test(story(flip.state).join(" ")), "what is not known is not told");
});

test("what never comes is said, and so is a session that ends", () => {
  const flip = new Flip();
  flip.ask(0);
  flip.figures({}, 5, 5_000);
  same(flip.state.step, "asked", "still waiting");
  flip.figures({}, 9, 7_000);
  same(flip.state.step, "missed", "given up");
  flip.figures({ tag: 1 }, 9, 8_000);
  same(flip.state, { step: "refused", reason: "tag" }, "told late");
  flip.ask(8_000);
  flip.ended();
  same(flip.state.step, "lost", "the session ended");
  flip.ask(9_000);
  flip.failed();
  same(story(flip.state), [], "nothing was flipped");
});
