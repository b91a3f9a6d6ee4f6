// What a watcher has: the picture and what is done with it, whether it is of now, and the rest behind Details.

import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { assert, same } from "../support/harness.ts";
import { inspect } from "./support/axe.ts";
import { OPTIONS, type Visit, withProfile } from "./support/browser.ts";
import { PagePublisher, type Viewer } from "./support/page-server.ts";
import { theClip } from "./support/servers.ts";

/** A camera that a test stops, and switches off. */
class Camera {
  stands = false;
  viewer: Viewer | undefined;

  async publish(viewer: Viewer): Promise<void> {
    this.viewer = viewer;
    const { units, parameters } = await theClip();
    await viewer.describe({ codec: "h264", width: 640, height: 480, parameters: Uint8Array.from(parameters) });
    for (let at = 0; !viewer.isOver; at += 1) {
      const unit = units[at % units.length];
      if (!this.stands && unit !== undefined) {
        await viewer.frame(unit.data, unit.keyframe);
      }
      await new Promise((done) => setTimeout(done, 66));
    }
  }
}

async function watched(body: (visit: Visit, camera: Camera) => Promise<void>, clock = false): Promise<void> {
  const camera = new Camera();
  const publisher = await PagePublisher.start((viewer) => camera.publish(viewer));
  try {
    await withProfile(async (profile) => {
      if (clock) {
        await profile.context.clock.install();
      }
      const visit = await profile.visit(publisher.link);
      await visit.untilNotice("none");
      await body(visit, camera);
    });
  } finally {
    publisher.close();
  }
}

/** The line under the picture: its words, its sign and its colour. */
async function line({ page }: Visit): Promise<{ words: string; sign: string | null; colour: string }> {
  const colour = await page.locator("#state-words").evaluate((words) => getComputedStyle(words).color);
  const sign = await page.locator("#state-sign").getAttribute("href");
  return { words: await page.locator("#state-words").innerText(), sign, colour };
}

void test("a watcher has the picture's own controls at once, and the rest behind Details", OPTIONS, async () => {
  await watched(async (visit) => {
    const { page } = visit;
    const names = await page.locator("#live .controls button:visible").evaluateAll((all) =>
      all.map((one) => one.getAttribute("aria-label") ?? one.textContent.replace(/\s+/g, " ").trim()));
    same(names, ["Full screen", "Save picture", "Smaller", "Larger", "Stop"], "buttons");
    const whole = await page.locator("#live").innerText();
    const strange = /rekey|keyframe|carrier|p99|epoch|suite|New keys|Hold back/i.exec(whole)?.[0];
    same(strange, undefined, "a word that no watcher knows");
    await page.locator("#details > summary").focus();
    await page.keyboard.press("Enter");
    for (const id of ["jitter", "rekey", "carrier", "reconnect", "stages", "log"]) {
      assert(await page.locator(`#${id}`).isVisible(), `${id} is behind Details`);
    }
    await page.reload();
    await visit.untilNotice("none");
    same(await inspect(visit, "watching"), [], "faults");
  });
});

void test("a picture that stands still is said to be old by words, sign and colour, then goes", OPTIONS, async () => {
  await watched(async (visit, camera) => {
    const { page } = visit;
    const live = await line(visit);
    same([live.words, live.sign], ["Live", "#sign-live"], "while it moves");
    // From here on the page's clock is the test's; its worker has the real one.
    await page.clock.pauseAt(await page.evaluate(() => Date.now() + 1_000));
    await visit.untilDrawn(((await visit.told()).figures?.drawn ?? 0) + 5);
    camera.stands = true;
    await visit.until("a report of no further picture", ({ told }) => {
      const kept = globalThis as { before?: { drawn: number; reports: number } };
      const { figures, reports = 0 } = told.at(-1) ?? {};
      const drawn = figures?.drawn ?? 0;
      if (kept.before?.drawn !== drawn) {
        kept.before = { drawn, reports };
      }
      return reports > kept.before.reports + 2;
    }, undefined);
    await page.clock.runFor(3_500);
    same(await page.locator("#stands").innerText(), "This picture is 3 s old", "across the picture");
    const stands = await line(visit);
    same([stands.words, stands.sign], ["The picture stands still", "#sign-stands"], "under it");
    assert(stands.colour !== live.colour, "in another colour");
    await visit.screenshot("stands");
    await page.clock.runFor(3_000);
    await visit.untilNotice("silent");
    const title = await page.locator("#notice-title").innerText();
    assert(/^No new picture since \d\d:\d\d$/.test(title), title);
    await visit.screenshot("silent");
  }, true);
});

void test("a camera that is off is said to be off, since when, with a sign of its own", OPTIONS, async () => {
  await watched(async (visit, camera) => {
    const since = new Date();
    const words = { type: "camera", state: 2, since: BigInt(since.getTime()) * 1_000_000n, why: "it failed" } as const;
    await camera.viewer?.tellOfCameras(words);
    await visit.untilNotice("away");
    const [hours, minutes] = [since.getHours(), since.getMinutes()].map((part) => String(part).padStart(2, "0"));
    const title = `The camera is off since ${hours ?? ""}:${minutes ?? ""}`;
    same(await visit.page.locator("#notice-title").innerText(), title, "title");
    same(await visit.page.locator("#notice-sign").getAttribute("href"), "#sign-off", "sign");
    assert(await visit.page.locator("#state").isHidden(), "nothing says that it is live");
    same(await inspect(visit, "away"), [], "faults");
  });
});

void test("the picture of now is saved as a file, and none where there is none", OPTIONS, async () => {
  await watched(async (visit) => {
    const { page } = visit;
    const download = page.waitForEvent("download");
    await page.locator("#save").click();
    const file = await download;
    assert(/^camera-\d{4}-\d\d-\d\d-\d\d-\d\d-\d\d\.png$/.test(file.suggestedFilename()), file.suggestedFilename());
    const png = await readFile(await file.path());
    same(png.subarray(1, 4).toString(), "PNG", "kind");
    same([png.readUInt32BE(16), png.readUInt32BE(20)], [640, 480], "size");
    await page.locator("#stop").click();
    await visit.untilNotice("ended");
    assert(await page.locator("#save").isDisabled(), "no picture to save");
  });
});

void test("the picture is made larger by buttons, keys and the wheel, moved by dragging, and whole again", OPTIONS,
  async () => {
    await watched(async (visit) => {
      const { page } = visit;
      const scale = (): Promise<string> => page.locator("#zoom").innerText();
      const place = (): Promise<string> => page.locator("#picture").evaluate(({ style }: HTMLElement) =>
        style.transform);
      await page.locator("#zoom-in").click();
      same(await scale(), "1.5×", "after a button");
      await page.keyboard.press("+");
      same(await scale(), "2.3×", "after a key");
      const box = await page.locator("#view").boundingBox();
      assert(box !== null, "the view has a place");
      const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
      await page.mouse.move(x, y);
      await page.mouse.down();
      await page.mouse.move(x + 40, y + 20, { steps: 4 });
      await page.mouse.up();
      assert((await place()).startsWith("translate(40px, 20px)"), await place());
      await page.keyboard.press("0");
      same([await scale(), await place()], ["1×", ""], "whole again");
      await page.keyboard.down("Control");
      await page.mouse.wheel(0, -300);
      await page.keyboard.up("Control");
      await page.locator("#zoom", { hasText: "2.7×" }).waitFor();
      await visit.screenshot("zoomed");
    });
  });
