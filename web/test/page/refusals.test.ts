// Links that admit nobody: the page says so in the place of the picture, draws nothing, and takes the next link.

import { test } from "node:test";

import { assert, same } from "../support/harness.ts";
import { OPTIONS, Profile, type Visit, withProfile } from "./support/browser.ts";
import { command, linkOf, partsOf, publish, stop, withPublisher } from "./support/servers.ts";

const SOURCE = "test:320x240@25";

/** The page refuses, in the whole area of the picture and in words, and has drawn nothing. */
async function checkRefused(visit: Visit, cause: string, words: RegExp): Promise<void> {
  await visit.untilState("refused");
  await visit.untilNotice("refused");
  const { page } = visit;
  const [view, notice] = [await page.locator("#view").boundingBox(), await page.locator("#notice").boundingBox()];
  const isWhole = (side: "width" | "height"): boolean => (notice?.[side] ?? 0) >= (view?.[side] ?? Infinity) - 4;
  const covered = isWhole("width") && isWhole("height");
  assert(covered, "the refusal takes the whole area of the picture");
  same(await page.locator("#notice-title").innerText(), "Refused", "title");
  same(await page.locator("#notice-cause").textContent(), `cause: ${cause}`, "cause");
  const said = await page.locator("#notice-words").innerText();
  assert(words.test(said), `the page says what to do: ${said}`);
  same(await page.locator("#lock-words").innerText(), "Not connected", "the lock");
  await visit.checkBlank();
}

/** The same page takes another link, and shows its stream. */
async function checkAlive(visit: Visit, link: string): Promise<void> {
  await visit.page.locator("#other-ticket").click();
  await visit.paste(link);
  await visit.untilNotice("none");
}

void test("a link of another publisher is refused, and the right one works afterwards", OPTIONS, async () => {
  await withPublisher(SOURCE, [], async (other) => {
    await withPublisher(SOURCE, [], async ({ link }) => {
      await withProfile(async (profile) => {
        const right = partsOf(link);
        const { peer } = partsOf(other.link);
        const visit = await profile.visit(linkOf({ ...right, peer }));
        await checkRefused(visit, "silence", /another publisher's/);
        await visit.screenshot("refused");
        await checkAlive(visit, link);
      });
    });
  });
});

void test("an invite that was used up by another browser is refused", OPTIONS, async () => {
  await withPublisher(SOURCE, [], async ({ link }) => {
    await withProfile(async (profile) => {
      await (await profile.visit(link)).untilNotice("none");
    });
    await withProfile(async (profile) => {
      await checkRefused(await profile.visit(link), "not-authorised", /used up.*new link/);
    });
  });
});

void test("an invite that was withdrawn is refused, and another one admits", OPTIONS, async () => {
  await withPublisher(SOURCE, [], async (first) => {
    await stop(first);
    command(first.folder, "peers", "--name", "page", "withdraw", "all");
    // The same publisher at the same address, with a new invite.
    const second = await publish(first.folder, SOURCE, [], `http://127.0.0.1:${partsOf(first.link).port}`);
    try {
      same(partsOf(second.link).peer, partsOf(first.link).peer, "publisher");
      await withProfile(async (profile) => {
        const visit = await profile.visit(first.link);
        await checkRefused(visit, "psk", /withdrawn.*new link/);
        await checkAlive(visit, second.link);
      });
    } finally {
      await stop(second);
    }
  });
});

void test("a browser that is removed while it watches is told so", OPTIONS, async () => {
  await withPublisher(SOURCE, ["--control", "control"], async ({ link, folder }) => {
    await withProfile(async (profile) => {
      const visit = await profile.visit(link);
      await visit.untilNotice("none");
      command(folder, "control", "--socket", "control", "peers", "withdraw", "all", "with-peers");
      await visit.untilNotice("removed");
      same(await visit.page.locator("#notice-title").innerText(), "You were removed", "title");
      same(await visit.page.locator("#notice-cause").textContent(), "cause: removed", "cause");
      same(await visit.page.locator("#picture canvas").count(), 0, "canvases");
      await visit.screenshot("removed");
    });
  });
});

void test("a link without an invite is refused by a publisher that does not know the browser", OPTIONS, async () => {
  await withPublisher(SOURCE, [], async ({ link }) => {
    await withProfile(async (profile) => {
      const visit = await profile.visit(linkOf({ ...partsOf(link), invite: undefined }));
      await checkRefused(visit, "not-authorised", /new link/);
      await checkAlive(visit, link);
    });
  });
});

/** Links that are no tickets, by what is wrong with them. */
const MALFORMED: Readonly<Record<string, (link: string) => string>> = {
  "a part of its peer id missing": (link) => link.replace(/\/([a-z2-7]{52})\?/, (id) => `${id.slice(0, 41)}?`),
  "a letter that base32 has not": (link) => `${link.slice(0, -1)}1`,
  "another scheme": (link) => link.replace("#sealcast://", "#https://"),
  "an option that is not known": (link) => link.replace("?transport=", "?trust=me&transport="),
  "markup in it": (link) => `${link.replace(/#.*/, "")}#sealcast://<img src=x onerror=alert(1)>`,
  "more than a ticket may have": (link) => `${link}${"a".repeat(4_096)}`,
};

void test("a link that is no ticket is refused in words, leaves the address, and goes nowhere", OPTIONS, async () => {
  await withPublisher(SOURCE, [], async ({ link }) => {
    for (const [what, change] of Object.entries(MALFORMED)) {
      const profile = await Profile.open({});
      try {
        const visit = await profile.visit(change(link));
        const error = visit.page.locator("#ticket-error:not(:empty)");
        await error.waitFor();
        const words = await error.innerText();
        assert(await error.isVisible() && /ticket|invite|peer id|transport/.test(words), `${what}: ${words}`);
        same(await visit.page.evaluate(() => location.hash), "", `fragment of a link with ${what}`);
        same((await visit.all()).length, 0, `connections of a link with ${what}`);
        same(await visit.page.locator("#picture canvas").count(), 0, "canvases");
        await profile.check();
      } finally {
        await profile.context.close();
      }
    }
    await withProfile(async (profile) => {
      const visit = await profile.visit(`${link.replace(/#.*/, "")}#sealcast://nothing`);
      await visit.page.locator("#ticket-error:not(:empty)").waitFor();
      await visit.paste(link);
      await visit.untilNotice("none");
    });
  });
});

void test("a publisher with no place left says so", OPTIONS, async () => {
  await withPublisher(SOURCE, ["--max-viewers", "1", "--invite-uses", "2"], async ({ link }) => {
    await withProfile(async (profile) => {
      await (await profile.visit(link)).untilNotice("none");
      await withProfile(async (second) => {
        await checkRefused(await second.visit(link), "too-many-viewers", /places are taken/);
      });
    });
  });
});
