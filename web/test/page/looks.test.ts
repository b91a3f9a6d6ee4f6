// What everybody meets: axe looks for faults of accessibility in each state, and SCREENSHOTS keeps pictures of them.

import { readFile } from "node:fs/promises";
import { test } from "node:test";

import type { AxeResults } from "axe-core";

import { assert, same } from "../support/harness.ts";
import { OPTIONS, type Visit, withProfile } from "./support/browser.ts";
import { linkOf, partsOf, publishing, withPublisher, withViewer } from "./support/servers.ts";

const SOURCE = "test:640x480@25";
const AXE = "node_modules/axe-core/axe.min.js";
/** Rules that apply to every state; if fewer were checked, axe did not look at the page. */
const MIN_RULES = 15;

const PHONE = { width: 390, height: 844 };
const DESKTOP = { width: 1280, height: 900 };
/** Phones first: a wide page opens what a narrow one has behind the lock. */
const LOOKS = [
  { look: "phone", size: PHONE, colorScheme: "light" },
  { look: "phone-dark", size: PHONE, colorScheme: "dark" },
  { look: "desktop", size: DESKTOP, colorScheme: "light" },
  { look: "desktop-dark", size: DESKTOP, colorScheme: "dark" },
] as const;

/** Faults that keep somebody out, with the elements that have them. */
async function faults({ page }: Visit): Promise<string[]> {
  const { violations, passes } = await page.evaluate(() => {
    const { axe } = globalThis as unknown as { axe: { run(): Promise<AxeResults> } };
    return axe.run();
  });
  assert(passes.length >= MIN_RULES, `axe applied ${passes.length} rules`);
  const bad = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  return bad.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) =>
    `${id}: ${target.join(" ")}: ${failureSummary ?? ""}`));
}

/** Looks at one state of the page in all its looks. */
async function inspect(visit: Visit, state: string): Promise<string[]> {
  const { page } = visit;
  const found: string[] = [];
  await page.evaluate(await readFile(AXE, "utf8"));
  for (const { look, size, colorScheme } of LOOKS) {
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme });
    const lock = page.locator('#lock[aria-expanded="false"]');
    if (size === DESKTOP && await lock.isVisible()) {
      await lock.click();
    }
    await visit.screenshot(`${state}-${look}`);
    found.push(...(await faults(visit)).map((fault) => `${state}, ${look}: ${fault}`));
    const tooWide = await page.evaluate(() => {
      const { scrollWidth, clientWidth } = document.documentElement;
      return scrollWidth - clientWidth;
    });
    if (tooWide > 0) {
      found.push(`${state}, ${look}: the page is ${tooWide} pixels wider than its window`);
    }
  }
  return found;
}

void test("no state of the page has a serious fault of accessibility", OPTIONS, async () => {
  const found: string[] = [];
  await withViewer("null:", async (viewer) => {
    await withPublisher(SOURCE, [], async ({ link }) => {
      await withProfile(async (profile) => {
        const wrong = await profile.visit(linkOf({ ...partsOf(link), peer: partsOf(viewer.link).peer }));
        await wrong.untilNotice("refused");
        found.push(...await inspect(wrong, "refused"));
        await wrong.page.locator("#other-ticket").click();
        found.push(...await inspect(wrong, "no-ticket"));
        await wrong.paste("sealcast://nothing");
        found.push(...await inspect(wrong, "bad-ticket"));
        await wrong.page.close();
        const live = await profile.visit(link);
        await live.untilNotice("none");
        await live.untilDrawn(30);
        found.push(...await inspect(live, "live"));
        await live.page.locator("#stop").click();
        await live.untilNotice("ended");
        found.push(...await inspect(live, "ended"));
        await live.page.close();
        const form = await profile.visit(publishing(viewer.link));
        await form.page.locator("#publish-form").waitFor();
        found.push(...await inspect(form, "publish-form"));
      }, { plain: true });
    });
  });
  same(found, [], "faults");
});

void test("axe finds the faults that it looks for", OPTIONS, async () => {
  await withPublisher(SOURCE, [], async ({ link }) => {
    await withProfile(async (profile) => {
      const visit = await profile.visit(partsOf(link).page);
      await visit.page.locator("#ticket").waitFor();
      await visit.page.evaluate(await readFile(AXE, "utf8"));
      await visit.page.evaluate(() => {
        document.querySelector('label[for="ticket"]')?.remove();
        document.querySelector("#ticket")?.removeAttribute("placeholder");
      });
      const found = await faults(visit);
      assert(found.some((fault) => fault.startsWith("label: #ticket")), `a field without a label: ${found.join()}`);
    });
  });
});
