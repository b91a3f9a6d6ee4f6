// AV1 and H.265 in the browser: what it decodes is drawn, and what it does not is said in words.

import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { withFolder } from "../node/program.ts";
import { assert, hex, same, show } from "../support/harness.ts";
import { OPTIONS, withProfile } from "./support/browser.ts";
import { PagePublisher } from "./support/page-server.ts";
import { tool } from "./support/servers.ts";

const PICTURES = 50;
const GROUP = 10;
const [WIDTH, HEIGHT] = [320, 180] as const;
/** The upper bars of SMPTE's test picture from left to right: red, green and blue at 75 %. */
const BARS = [[1, 1, 1], [1, 1, 0], [0, 1, 1], [0, 1, 0], [1, 0, 1], [1, 0, 0], [0, 0, 1]] as const;
const FULL = 191;
/** How far a colour may be off: the clip does not say its matrix, and browsers assume one. */
const TOLERANCE = 50;
/** Parameter sets of x265 for 1920x1080 pixels. */
const H265 = hex("0000000140010c01ffff0160000003009000000300000300789598090000000142010101600000030090000003000003" +
  "0078a003c08010e596566924caf0168080000003008000000f04000000014401c172b46240");

/** The temporal units of an AV1 byte stream, without their delimiters. */
function temporalUnits(stream: Buffer): Buffer[] {
  const units: Buffer[][] = [];
  for (let at = 0; at < stream.length; ) {
    let [size, from] = [0, at + 1];
    for (let shift = 0; ; shift += 7) {
      const byte = stream[from] ?? 0;
      from += 1;
      size |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        break;
      }
    }
    if (((stream[at] ?? 0) >> 3 & 0x0f) === 2) {
      units.push([]);
    } else {
      units.at(-1)?.push(stream.subarray(at, from + size));
    }
    at = from + size;
  }
  return units.map((obus) => Buffer.concat(obus));
}

void test("the page draws every picture of AV1, in its colours", OPTIONS, async () => {
  await withFolder(async (folder) => {
    const file = `${folder}/clip.obu`;
    tool("ffmpeg", "-f", "lavfi", "-i", `smptebars=size=${WIDTH}x${HEIGHT}:rate=25`, "-frames:v", String(PICTURES),
      "-pix_fmt", "yuv420p", "-c:v", "libaom-av1", "-cpu-used", "8", "-g", String(GROUP), file);
    const units = temporalUnits(await readFile(file));
    same(units.length, PICTURES, "temporal units");
    const [first] = units;
    assert(first?.[0] === 0x0a, "the first begins with a sequence header");
    const parameters = Uint8Array.from(first.subarray(0, 2 + (first[1] ?? 0)));
    const publisher = await PagePublisher.start(async (viewer) => {
      await viewer.describe({ codec: "av1", width: WIDTH, height: HEIGHT, parameters });
      for (const [at, unit] of units.entries()) {
        await viewer.frame(unit, at % GROUP === 0);
        await new Promise((done) => setTimeout(done, 40));
      }
    });
    try {
      await withProfile(async (profile) => {
        const visit = await profile.visit(publisher.link);
        await visit.untilNotice("none");
        // What comes too late on a busy machine is dropped and counted.
        await visit.until("each picture drawn or counted", ({ told }, count) => {
          const { drawn = 0, dropped = 0 } = told.at(-1)?.figures ?? {};
          return drawn > 0 && drawn + dropped >= count;
        }, PICTURES);
        const { figures, sizes, states } = await visit.told();
        same(figures?.codec, "av01.0.00M.08", "codec");
        same(figures?.decoderRestarts, 0, "decoders begun anew");
        same(sizes, [{ width: WIDTH, height: HEIGHT }], "sizes of the canvas");
        same(states.map(({ state }) => state), ["connecting", "handshake", "live"], "states");
        const pixels = await visit.pixels();
        const found = BARS.map((_, bar) => {
          const place = (40 * WIDTH + Math.floor(((bar + 0.5) / BARS.length) * WIDTH)) * 4;
          return [0, 1, 2].map((channel) => pixels?.data[place + channel] ?? -FULL);
        });
        const right = BARS.every((bar, at) => bar.every((part, channel) =>
          Math.abs(part * FULL - (found[at]?.[channel] ?? -FULL)) < TOLERANCE));
        assert(right, `the bars are grey, yellow, cyan, green, magenta, red and blue: ${show(found)}`);
      });
    } finally {
      publisher.close();
    }
  });
});

void test("a browser that does not decode H.265 says so, and what to do", OPTIONS, async (run) => {
  const publisher = await PagePublisher.start(async (viewer) => {
    await viewer.describe({ codec: "h265", width: 1_920, height: 1_080, parameters: H265 });
  });
  try {
    await withProfile(async (profile) => {
      const visit = await profile.visit(publisher.link);
      const supported = await visit.page.evaluate(async () =>
        (await VideoDecoder.isConfigSupported({ codec: "hev1.1.6.L120.90" })).supported);
      if (supported === true) {
        run.skip("this browser decodes H.265");
        return;
      }
      await visit.untilNotice("failed");
      const last = (await visit.told()).states.at(-1);
      same(last?.cause, "codec", "cause");
      assert(/does not decode H\.265 \(hev1\.1\.6\.L120\.90\).*ask the publisher for H\.264/.test(last?.words ?? ""),
        `the words are about the codec: ${show(last)}`);
      assert(/H\.265/.test(await visit.page.locator("#view").innerText()), "the page shows the words");
    });
  } finally {
    publisher.close();
  }
});
