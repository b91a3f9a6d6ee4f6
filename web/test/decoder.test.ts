// What watches over the browser's decoder, with a decoder that a test plays.

import { type Chunk, type Codec, type CodecConfig, type CodecEvents, type Picture } from "../src/media/codecs.ts";
import { StreamDecoder } from "../src/media/decoder.ts";
import { clipFrames, clipParameters } from "./support/clip.ts";
import { assert, same, test } from "./support/harness.ts";
import { VirtualTime } from "./support/virtual-time.ts";

/** A decoder that does what it is told. */
class PlayedCodec implements Codec {
  readonly events: CodecEvents;
  readonly configs: CodecConfig[] = [];
  readonly chunks: Chunk[] = [];
  queued = 0;
  throws = false;
  isClosed = false;

  constructor(events: CodecEvents) {
    this.events = events;
  }

  configure(config: CodecConfig): void {
    this.configs.push(config);
  }

  decode(chunk: Chunk): void {
    if (this.throws) {
      throw new Error("a decoder may throw");
    }
    this.chunks.push(chunk);
  }

  close(): void {
    this.isClosed = true;
  }
}

class Bench {
  readonly time = new VirtualTime();
  readonly codecs: PlayedCodec[] = [];
  readonly shown: number[] = [];
  readonly news: string[] = [];
  /** Pictures that exist. */
  open = 0;
  dropped = 0;
  asked = 0;
  readonly decoder: StreamDecoder<number>;
  #next = 0;

  constructor() {
    const make = (events: CodecEvents): Codec => {
      const codec = new PlayedCodec(events);
      this.codecs.push(codec);
      return codec;
    };
    this.decoder = new StreamDecoder<number>(make, {
      picture: (picture, tag) => {
        this.shown.push(tag);
        picture.close();
      },
      fed: () => undefined,
      dropped: () => {
        this.dropped += 1;
      },
      needsKeyframe: () => {
        this.asked += 1;
      },
      news: (words) => {
        this.news.push(words);
      },
    }, this.time);
    this.decoder.describe(clipParameters());
  }

  get codec(): PlayedCodec {
    const last = this.codecs.at(-1);
    assert(last !== undefined, "there is a decoder");
    return last;
  }

  /** Feeds the next frame 40 ms after the one before. Returns its number. */
  async feed(keyframe: boolean): Promise<number> {
    await this.time.pass(40);
    const frame = clipFrames()[keyframe ? 0 : 1];
    assert(frame !== undefined, "the clip has it");
    const number = this.#next;
    this.#next += 1;
    this.decoder.feed(frame.data, keyframe, number);
    return number;
  }

  /** The decoder gives the oldest frame that it has. */
  give(size = 32): void {
    const chunk = this.codec.chunks.shift();
    assert(chunk !== undefined, "a frame is in the decoder");
    this.codec.events.picture(this.picture(size), chunk.timestamp);
  }

