// Axe looks for faults of accessibility in a state of the page, in all its looks. SCREENSHOTS keeps pictures of them.

import { readFile } from "node:fs/promises";

import type { AxeResults } from "axe-core";

import { assert } from "../../support/harness.ts";
import { type Visit } from "./browser.ts";

export const AXE = "node_modules/axe-core/axe.min.js";
/** Rules that apply to every state; if fewer were checked, axe did not look at the page. */
const MIN_RULES = 15;

const PHONE = { width: 390, height: 844 };
const DESKTOP = { width: 1280, height: 900 };
/** Phones first: with a wide page what is behind the lock and behind Details is opened. */
const LOOKS = [
  { look: "phone", size: PHONE, colorScheme: "light" },
  { look: "phone-dark", size: PHONE, colorScheme: "dark" },
  { look: "desktop", size: DESKTOP, colorScheme: "light" },
  { look: "desktop-dark", size: DESKTOP, colorScheme: "dark" },
] as const;

/** Faults that keep somebody out, with the elements that have them. */
export async function faults({ page }: Visit): Promise<string[]> {
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
export async function inspect(visit: Visit, state: string): Promise<string[]> {
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
    if (size === DESKTOP) {
      await visit.openDetails();
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
