// Freezes of the picture.

import { Freezes } from "../src/media/freezes.ts";
import { same, test } from "./support/harness.ts";

test("a picture that stands for far longer than usual is a freeze", () => {
  // The program's test has the same rows: interval in ms, one that is longer, and whether that is a freeze.
  const rows: readonly [number, number, boolean][] = [
    [40, 189, false], [40, 190, true], [100, 299, false], [100, 300, true], [1_000, 2_999, false], [1_000, 3_000, true],
    [40, 60_000, true],
  ];
  for (const [usual, longer, froze] of rows) {
    const freezes = new Freezes();
    let now = 7;
    const after = (milliseconds: number): void => {
      now += milliseconds;
      freezes.drawn(now);
    };
    for (let drawn = 0; drawn < 40; drawn += 1) {
      after(usual);
    }
    after(longer);
    after(usual);
    same([freezes.count, freezes.length], froze ? [1, longer] : [0, 0], `${usual} ${longer}`);
  }
});

test("before an interval is usual nothing is a freeze", () => {
  const freezes = new Freezes();
  let now = 0;
  for (const seconds of [0, 5, 1, 7, 2, 3]) {
    now += seconds * 1_000;
    freezes.drawn(now);
  }
  same([freezes.count, freezes.length], [0, 0], "pictures of no rate");
});
