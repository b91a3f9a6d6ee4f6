// Images, the canvas and the figures of a frame's way.

import { type Picture } from "../src/media/codecs.ts";
import { ImageDecoder } from "../src/media/images.ts";
import { jpegSize } from "../src/media/jpeg.ts";
import { Screen } from "../src/media/screen.ts";
import { Stages } from "../src/media/stages.ts";
import { type Bytes } from "../src/protocol/bytes.ts";
import { type Frame } from "../src/protocol/unit/assemble.ts";
import { wallAt } from "../src/worker/clock.ts";
import { assert, hex, same, sequence, test } from "./support/harness.ts";
import { VirtualTime, breathe } from "./support/virtual-time.ts";

/** The head of a JPEG image of this size. */
function image(width: number, height: number): Bytes {
  const hexOf = (value: number): string => value.toString(16).padStart(4, "0");
  return hex(`ffd8ffe00004abcdffc4000300ffffc0000b08${hexOf(height)}${hexOf(width)}011100`);
}

test("an image is known by its markers, and its size is looked at before the browser sees it", () => {
  same(jpegSize(image(640, 480)), { width: 640, height: 480 }, "size");
  same(jpegSize(image(8_192, 8_192)), { width: 8_192, height: 8_192 }, "the largest");
  const whole = image(640, 480);
  const wrong: readonly Bytes[] = [
    image(8_193, 1), image(1, 8_193), image(0, 480), image(640, 0), new Uint8Array(0), hex("ffd8"), hex("ffd9"),
    hex("ffd8ffd8"), hex("ffd8ffda0004abcd"), hex("ffd8ffe00000"), hex("ffd8ffffffff"), hex("0000000165"),
    whole.slice(1), whole.slice(0, whole.length - 4),
  ];
  for (const data of wrong) {
    same(jpegSize(data), undefined, "no image");
  }
  const next = sequence(5);
  for (let round = 0; round < 20_000; round += 1) {
    const data = Uint8Array.from(whole, (byte) => (next() % 8 === 0 ? next() & 0xff : byte));
    jpegSize(data.slice(0, next() % (whole.length + 1)));
  }
});

/** Pictures, and whether they are closed. */
class Pictures {
  open = 0;

  make(size = 32): Picture {
    this.open += 1;
    let closed = false;
    const close = (): void => {
      assert(!closed, "a picture is closed once");
      closed = true;
      this.open -= 1;
    };
    return { image: {} as CanvasImageSource, width: size, height: size, close };
  }
}

test("images are decoded one after the other, and of those that wait the newest", async () => {
  const pictures = new Pictures();
  const begun: ((picture: Picture) => void)[] = [];
  const shown: number[] = [];
  let dropped = 0;
  const decoder = new ImageDecoder<number>(() => new Promise((resolve) => begun.push(resolve)), {
    picture(picture, tag) {
      shown.push(tag);
      picture.close();
    },
    fed: () => undefined,
    dropped() {
      dropped += 1;
    },
    news: () => undefined,
  });
  for (let number = 0; number < 5; number += 1) {
    decoder.feed(image(16, 16), number);
  }
  same([begun.length, decoder.inside, dropped], [1, 2, 3], "one is decoded, one waits");
  begun[0]?.(pictures.make());
  await breathe();
  same([shown, begun.length], [[0], 2], "the newest follows");
  decoder.reset();
  begun[1]?.(pictures.make());
  await breathe();
  same([shown, pictures.open, decoder.inside], [[0], 0, 0], "after a reset nothing is shown");
  decoder.feed(hex("ffd8"), 9);
  same([begun.length, dropped], [2, 4], "no image");
});

interface Shown {
  readonly screen: Screen<number>;
  readonly time: VirtualTime;
  readonly pictures: Pictures;
  readonly drawn: number[];
  readonly log: string[];
  readonly take: (number: number, captured: number, size?: number) => void;
}

function screen(target: number): Shown {
  const [time, pictures] = [new VirtualTime(), new Pictures()];
  const [drawn, log]: [number[], string[]] = [[], []];
  const surface = {
    resize(width: number, height: number) {
      log.push(`resize ${width}x${height}`);
    },
    show(picture: Picture) {
      log.push(`show ${picture.width}`);
    },
    clear() {
      log.push("clear");
    },
  };
  const one = new Screen<number>(surface, {
    drawn(tag) {
      drawn.push(tag);
    },
    dropped() {
      log.push("dropped");
    },
    size(width, height) {
      log.push(`size ${width}x${height}`);
    },
  }, time, target);
  const take = (number: number, captured: number, size = 32): void => {
    one.take(pictures.make(size), captured, number);
  };
  return { screen: one, time, pictures, drawn, log, take };
}

test("a picture that lies on its side is shown upright, in a canvas that stands", () => {
  const { screen: one, log } = screen(0);
  one.open();
  one.orientation = { turns: 1, mirrored: 0 };
  one.take({ image: {} as CanvasImageSource, width: 32, height: 24, close: () => undefined }, 0, 1);
  same(log, ["resize 24x32", "size 24x32", "show 32"], "its sides are swapped");
});

