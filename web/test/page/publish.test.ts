// The page publishes a camera, and the program watches.

import { join } from "node:path";
import { test } from "node:test";

import { assert, same } from "../support/harness.ts";
import { OPTIONS, type Profile, type Visit, withProfile } from "./support/browser.ts";
import {
  type Report, type Server, linkOf, partsOf, publishing, reportOf, stop, tool, withPublisher, withViewer,
} from "./support/servers.ts";

/** Frames that a test waits for: several groups of pictures. */
const ENOUGH = 60;

/** Opens the form of a publisher. */
async function form(profile: Profile, link: string, query = "?publish"): Promise<Visit> {
  const visit = await profile.visit(publishing(link).replace("?publish", query));
  await visit.page.locator("#publish-form").waitFor();
  await visit.openSettings();
  await visit.page.locator("[name=size]").selectOption("640x480");
  return visit;
}

/** Waits until the page has sent so many frames in this session. */
async function untilSent(visit: Visit, count: number): Promise<void> {
  await visit.until(`${count} frames that were sent`, ({ told }, wanted) =>
    (told.at(-1)?.figures?.frames ?? 0) >= wanted, count);
}

/** Ends the page's session, and then the program, and returns its report. */
async function end(visit: Visit, viewer: Server): Promise<Report> {
  await visit.page.locator("#stop").click();
  await visit.untilNotice("ended");
  await stop(viewer);
  return reportOf(viewer.folder);
}

interface Decoded {
  readonly streams: readonly {
    readonly codec_name: string; readonly width: number; readonly height: number; readonly nb_read_frames: string;
  }[];
}

/** Decodes a file to its end, without an error, and tells what is in it. */
function decode(file: string): Decoded["streams"][number] {
  const entries = ["-count_frames", "-show_entries", "stream=codec_name,width,height,nb_read_frames", "-of", "json"];
  const { stdout, stderr } = tool("ffprobe", ...entries, file);
  same(stderr, "", "errors of the decoder");
  const [stream] = (JSON.parse(stdout) as Decoded).streams;
  assert(stream !== undefined, "the file has a stream");
  return stream;
}

for (const codec of ["h264", "mjpeg"] as const) {
  void test(`the program watches a camera that the page publishes in ${codec}`, OPTIONS, async () => {
    const file = `out.${codec}`;
    await withViewer(file, async (viewer) => {
      await withProfile(async (profile) => {
        const visit = await form(profile, viewer.link);
        await visit.page.locator(`[name=codec] option[value=${codec}]:enabled`).waitFor({ state: "attached" });
        await visit.page.locator("[name=codec]").selectOption(codec);
        await visit.page.locator("[name=rekey]").fill("1");
        await visit.page.locator("#publish-go").click();
        await visit.untilNotice("none");
        assert(await visit.page.locator("#picture video").isVisible(), "the user sees what is sent");
        await untilSent(visit, ENOUGH);
        await visit.until("the third epoch", ({ told }, epoch) =>
          told.at(-1)?.protections.some((one) => one.epoch >= epoch) === true, 2);
        const { totals } = await end(visit, viewer);
        const { codec_name: name, width, height, nb_read_frames: frames } = decode(join(viewer.folder, file));
        same({ name, width, height }, { name: codec, width: 640, height: 480 }, "what the file has");
        same(Number(frames), totals.frames_in, "frames of the file and of the report");
        assert(totals.frames_in >= ENOUGH, `${totals.frames_in} frames came, of ${ENOUGH}`);
        same(Object.values(totals.open_failures).reduce((sum, count) => sum + count, 0), 0, "refused records");
      });
    });
  });
}

void test("a publishing page makes keyframes when asked, and leaves in clear what it says", OPTIONS, async () => {
  await withViewer("out.h264", async (viewer) => {
    await withProfile(async (profile) => {
      const visit = await form(profile, viewer.link, "?publish&study");
      await visit.page.locator("#publish-go").click();
      await untilSent(visit, 10);
      const before = (await visit.told()).figures?.keyframes ?? 0;
      await visit.openDetails();
      await visit.page.locator("#keyframe").click();
      await visit.until("another keyframe", ({ told }, seen) =>
        (told.at(-1)?.figures?.keyframes ?? 0) > seen, before);
      await visit.page.locator("#selection").selectOption("keyframes");
      await visit.until("the selection", ({ told }, wanted) =>
        told.at(-1)?.protections.at(-1)?.selection === wanted, "keyframes");
      assert(/in clear/.test(await visit.page.locator("#warning").innerText()), "the page warns");
      await untilSent(visit, ENOUGH);
      await end(visit, viewer);
      assert(Number(decode(join(viewer.folder, "out.h264")).nb_read_frames) >= ENOUGH, "the file has the frames");
      assert(/in clear/.test(viewer.program.stderr), `the program warns as well: ${viewer.program.stderr}`);
    });
  });
});

