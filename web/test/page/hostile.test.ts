// A publisher whom the viewer trusts sends what no encoder makes: nothing of the page breaks, and it says what it
// does not show. The good pictures that follow are shown.

import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { assert, same, sequence } from "../support/harness.ts";
import { withFolder } from "../node/program.ts";
import { OPTIONS, type Visit, withProfile } from "./support/browser.ts";
import { PagePublisher, type Viewer } from "./support/page-server.ts";
import { type Clip, theClip, tool } from "./support/servers.ts";

const SEED = 2_026;
const START_CODE = [0, 0, 0, 1];

function randomBytes(length: number): Buffer {
  const random = sequence(SEED);
  return Buffer.from(Array.from({ length }, () => random() & 0xff));
}

/** Bits of a NAL unit. */
class Bits {
  #text = "";

  fixed(value: number, width: number): this {
    this.#text += value.toString(2).padStart(width, "0");
    return this;
  }

  /** Exponential Golomb, unsigned (ITU-T H.264, 9.1). */
  golomb(value: number): this {
    const bits = (value + 1).toString(2);
    this.#text += "0".repeat(bits.length - 1) + bits;
    return this;
  }

  /** With the stop bit. */
  bytes(): number[] {
    const text = `${this.#text}1`.padEnd(Math.ceil((this.#text.length + 1) / 8) * 8, "0");
    return (text.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2));
  }
}

/** SPS of a baseline stream with this many macroblocks in a row and in a column. */
function parameters(columns: number, rows: number): Buffer {
  const sps = new Bits().fixed(66, 8).fixed(0xc0, 8).fixed(51, 8).golomb(0).golomb(0).golomb(2).golomb(1).fixed(0, 1)
    .golomb(columns - 1).golomb(rows - 1).fixed(1, 1).fixed(0, 1).fixed(0, 1).fixed(0, 1);
  const pps = new Bits().golomb(0).golomb(0).fixed(0, 2).golomb(0).golomb(0).golomb(0).fixed(0, 3).golomb(0).golomb(0)
    .golomb(0).fixed(0, 3);
  return Buffer.from([...START_CODE, 0x67, ...sps.bytes(), ...START_CODE, 0x68, ...pps.bytes()]);
}

/** Access units that nobody can decode, by what they are. */
function badUnits({ units }: Clip): Readonly<Record<string, Uint8Array>> {
  const good = units[0]?.data ?? Buffer.alloc(0);
  const slice = (bytes: Uint8Array): Buffer => Buffer.from([...START_CODE, 0x65, ...bytes]);
  return {
    empty: Buffer.alloc(0),
    "one byte": Buffer.of(7),
    "start codes alone": Buffer.from([...START_CODE, ...START_CODE, ...START_CODE]),
    "half of a keyframe": good.subarray(0, good.length >> 1),
    "random bytes": randomBytes(5_000),
    "random bytes as a slice": slice(randomBytes(5_000)),
    "random bytes behind good parameter sets": Buffer.concat([good.subarray(0, 40), slice(randomBytes(3_000))]),
    "parameter sets of a picture of 65536x65536": Buffer.concat([parameters(4_096, 4_096), slice(randomBytes(2_000))]),
    "a header with the forbidden bit": Buffer.from([...START_CODE, 0xe5, ...randomBytes(100)]),
    "ten thousand small NAL units": Buffer.concat(Array<Buffer>(10_000).fill(Buffer.of(0, 0, 1, 0x65, 0x88))),
    "two million zeros": Buffer.alloc(2_000_000),
  };
}

/** Sends the good clip over and over while somebody watches, in real time. */
async function sendClip(viewer: Viewer, { units, parameters: sets }: Clip): Promise<void> {
  await viewer.describe({ codec: "h264", width: 640, height: 480, parameters: Uint8Array.from(sets) });
  while (!viewer.isOver) {
    for (const { data, keyframe } of units) {
      await viewer.frame(data, keyframe);
      await new Promise((done) => setTimeout(done, 40));
    }
  }
}

/** Opens the publisher's page, and looks at it while `publish` sends first what is bad and then what is good. */
async function watchHostile(publish: (viewer: Viewer) => Promise<void>, body: (visit: Visit) => Promise<void>):
Promise<void> {
  const publisher = await PagePublisher.start(publish);
  try {
    await withProfile(async (profile) => {
      await body(await profile.visit(publisher.link));
    });
  } finally {
    publisher.close();
  }
}

/** A gate that a test opens when it has seen enough. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((done) => {
    open = done;
  });
  return { opened, open };
}

/** The page complains, and shows nothing; then, with good pictures, it shows them, in the same session. */
async function checkSurvives(visit: Visit, open: () => void): Promise<void> {
  await visit.until("words about what was not shown", ({ told }) =>
    told.at(-1)?.events.some(({ bad }) => bad) === true, undefined);
  assert(!(await visit.page.locator("#picture canvas").isVisible()), "no picture is shown");
  assert(await visit.page.locator("#log .bad").count() > 0, "the page's log has it");
  open();
  await visit.untilNotice("none");
  await visit.untilDrawn(10);
  same((await visit.told()).states.map(({ state }) => state), ["connecting", "handshake", "live"], "states");
}

void test("access units that nobody can decode are reported, and good ones after them shown", OPTIONS, async (run) => {
  const clip = await theClip();
  const bad = badUnits(clip);
  run.diagnostic(`seed ${SEED}: ${Object.keys(bad).join(", ")}`);
  const { opened, open } = gate();
  await watchHostile(async (viewer) => {
    await viewer.describe({ codec: "h264", width: 640, height: 480, parameters: Uint8Array.from(clip.parameters) });
    for (const keyframe of [true, false]) {
      for (const unit of Object.values(bad)) {
        await viewer.frame(unit, keyframe);
      }
    }
    await opened;
    await sendClip(viewer, clip);
  }, async (visit) => {
    await checkSurvives(visit, open);
  });
});

void test("an absurd codec configuration breaks nothing, and a good one after it is used", OPTIONS, async () => {
  const clip = await theClip();
  const key = clip.units[0]?.data ?? Buffer.alloc(0);
  const { opened, open } = gate();
  await watchHostile(async (viewer) => {
    for (const sets of [parameters(4_096, 4_096), parameters(65_536, 1), randomBytes(60_000), Buffer.alloc(0)]) {
      await viewer.describe({ codec: "h264", width: 65_535, height: 65_535, parameters: Uint8Array.from(sets) });
      // Without parameter sets of its own, so that those of the configuration count.
      await viewer.frame(key.subarray(clip.parameters.length), true);
      await viewer.frame(randomBytes(1_000), true);
    }
    await opened;
    await sendClip(viewer, clip);
  }, async (visit) => {
    await checkSurvives(visit, open);
    same((await visit.told()).sizes, [{ width: 640, height: 480 }], "sizes of the canvas");
  });
});

/** Where SOF0 of an image has height and width. */
function bomb(image: Buffer): Buffer {
  const changed = Buffer.from(image);
  const at = changed.indexOf(Buffer.of(0xff, 0xc0));
  changed.writeUInt16BE(65_535, at + 5);
  changed.writeUInt16BE(65_535, at + 7);
  return changed;
}

void test("images that are bombs, cut off or none are reported, and good ones after them shown", OPTIONS, async () => {
  await withFolder(async (folder) => {
    const file = `${folder}/good.jpg`;
    tool("ffmpeg", "-f", "lavfi", "-i", "testsrc2=size=640x480", "-frames:v", "1", "-pix_fmt", "yuvj420p", file);
    const image = await readFile(file);
    const { opened, open } = gate();
    await watchHostile(async (viewer) => {
      await viewer.describe({ codec: "mjpeg", width: 65_535, height: 65_535, parameters: new Uint8Array(0) });
      const bad = [bomb(image), image.subarray(0, 300), image.subarray(2), Buffer.alloc(0), randomBytes(5_000)];
      for (const data of bad) {
        await viewer.frame(data, true);
      }
      await opened;
      while (!viewer.isOver) {
        await viewer.frame(image, true);
        await new Promise((done) => setTimeout(done, 40));
      }
    }, async (visit) => {
      await checkSurvives(visit, open);
      same((await visit.told()).sizes, [{ width: 640, height: 480 }], "sizes of the canvas");
    });
  });
});
