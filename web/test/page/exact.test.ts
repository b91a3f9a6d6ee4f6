// What the publisher has is what the page's decoder gets, byte for byte.

import { test } from "node:test";

import { assert, same } from "../support/harness.ts";
import { OPTIONS, withProfile } from "./support/browser.ts";
import { Proxy } from "./support/proxy.ts";
import { partsOf, throughPort, withClip } from "./support/servers.ts";
import { checkUnits, untilWholeClip } from "./support/units.ts";

for (const carrier of ["webtransport", "websocket"] as const) {
  void test(`every access unit of a clip reaches the decoder as it is, by ${carrier}`, OPTIONS, async () => {
    await withClip([], async ({ link }, clip) => {
      await withProfile(async (profile) => {
        const visit = await profile.visitBy(carrier, link);
        await untilWholeClip(visit, clip);
        await visit.untilDrawn(1);
        const told = await checkUnits(visit, clip);
        same(told.protections.map((one) => one.carrier), [carrier], "carriers");
        same(told.figures?.refused, {}, "refused records");
        await visit.openDetails();
        same(await visit.page.locator("#refused-none").isVisible(), true, "the page says that none was refused");
      });
    });
  });
}

void test("a page is served alone by a publisher with a group that does not sign each frame", OPTIONS, async () => {
  await withClip(["--group", "--sign", "off"], async ({ link }, clip) => {
    await withProfile(async (profile) => {
      const visit = await profile.visit(link);
      await untilWholeClip(visit, clip);
      const told = await checkUnits(visit, clip);
      same([told.figures?.refused, told.figures?.membership], [{}, undefined], "refused records, and the group");
      same(told.states.map(({ state }) => state), ["connecting", "handshake", "live"], "states");
    });
  });
});

void test("new keys each second change nothing of what comes", OPTIONS, async () => {
  await withClip(["--rekey-seconds", "1"], async ({ link }, clip) => {
    await withProfile(async (profile) => {
      const visit = await profile.visit(link);
      await visit.until("the fourth epoch", ({ told }, epoch) =>
        told.at(-1)?.protections.some((one) => one.epoch >= epoch) === true, 4);
      await untilWholeClip(visit, clip);
      const told = await checkUnits(visit, clip);
      const epochs = told.protections.map(({ epoch }) => epoch);
      same(epochs, epochs.map((_, at) => at), "epochs, one after the other");
      same(told.figures?.refused, {}, "refused records");
      same(told.states.map(({ state }) => state), ["connecting", "handshake", "live"], "states");
    });
  });
});

for (const [harm, what] of [["lose", "loses"], ["flip", "alters a bit of"]] as const) {
  void test(`a path of WebTransport that ${what} 2 % each way takes nothing from the stream`, OPTIONS, async (run) => {
    const datagrams = { harm, share: 0.02, seed: 7 };
    await withClip([], async ({ link }, clip) => {
      const proxy = await Proxy.before(partsOf(link).port, { datagrams });
      try {
        await withProfile(async (profile) => {
          const visit = await profile.visitBy("webtransport", throughPort(link, proxy.port));
          await untilWholeClip(visit, clip);
          const told = await checkUnits(visit, clip);
          same(told.protections[0]?.carrier, "webtransport", "carrier");
          same(told.figures?.refused, {}, "refused records");
        });
        const { came, harmed } = proxy.datagrams;
        run.diagnostic(`seed ${datagrams.seed}: ${harmed} of ${came} datagrams`);
        assert(harmed > 0, "the path does harm");
      } finally {
        proxy.close();
      }
    });
  });
}