  picture(size = 32): Picture {
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

test("nothing is fed before a keyframe, and each picture comes with its frame", async () => {
  const bench = new Bench();
  await bench.feed(false);
  same([bench.codecs.length, bench.dropped, bench.asked], [0, 1, 1], "a delta frame");
  for (let count = 0; count < 5; count += 1) {
    await bench.feed(count === 0);
    bench.give();
  }
  same([bench.shown, bench.decoder.inside, bench.open], [[1, 2, 3, 4, 5], 0, 0], "pictures");
  const [config] = bench.codec.configs;
  same([bench.codec.configs.length, config?.codec, config?.software], [1, "avc1.64000A", false], "configuration");
});

test("a decoder that holds frames back is replaced by software, once", async () => {
  const bench = new Bench();
  await bench.feed(true);
  await bench.feed(false);
  for (let count = 0; count < 9; count += 1) {
    await bench.feed(false);
    bench.give();
  }
  same([bench.codecs.length, bench.decoder.inside], [1, 2], "nine are not enough");
  await bench.feed(false);
  same([bench.codecs.length, bench.decoder.kind, bench.asked], [1, "software", 2], "the tenth");
  assert(bench.codec.isClosed, "the first is closed");
  await bench.feed(true);
  same([bench.codecs.length, bench.codec.configs[0]?.software], [2, true], "another");
  for (let count = 0; count < 30; count += 1) {
    await bench.feed(false);
  }
  same([bench.codecs.length, bench.decoder.restarts], [2, 1], "it is not tried again");
});

test("what was kept for a page that joined later fits the decoder's queue, and what follows it too", () => {
  const bench = new Bench();
  const [first, next] = clipFrames();
  assert(first !== undefined && next !== undefined, "the clip has them");
  const feed = (keyframe: boolean, kept: boolean): void => {
    bench.decoder.feed((keyframe ? first : next).data.slice(), keyframe, 1, kept);
    bench.codec.queued = bench.codec.chunks.length;
  };
  for (let count = 0; count < 130; count += 1) {
    feed(count === 0, true);
  }
  feed(false, false);
  same([bench.dropped, bench.codec.chunks.length], [0, 131], "all of them");
  while (bench.codec.chunks.length > 1) {
    bench.give();
  }
  bench.codec.queued = 9;
  feed(false, false);
  same(bench.dropped, 1, "kept frames that came out give no room any more");
});

test("frames that come in a burst, or wait in the decoder's queue, do not count as held back", async () => {
  const bench = new Bench();
  await bench.feed(true);
  bench.codec.queued = 5;
  for (let count = 0; count < 30; count += 1) {
    await bench.feed(false);
    if (count > 3) {
      bench.give();
    }
  }
  same([bench.decoder.kind, bench.decoder.inside], ["hardware-allowed", 5], "a busy decoder");
  bench.codec.queued = 0;
  const [, frame] = clipFrames();
  for (let count = 0; count < 20; count += 1) {
    bench.decoder.feed(frame?.data.slice() ?? new Uint8Array(0), false, 99);
  }
  same(bench.decoder.kind, "hardware-allowed", "a burst");
});

test("a decoder that fails is replaced at the next keyframe, a second later at the soonest", async () => {
  const bench = new Bench();
  await bench.feed(true);
  await bench.feed(false);
  bench.codec.events.failed();
  same([bench.dropped, bench.asked, bench.decoder.inside], [2, 1, 0], "failed");
  for (let count = 0; count < 24; count += 1) {
    await bench.feed(true);
  }
  same(bench.codecs.length, 1, "too soon");
  await bench.feed(true);
  same(bench.codecs.length, 2, "a second later");
  bench.give();
  same(bench.shown.length, 1, "it works");
  bench.codec.throws = true;
  await bench.feed(false);
  same([bench.decoder.restarts, bench.open], [2, 0], "one that throws has failed too");
});

test("a codec that nothing decodes is said so, and the log is not filled", async () => {
  const bench = new Bench();
  for (let count = 0; count < 250; count += 1) {
    await bench.feed(true);
    if (!bench.codec.isClosed) {
      bench.codec.events.failed();
    }
  }
  assert(bench.codecs.length >= 9 && bench.codecs.length <= 11, `one a second: ${bench.codecs.length}`);
  same(bench.news.length, 3, "lines");
  assert(bench.news.at(-1)?.includes("does not decode this video") === true, "the last one says what to do");
});

test("a queue that grows drops everything up to a keyframe", async () => {
  const bench = new Bench();
  await bench.feed(true);
  bench.codec.queued = 9;
  await bench.feed(false);
  bench.codec.queued = 3;
  await bench.feed(false);
  same([bench.codec.chunks.length, bench.dropped, bench.asked], [1, 2, 2], "dropped");
  await bench.feed(true);
  await bench.feed(false);
  same(bench.codec.chunks.length, 3, "from the keyframe on");
});

test("pictures without size, or of no known frame, are closed and not shown", async () => {
  const bench = new Bench();
  await bench.feed(true);
  bench.codec.events.picture(bench.picture(), 123_456);
  same([bench.shown.length, bench.open], [0, 0], "unknown");
  bench.give(0);
  same([bench.shown.length, bench.open, bench.decoder.restarts], [0, 0, 1], "no size: the decoder is lost");
  const before = bench.codec;
  await bench.time.pass(1_000);
  await bench.feed(true);
  assert(bench.codec !== before, "another decoder");
  before.events.picture(bench.picture(), 1_000);
  same([bench.shown.length, bench.open], [0, 0], "the old one is not heard any more");
});

test("what cannot be a frame never reaches the decoder", async () => {
  const bench = new Bench();
  await bench.feed(true);
  bench.decoder.feed(new Uint8Array(0), false, 1);
  bench.decoder.feed(new Uint8Array(100), true, 2);
  same([bench.codec.chunks.length, bench.decoder.absurd, bench.dropped], [1, 2, 2], "refused");
  await bench.feed(false);
  same(bench.codec.chunks.length, 2, "the stream goes on");
});

test("frames that a decoder lost at a keyframe are forgotten, and one that gives nothing has failed", async () => {
  const bench = new Bench();
  await bench.feed(true);
  await bench.feed(false);
  bench.codec.chunks.length = 0;
  await bench.feed(true);
  bench.give();
  same([bench.decoder.inside, bench.dropped], [0, 2], "forgotten");
  bench.codec.queued = 1;
  for (let count = 0; count < 70; count += 1) {
    await bench.feed(false);
  }
  same([bench.decoder.restarts, bench.decoder.inside], [1, 0], "failed");
});
