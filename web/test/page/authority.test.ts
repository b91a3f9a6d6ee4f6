// A publisher with the certificate of an authority: no warning, and only the carriers that browsers allow it.

import { test } from "node:test";

import { withFolder } from "../node/program.ts";
import { assert, same } from "../support/harness.ts";
import { authority } from "./support/authority.ts";
import { OPTIONS, withProfile } from "./support/browser.ts";
import { partsOf, theClip, withPublisher } from "./support/servers.ts";
import { checkUnits, untilWholeClip } from "./support/units.ts";

void test("with an authority's certificate the page opens without a warning, and only where it is trusted", OPTIONS,
  async (context) => {
    await withFolder(async (home) => {
      const { cert, key } = await authority(home);
      const clip = await theClip();
      const web = `https://127.0.0.1:0?cert=${cert}&key=${key}`;
      await withPublisher(`file:${clip.file}?loop`, [], async ({ link }) => {
        same(partsOf(link).query, "transport=https", "the ticket has no hashes: the certificate needs none");
        await withProfile(async (profile) => {
          const refused = await profile.visit(link).then(() => "opened", String);
          assert(refused.includes("ERR_CERT_AUTHORITY_INVALID"), `another browser warns: ${refused}`);
          // Its own page with the warning may still be on its way.
          await Promise.all(profile.context.pages().map((page) => page.close()));
        });
        await withProfile(async (profile) => {
          const visit = await profile.visit(link);
          await untilWholeClip(visit, clip);
          await visit.untilNotice("none");
          const told = await checkUnits(visit, clip);
          context.diagnostic(`carrier: ${told.protections[0]?.carrier}`);
          same(told.figures?.refused, {}, "refused records");
        }, { home });
      }, web);
    });
  });
