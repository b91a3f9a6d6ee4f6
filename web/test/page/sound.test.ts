// Sound in the page: what is decoded, and whether it is heard with the picture.

import { join } from "node:path";
import { test } from "node:test";

import { withFolder } from "../node/program.ts";
import { assert, same } from "../support/harness.ts";
import { OPTIONS, type Visit, withProfile } from "./support/browser.ts";
import { PagePublisher } from "./support/page-server.ts";
import { tool, withPublisher } from "./support/servers.ts";
import { type FlashClip, RATE, SECONDS, notice, play, withFlashClip } from "./support/sounding.ts";

/** Milliseconds up to which nobody sees that lips are not in time. */
const IN_TIME = 40;
/** Samples before those that ffmpeg's AAC codes. */
const PRIMING = 1_024;
/** Milliseconds of a packet. */
const PACKET = 1_024_000 / RATE;
/** Seconds for which the page is looked at, and how often at most, on a machine however busy. */
const LOOKED = 2;
const MAX_LOOKS = 20;

interface Decoded {
  readonly at: number;
  readonly rate: number;
  readonly channels: number;
  /** The left channel. */
  readonly left: Float32Array;
}

/** What the page's decoder gave so far. */
async function decoded(visit: Visit): Promise<Decoded[]> {
  const pieces = await visit.page.evaluate(() => globalThis.decoded.map(({ at, rate, planes }) => {
    const { buffer = new ArrayBuffer(0) } = planes[0] ?? {};
    // As text, because an array of numbers is several times as long.
    return { at, rate, channels: planes.length, base64: btoa(String.fromCharCode(...new Uint8Array(buffer))) };
  }));
  return pieces.map(({ base64, ...piece }) => {
    const bytes = Buffer.from(base64, "base64");
    return { ...piece, left: new Float32Array(bytes.length / 4).map((_, at) => bytes.readFloatLE(4 * at)) };
  });
}

/**
 * The energies of what was decoded and of what ffmpeg decodes there, and how alike they are, -1 to 1. Each time so many
 * samples of `priming`, which only prepare a decoder, come before the clip.
 */
