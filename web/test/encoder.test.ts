// The browser's own encoders, with pictures that are drawn here.

import { isIdr, parameterSetsOf } from "../src/media/annexb-writer.ts";
import { browserEncoder } from "../src/media/browser-encoder.ts";
import { type Encoded, type Encoder, type EncoderOptions } from "../src/media/encoder.ts";
import { KEYFRAME_INTERVAL } from "../src/media/h264-encoder.ts";
import { ParameterSets } from "../src/protocol/unit/h264/parameter-sets.ts";
import { joinImage, splitImage } from "../src/protocol/unit/jpeg-split/split.ts";
import { Planner } from "../src/protocol/unit/planner.ts";
import { readClocks } from "../src/worker/clock.ts";
import { assert, same, sequence, testWhere } from "./support/harness.ts";
import { until } from "./support/virtual-time.ts";

const HAS_H264 = typeof VideoEncoder === "function";
const HAS_JPEG = typeof OffscreenCanvas === "function" && typeof VideoFrame === "function";
const NO_H264 = "no WebCodecs here";
const NO_JPEG = "no canvas here";
/** Enough that no encoder makes a picture of few bytes. */
const SPOTS = 400;
const OPTIONS: EncoderOptions = {
  codec: "h264", width: 640, height: 360, rate: 25, bitrate: 1_500_000, quality: 0.8, failures: 0,
};

/** An encoder, with what came out of it. */
class Studio {
  readonly came: Encoded[] = [];
  readonly pictures: VideoFrame[] = [];
  dropped = 0;
  failed = false;
  readonly #random = sequence(1);
  #encoder: Encoder | undefined;

