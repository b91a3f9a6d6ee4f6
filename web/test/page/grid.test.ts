// A publisher of several cameras: a grid of them, one alone, and what becomes of cameras that change.

import { test } from "node:test";

import { assert, same } from "../support/harness.ts";
import { inspect } from "./support/axe.ts";
import { OPTIONS, PATIENCE_MS, type Visit, withProfile } from "./support/browser.ts";
import { PagePublisher, type Viewer } from "./support/page-server.ts";
import { type Clip, theClip, withPublisher } from "./support/servers.ts";

const NAMES = ["front", "back yard", "gate", "shed", "hall", "roof", "cellar", "attic"];

/** A house with cameras, of which the shed's is off. */
class House {
  readonly watched: string[] = [];
  readonly #viewers = new Set<Viewer>();
  readonly #clip: Clip;
  names = NAMES;

  constructor(clip: Clip) {
    this.#clip = clip;
  }

  lacks(camera: string): string | undefined {
    return camera === "" || this.names.includes(camera) ? undefined : "there is no camera of this name";
  }

  async publish(viewer: Viewer): Promise<void> {
    this.watched.push(viewer.camera);
    this.#viewers.add(viewer);
    await viewer.tellOfCameras({ type: "cameras", names: this.names });
    if (viewer.camera === "shed") {
      await viewer.tellOfCameras({ type: "camera", state: 2, since: 0n, why: "it failed" });
      return;
    }
    const { units, parameters } = this.#clip;
    await viewer.describe({ codec: "h264", width: 640, height: 480, parameters: Uint8Array.from(parameters) });
    while (!viewer.isOver) {
      for (const { data, keyframe } of units) {
        await viewer.frame(data, keyframe);
        await new Promise((done) => setTimeout(done, 66));
      }
    }
  }

  async change(names: string[]): Promise<void> {
    this.names = names;
    for (const viewer of this.#viewers) {
      await viewer.tellOfCameras({ type: "cameras", names }).catch(() => undefined);
    }
  }

