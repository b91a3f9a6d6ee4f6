// The page as a member of a group: the picture is sealed once for it and for a viewer of the program.

import { join } from "node:path";
import { test } from "node:test";

import { Program, withFolder, within } from "../node/program.ts";
import { assert, same } from "../support/harness.ts";
import { BINARY, OPTIONS, type Visit, withProfile } from "./support/browser.ts";
import { reportOf, withClip } from "./support/servers.ts";
import { checkUnits, untilWholeClip } from "./support/units.ts";

const JOINED = "the camera seals for all its viewers at once";

/**
 * What the page shows once its worker says that there is an alarm: how the words under the picture begin, whether
 * they are to be seen, whether the picture has a band across it, and what stands in the place of the age.
 */
function alarmed(visit: Visit): Promise<unknown[]> {
  return visit.page.evaluate(() => {
    const membership = globalThis.recorded.told.at(-1)?.figures?.membership;
    const data = { type: "membership", membership: { ...membership, age: { state: "alarm", cause: "stale" } } };
    // What is read before the worker speaks again is of this message alone.
    globalThis.workers.at(-1)?.dispatchEvent(new MessageEvent("message", { data }));
    const [alarm, band, age] = ["#alarm", ".old", "#age"].map((one) => document.querySelector<HTMLElement>(one));
    return [alarm?.innerText.slice(0, 40), alarm?.checkVisibility(), band?.checkVisibility(), age?.innerText];
  });
}

void test("the page is in one group with a native viewer, says how old the picture is, and goes on when it leaves",
  OPTIONS, async () => {
    const carriers = ["--also-listen", "udp://127.0.0.1:0"];
    await withClip(["--group", "--sign", "both", ...carriers], async ({ link, program }, clip) => {
      await withFolder(async (home) => {
        // For it, all members get records that fit packets.
        const ticket = await program.line("sealcast://", "transport=udp");
        const native = Program.start(BINARY, home, [
          "watch", ticket, "--to", "null:", "--report", join(home, "report.json"),
        ]);
        await withProfile(async (profile) => {
          const visit = await profile.visit(link);
          await visit.untilNotice("none");
          await visit.until("an age, and a proven group of pictures", ({ told }) => {
            const membership = told.at(-1)?.figures?.membership;
            return membership?.age.state === "live" && membership.proven > 0;
          }, undefined);
          const { page } = visit;
          await page.locator("#age", { hasText: /^The newest frame is at most \d+ ms old\.$/ }).waitFor();
          const signs = /this page is a member\. The camera signs each frame and each group of pictures\./;
          await visit.openDetails();
          await page.locator("#holders", { hasText: signs }).waitFor();
          await native.said(JOINED);
          await visit.screenshot("group-live");
          same(await alarmed(visit), ["The picture may be old: frames come, but", true, true, ""], "the alarm");

          const epoch = (await visit.told()).figures?.membership?.epoch ?? Infinity;
          native.stop();
          await within(native.exited, "the native viewer's end");
          await visit.until("the keys after a viewer left", ({ told }, before) =>
            (told.at(-1)?.figures?.membership?.epoch ?? 0) > before, epoch);
          await visit.untilDrawn(((await visit.told()).figures?.drawn ?? 0) + clip.hashes.length);
          await untilWholeClip(visit, clip);
          const { figures, states } = await checkUnits(visit, clip);
          same([figures?.refused, figures?.membership?.refused, figures?.membership?.forged], [{}, {}, 0], "refused");
          same(states.map(({ state }) => state), ["connecting", "handshake", "live"], "states");
        });
        assert((await reportOf(home)).totals.frames_in > 0, "the native viewer had frames");
      });
    });
  });
