// The page's bare address: the cameras that this browser knows, several of them playing, each one tap away.

import { test } from "node:test";

import { assert, same } from "../support/harness.ts";
import { inspect } from "./support/axe.ts";
import { OPTIONS, PATIENCE_MS, type Profile, type Visit, withProfile } from "./support/browser.ts";
import { PagePublisher, type Viewer } from "./support/page-server.ts";
import { theClip } from "./support/servers.ts";

/** Which cameras each of two publishers has. */
const HOUSES = [["door", "yard"], ["boat"]] as const;

async function publish(viewer: Viewer, at: number): Promise<void> {
  const { units, parameters } = await theClip();
  await viewer.tellOfCameras({ type: "cameras", names: [...(HOUSES[at] ?? [])] });
  await viewer.describe({ codec: "h264", width: 640, height: 480, parameters: Uint8Array.from(parameters) });
  while (!viewer.isOver) {
    for (const { data, keyframe } of units) {
      await viewer.frame(data, keyframe);
      await new Promise((done) => setTimeout(done, 66));
    }
  }
}

async function withHouses(body: (links: readonly string[], profile: Profile, page: string) => Promise<void>):
Promise<void> {
  const publisher = await PagePublisher.start(publish, () => undefined, HOUSES.length);
  try {
    await withProfile((profile) => body(publisher.links, profile, publisher.link.replace(/#.*/, "")));
  } finally {
    publisher.close();
  }
}

async function untilTiles({ page }: Visit, wanted: readonly string[]): Promise<void> {
  const tiles = (): Promise<string[]> => page.locator("#tiles .tile").evaluateAll((all) => all.map((one) =>
    `${one.querySelector(".tile-name")?.textContent ?? ""}: ${(one as HTMLElement).dataset["notice"] ?? ""}`));
  for (const end = Date.now() + PATIENCE_MS; (await tiles()).join() !== wanted.join();) {
    assert(Date.now() < end, `${(await tiles()).join("; ")} are not ${wanted.join("; ")}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

const ALL = ["door: none", "yard: none", "boat: none"];

void test("the bare address shows all cameras that were opened before, and one of them after one tap", OPTIONS,
  async () => {
    await withHouses(async ([house = "", boat = ""], profile, address) => {
      const first = await profile.visit(house);
      await untilTiles(first, ["door: none", "yard: none"]);
      await first.page.close();
      const alone = await profile.visit(address);
      await untilTiles(alone, ["door: none", "yard: none"]);
      await alone.page.close();
      const second = await profile.visit(boat);
      await second.untilNotice("none");
      await second.page.locator("#camera-name", { hasText: "boat" }).waitFor();
      await second.page.close();
      const home = await profile.visit(address);
      await untilTiles(home, ALL);
      same(await inspect(home, "home"), [], "faults");
      await home.page.locator(".tile").nth(2).click();
      await home.untilNotice("none");
      same(await home.page.locator("#camera-name").innerText(), "boat", "the one that was tapped");
      await home.page.reload();
      await home.untilNotice("none");
      await home.page.locator("#camera-name", { hasText: "boat" }).waitFor();
      await home.page.locator("#all-cameras").click();
      await untilTiles(home, ALL);
      const focus = await home.page.evaluate(() => document.activeElement?.querySelector(".tile-name")?.textContent);
      same(focus, "boat", "where the focus is");
    });
  });

void test("a camera is added to those that the browser knows, and forgotten by name", OPTIONS, async () => {
  await withHouses(async ([house = "", boat = ""], profile, address) => {
    const visit = await profile.visit(house);
    const { page } = visit;
    await untilTiles(visit, ["door: none", "yard: none"]);
    await page.locator("#add-camera").click();
    assert(await page.locator("#ticket").isVisible(), "the page asks for a ticket");
    await page.locator("#go-watch").click();
    await untilTiles(visit, ["door: none", "yard: none"]);
    await page.locator("#add-camera").click();
    await visit.paste(boat);
    await visit.untilNotice("none");
    await page.locator("#all-cameras").click();
    await untilTiles(visit, ALL);
    await page.locator(".tile").nth(2).click();
    await visit.untilNotice("none");
    await visit.openDetails();
    await page.locator("#details .forget").click();
    await untilTiles(visit, ["door: none", "yard: none"]);
    const kept = await page.evaluate(() => JSON.stringify(localStorage));
    assert(!kept.includes("boat"), "nothing of it is kept");
    const later = await profile.visit(address);
    await untilTiles(later, ["door: none", "yard: none"]);
  });
});

void test("a stranger's link that is refused is not remembered, and what the browser keeps is checked", OPTIONS,
  async () => {
    await withHouses(async ([house = "", boat = ""], profile, address) => {
      const visit = await profile.visit(house);
      await untilTiles(visit, ["door: none", "yard: none"]);
      const peer = /\/([a-z2-7]{52})/.exec(boat)?.[1] ?? "";
      const nobody = boat.replace(peer, "lbmkkmjbacmg6k2e3k4pd6eqdejjmckmqeijfa46wvwwoj3bhuaa");
      const wrong = await profile.visit(nobody);
      await wrong.page.locator("#view:is([data-notice=refused], [data-notice=failed])").waitFor();
      await wrong.page.close();
      await visit.page.close();
      const later = await profile.visit(address);
      await untilTiles(later, ["door: none", "yard: none"]);
      await later.page.evaluate(() => {
        localStorage.setItem("sealcast-known", '[{"ticket":"https://elsewhere"}]');
      });
      const spoiled = await profile.visit(address);
      await spoiled.page.locator("#ticket").waitFor();
    });
  });
