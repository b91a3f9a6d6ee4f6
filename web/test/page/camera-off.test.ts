// A publisher whose camera is off: the page says so, since when and why, and shows the picture once it is on.

import { copyFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { assert } from "../support/harness.ts";
import { withFolder } from "../node/program.ts";
import { OPTIONS, withProfile } from "./support/browser.ts";
import { publish, stop, theClip } from "./support/servers.ts";

void test("a page waits for a camera that is off, and says since when and why", OPTIONS, async () => {
  await withFolder(async (folder) => {
    const camera = join(folder, "camera.mp4");
    const server = await publish(folder, `file:${camera}?loop`, ["--retry"]);
    try {
      await withProfile(async (profile) => {
        const visit = await profile.visit(server.link);
        await visit.untilNotice("away");
        const title = await visit.page.locator("#notice-title").innerText();
        assert(/^The camera is off since \d\d:\d\d$/.test(title), title);
        const said = await visit.page.locator("#notice-words").innerText();
        const words = /^The reason: it failed\. The page waits until it is back\.$/;
        assert(words.test(said), `it says why, and not where: ${said}`);
        await visit.checkBlank();
        await copyFile((await theClip()).file, join(folder, "copy.mp4"));
        await rename(join(folder, "copy.mp4"), camera);
        await visit.untilNotice("none");
      });
    } finally {
      await stop(server);
    }
  });
});
