// The page publishes sound: Chromium's own microphone, which beeps, to files of the program and to another page.

import { join } from "node:path";
import { test } from "node:test";

import { assert, same } from "../support/harness.ts";
import { OPTIONS, type Profile, type Visit, withProfile } from "./support/browser.ts";
import { checkBeeps, decoded, onsets, placeOf, soundHashes, streamsOf } from "./support/opus.ts";
import { publishing, reportOf, stop, withViewer } from "./support/servers.ts";

/** Packets that a test waits for, of 20 ms each. */
const ENOUGH = 150;

declare global {
  /** What the page asked the browser for, and the tracks of sound that it got. */
  var asked: string[];
  var tracks: MediaStreamTrack[];
  /** How the browser answers a wish for a microphone: a name of an error, or empty. */
  var refusal: string;
}

/** Writes down what the page asks the browser for. It runs in the page before the page's own program. */
function listen(): void {
  [globalThis.asked, globalThis.tracks, globalThis.refusal] = [[], [], ""];
  if (!("mediaDevices" in navigator)) {
    // Of the empty page before ours.
    return;
  }
  const { mediaDevices } = navigator;
  const own = mediaDevices.getUserMedia.bind(mediaDevices);
  // There is no screen here: the camera and the microphone are in its place, without sound where that is refused.
  mediaDevices.getDisplayMedia = async (wish) => {
    globalThis.asked.push(JSON.stringify(wish?.audio ?? false));
    const stream = await own({ video: true, audio: globalThis.refusal === "" && wish?.audio !== false });
    globalThis.tracks.push(...stream.getAudioTracks());
    return stream;
  };
  mediaDevices.getUserMedia = async (wish) => {
    globalThis.asked.push(JSON.stringify(wish?.audio ?? false));
    if (wish?.audio !== undefined && wish.audio !== false && globalThis.refusal !== "") {
      throw new DOMException("no", globalThis.refusal);
    }
    const stream = await own(wish);
    globalThis.tracks.push(...stream.getAudioTracks());
    return stream;
  };
}

/** Opens the form of a publisher. */
async function form(profile: Profile, link: string): Promise<Visit> {
  await profile.context.addInitScript(listen);
  const visit = await profile.visit(publishing(link));
  await visit.page.locator("#publish-form").waitFor();
  await visit.openSettings();
  await visit.page.locator("[name=size]").selectOption("640x480");
  return visit;
}

async function publish(visit: Visit): Promise<void> {
  await visit.page.locator("#publish-go").click();
  await visit.untilNotice("none");
}

async function untilSent(visit: Visit, packets: number): Promise<void> {
  await visit.until(`${packets} packets that were sent`, ({ told }, wanted) =>
    (told.at(-1)?.figures?.sending?.packets ?? 0) >= wanted, packets);
}

/** States of the tracks of sound that the page got. */
function tracks(visit: Visit): Promise<string[]> {
  return visit.page.evaluate(() => globalThis.tracks.map(({ readyState }) => readyState));
}

async function end(visit: Visit): Promise<void> {
  await visit.page.locator("#stop").click();
  await visit.untilNotice("ended");
}

void test("the program writes picture and sound of a page, each packet whole, and the microphone's beeps are in it",
  OPTIONS, async () => {
    await withViewer("out.mp4", async (viewer) => {
      await withProfile(async (profile) => {
        const visit = await form(profile, viewer.link);
        await visit.page.locator("[name=sound]").selectOption("microphone");
        await visit.page.locator("[name=treatment]").selectOption("stereo");
        const names = await visit.page.locator("[name=microphone] option").allInnerTexts();
        assert(names.includes("Fake Audio Input 1"), `microphones: ${names.join()}`);
        await publish(visit);
        await untilSent(visit, ENOUGH);
        assert(await visit.page.locator("#microphone-level").isVisible(), "the page shows how loud it is");
        await visit.page.waitForFunction(() =>
          (document.querySelector<HTMLMeterElement>("#microphone-level")?.value ?? -60) > -20);
        await visit.screenshot("publish-sound");
        await end(visit);
        same(await tracks(visit), ["ended"], "the microphone is closed");
        await stop(viewer);
        const { figures, sounds } = await visit.told();
        same(figures?.sending?.name, "Opus, 48 kHz, 2 channels", "figures");
        // A busy machine may leave packets out, and says so.
        const numbers = sounds.map(({ frame }) => frame);
        const left = Math.max(...numbers) - Math.min(...numbers) + 1 - sounds.length;
        assert(left <= (figures?.sending?.dropped ?? 0), `${left} packets were left out`);
        const file = join(viewer.folder, "out.mp4");
        same(streamsOf(file).map(({ codec_name: name, channels }) => [name, channels]),
          [["h264", undefined], ["opus", 2]], "what the file has");
        const given = sounds.map(({ sha256 }) => sha256);
        const got = soundHashes(file);
        const first = placeOf(got, given);
        assert(first >= 0, "the packets are those that were sent, in order, without a gap");
        assert(got.length >= ENOUGH - 10, `${got.length} of ${given.length} packets from ${first} on`);
        checkBeeps(onsets(decoded(file), 48_000), got.length * 20);
        const { totals } = await reportOf(viewer.folder);
        same(Object.values(totals.open_failures).reduce((sum, count) => sum + count, 0), 0, "refused records");
      });
    });
  });

