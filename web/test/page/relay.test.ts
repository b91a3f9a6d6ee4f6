// The page and its camera with the real relay between them, which is not trusted and has no key.

import { test } from "node:test";

import { withFolder } from "../node/program.ts";
import { assert, same } from "../support/harness.ts";
import { TEST_TIMEOUT_MS, type Visit, withProfile } from "./support/browser.ts";
import { Relay, SKIP_RELAY } from "./support/relay.ts";
import { type Server, command, withClip, withPublisher } from "./support/servers.ts";
import { untilWholeClip } from "./support/units.ts";

const OPTIONS = { skip: SKIP_RELAY, timeout: TEST_TIMEOUT_MS };
const SOURCE = "test:320x240@25";
const NAME = "front";

/** The page's address with the ticket that names the relay. */
async function relayLink({ program, link }: Server): Promise<string> {
  const ticket = await program.line("sealcast://", `transport=relay&broadcast=${NAME}`);
  return `${link.replace(/#.*/, "")}#${ticket.replace("#", "%23")}`;
}

/** Waits until the picture is live, and a group of pictures was proven. */
async function untilProven(visit: Visit): Promise<void> {
  await visit.until("an age, and a proven group of pictures", ({ told }) => {
    const membership = told.at(-1)?.figures?.membership;
    return membership?.age.state === "live" && membership.proven > 0;
  }, undefined);
}

async function withRelay(body: (relay: Relay) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const relay = await Relay.start(folder);
    try {
      await body(relay);
    } finally {
      await relay.kill();
    }
  });
}

void test("through a relay the page shows the camera's pictures bit for bit, how old they are and who signed them",
  OPTIONS, async () => {
    await withRelay(async (relay) => {
      await withClip(["--group", "--sign", "both", "--relay", relay.url(NAME)], async (server, clip) => {
        const link = await relayLink(server);
        await withProfile(async (profile) => {
          const visit = await profile.visit(link);
          await visit.untilNotice("none");
          await untilProven(visit);
          const { page } = visit;
          await page.locator("#age", { hasText: /^The newest frame is at most \d+ ms old\.$/ }).waitFor();
          await page.locator("#lock").click();
          await page.locator("#who", { hasText: "a relay, which has no key" }).waitFor();
          await visit.screenshot("relay-live");
          await untilWholeClip(visit, clip);
          const { figures, states, units } = await visit.told();
          const strangers = units.filter(({ sha256 }) => !clip.hashes.includes(sha256));
          same(strangers, [], "access units that are not the clip's");
          same([figures?.refused, figures?.membership?.refused, figures?.membership?.forged], [{}, {}, 0], "refused");
          same(states.map(({ state }) => state), ["connecting", "handshake", "live"], "states");
          // It is enrolled now: the invite, which is used up, is not asked for again.
          const again = await profile.visit(link.replace(/%23.*/, ""));
          await again.untilNotice("none");
          await untilProven(again);
        });
        same(server.program.stderr.match(/enrolled a new viewer/g)?.length, 1, "enrolments");
        assert(server.program.stderr.includes("it gets the stream through a relay"), "it came by the relay");
      });
    });
  });

void test("a relay that was killed is said in the place of the picture, and the page is back when it is", OPTIONS,
  async () => {
    await withRelay(async (relay) => {
      await withPublisher(SOURCE, ["--group", "--relay", relay.url(NAME)], async (server) => {
        await withProfile(async (profile) => {
          const visit = await profile.visit(await relayLink(server));
          await visit.untilNotice("none");
          const before = (await visit.told()).figures?.drawn ?? 0;
          await relay.kill();
          await visit.untilNotice("lost");
          await visit.screenshot("relay-lost");
          relay.run();
          await visit.untilNotice("none");
          await visit.untilDrawn(before + 50);
          const { states } = await visit.told();
          same([states.at(-1)?.state, states.some(({ state }) => state === "lost")], ["live", true], "states");
        });
      });
    });
  });

void test("a browser that is removed while it watches through a relay is told so", OPTIONS,
  async () => {
    await withRelay(async (relay) => {
      const args = ["--group", "--control", "control", "--relay", relay.url(NAME)];
      await withPublisher(SOURCE, args, async (server) => {
        await withProfile(async (profile) => {
          const visit = await profile.visit(await relayLink(server));
          await visit.untilNotice("none");
          command(server.folder, "control", "--socket", "control", "peers", "withdraw", "all", "with-peers");
          await visit.untilNotice("removed");
          same(await visit.page.locator("#notice-cause").textContent(), "cause: removed", "cause");
        });
      });
    });
  });

void test("a relay with another certificate is not used, and the page says what may be", OPTIONS, async () => {
  await withRelay(async (relay) => {
    await withPublisher(SOURCE, ["--group", "--relay", relay.url(NAME)], async (server) => {
      const link = await relayLink(server);
      await withProfile(async (profile) => {
        const other = link.replace(/certhash=[a-z2-7]{4}/, "certhash=aaaa");
        assert(other !== link, "the ticket names a certificate");
        const visit = await profile.visit(other);
        await visit.untilNotice("failed");
        const words = await visit.page.locator("#notice-words").innerText();
        assert(/^Relay 127\.0\.0\.1:\d+ cannot be reached: .*none of those in the ticket/.test(words), words);
        await visit.screenshot("relay-refused");
        await visit.checkBlank();
      });
    });
  });
});