  /** Cameras that are watched now, in order. */
  get open(): string[] {
    return [...this.#viewers].filter(({ isOver }) => !isOver).map(({ camera }) => camera).sort();
  }
}

async function withHouse(body: (house: House, link: string) => Promise<void>): Promise<void> {
  const house = new House(await theClip());
  const publisher = await PagePublisher.start((viewer) => house.publish(viewer), (camera) => house.lacks(camera));
  try {
    await body(house, publisher.link);
  } finally {
    publisher.close();
  }
}

/** Each tile, as its name and its notice. */
function tiles({ page }: Visit): Promise<string[]> {
  return page.locator("#tiles .tile").evaluateAll((all) => all.map((one) =>
    `${one.querySelector(".tile-name")?.textContent ?? ""}: ${(one as HTMLElement).dataset["notice"] ?? ""}`));
}

async function untilTiles(visit: Visit, wanted: readonly string[]): Promise<void> {
  const end = Date.now() + PATIENCE_MS;
  while (JSON.stringify(await tiles(visit)) !== JSON.stringify(wanted)) {
    assert(Date.now() < end, `${(await tiles(visit)).join("; ")} are not ${wanted.join("; ")}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

async function until(what: string, holds: () => boolean): Promise<void> {
  for (const end = Date.now() + PATIENCE_MS; !holds(); await new Promise((done) => setTimeout(done, 50))) {
    assert(Date.now() < end, `waited in vain: ${what}`);
  }
}

function watched(notice: string): string[] {
  return NAMES.map((name, at) =>
    `${name}: ${at >= 6 ? "resting" : name === "shed" ? "away" : notice}`);
}

void test("a grid shows six cameras and offers the others, and one alone large", OPTIONS, async () => {
  await withHouse(async (house, link) => {
    await withProfile(async (profile) => {
      const visit = await profile.visit(link);
      const { page } = visit;
      await untilTiles(visit, watched("none"));
      const six = [...NAMES].slice(0, 6).sort();
      await until("six sessions", () => JSON.stringify(house.open) === JSON.stringify(six));
      const shed = page.locator(".tile").nth(3);
      assert((await shed.innerText()).includes("it failed"), "the one that is off says why");
      same(await inspect(visit, "grid"), [], "faults");
      await page.locator(".tile").nth(1).focus();
      await page.keyboard.press("Enter");
      await visit.untilNotice("none");
      await until("one session", () => JSON.stringify(house.open) === JSON.stringify(["back yard"]));
      same(await page.evaluate(() => location.search), "?camera=back%20yard", "address");
      same(await page.locator("#camera-name").innerText(), "back yard", "name");
      same(await inspect(visit, "one-of-many"), [], "faults");
      await page.reload();
      await visit.untilNotice("none");
      same(await page.locator("#camera-name").innerText(), "back yard", "name after a reload");
      await page.locator("#all-cameras").waitFor();
      await page.keyboard.press("Escape");
      await untilTiles(visit, watched("none"));
      same(await page.evaluate(() => location.search), "", "address of the grid");
      same(await page.evaluate(() => document.activeElement?.querySelector(".tile-name")?.textContent), "back yard",
        "where the focus is");
      await page.locator(".tile").nth(7).click();
      await visit.untilNotice("none");
      same(house.open.filter((name) => name === "attic").length, 1, "one that rested is watched");
    });
  });
});

void test("cameras come and go in the grid, and the last one is shown as an only one", OPTIONS, async () => {
  await withHouse(async (house, link) => {
    house.names = ["front", "yard"];
    await withProfile(async (profile) => {
      const visit = await profile.visit(link);
      await untilTiles(visit, ["front: none", "yard: none"]);
      await house.change(["gate", "front", "yard"]);
      await untilTiles(visit, ["gate: none", "front: none", "yard: none"]);
      same(house.watched.filter((name) => name === "front").length, 1, "sessions of one that stayed");
      await house.change(["gate", "yard"]);
      await untilTiles(visit, ["gate: none", "yard: none"]);
      await house.change(["yard"]);
      await visit.untilNotice("none");
      same(await tiles(visit), [], "tiles");
      assert(await visit.page.locator("#camera-bar").isHidden(), "as of a publisher with one camera");
    });
  });
});

void test("a camera that the publisher lacks is refused in words, with a way to all", OPTIONS, async () => {
  await withHouse(async (house, link) => {
    house.names = ["front", "yard"];
    await withProfile(async (profile) => {
      for (const [camera, words] of [
        ["nowhere", "there is no camera of this name"], ["x".repeat(65), "at most 64 bytes"],
      ] as const) {
        const visit = await profile.visit(link.replace("/#", `/?camera=${camera}#`));
        await visit.page.locator("#view:is([data-notice=refused], [data-notice=failed])").waitFor();
        const said = await visit.page.locator("#notice-words").innerText();
        assert(said.includes(words), `it says so: ${said}`);
        await visit.page.locator("#all-cameras").click();
        await untilTiles(visit, ["front: none", "yard: none"]);
        await visit.page.close();
      }
    });
  });
});

void test("one invite lets a browser watch all cameras of a program", OPTIONS, async () => {
  await withPublisher("front=test:320x240@15", ["yard=test:320x240@15"], async ({ link }) => {
    await withProfile(async (profile) => {
      const visit = await profile.visit(link);
      const { page } = visit;
      await untilTiles(visit, ["front: none", "yard: none"]);
      const owns = (await visit.all()).flatMap(({ protections }) => protections.map(({ own }) => own));
      same(new Set(owns).size, 1, "identities of the sessions");
      await page.locator(".tile").first().click();
      await visit.untilNotice("none");
      same(await page.evaluate(() => location.search), "?camera=front", "address");
      await page.reload();
      await visit.untilNotice("none");
      await page.locator("#all-cameras").click();
      await untilTiles(visit, ["front: none", "yard: none"]);
      const wrong = await profile.visit(link.replace("/#", "/?camera=cellar#"));
      await wrong.untilNotice("refused");
      assert(/It said: ./.test(await wrong.page.locator("#notice-words").innerText()), "the program's words");
    });
  });
});
