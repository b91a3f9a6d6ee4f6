// What a worker tells of each frame, for the laboratory.

import { type Frame } from "../src/protocol/unit/assemble.ts";
import { type FromWorker } from "../src/messages.ts";
import { Stages } from "../src/media/stages.ts";
import { wallAt } from "../src/worker/clock.ts";
import { Measured } from "../src/worker/measured.ts";
import { same, test } from "./support/harness.ts";
import { VirtualTime } from "./support/virtual-time.ts";

const MS = 1_000_000;

/** A frame that was stamped 5 ms before it came, and says this of the one before. */
function cameAt(number: number, arrived: number, previousSeal: number, previousSend: number): Omit<Frame, "data"> {
  const captured = wallAt(arrived) - BigInt(5 * MS);
  const preamble = {
    frame: BigInt(number), media: 0n, captured, capture: 0, encoded: captured + BigInt(2 * MS), meaning: 0, padding: 0,
    previousSeal, previousSend,
  };
  return {
    type: "frame", stream: 1, keyframe: false, skipped: 0n, arrived, sealedAt: captured + BigInt(3 * MS), preamble,
  } as unknown as Omit<Frame, "data">;
}

test("a row has the stages that are known, and what the sessions did until then", () => {
  const time = new VirtualTime();
  const posted: FromWorker[] = [];
  const measured = new Measured((message) => posted.push(message), time);
  const stages = new Stages();
  const way = stages.begin(cameAt(7, 1_000, 0, 0), 1_001);
  way.fed = 1_001;
  way.decoded = 1_003;
  stages.drawn(way, 1_004, { offset: 0n, uncertainty: 0.5 });
  // The next frame tells how long this one was sealed and sent.
  stages.begin(cameAt(8, 1_033, MS / 2, MS / 4), 1_034);
  measured.opened(0.5);
  measured.opened(0.25);
  measured.way(7n, way);
  const expected = {
    frame: 7,
    stages: {
      capture: 0, encode: 2, queue: 1, seal: 0.5, send: 0.25, network: 1.25, open: 1, wait: 0, decode: 2, draw: 1,
    },
    total: 9, uncertainty: 0.5, opening: { at: 1_000, messages: 2, milliseconds: 0.75 },
  };
  same(posted, [{ type: "frame", row: expected }], "rows");
});

test("what is not known is absent", () => {
  const time = new VirtualTime();
  const posted: FromWorker[] = [];
  const stages = new Stages();
  const way = stages.begin(cameAt(7, 1_000, 0, 0), 1_001);
  stages.drawn(way, 1_004, undefined);
  new Measured((message) => posted.push(message), time).way(7n, way);
  const known = { capture: 0, encode: 2, queue: 1, open: 1 };
  const row = { frame: 7, stages: known, opening: { at: 1_000, messages: 0, milliseconds: 0 } };
  same(posted, [{ type: "frame", row }], "rows");
});