test("nothing is drawn on a closed screen, and every picture is closed", async () => {
  const { screen: one, time, pictures, drawn, log, take } = screen(100);
  take(0, 0);
  same([drawn, pictures.open], [[], 0], "before it opens");
  one.open();
  take(1, 0);
  same(pictures.open, 1, "it waits");
  one.close();
  await time.pass(1_000);
  same([drawn, pictures.open, log], [[], 0, ["dropped", "dropped"]], "after it closed");
});

test("without a target pictures are drawn at once, and the canvas has their size", () => {
  const { screen: one, pictures, log, take } = screen(0);
  one.open();
  take(0, 0);
  take(1, 40);
  take(2, 80, 64);
  one.clear();
  take(3, 120, 64);
  same(log, [
    "resize 32x32", "size 32x32", "show 32", "show 32", "resize 64x64", "size 64x64", "show 64", "clear",
    "resize 64x64", "size 64x64", "show 64",
  ], "log");
  same(pictures.open, 0, "all are closed");
});

test("with a target pictures keep the distances of their capture, and late ones give way to the newest", async () => {
  const { screen: one, time, pictures, drawn, take } = screen(60);
  one.open();
  // Captured each 40 ms, by a clock that is far ahead; the second comes 50 ms late, the third in time.
  const at = 5_000_000;
  take(0, at);
  await time.pass(59);
  same(drawn, [], "the first waits for the target");
  await time.pass(1);
  same(drawn, [0], "it is drawn after 60 ms");
  await time.pass(30);
  take(1, at + 40);
  await time.pass(9);
  same(drawn, [0], "captured 40 ms later");
  await time.pass(1);
  same(drawn, [0, 1], "and drawn 40 ms later");
  await time.pass(200);
  take(2, at + 80);
  take(3, at + 120);
  same(drawn, [0, 1, 2, 3], "late ones are drawn at once");
  take(4, at + 300);
  take(5, at + 300);
  await time.pass(500);
  same([drawn, pictures.open], [[0, 1, 2, 3, 5], 0], "of two that are due together the newest");
});

test("pictures that are held are bounded", async () => {
  const { screen: one, time, pictures, take } = screen(500);
  one.open();
  for (let number = 0; number < 100; number += 1) {
    take(number, number);
  }
  same(pictures.open, 30, "held");
  await time.pass(1_000);
  same(pictures.open, 0, "drawn or closed");
});

const SECOND = 1_000_000_000n;

/** A frame whose stamps follow from the publisher's clock (ns) at its capture. */
function frame(number: number, captured: bigint, previous: { seal: number; send: number }, arrived: number): Frame {
  return {
    stream: 1, keyframe: number === 0, skipped: 0n, data: new Uint8Array(1), arrived,
    sealedAt: captured + 7_000_000n,
    preamble: {
      frame: BigInt(number), mediaTime: 0n, captured, encoded: captured + 5_000_000n, previousSeal: previous.seal,
      previousSend: previous.send, capture: 3_000_000, padding: 0, stamp: "exposure-start", layout: "source",
      kept: false,
    },
  };
}

test("the stages of a frame add up to its total, and what sealing took stands in the next one", () => {
  const stages = new Stages();
  const now = 10_000;
  // The publisher's clock is an hour ahead, and the frame was captured 30 ms ago.
  const offset = 3_600n * SECOND;
  const captured = wallAt(now) + offset - 30_000_000n;
  const way = stages.begin(frame(0, captured, { seal: 0, send: 0 }, now - 10), now - 8);
  way.fed = now - 7;
  way.decoded = now - 4;
  stages.drawn(way, now - 1, { offset, uncertainty: 0.5 });
  same([way.stage("seal"), way.stage("network")], [undefined, undefined], "not known yet");
  const next = stages.begin(frame(1, captured + 40_000_000n, { seal: 500_000, send: 1_500_000 }, now), now);
  const expected = {
    capture: 3, encode: 5, queue: 2, seal: 0.5, send: 1.5, network: 11, open: 2, wait: 1, decode: 3, draw: 3,
  };
  const found = stages.figures(now);
  for (const { name, median, p99, count } of found.stages) {
    same([Math.round(median * 1e3) / 1e3, p99, count], [expected[name], median, 1], name);
  }
  const sum = found.stages.reduce((all, { median }) => all + median, 0);
  assert(Math.abs(sum - (way.total ?? 0)) < 0.01, `the sum is the total: ${sum}, ${way.total}`);
  same([found.drawn, found.total?.uncertainty], [1, 0.5], "total");
  stages.interrupted();
  same(next.stage("seal"), undefined, "what was lost is not known");
  same(stages.figures(now + 2_000), { stages: found.stages.map(({ name }) => ({ name, median: 0, p99: 0, count: 0 })),
    drawn: 0 }, "after a second without frames");
});

test("a network stage below zero is left as it is, and without a clock there is none", () => {
  const stages = new Stages();
  const captured = wallAt(1_000) - 7_000_000n;
  const way = stages.begin(frame(0, captured, { seal: 0, send: 0 }, 1_000), 1_000);
  const blind = stages.begin(frame(1, captured, { seal: 1, send: 1 }, 1_000), 1_000);
  stages.drawn(way, 1_001, { offset: -2_000_000n, uncertainty: 1 });
  stages.drawn(blind, 1_001, undefined);
  stages.interrupted();
  assert((way.stage("network") ?? 0) < -1.9, "negative");
  same([blind.stage("network"), blind.total], [undefined, undefined], "without a clock");
});
