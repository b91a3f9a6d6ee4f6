// Axe looks for faults of accessibility in a state of the page, in all its looks. SCREENSHOTS keeps pictures of them.

import { readFile } from "node:fs/promises";

import type { AxeResults } from "axe-core";

import { assert } from "../../support/harness.ts";
import { type Visit } from "./browser.ts";

export const AXE = "node_modules/axe-core/axe.min.js";
/** Rules that apply to every state of a usual page; if fewer were checked, axe did not look at it. */
const MIN_RULES = 15;

const PHONE = { width: 390, height: 844 };
const DESKTOP = { width: 1280, height: 900 };
/** A desktop's window at 200 %. */
const ZOOMED = { width: 640, height: 450 };
/** Phones first: with a wide page what is behind the lock and behind Details is opened. */
const LOOKS = [
  { look: "phone", size: PHONE, colorScheme: "light" },
  { look: "phone-dark", size: PHONE, colorScheme: "dark" },
  { look: "zoomed", size: ZOOMED, colorScheme: "light" },
  { look: "desktop", size: DESKTOP, colorScheme: "light" },
  { look: "desktop-dark", size: DESKTOP, colorScheme: "dark" },
] as const;

/** Faults that keep somebody out, with the elements that have them. */
export async function faults({ page }: Visit, minRules = MIN_RULES): Promise<string[]> {
  const { violations, passes } = await page.evaluate(() => {
    const { axe } = globalThis as unknown as { axe: { run(): Promise<AxeResults> } };
    return axe.run();
  });
  assert(passes.length >= minRules, `axe applied ${passes.length} rules`);
  const bad = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  return bad.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) =>
    `${id}: ${target.join(" ")}: ${failureSummary ?? ""}`));
}

/** Looks at one state of the page in all its looks, with less motion in one of them. */
export async function inspect(visit: Visit, state: string, minRules = MIN_RULES): Promise<string[]> {
  const { page } = visit;
  const found: string[] = [];
  await page.evaluate(await readFile(AXE, "utf8"));
  for (const { look, size, colorScheme } of LOOKS) {
    await page.setViewportSize(size);
    const still = size === ZOOMED;
    await page.emulateMedia({ colorScheme, reducedMotion: still ? "reduce" : "no-preference" });
    const moving = await page.evaluate(() => document.getAnimations().length);
    if (still && moving > 0) {
      found.push(`${state}: ${moving} animations though the user wants none`);
    }
    const lock = page.locator('#lock[aria-expanded="false"]');
    if (size === DESKTOP && await lock.isVisible()) {
      await lock.click();
    }
    if (size === DESKTOP) {
      await visit.openDetails();
    }
    await visit.screenshot(`${state}-${look}`);
    found.push(...(await faults(visit, minRules)).map((fault) => `${state}, ${look}: ${fault}`));
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
