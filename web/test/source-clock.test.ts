// The clocks of cameras and microphones, put onto one: in time however late things come.

import { SourceClock } from "../src/worker/source-clock.ts";
import { assert, same, test } from "./support/harness.ts";

/** Delays of 5 to 45 ms, as on a busy machine; the same each time. */
function delay(at: number): number {
  return 5 + ((at * 7_919) % 41);
}

test("what a source gives is put where it would be with the least delay, and one that came late moves nothing", () => {
  const clock = new SourceClock();
  const times = Array.from({ length: 400 }, (_, at) => {
    const late = at === 0 ? 300 : at === 200 ? 900 : delay(at);
    return clock.came(50_000 + at * 40, 1_000 + at * 40 + late) - (1_000 + at * 40);
  });
  same(times[0], 300, "of the first nothing else is known");
  const later = times.slice(60);
  same([Math.min(...later), Math.max(...later)], [5, 5], "the least delay");
});

test("a picture and a sound of the same instant have the same time, whatever their clocks count from", () => {
  const [camera, microphone] = [new SourceClock(), new SourceClock()];
  let apart = 0;
  for (let at = 0; at < 3_000; at += 1) {
    const now = 1_000 + at * 10;
    const heard = microphone.came(831 + at * 10, now + delay(at));
    if (at % 4 === 0) {
      const seen = camera.came(59_786_000 + at * 10, now + delay(at / 4));
      apart = at < 300 ? 0 : Math.max(apart, Math.abs(seen - heard));
    }
  }
  assert(apart < 0.5, `${apart} ms apart`);
});

test("a source whose clock drifts is followed without a jump, and one that was set is believed anew", () => {
  for (const drift of [-2e-4, 2e-4]) {
    const clock = new SourceClock();
    let [last, off] = [-Infinity, 0];
    for (let at = 0; at < 60_000; at += 1) {
      const now = at * 20;
      const time = clock.came(now * (1 + drift), now + delay(at));
      assert(at < 100 || Math.abs(time - last - 20) < 8, `steps of 20 ms, not ${time - last}`);
      off = at < 100 ? 0 : Math.max(off, Math.abs(time - now - 5));
      last = time;
    }
    assert(off < 12, `${off} ms from the least delay, while the clocks went ${drift * 1_200_000} ms apart`);
    const now = 1_300_000;
    same(clock.came(7, now), now, "another clock");
  }
});