function compare({ reference }: FlashClip, pieces: readonly Decoded[], priming: number):
Record<"ours" | "theirs" | "alike", number> {
  let [ours, theirs, both] = [0, 0, 0];
  for (const [number, { at, left }] of pieces.entries()) {
    const before = pieces[number - 1]?.at ?? -Infinity;
    const from = (Math.round((at / 1_000) * RATE) % (SECONDS * RATE + priming)) - priming;
    // The clip has no beginning in the stream, where it follows itself. A packet needs the one before, which a busy
    // machine may have dropped.
    if (from < RATE / 4 || from > (SECONDS - 0.25) * RATE || at - before > 1.01 * PACKET) {
      continue;
    }
    left.forEach((value, index) => {
      const wanted = reference[from + index] ?? 0;
      ours += value * value;
      theirs += wanted * wanted;
      both += value * wanted;
    });
  }
  return { ours, theirs, alike: both / Math.sqrt(ours * theirs) };
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

/**
 * Checks that what was decoded follows one another, but for what the page itself counts as dropped. On a machine that
 * stands still for seconds a session is lost and another follows. The page counts anew then, and time begins anew or
 * goes on behind a gap: only what the newest session gave is looked at, which is what follows the last of as many of
 * the greatest gaps as there were sessions before it.
 */
function checkWhole(all: readonly Decoded[], dropped: number, sessions: number): void {
  assert(all.every(({ rate, channels, left }) => rate === RATE && channels === 2 && left.length === 1_024), "form");
  // Where the clip begins anew, half a packet is repeated.
  const step = (at: number): number => ((all[at]?.at ?? NaN) - (all[at - 1]?.at ?? NaN)) / PACKET;
  const gaps = all.slice(1).map((_, index) => ({ at: index + 1, missing: Math.round(step(index + 1)) - 1 }));
  const lost = [...gaps].sort((a, b) => Math.abs(b.missing) - Math.abs(a.missing)).slice(0, sessions - 1);
  const newest = Math.max(0, ...lost.map(({ at }) => at));
  const inside = gaps.filter(({ at }) => at > newest);
  const missing = inside.reduce((sum, gap) => sum + Math.max(0, gap.missing), 0);
  const goesOn = inside.every(({ at }) => step(at) > 0.4);
  assert(goesOn && missing <= dropped, `${missing} packets missing, ${dropped} dropped, ${sessions} sessions`);
}

/** The median of how much later than a flash its beep comes (ms), by what is seen and heard. */
async function apart(visit: Visit): Promise<number> {
  const { flashes, beeps } = await notice(visit, LOOKED);
  return median(flashes.flatMap((flash) => beeps.filter((beep) => Math.abs(beep - flash) < 500)
    .map((beep) => beep - flash)));
}

/** Switches sound on, as somebody does who has a keyboard. */
async function switchOn(visit: Visit): Promise<void> {
  const button = visit.page.getByRole("button", { name: "Play the sound" });
  await button.waitFor();
  same((await decoded(visit)).length, 0, "nothing is decoded for nobody");
  await button.press("Enter");
  await visit.page.getByRole("button", { name: "Mute the sound" }).waitFor();
}

/** Checks that what the page decoded is whole, and what ffmpeg decodes. */
async function checkDecoded(visit: Visit, clip: FlashClip, priming = 0): Promise<string> {
  await visit.until("two seconds of sound", ({ told }) => (told.at(-1)?.figures?.sound?.decoded ?? 0) > 100, 0);
  const pieces = await decoded(visit);
  const { ours, theirs, alike } = compare(clip, pieces, priming);
  const energy = `energy ${ours.toFixed(1)} of ${theirs.toFixed(1)}`;
  const words = `${pieces.length} packets, ${energy}, alike ${alike.toFixed(6)}`;
  assert(ours > 1 && alike > 0.99 && Math.abs(ours / theirs - 1) < 0.05, `it sounds as ffmpeg decodes it: ${words}`);
  const reports = (await visit.told()).reports + 2;
  await visit.until("new figures", ({ told }, wanted) => (told.at(-1)?.reports ?? 0) >= wanted, reports);
  const { figures, states } = await visit.told();
  const sound = figures?.sound;
  same([sound?.name, sound?.lost], ["AAC, 48 kHz, 2 channels", 0], "what the page says of it");
  checkWhole(pieces, sound?.dropped ?? 0, states.filter(({ state }) => state === "live").length);
  return words;
}

void test("sound is played once the user wants it, and with the picture", OPTIONS, async (run) => {
  await withFlashClip(async (clip) => {
    const publisher = await PagePublisher.start((viewer) => play(clip, viewer));
    try {
      await withProfile(async (profile) => {
        const visit = await profile.visit(publisher.link);
        await visit.untilDrawn(10);
        await switchOn(visit);
        await visit.until("how the lips are", ({ told }) =>
          told.at(-1)?.figures?.sound?.playout?.skew !== undefined, 0);
        const early = (await visit.told()).figures?.sound?.playout?.skew;
        run.diagnostic(`the picture as early as it can be: sound ${early?.median.toFixed(1)} ms after it`);
        // A picture that is held back has time for sound on a machine however busy.
        await visit.openDetails();
        await visit.page.getByLabel("Hold back").selectOption("200");
        let between = NaN;
        for (let looks = 0; looks < MAX_LOOKS && !(Math.abs(between) < IN_TIME); looks += 1) {
          between = await apart(visit);
          const own = (await visit.told()).figures?.sound?.playout?.skew;
          run.diagnostic(`seen and heard: beep ${between.toFixed(1)} ms after its flash; the page says ` +
            `${own?.median.toFixed(1)} ± ${own?.uncertainty.toFixed(1)} ms`);
        }
        assert(Math.abs(between) < IN_TIME, "a beep comes with its flash");
        await visit.until("lips in time", ({ told }, most) =>
          Math.abs(told.at(-1)?.figures?.sound?.playout?.skew?.median ?? Infinity) < most, IN_TIME);
        await visit.screenshot("sound");
        run.diagnostic(await checkDecoded(visit, clip));
        await visit.page.getByRole("button", { name: "Mute the sound" }).click();
        await visit.until("silence", ({ told }) => told.at(-1)?.figures?.sound?.state === "off", 0);
      });
    } finally {
      publisher.close();
    }
  });
});

void test("the sound of a file that the program publishes is decoded whole", OPTIONS, async (run) => {
  await withFlashClip(async (clip) => {
    await withPublisher(`file:${clip.file}?loop`, [], async ({ link }) => {
      await withProfile(async (profile) => {
        const visit = await profile.visit(link);
        await switchOn(visit);
        run.diagnostic(await checkDecoded(visit, clip, PRIMING));
      });
    });
  });
});

void test("surround of a published file is decoded, each channel in its place", OPTIONS, async (run) => {
  await withFolder(async (folder) => {
    const file = join(folder, "surround.mp4");
    // Left, right, centre, low frequencies, left and right behind, as WebCodecs has them too.
    const sound = `aevalsrc=0|0|0.5*sin(2*PI*440*t)|0|0.25*sin(2*PI*660*t)|0:c=5.1:s=${RATE}:d=${SECONDS}`;
    tool(
      "ffmpeg", "-f", "lavfi", "-i", `testsrc2=s=320x240:r=25:d=${SECONDS}`, "-f", "lavfi", "-i", sound,
      "-c:v", "libx264", "-preset", "ultrafast", "-c:a", "libopus", "-mapping_family", "1", file,
    );
    await withPublisher(`file:${file}?loop`, [], async ({ link }) => {
      await withProfile(async (profile) => {
        const visit = await profile.visit(link);
        await switchOn(visit);
        await visit.until("sound", ({ told }) => (told.at(-1)?.figures?.sound?.decoded ?? 0) > 100, 0);
        const energies = await visit.page.evaluate(() => globalThis.decoded.reduce<number[]>((sums, { planes }) =>
          planes.map((plane, channel) => plane.reduce((sum, value) => sum + value * value, sums[channel] ?? 0)), []));
        const words = `energies ${energies.map((energy) => energy.toFixed(1)).join(", ")}`;
        run.diagnostic(words);
        const { name, lost } = (await visit.told()).figures?.sound ?? {};
        same([name, lost], ["Opus, 48 kHz, 6 channels", 0], "what the page says of it");
        const [, , centre = 0, , behind = 0] = energies;
        const others = energies.filter((_, channel) => channel !== 2 && channel !== 4);
        // The centre has four times the energy. Behind each gap, where a busy machine drops packets, Opus is too quiet.
        assert(behind > 1 && centre > 2 * behind && centre < 8 * behind, words);
        assert(others.length === 4 && others.every((energy) => energy < behind / 100), `the others: ${words}`);
      });
    });
  });
});