  static async open(options: Partial<EncoderOptions> = {}): Promise<Studio> {
    const studio = new Studio();
    studio.#encoder = await browserEncoder(readClocks)({ ...OPTIONS, ...options }, {
      encoded: (picture) => {
        studio.came.push(picture);
      },
      dropped: () => {
        studio.dropped += 1;
      },
      failed: () => {
        studio.failed = true;
      },
    });
    return studio;
  }

  get encoder(): Encoder {
    assert(this.#encoder !== undefined, "there is an encoder");
    return this.#encoder;
  }

  /** Encodes the next picture: spots of all colours. Its time is 40 ms after the one before, or as the test says. */
  give(width = 640, height = 360, monotonic = this.pictures.length * 40): void {
    const canvas = new OffscreenCanvas(width, height);
    const context = canvas.getContext("2d");
    assert(context !== null, "there is a context");
    context.fillStyle = "teal";
    context.fillRect(0, 0, width, height);
    for (let spots = SPOTS; spots > 0; spots -= 1) {
      context.fillStyle = `hsl(${this.#random() % 360} 80% 50%)`;
      context.fillRect(this.#random() % width, this.#random() % height, 5 + this.#random() % 20, 7);
    }
    const picture = new VideoFrame(canvas, { timestamp: 0 });
    this.pictures.push(picture);
    const captured = { monotonic, wall: readClocks().wall };
    this.encoder.encode(picture, { captured, capture: 0, mediaTime: BigInt(Math.round(monotonic * 1e6)) });
  }

  /** The same, and waits for what comes of it. */
  async film(...picture: Parameters<Studio["give"]>): Promise<Encoded> {
    const before = this.came.length;
    this.give(...picture);
    await until(() => this.came.length > before || this.failed, "the picture is encoded");
    const came = this.came.at(-1);
    assert(came !== undefined && !this.failed, "the encoder goes on");
    return came;
  }

  /** Ends, and checks that all pictures were closed. */
  close(): void {
    this.encoder.close();
    assert(this.pictures.every(({ format }) => format === null), "all pictures are closed");
  }
}

testWhere(HAS_H264, NO_H264, "H.264 comes in access units that can be taken apart, a keyframe first", async () => {
  const studio = await Studio.open();
  for (let count = 0; count < 30; count += 1) {
    await studio.film();
  }
  studio.close();
  const [first, ...others] = studio.came;
  assert(first !== undefined && others.length === 29, "one access unit for each picture");
  assert(first.keyframe && isIdr(first.data) && first.parameters.length > 0, "a keyframe with parameter sets");
  same(first.parameters, parameterSetsOf(first.data), "they are in the keyframe too");
  assert(others.every(({ keyframe, data }) => !keyframe && !isIdr(data)), "one keyframe");
  same(studio.came.map(({ stamps }) => stamps.captured.monotonic), studio.came.map((_, at) => at * 40), "order");
  const sets = new ParameterSets();
  sets.takeAll(first.parameters);
  const planner = new Planner();
  const rate = { numerator: 25, denominator: 1 };
  planner.describe(1, { codec: "h264", width: 640, height: 360, rate, parameters: first.parameters });
  for (const level of [1, 2, 3]) {
    for (const { data, keyframe } of studio.came) {
      const { ranges } = planner.plan({ mode: "level", level }, 1, keyframe, data);
      same(ranges.at(-1)?.end, data.length, "a plan up to the end");
    }
  }
  same(planner.unsplit, undefined, "slices that could not be split");
});

testWhere(HAS_H264, NO_H264, "what the encoder makes is decoded again, picture by picture", async () => {
  const studio = await Studio.open({ width: 320, height: 240 });
  for (let count = 0; count < 10; count += 1) {
    // A camera of another shape, whose picture is fitted.
    await studio.film(640, 360);
  }
  studio.close();
  const sizes: string[] = [];
  let failed: unknown;
  const decoder = new VideoDecoder({
    output(frame) {
      sizes.push(`${frame.displayWidth}x${frame.displayHeight}`);
      frame.close();
    },
    error(error) {
      failed = error;
    },
  });
  decoder.configure({ codec: studio.encoder.name });
  for (const [at, { data, keyframe }] of studio.came.entries()) {
    decoder.decode(new EncodedVideoChunk({ type: keyframe ? "key" : "delta", timestamp: at * 40_000, data }));
  }
  await decoder.flush();
  decoder.close();
  same([failed, sizes], [undefined, Array(10).fill("320x240")], "pictures");
});

testWhere(HAS_H264, NO_H264, "keyframes come when asked and each ten seconds, not with another bit rate", async () => {
  const studio = await Studio.open();
  const keyframe = async (at: number): Promise<boolean> => (await studio.film(640, 360, at)).keyframe;
  same([await keyframe(0), await keyframe(40)], [true, false], "the first");
  studio.encoder.requestKeyframe();
  same([await keyframe(80), await keyframe(120)], [true, false], "on request");
  studio.encoder.setBitrate(400_000);
  same([await keyframe(160), await keyframe(200)], [false, false], "with another rate");
  const due = 80 + KEYFRAME_INTERVAL;
  same([await keyframe(due - 1), await keyframe(due), await keyframe(due + 40)], [false, true, false], "by the time");
  const parameters = studio.came.filter((one) => one.keyframe).map((one) => one.parameters.length > 0);
  same(parameters, [true, true, true], "each with parameter sets");
  studio.close();
});

testWhere(HAS_H264, NO_H264, "a lower bit rate makes shorter access units", async () => {
  const studio = await Studio.open({ bitrate: 4_000_000 });
  const bytes = async (count: number): Promise<number> => {
    const before = studio.came.length;
    for (let left = count; left > 0; left -= 1) {
      await studio.film();
    }
    return studio.came.slice(before).reduce((sum, { data }) => sum + data.length, 0);
  };
  await bytes(10);
  const before = await bytes(25);
  studio.encoder.setBitrate(400_000);
  await bytes(10);
  const after = await bytes(25);
  studio.close();
  assert(after < 0.7 * before, `${after} bytes after ${before}`);
});

testWhere(HAS_H264, NO_H264, "pictures that come faster than they are encoded are left out, and closed", async () => {
  const studio = await Studio.open({ width: 1_280, height: 720 });
  for (let count = 0; count < 20; count += 1) {
    studio.give(1_280, 720);
  }
  await until(() => studio.came.length + studio.dropped === 20, "all pictures are encoded or left out");
  assert(studio.dropped > 0 && studio.came.length > 0, `${studio.dropped} of 20 left out`);
  assert(studio.came.every(({ keyframe }, at) => keyframe === (at === 0)), "what is left out makes no gap");
  studio.close();
});

testWhere(HAS_JPEG, NO_JPEG, "images are split at each level and joined again to the same bytes", async () => {
  for (const quality of [0.1, 0.5, 0.8, 0.95, 1]) {
    const studio = await Studio.open({ codec: "mjpeg", quality, width: 320, height: 180 });
    const { data, keyframe } = await studio.film(640, 360);
    same([keyframe, data[0], data[1]], [true, 0xff, 0xd8], "an image");
    for (const last of [0, 5]) {
      const split = splitImage(data, last);
      assert(split.first < split.data.length, "both parts have codes");
      same(joinImage(split.data), data, `quality ${quality}, up to ${last}`);
    }
    studio.close();
  }
});

testWhere(HAS_JPEG, NO_JPEG, "of pictures that come while an image is made, the newest is next", async () => {
  const studio = await Studio.open({ codec: "mjpeg" });
  for (let count = 0; count < 6; count += 1) {
    studio.give();
  }
  await until(() => studio.came.length === 2, "two images are made");
  same([studio.dropped, studio.came.map(({ stamps }) => stamps.captured.monotonic)], [4, [0, 200]], "first and last");
  studio.close();
});
