// A browser that an invite enrolled comes back without it.

import { test } from "node:test";

import { assert, same } from "../support/harness.ts";
import { OPTIONS, type Visit, withProfile } from "./support/browser.ts";
import { linkOf, partsOf, publish, stop, withPublisher } from "./support/servers.ts";

const SOURCE = "test:320x240@25";

/** The name by which the publisher knows this browser. */
async function ownName(visit: Visit): Promise<string> {
  const name = (await visit.told()).protections[0]?.own;
  assert(name !== undefined, "the session is protected");
  return name;
}

void test("reload, used invite, none, bookmark: a browser that was enrolled is let in each time", OPTIONS, async () => {
  await withPublisher(SOURCE, [], async ({ link }) => {
    await withProfile(async (profile) => {
      const first = await profile.visit(link);
      await first.untilNotice("none");
      const name = await ownName(first);
      same(await first.page.evaluate(() => location.href), partsOf(link).page, "address once the stream is live");
      // The link stays with the page; its invite does not.
      const kept = JSON.stringify(await first.page.evaluate(() => history.state as unknown));
      assert(!kept.includes(partsOf(link).invite ?? "no invite"), "the invite is not kept in the history");
      await first.page.reload();
      await first.untilNotice("none");
      same(await ownName(first), name, "identity after a reload");
      for (const again of [link, linkOf({ ...partsOf(link), invite: undefined }), partsOf(link).page]) {
        const visit = await profile.visit(again);
        await visit.untilNotice("none");
        same(await ownName(visit), name, "identity of a later visit");
        await visit.page.close();
      }
      const stored = await first.page.evaluate(() => JSON.stringify(localStorage));
      assert(!stored.includes(partsOf(link).invite ?? "no invite"), "the invite is not kept");
    });
  });
});

void test("a page finds its publisher again after that was restarted, and so does a new visit", OPTIONS, async () => {
  await withPublisher(SOURCE, [], async (first) => {
    await withProfile(async (profile) => {
      const visit = await profile.visit(first.link);
      await visit.untilNotice("none");
      await stop(first);
      await visit.untilNotice("lost");
      assert(!(await visit.page.locator("#picture canvas").isVisible()), "the old picture is not seen");
      const second = await publish(first.folder, SOURCE, [], `http://127.0.0.1:${partsOf(first.link).port}`);
      try {
        await visit.untilNotice("none");
        const later = await profile.visit(first.link);
        await later.untilNotice("none");
        same(await ownName(later), await ownName(visit), "identity");
      } finally {
        await stop(second);
      }
    });
  });
});