void test("nothing is heard before the user asks, a muted microphone is closed, and a recording has the rest", OPTIONS,
  async () => {
    await withViewer("out.mp4", async (viewer) => {
      await withProfile(async (profile) => {
        const visit = await form(profile, viewer.link);
        await publish(visit);
        await visit.until("pictures", ({ told }) => (told.at(-1)?.figures?.frames ?? 0) >= 30, 0);
        same(await visit.page.evaluate(() => globalThis.asked), ["false"], "what the browser was asked for");
        const told = await visit.told();
        same([told.figures?.sending, told.sounds], [undefined, []], "sound that was sent");
        const button = visit.page.locator("#microphone");
        same(await button.innerText(), "Send sound", "the button");
        await button.click();
        await untilSent(visit, 20);
        same(await tracks(visit), ["live"], "microphones");
        await visit.page.getByRole("button", { name: "Mute" }).click();
        await visit.until("the figures that say so", ({ told: all }) => all.at(-1)?.figures?.sending?.on === false, 0);
        same(await tracks(visit), ["ended"], "microphones while it is muted");
        const sent = (await visit.told()).figures?.sending?.packets ?? NaN;
        await visit.page.locator("#microphone-choice").selectOption({ label: "Fake Audio Input 2" });
        same(await tracks(visit), ["ended"], "a choice opens nothing");
        const reports = (await visit.told()).reports + 3;
        await visit.until("new figures", ({ told: all }, wanted) => (all.at(-1)?.reports ?? 0) >= wanted, reports);
        same((await visit.told()).figures?.sending?.packets, sent, "packets while it is muted");
        await button.click();
        await untilSent(visit, sent + 20);
        await visit.page.locator("#microphone-choice").selectOption({ label: "Fake Audio Input 1" });
        await untilSent(visit, sent + 60);
        same(await tracks(visit), ["ended", "ended", "live"], "another microphone takes the place of the one before");
        const wishes = await visit.page.evaluate(() => globalThis.asked.slice(1).map((wish) => wish.includes("exact")));
        same(wishes, [false, true, true], "wishes that name a microphone");
        await end(visit);
        same(await tracks(visit), ["ended", "ended", "ended"], "microphones at the end");
        await stop(viewer);
        const file = join(viewer.folder, "out.mp4");
        same(streamsOf(file).map(({ codec_name: name }) => name), ["h264", "opus"], "what the file has");
        const given = (await visit.told()).sounds.map(({ sha256 }) => sha256);
        const got = soundHashes(file);
        same(got, given.slice(0, got.length), "packets, from the first on");
        assert(got.length >= sent + 50, `${got.length} of ${given.length} packets`);
      });
    });
  });

void test("a microphone that is refused, and a browser without an encoder, are said in words", OPTIONS, async () => {
  await withViewer("null:", async (viewer) => {
    await withProfile(async (profile) => {
      const visit = await form(profile, viewer.link);
      await visit.page.locator("[name=sound]").selectOption("microphone");
      for (const [name, words] of [
        ["NotAllowedError", "was not allowed"], ["NotFoundError", "no such microphone"],
        ["NotReadableError", "in use by another program"], ["AbortError", "could not be opened"],
      ] as const) {
        await visit.page.evaluate((refusal) => {
          globalThis.refusal = refusal;
        }, name);
        await visit.page.locator("#publish-go").click();
        await visit.page.locator("#publish-error", { hasText: words }).waitFor();
      }
      same((await visit.all()).length, 0, "connections");
      await visit.page.locator("[name=sound]").selectOption("none");
      await publish(visit);
      await visit.page.locator("#microphone").click();
      await visit.page.locator("#microphone-words", { hasText: "could not be opened" }).waitFor();
      await visit.page.evaluate(() => {
        globalThis.refusal = "";
      });
      await visit.page.locator("#microphone").click();
      await untilSent(visit, 20);
      same(await visit.page.locator("#microphone-words").isVisible(), false, "the words are gone");
      await end(visit);
    });
  });
  await withViewer("null:", async (viewer) => {
    await withProfile(async (profile) => {
      await profile.context.addInitScript(() => {
        Reflect.deleteProperty(globalThis, "AudioEncoder");
      });
      const visit = await form(profile, viewer.link);
      assert(await visit.page.locator("[name=sound]").isDisabled(), "there is nothing to choose");
      await visit.page.locator("#sound-note", { hasText: "no encoder" }).waitFor();
    });
  });
});

void test("the sound of a screen goes with it where the browser gives it, else the page says so", OPTIONS, async () => {
  for (const given of [true, false]) {
    await withViewer("null:", async (viewer) => {
      await withProfile(async (profile) => {
        const visit = await form(profile, viewer.link);
        assert(await visit.page.locator("[name=sound] [value=screen]").isDisabled(), "a camera has no such sound");
        await visit.page.locator("[name=source][value=screen]").check();
        await visit.page.locator("[name=sound]").selectOption("screen");
        await visit.page.evaluate((refusal) => {
          globalThis.refusal = refusal;
        }, given ? "" : "NotFoundError");
        await publish(visit);
        const words = visit.page.locator("#microphone-words");
        if (given) {
          await untilSent(visit, 20);
          same([await words.isVisible(), await tracks(visit)], [false, ["live"]], "what is taken");
          await visit.page.locator("#microphone").click();
          await visit.until("silence", ({ told }) => told.at(-1)?.figures?.sending?.on === false, 0);
          const sent = (await visit.told()).figures?.sending?.packets ?? NaN;
          await visit.page.locator("#microphone").click();
          await untilSent(visit, sent + 20);
          same((await visit.page.evaluate(() => globalThis.asked)).length, 1, "the browser asks once");
        } else {
          await words.filter({ hasText: "gave no sound of the screen" }).waitFor();
          await visit.until("pictures", ({ told }) => (told.at(-1)?.figures?.frames ?? 0) >= 10, 0);
        }
        await end(visit);
        same(await tracks(visit), given ? ["ended"] : [], "what is open at the end");
      });
    });
  }
});