void test("a publishing page with a wrong link is refused, and lets go of the camera", OPTIONS, async () => {
  await withViewer("null:", async ({ link }) => {
    await withPublisher("test:320x240@25", [], async (other) => {
      await withProfile(async (profile) => {
        const visit = await form(profile, linkOf({ ...partsOf(link), peer: partsOf(other.link).peer }));
        await visit.page.locator("#publish-go").click();
        await visit.untilNotice("refused");
        same(await visit.page.locator("#notice-cause").textContent(), "cause: silence", "cause");
        same(await visit.page.locator("#picture video").count(), 0, "previews");
        same((await visit.told()).figures?.frames ?? 0, 0, "frames that were sent");
        await visit.page.locator("#other-ticket").click();
        await visit.paste(link);
        await visit.page.locator("#publish-go").click();
        await untilSent(visit, 10);
      });
    });
  });
});

void test("a ticket that names a relay is no place to publish, and the page says so", OPTIONS, async () => {
  await withPublisher("test:320x240@25", [], async ({ link }) => {
    await withProfile(async (profile) => {
      const { page, peer, port } = partsOf(link);
      const ticket = `sealcast://127.0.0.1:${port}/${peer}?transport=relay&broadcast=front`;
      const visit = await profile.visit(`${page}?publish#${ticket}`);
      await visit.page.locator("#publish-go").click();
      await visit.untilNotice("failed");
      const words = await visit.page.locator("#notice-words").innerText();
      assert(words.startsWith("This ticket is a camera's at a relay: this page can watch by it"), words);
    });
  });
});

void test("a page that publishes to a publisher is refused, and watches it when the user wants that", OPTIONS,
  async () => {
    await withPublisher("test:320x240@25", [], async ({ link }) => {
      await withProfile(async (profile) => {
        const visit = await form(profile, link);
        await visit.page.locator("#publish-go").click();
        await visit.untilNotice("refused");
        same((await visit.told()).figures?.frames ?? 0, 0, "frames that were sent");
        await visit.page.locator("#go-watch").click();
        await visit.untilNotice("none");
      });
    });
  });

void test("the form asks for picture and sound, and offers nothing in clear but for study", OPTIONS, async () => {
  await withViewer("null:", async ({ link }) => {
    await withProfile(async (profile) => {
      const { page } = await profile.visit(publishing(link));
      await page.locator("#publish-form").waitFor();
      const seen = await page.locator("#publish-form :is(select, input, button):visible").evaluateAll((all) =>
        all.map((one) => one.getAttribute("name") ?? one.id));
      same(seen.filter((name) => name !== "device"), ["source", "source", "sound", "publish-go"], "fields");
      await page.locator("#publish-more > summary").click();
      assert(await page.locator("[name=rekey]").isVisible(), "the rest is there");
      assert(await page.locator("[name=selection]").isHidden(), "and everything is encrypted");
      await page.close();
      const study = await form(profile, link, "?publish&study");
      await study.page.locator("[name=selection]").selectOption("none");
      assert(await study.page.locator("#publish-warning").isVisible(), "for study it may be, with a warning");
      same(await study.page.evaluate(() => location.search), "?publish&study", "address");
    });
    await withProfile(async (profile) => {
      const visit = await profile.visit(publishing(link));
      const asked = visit.page.evaluate(() => new Promise<unknown>((done) => {
        const real = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
        navigator.mediaDevices.getUserMedia = (wish) => {
          done((wish?.video as MediaTrackConstraints).facingMode);
          return real(wish);
        };
      }));
      await visit.page.locator("[name=source][value=back]").check();
      await visit.page.locator("#publish-go").click();
      same(await asked, { ideal: "environment" }, "which camera is asked for");
      await visit.untilNotice("none");
    }, { browser: { hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } } });
  });
});
