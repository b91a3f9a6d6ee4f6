// The browser's own decoder and canvas.

import { type Picture, browserCodec } from "../src/media/codecs.ts";
import { StreamDecoder } from "../src/media/decoder.ts";
import { browserImage } from "../src/media/images.ts";
import { UPRIGHT, canvasSurface } from "../src/media/screen.ts";
import { REAL_TIME } from "../src/worker/clock.ts";
import { clipFrames, clipParameters } from "./support/clip.ts";
import { assert, same, testWhere } from "./support/harness.ts";
import { until } from "./support/virtual-time.ts";

const CODEC = browserCodec();
const HAS_CANVAS = typeof OffscreenCanvas === "function";

interface Run {
  readonly decoder: StreamDecoder<number>;
  readonly shown: number[];
  readonly pixels: string[];
  readonly news: string[];
  restarts: number;
}

/** Draws a picture and takes the colour in its middle. */
function middle(picture: Picture): string {
  const canvas = new OffscreenCanvas(picture.width, picture.height);
  canvasSurface(canvas).show(picture, UPRIGHT);
  const context = canvas.getContext("2d");
  assert(context !== null, "there is a context");
  return Array.from(context.getImageData(picture.width / 2, picture.height / 2, 1, 1).data).join(",");
}

/** The brightness of the four corners of a picture that is drawn turned: of its first row, and of its last. */
function corners(turns: number, mirrored: number): number[] {
  const image = new OffscreenCanvas(4, 2);
  const brush = image.getContext("2d");
  assert(brush !== null, "there is a context");
  for (const [at, shade] of [0x10, 0x50, 0x90, 0xd0].entries()) {
    brush.fillStyle = `rgb(${shade} ${shade} ${shade})`;
    brush.fillRect(at % 2 * 2, Math.floor(at / 2), 2, 1);
  }
  const [width, height] = turns % 2 === 0 ? [4, 2] : [2, 4];
  const canvas = new OffscreenCanvas(width, height);
  canvasSurface(canvas).show({ image, width: 4, height: 2, close: () => undefined }, { turns, mirrored });
  const { data } = canvas.getContext("2d")?.getImageData(0, 0, width, height) ?? { data: [] };
  return [0, width - 1, width * (height - 1), width * height - 1].map((at) => data[at * 4] ?? 0);
}

testWhere(HAS_CANVAS, "there is no canvas", "pictures are mirrored and then turned clockwise", () => {
  same(corners(0, 0), [0x10, 0x50, 0x90, 0xd0], "as it was coded");
  same(corners(1, 0), [0x90, 0x10, 0xd0, 0x50], "a quarter turn");
  same(corners(2, 0), [0xd0, 0x90, 0x50, 0x10], "upside down");
  same(corners(3, 0), [0x50, 0xd0, 0x10, 0x90], "three quarter turns");
  same(corners(0, 1), [0x50, 0x10, 0xd0, 0x90], "mirrored");
  same(corners(1, 1), [0xd0, 0x50, 0x90, 0x10], "mirrored and turned");
});

function begin(): Run {
  assert(CODEC !== undefined, "there is a decoder");
  const run: Run = {
    shown: [], pixels: [], news: [], restarts: 0,
    decoder: new StreamDecoder<number>(CODEC, {
      picture(picture, tag) {
        run.shown.push(tag);
        run.pixels.push(`${picture.width}x${picture.height} ${middle(picture)}`);
        picture.close();
      },
      fed: () => undefined,
      dropped: () => undefined,
      needsKeyframe: () => {
        run.restarts += 1;
      },
      news(words) {
        run.news.push(words);
      },
    }, REAL_TIME),
  };
  run.decoder.describe(clipParameters());
  return run;
}

const WHERE = [CODEC !== undefined && HAS_CANVAS, "there is no WebCodecs"] as const;

testWhere(...WHERE, "each frame that goes into the browser's decoder comes out before the next goes in", async () => {
  const run = begin();
  for (const [number, { data, keyframe }] of clipFrames().entries()) {
    run.decoder.feed(data, keyframe, number);
    await until(() => run.shown.length === number + 1, `frame ${number} comes out`);
  }
  same(run.shown, [0, 1, 2, 3, 4, 5, 6, 7], "frames");
  same([run.news, run.decoder.inside, run.decoder.restarts], [[], 0, 0], "nothing is held back");
  assert(run.pixels.every((pixel) => pixel.startsWith("32x32 ")), "their size");
  run.decoder.reset();
});

testWhere(...WHERE, "a damaged frame makes another decoder, and the next keyframe is shown again", async () => {
  const run = begin();
  const [first, second] = clipFrames();
  assert(first !== undefined && second !== undefined, "there are frames");
  run.decoder.feed(first.data.slice(), true, 0);
  await until(() => run.shown.length === 1, "the keyframe comes out");
  // A slice of a parameter set that nobody has sent.
  run.decoder.feed(new Uint8Array([0, 0, 0, 1, 0x41, 0xe0, 0x00, 0x07, 0x80]), false, 1);
  await until(() => run.decoder.restarts === 1, "the decoder has failed");
  same(run.restarts, 1, "a keyframe is asked for");
  const again = REAL_TIME.now().monotonic + 1_000;
  await until(() => REAL_TIME.now().monotonic > again, "a second is over");
  run.decoder.feed(first.data.slice(), true, 2);
  await until(() => run.shown.length === 2, "the keyframe comes out");
  same(run.shown, [0, 2], "frames");
  run.decoder.reset();
});

const DRAWS = [HAS_CANVAS, "there is no OffscreenCanvas"] as const;

testWhere(...DRAWS, "the browser decodes a JPEG image, and refuses a broken one", async () => {
  const canvas = new OffscreenCanvas(24, 16);
  const context = canvas.getContext("2d");
  assert(context !== null, "there is a context");
  context.fillStyle = "#f00";
  context.fillRect(0, 0, 24, 16);
  const blob = await canvas.convertToBlob({ type: "image/jpeg", quality: 0.9 });
  const data = new Uint8Array(await blob.arrayBuffer());
  const picture = await browserImage(data);
  same([picture.width, picture.height], [24, 16], "size");
  const [red = 0, green = 0] = middle(picture).split(",").map(Number);
  assert(red > 240 && green < 16, "colour");
  picture.close();
  let refused = false;
  await browserImage(data.slice(0, 30)).catch(() => {
    refused = true;
  });
  assert(refused, "half an image is none");
});
