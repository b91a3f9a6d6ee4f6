// A publisher with the certificate of an authority: no warning, and only the carriers that browsers allow it.

import { spawnSync } from "node:child_process";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { withFolder } from "../node/program.ts";
import { assert, same } from "../support/harness.ts";
import { OPTIONS, withProfile } from "./support/browser.ts";
import { partsOf, theClip, withPublisher } from "./support/servers.ts";
import { checkUnits, untilWholeClip } from "./support/units.ts";

function run(folder: string, name: string, ...args: string[]): void {
  const { status, stderr, error } = spawnSync(name, args, { cwd: folder, encoding: "utf8" });
  assert(status === 0, `${name} ${args.join(" ")} works: ${error?.message ?? stderr}`);
}

/** An authority that a browser with this home trusts, and its certificate for this machine with the key. */
async function authority(home: string): Promise<{ cert: string; key: string }> {
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"];
  const named = ["-subj", "/CN=Authority of a test"];
  run(home, "openssl", "req", "-x509", ...key, "-keyout", "ca.key", "-out", "ca.pem", ...named);
  run(home, "openssl", "req", ...key, "-keyout", "key.pem", "-out", "request.pem", "-subj", "/CN=camera");
  await writeFile(join(home, "names"), "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth\n");
  const signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "30", "-extfile", "names"];
  run(home, "openssl", "x509", "-req", "-in", "request.pem", "-out", "cert.pem", ...signed);
  await chmod(join(home, "key.pem"), 0o600);
  const database = join(home, ".pki", "nssdb");
  await mkdir(database, { recursive: true });
  run(home, "certutil", "-N", "-d", `sql:${database}`, "--empty-password");
  run(home, "certutil", "-A", "-d", `sql:${database}`, "-t", "C,,", "-n", "authority", "-i", "ca.pem");
  return { cert: join(home, "cert.pem"), key: join(home, "key.pem") };
}

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
