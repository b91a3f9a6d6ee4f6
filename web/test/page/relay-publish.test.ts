// A page publishes through the real relay, and another page and the program watch.

import { join } from "node:path";
import { test } from "node:test";

import { Program, withFolder, within } from "../node/program.ts";
import { assert, same } from "../support/harness.ts";
import { BINARY, type Profile, TEST_TIMEOUT_MS, type Visit, withProfile } from "./support/browser.ts";
import { Relay, SKIP_RELAY } from "./support/relay.ts";
import { type Server, reportOf, tool, withPublisher } from "./support/servers.ts";

const OPTIONS = { skip: SKIP_RELAY, timeout: TEST_TIMEOUT_MS };
const NAME = "meeting";
/** Frames that a test waits for: several groups of pictures. */
const ENOUGH = 120;

/** Runs a test with a relay, and a program whose only part is that it serves the page. */
async function withStage(body: (stage: { readonly relay: Relay; readonly page: string }) => Promise<void>):
Promise<void> {
  await withFolder(async (folder) => {
    const relay = await Relay.start(folder);
    try {
      await withPublisher("test:320x240@5", [], async ({ link }: Server) => {
        await body({ relay, page: link.replace(/#.*/, "") });
      });
    } finally {
      await relay.kill();
    }
  });
}

/** Fills in the form of a publisher through a relay. */
async function fillIn(visit: Visit, address: string): Promise<void> {
  const { page } = visit;
  await page.locator("#ticket-form [value=relay]").check();
  await page.locator("#relay").fill(address);
  await page.locator("#ticket-form [type=submit]").click();
}

/** A page that publishes, with a ticket for so many viewers. */
async function publishing(profile: Profile, page: string, address: string, uses = 1): Promise<Visit> {
  const visit = await profile.visit(`${page}?publish`);
  await fillIn(visit, address);
  await visit.page.locator("[name=size]").selectOption("640x480");
  await visit.page.locator("[name=uses]").fill(String(uses));
  await visit.page.locator("#publish-go").click();
  return visit;
}

async function ticketOf(visit: Visit): Promise<string> {
  await visit.until("a ticket", ({ told }) => told.at(-1)?.audience !== undefined, undefined);
  await visit.untilNotice("none");
  return visit.page.locator("#audience-ticket").inputValue();
}

async function untilAudience(visit: Visit, states: readonly string[]): Promise<void> {
  await visit.until(`viewers who are ${states.join(", ")}`, ({ told }, wanted) => {
    const found = told.at(-1)?.audience?.viewers.map(({ state }) => state) ?? [];
    return JSON.stringify(found) === JSON.stringify(wanted);
  }, states);
}

/** Checks that what came are the pictures that the camera's page gave, in order, each whole. */
async function checkPictures(camera: Visit, viewer: Visit): Promise<void> {
  const [given, got] = [(await camera.told()).units, (await viewer.told()).units];
  const hashes = new Map(given.map(({ frame, sha256 }) => [frame, sha256]));
  same(got.filter(({ frame, sha256 }) => hashes.get(frame) !== sha256), [], "pictures that are not the camera's");
  const numbers = got.map(({ frame }) => frame);
  const expected = given.map(({ frame }) => frame).filter((frame) => frame >= (numbers[0] ?? 0));
  same(numbers, expected.slice(0, numbers.length), "numbers, in order, without a gap");
}

async function untilUnits(visit: Visit, count: number): Promise<void> {
  await visit.until(`${count} pictures`, ({ told }, wanted) => (told.at(-1)?.units.length ?? 0) >= wanted, count);
}

void test("page to page: each picture comes whole, in order, with its age, and both ends say who is there", OPTIONS,
  async () => {
    await withStage(async ({ relay, page }) => {
      await withProfile(async (one) => {
        const camera = await publishing(one, page, relay.url(NAME));
        const ticket = await ticketOf(camera);
        await withProfile(async (other) => {
          const viewer = await other.visit(`${page}#${ticket.replace("#", "%23")}`);
          await viewer.untilNotice("none");
          await untilUnits(viewer, ENOUGH);
          await checkPictures(camera, viewer);
          await viewer.page.locator("#age", { hasText: /^The newest frame is at most \d+ ms old\.$/ }).waitFor();
          await untilAudience(camera, ["watching"]);
          await camera.page.locator("#audience-count", { hasText: "1 watches now." }).waitFor();
          await camera.screenshot("relay-camera");
          await viewer.screenshot("relay-page-to-page");
          const { figures } = await viewer.told();
          same([figures?.refused, figures?.membership?.refused], [{}, {}], "refused");
          assert((figures?.total?.median ?? NaN) > 0, "a latency");
          // It is enrolled: after a reload the used-up invite is not needed.
          const again = await other.visit(`${page}#${ticket.replace(/#.*/, "")}`);
          await again.untilNotice("none");
          await viewer.page.locator("#stop").click();
          await untilAudience(camera, ["watching"]);
        });
        await camera.page.locator("#stop").click();
        await camera.untilNotice("ended");
      });
    });
  });
