// What leaves the page, and what the server says of it. `Profile.check` looks at the requests of all other tests too.

import { test } from "node:test";
import { type PeerCertificate, connect } from "node:tls";

import { encodeBase32 } from "../../src/protocol/wire/base32.ts";
import { assert, same } from "../support/harness.ts";
import { FILES, FROM_DIST } from "./support/built-page.ts";
import { OPTIONS, withProfile } from "./support/browser.ts";
import { partsOf, withPublisher } from "./support/servers.ts";

const SOURCE = "test:320x240@25";
const DIRECTIVES = [
  "default-src 'none'", "script-src 'self'", "worker-src 'self'", "style-src 'self'", "img-src 'self'",
  "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
];
const HEADERS = {
  "x-content-type-options": "nosniff", "referrer-policy": "no-referrer", "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp",
  "cross-origin-resource-policy": "same-origin",
};

void test("each file of the page comes with the headers that keep it alone", OPTIONS, async () => {
  await withPublisher(SOURCE, [], async ({ link }) => {
    for (const path of FILES.keys()) {
      const answer = await fetch(new URL(path, partsOf(link).page));
      same(answer.status, 200, `status of ${path}`);
      const policy = (answer.headers.get("content-security-policy") ?? "").split(";").map((one) => one.trim());
      // The worker alone connects elsewhere: to the relay that a ticket names.
      const connections = path === "/worker.js" ? "connect-src 'self' https: wss:" : "connect-src 'self'";
      const wanted = [...DIRECTIVES, connections];
      same(wanted.filter((one) => !policy.includes(one)), [], `directives that ${path} has not`);
      assert(!/unsafe|\*|data:|blob:/.test(policy.join()), `the policy of ${path} has no hole: ${policy.join("; ")}`);
      for (const [name, value] of Object.entries(HEADERS)) {
        same(answer.headers.get(name), value, `${name} of ${path}`);
      }
    }
  });
});

void test("the invite leaves the page in no request, and the address as soon as it is read", OPTIONS, async () => {
  await withPublisher(SOURCE, [], async ({ link, program }) => {
    await withProfile(async (profile) => {
      const { page, invite = "" } = partsOf(link);
      const visit = await profile.visit(link);
      await visit.untilNotice("none");
      same(await visit.page.evaluate(() => location.href), page, "address");
      const state = await visit.page.evaluate(() => JSON.stringify([history.state, document.title]));
      const markup = await visit.page.content();
      const fields = await visit.page.locator("textarea, input").evaluateAll((all: HTMLInputElement[]) =>
        all.map(({ value }) => value).join());
      assert(invite.length === 26 && ![state, markup, fields].some((text) => text.includes(invite)),
        "the invite stands nowhere in the page");
      assert(profile.requests.length > 5, "requests are seen");
      assert(!profile.requests.some((text) => text.includes(invite)), "the invite is in no request");
      assert(!program.stderr.includes(invite), "nor in the program's log");
    });
  });
});

const SKIP_HASH = FROM_DIST ? "not run: the page does not come from the program" : OPTIONS.skip;

void test("the page shows the hash of its files, and the program logs the same", { ...OPTIONS, skip: SKIP_HASH },
  async () => {
    await withPublisher(SOURCE, [], async ({ link, program }) => {
      await withProfile(async (profile) => {
        const visit = await profile.visit(partsOf(link).page);
        const button = visit.page.locator("#bundle:enabled");
        await button.click();
        const logged = /serving the page for browsers.*program="?([0-9a-f]{64})/.exec(program.stderr)?.[1];
        same(await button.innerText(), logged, "hash of the page");
      });
    });
  });

void test("a page over https that the program certifies itself works, by WebTransport too", OPTIONS, async () => {
  for (const carrier of ["webtransport", "websocket"] as const) {
    await withPublisher(SOURCE, [], async ({ link }) => {
      await withProfile(async (profile) => {
        const visit = await profile.visitBy(carrier, link);
        await visit.untilNotice("none");
        same((await visit.told()).protections[0]?.carrier, carrier, "carrier");
      }, { browser: { ignoreHTTPSErrors: true } });
    }, "https://127.0.0.1:0");
  }
});

void test("code that is new since the last visit is said to be new", OPTIONS, async () => {
  await withPublisher(SOURCE, [], async ({ link }) => {
    await withProfile(async (profile) => {
      const { page } = await profile.visit(partsOf(link).page);
      await page.locator("#bundle:enabled").waitFor();
      const words = page.locator("#bundle-words");
      assert(!(await words.innerText()).includes("new"), "not at the first visit");
      await page.evaluate(() => {
        localStorage.setItem("sealcast-code", "0123456789abcdef".repeat(4));
      });
      await page.reload();
      await page.locator("#bundle:enabled").waitFor();
      assert((await words.innerText()).includes("since your last visit, when it was 0123456789abcdef"), "then it is");
      await page.reload();
      await page.locator("#bundle:enabled").waitFor();
      assert(!(await words.innerText()).includes("new"), "and once");
    });
  });
});

void test("the page's own certificate lasts a year, and that of WebTransport is another", OPTIONS, async () => {
  await withPublisher(SOURCE, [], async ({ link }) => {
    const { port, query } = partsOf(link);
    const certificate = await new Promise<PeerCertificate>((done, failed) => {
      const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false }, () => {
        done(socket.getPeerCertificate());
        socket.end();
      });
      socket.on("error", failed);
    });
    const days = (Date.parse(certificate.valid_to) - Date.parse(certificate.valid_from)) / 86_400_000;
    assert(days > 364 && days < 398, `${days} days`);
    const own = encodeBase32(Uint8Array.from(Buffer.from(certificate.fingerprint256.replaceAll(":", ""), "hex")));
    assert(query.includes("certhash=") && !query.includes(own), "the ticket has the hashes of others");
  }, "https://127.0.0.1:0");
});

void test("a page that loses its secure context says what to do in the place of working", OPTIONS, async () => {
  await withPublisher(SOURCE, [], async ({ link }) => {
    await withProfile(async (profile) => {
      // As a browser has it on a page that came by http from another machine.
      await profile.context.addInitScript(() => {
        Object.defineProperty(globalThis, "isSecureContext", { value: false });
        Object.defineProperty(globalThis, "VideoDecoder", { value: undefined });
        Reflect.deleteProperty(globalThis, "VideoDecoder");
      });
      const visit = await profile.visit(link);
      await visit.page.locator("#shortage").waitFor();
      const words = await visit.page.locator("#shortage").innerText();
      assert(/secure context/.test(words) && words.includes("https://"), `the page says what is missing: ${words}`);
      same(await visit.page.evaluate(() => location.hash), "", "fragment");
      same((await visit.all()).length, 0, "connections");
    });
  });
});
