// The picture itself: the clock in the test card is read from what the page has drawn.

import { test } from "node:test";

import { assert, same, show } from "../support/harness.ts";
import { OPTIONS, type Visit, withProfile } from "./support/browser.ts";
import { type Pixels, type Strip, readStrip } from "./support/strip.ts";
import { theClip, withPublisher } from "./support/servers.ts";

/** The colour bars of the test card from left to right: red, green and blue at 75 %. */
const BARS = [[1, 1, 1], [1, 1, 0], [0, 1, 1], [0, 1, 0], [1, 0, 1], [1, 0, 0], [0, 0, 1]] as const;
const FULL = 191;
/** How far a colour may be off: coding costs some, and browsers differ in the matrix of standard definition. */
const TOLERANCE = 50;
/** Where in a bar the colour is read: in its widths from the left, and in heights of the picture from above. */
const COLUMNS = [0.14, 0.32, 0.5, 0.68, 0.86];
const SHARES = [0.02, 0.06, 0.1, 0.14, 0.18, 0.22, 0.26];

/** The clock in the picture that stands on the canvas now. */
async function clock(visit: Visit): Promise<Strip> {
  const pixels = await visit.pixels();
  assert(pixels !== undefined, "there is a canvas");
  const strip = readStrip(pixels);
  if (typeof strip === "string") {
    throw new Error(`the picture has no clock: ${strip}`);
  }
  return strip;
}

/** Three clocks, each after another picture was drawn. */
async function clocks(visit: Visit): Promise<Strip[]> {
  const found: Strip[] = [];
  for (let shot = 0; shot < 3; shot += 1) {
    await visit.until("another picture", ({ told }, seen) => (told.at(-1)?.figures?.drawn ?? 0) > seen,
      (await visit.told()).figures?.drawn ?? 0);
    found.push(await clock(visit));
  }
  return found;
}

function checkClocks(found: readonly Strip[]): void {
  found.slice(1).forEach(({ frame, wallClock }, at) => {
    const before = found[at];
    const later = before !== undefined && frame > before.frame && wallClock > before.wallClock;
    assert(later, `the clock in the picture goes on: ${show(found)}`);
  });
}

/**
 * The colour of each bar: the median of its places. The line that moves hides one column of them, and the block at most
 * three places in three more.
 */
function bars({ width, height, data }: Pixels): number[][] {
  return BARS.map((_, bar) => {
    const places = COLUMNS.flatMap((column) => SHARES.map((share) =>
      (Math.floor(share * height) * width + Math.floor(((bar + column) / BARS.length) * width)) * 4));
    return [0, 1, 2].map((channel) => {
      const values = places.map((place) => data[place + channel] ?? 0).sort((a, b) => a - b);
      return values[Math.floor(values.length / 2)] ?? 0;
    });
  });
}

void test("the page draws the publisher's pictures, in its colours, one after the other", OPTIONS, async () => {
  await withPublisher("test:640x480@25", [], async ({ link }) => {
    // As a user has it, without the name that makes the worker tell access units.
    await withProfile(async (profile) => {
      const visit = await profile.visit(link);
      await visit.untilNotice("none");
      checkClocks(await clocks(visit));
      const pixels = await visit.pixels();
      const found = pixels === undefined ? [] : bars(pixels);
      const right = BARS.every((bar, at) => bar.every((part, channel) =>
        Math.abs(part * FULL - (found[at]?.[channel] ?? -FULL)) < TOLERANCE));
      assert(right, `the bars are grey, yellow, cyan, green, magenta, red and blue: ${show(found)}`);
      const { units, states } = await visit.told();
      same(units, [], "access units that the worker tells without being asked");
      same(states.map(({ state }) => state), ["connecting", "handshake", "live"], "states");
    }, { plain: true });
  });
});

void test("the page shows Motion JPEG", OPTIONS, async () => {
  await withPublisher("test:640x480@15?codec=mjpeg", [], async ({ link }) => {
    await withProfile(async (profile) => {
      const visit = await profile.visit(link);
      await visit.untilNotice("none");
      checkClocks(await clocks(visit));
      same((await visit.told()).figures?.codec, "mjpeg", "codec");
    });
  });
});

void test("the page asks for a keyframe and for new keys when the user does", OPTIONS, async () => {
  await withPublisher("test:320x240@25?gop=1000000", [], async ({ link }) => {
    await withProfile(async (profile) => {
      const visit = await profile.visit(link);
      await visit.untilNotice("none");
      await visit.untilDrawn(10);
      const before = (await visit.told()).figures?.keyframes ?? 0;
      await visit.openDetails();
      await visit.page.locator("#keyframe").click();
      await visit.until("another keyframe", ({ told }, seen) => (told.at(-1)?.figures?.keyframes ?? 0) > seen, before);
      await visit.page.locator("#rekey").click();
      await visit.until("the next epoch", ({ told }, epoch) =>
        told.at(-1)?.protections.some((one) => one.epoch >= epoch) === true, 1);
    });
  });
});

void test("the page says what a publisher leaves in clear, and shows the picture with a warning", OPTIONS, async () => {
  await withPublisher("test:320x240@25", ["--encrypt", "keyframes"], async ({ link }) => {
    await withProfile(async (profile) => {
      const visit = await profile.visit(link);
      await visit.untilNotice("none");
      await visit.page.locator("#warning").waitFor();
      const { page } = visit;
      assert(/in clear/.test(await page.locator("#warning").innerText()), "the warning says so in words");
      same(await page.locator("#lock-words").innerText(), "Partly in clear", "the lock");
      assert(await page.locator("#badge").isVisible(), "the picture has a badge");
    });
  });
});

void test("the picture is gone as soon as the stream has ended", OPTIONS, async () => {
  // A file that is played once waits for its first viewer, however long a busy machine takes to bring it.
  await withPublisher(`file:${(await theClip()).file}`, [], async ({ link }) => {
    await withProfile(async (profile) => {
      const visit = await profile.visit(link);
      await visit.untilNotice("ended");
      same((await visit.told()).states.at(-1)?.cause, "end-of-stream", "cause");
      same(await visit.page.locator("#picture canvas").count(), 0, "canvases");
      same(await visit.page.locator("#lock-words").innerText(), "Not connected", "the lock");
    });
  });
});
