// A browser that wants German gets the page in German, all of it.

import { test } from "node:test";

import { assert, same } from "../support/harness.ts";
import { inspect } from "./support/axe.ts";
import { OPTIONS, type Visit, withProfile } from "./support/browser.ts";
import { linkOf, partsOf, publishing, withPublisher, withViewer } from "./support/servers.ts";

/** Words that only English has. */
const ENGLISH = /\b(the|and|with|your|is|not|of|to|from|what|who|this|page|picture|camera|sound|connect|watch)\b/i;

/** What the page says, but for its events, which are in English. */
async function english({ page }: Visit): Promise<string | undefined> {
  const text = await page.evaluate(() => {
    const copy = document.body.cloneNode(true) as HTMLElement;
    copy.querySelectorAll("#log, #who-words, svg, code, noscript, script, #publish-to").forEach((one) => {
      one.remove();
    });
    const named = [...copy.querySelectorAll("[aria-label], [title]")].map((one) =>
      `${one.getAttribute("aria-label") ?? ""} ${one.getAttribute("title") ?? ""}`);
    return `${copy.textContent} ${named.join(" ")}`;
  });
  const found = ENGLISH.exec(text);
  return found === null ? undefined : text.slice(Math.max(0, found.index - 40), found.index + 40);
}

void test("a browser that wants German gets every text in German", OPTIONS, async () => {
  await withViewer("null:", async (viewer) => {
    await withPublisher("test:640x480@25", [], async ({ link }) => {
      await withProfile(async (profile) => {
        const wrong = await profile.visit(linkOf({ ...partsOf(link), peer: partsOf(viewer.link).peer }));
        await wrong.untilNotice("refused");
        same(await wrong.page.locator("#notice-title").innerText(), "Abgelehnt", "title");
        same(await english(wrong), undefined, "English of a refusal");
        await wrong.page.close();
        const live = await profile.visit(link);
        await live.untilNotice("none");
        await live.untilDrawn(30);
        same(await live.page.evaluate(() => document.documentElement.lang), "de", "language");
        same(await english(live), undefined, "English of the picture");
        same(await inspect(live, "german"), [], "faults");
        await live.page.close();
        const form = await profile.visit(publishing(viewer.link));
        await form.page.locator("#publish-form").waitFor();
        same(await english(form), undefined, "English of the form");
        assert(await form.page.locator("#publish-go").innerText() === "Senden", "the button");
        same(await inspect(form, "german-form"), [], "faults");
      }, { plain: true, browser: { locale: "de-DE" } });
    });
  });
});
