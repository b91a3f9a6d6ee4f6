// What everybody meets has no serious fault of accessibility.

import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { assert, same } from "../support/harness.ts";
import { AXE, faults, inspect } from "./support/axe.ts";
import { OPTIONS, withProfile } from "./support/browser.ts";
import { linkOf, partsOf, publishing, withPublisher, withViewer } from "./support/servers.ts";

const SOURCE = "test:640x480@25";

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
