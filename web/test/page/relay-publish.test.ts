// A page publishes through the real relay, and another page and the program watch.

import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { Program, withFolder, within } from "../node/program.ts";
import { assert, same } from "../support/harness.ts";
import { authority } from "./support/authority.ts";
import { inspect } from "./support/axe.ts";
import { BINARY, type Profile, TEST_TIMEOUT_MS, type Visit, withProfile } from "./support/browser.ts";
import { checkBeeps, decoded, onsets, placeOf, soundHashes, streamsOf } from "./support/opus.ts";
import { Relay, SKIP_RELAY } from "./support/relay.ts";
import { type Server, reportOf, tool, withPublisher } from "./support/servers.ts";

const OPTIONS = { skip: SKIP_RELAY, timeout: TEST_TIMEOUT_MS };
const NAME = "meeting";
/** Frames that a test waits for: several groups of pictures. */
const ENOUGH = 120;

/** Runs a test with a relay, and a program whose only part is that it serves the page. */
async function withStage(body: (stage: { readonly relay: Relay; readonly page: string }) => Promise<void>):
Promise<void> {
  await withFolder(async (folder) => {
    const relay = await Relay.start(folder);
    try {
      await withPublisher("test:320x240@5", [], async ({ link }: Server) => {
        await body({ relay, page: link.replace(/#.*/, "") });
      });
    } finally {
      await relay.kill();
    }
  });
}

/** Fills in the form of a publisher through a relay. */
async function fillIn(visit: Visit, address: string): Promise<void> {
  const { page } = visit;
  await page.locator("#ticket-form [value=relay]").check();
  await page.locator("#relay").fill(address);
  await page.locator("#ticket-form [type=submit]").click();
}

/** A page that publishes, with a ticket for so many viewers. */
async function publishing(profile: Profile, page: string, address: string, uses = 1, sound = "none"): Promise<Visit> {
  const visit = await profile.visit(`${page}?publish`);
  await fillIn(visit, address);
  await visit.openSettings();
  await visit.page.locator("[name=size]").selectOption("640x480");
  await visit.page.locator("[name=uses]").fill(String(uses));
  await visit.page.locator("[name=sound]").selectOption(sound);
  await visit.page.locator("#publish-go").click();
  return visit;
}

async function ticketOf(visit: Visit): Promise<string> {
  await visit.until("a ticket", ({ told }) => told.at(-1)?.audience !== undefined, undefined);
  await visit.untilNotice("none");
  return visit.page.locator("#audience-ticket").inputValue();
}

async function untilAudience(visit: Visit, states: readonly string[]): Promise<void> {
  await visit.until(`viewers who are ${states.join(", ")}`, ({ told }, wanted) => {
    const found = told.at(-1)?.audience?.viewers.map(({ state }) => state) ?? [];
    return JSON.stringify(found) === JSON.stringify(wanted);
  }, states);
}

/** Checks that what came are the pictures that the camera's page gave, in order, each whole. */
async function checkPictures(camera: Visit, viewer: Visit): Promise<void> {
  const got = (await viewer.told()).units;
  await camera.until("the hash of the newest picture that came", ({ told }, newest) =>
    told.at(-1)?.units.some(({ frame }) => frame === newest) === true, got.at(-1)?.frame);
  const given = (await camera.told()).units;
  const hashes = new Map(given.map(({ frame, sha256 }) => [frame, sha256]));
  same(got.filter(({ frame, sha256 }) => hashes.get(frame) !== sha256), [], "pictures that are not the camera's");
  const numbers = got.map(({ frame }) => frame);
  const expected = given.map(({ frame }) => frame).filter((frame) => frame >= (numbers[0] ?? 0));
  same(numbers, expected.slice(0, numbers.length), "numbers, in order, without a gap");
}

async function untilUnits(visit: Visit, count: number): Promise<void> {
  await visit.until(`${count} pictures`, ({ told }, wanted) => (told.at(-1)?.units.length ?? 0) >= wanted, count);
}

void test("page to page: each picture comes whole, in order, with its age, and both ends say who is there", OPTIONS,
  async () => {
    await withStage(async ({ relay, page }) => {
      await withProfile(async (one) => {
        const camera = await publishing(one, page, relay.url(NAME));
        const ticket = await ticketOf(camera);
        await withProfile(async (other) => {
          const viewer = await other.visit(`${page}#${ticket.replace("#", "%23")}`);
          await viewer.untilNotice("none");
          await untilUnits(viewer, ENOUGH);
          await checkPictures(camera, viewer);
          await viewer.page.locator("#age", { hasText: /^The newest frame is at most \d+ ms old\.$/ }).waitFor();
          await untilAudience(camera, ["watching"]);
          await camera.page.locator("#audience-count", { hasText: "1 watches now." }).waitFor();
          await camera.screenshot("relay-camera");
          await viewer.screenshot("relay-page-to-page");
          const { figures } = await viewer.told();
          same([figures?.refused, figures?.membership?.refused], [{}, {}], "refused");
          assert((figures?.total?.median ?? NaN) > 0, "a latency");
          // It is enrolled: after a reload the used-up invite is not needed.
          const again = await other.visit(`${page}#${ticket.replace(/#.*/, "")}`);
          await again.untilNotice("none");
          await viewer.page.locator("#stop").click();
          await untilAudience(camera, ["watching"]);
        });
        await camera.page.locator("#stop").click();
        await camera.untilNotice("ended");
      });
    });
  });

void test("page to page and to the program: the sound of a page goes through a relay, each packet whole", OPTIONS,
  async () => {
    await withStage(async ({ relay, page }) => {
      await withProfile(async (one) => {
        const camera = await publishing(one, page, relay.url(NAME), 2, "microphone");
        const ticket = await ticketOf(camera);
        await withFolder(async (home) => {
          const file = join(home, "out.mp4");
          await writeFile(join(home, "ticket"), ticket, { mode: 0o600 });
          const program = Program.start(BINARY, home, ["watch", "@ticket", "--to", `file:${file}`, "--seconds", "400"]);
          await untilAudience(camera, ["watching"]);
          await withProfile(async (other) => {
            const viewer = await other.visit(`${page}#${ticket.replace("#", "%23")}`);
            await viewer.untilNotice("none");
            await viewer.page.getByRole("button", { name: "Play the sound" }).click();
            await viewer.until("four seconds of sound", ({ told }) =>
              (told.at(-1)?.figures?.sound?.decoded ?? 0) >= 200, 0);
            const { figures } = await viewer.told();
            same([figures?.sound?.name, figures?.sound?.lost], ["Opus, 48 kHz, 1 channel", 0], "sound");
            same([figures?.refused, figures?.membership?.refused], [{}, {}], "refused");
            const heard = await viewer.page.evaluate(() =>
              globalThis.decoded.map(({ planes, rate }) => [rate, planes[0]?.length ?? 0] as const));
            same([...new Set(heard.map(([rate, length]) => length / rate))], [0.02], "seconds of a packet");
            await viewer.screenshot("relay-sound");
          });
          program.stop();
          await within(program.exited, "the program's end");
          same(streamsOf(file).map(({ codec_name: name }) => name), ["h264", "opus"], "what the file has");
          const given = (await camera.told()).sounds.map(({ sha256 }) => sha256);
          const got = soundHashes(file);
          const first = placeOf(got, given);
          assert(first >= 0, "the packets are those that were sent, in order, without a gap");
          assert(got.length >= 150, `${got.length} of ${given.length} packets from ${first} on`);
          checkBeeps(onsets(decoded(file), 48_000), got.length * 20);
        });
      });
    });
  });

void test("where no QUIC gets through, pages reach the relay by a WebSocket, and say so", OPTIONS,
  async () => {
    await withFolder(async (home) => {
      const relay = await Relay.overTcp(home, await authority(home));
      try {
        await withPublisher("test:320x240@5", [], async ({ link }: Server) => {
          const page = link.replace(/#.*/, "");
          await withProfile(async (one) => {
            const camera = await publishing(one, page, relay.url(NAME));
            const ticket = await ticketOf(camera);
            await withProfile(async (other) => {
              const viewer = await other.visit(`${page}#${ticket.replace("#", "%23")}`);
              await viewer.untilNotice("none");
              await untilUnits(viewer, ENOUGH);
              await checkPictures(camera, viewer);
              for (const { page: shown } of [camera, viewer]) {
                const who = shown.locator("#who", { hasText: "Media over QUIC, over a WebSocket" });
                await who.waitFor({ state: "attached" });
              }
              await viewer.screenshot("relay-websocket");
            }, { home });
          }, { home });
        });
      } finally {
        await relay.kill();
      }
    });
  });

/** SHA-256 of the access units of an Annex B stream: each begins with its parameter sets, or its first slice. */
function unitHashes(stream: Buffer): string[] {
  const begins: number[] = [];
  let hasSlice = true;
  for (let at = stream.indexOf("000001", 0, "hex"); at >= 0; at = stream.indexOf("000001", at + 3, "hex")) {
    const type = (stream[at + 3] ?? 0) & 0x1f;
    const slice = type === 1 || type === 5;
    // Of a slice that begins a picture the number of the first macroblock is 0: a single bit.
    const first = slice ? ((stream[at + 4] ?? 0) & 0x80) !== 0 : type >= 6 && type <= 9;
    if (first && hasSlice) {
      begins.push(stream[at - 1] === 0 ? at - 1 : at);
      hasSlice = false;
    }
    hasSlice ||= slice;
  }
  return begins.map((begin, at) => createHash("sha256").update(stream.subarray(begin, begins[at + 1])).digest("hex"));
}

void test("what the program writes of a page at a relay are the page's pictures, bit for bit", OPTIONS,
  async () => {
    await withStage(async ({ relay, page }) => {
      await withProfile(async (profile) => {
        const camera = await publishing(profile, page, relay.url(NAME), 2);
        const ticket = await ticketOf(camera);
        await withFolder(async (home) => {
          const [file, report] = [join(home, "out.h264"), join(home, "report.json")];
          await writeFile(join(home, "ticket"), ticket, { mode: 0o600 });
          const program = Program.start(BINARY, home, [
            "watch", "@ticket", "--to", `file:${file}`, "--report", report, "--seconds", "400",
          ]);
          await untilAudience(camera, ["watching"]);
          const before = (await camera.told()).units.length;
          await untilUnits(camera, before + ENOUGH);
          program.stop();
          await within(program.exited, "the program's end");
          const hashes = unitHashes(await readFile(file));
          const given = (await camera.told()).units.map(({ sha256 }) => sha256);
          const first = given.indexOf(hashes[0] ?? "");
          assert(first >= 0, `the first of ${hashes.length} pictures is the page's`);
          same(hashes, given.slice(first, first + hashes.length), "pictures, in order");
          assert(hashes.length > ENOUGH / 2, `${hashes.length} pictures`);
          const { totals } = await reportOf(home);
          same(totals.frames_in, hashes.length, "frames in the report");
          same(Object.values(totals.open_failures).reduce((sum, count) => sum + count, 0), 0, "refused records");
          same(tool("ffprobe", "-count_frames", file).stderr, "", "errors of a decoder");
          assert(program.stderr.includes("the camera answers challenges"), program.stderr);
        });
        await untilAudience(camera, ["away"]);
      });
    });
  });

void test("a viewer whose access is ended is told so and sees nothing more, and the others see each picture", OPTIONS,
  async () => {
    await withStage(async ({ relay, page }) => {
      await withProfile(async (one) => {
        const camera = await publishing(one, page, relay.url(NAME), 2);
        const link = `${page}#${(await ticketOf(camera)).replace("#", "%23")}`;
        await withProfile(async (two) => {
          const goes = await two.visit(link);
          await goes.untilNotice("none");
          await untilAudience(camera, ["watching"]);
          await withProfile(async (three) => {
            const stays = await three.visit(link);
            await stays.untilNotice("none");
            await untilAudience(camera, ["watching", "watching"]);
            await camera.page.locator("#audience-list button").first().click();
            await goes.untilNotice("removed");
            same(await goes.page.locator("#notice-cause").textContent(), "cause: removed", "cause");
            await untilAudience(camera, ["watching"]);
            const seen = (await stays.told()).units.length;
            await untilUnits(stays, seen + ENOUGH);
            await checkPictures(camera, stays);
            same((await stays.told()).figures?.refused, {}, "refused");
            // Who was removed knows the invite, so that has gone with it.
            const ticket = await camera.page.locator("#audience-ticket").inputValue();
            assert(!ticket.includes("#"), "the ticket has no invite any more");
          });
          await goes.page.locator("#again").click();
          await goes.untilNotice("refused");
        });
      });
    });
  });

void test("a relay that was killed is said, and camera and viewer are back when it is", OPTIONS, async () => {
  await withStage(async ({ relay, page }) => {
    await withProfile(async (one) => {
      const camera = await publishing(one, page, relay.url(NAME));
      const link = `${page}#${(await ticketOf(camera)).replace("#", "%23")}`;
      await withProfile(async (two) => {
        const viewer = await two.visit(link);
        await viewer.untilNotice("none");
        await relay.kill();
        await camera.untilNotice("lost");
        const words = await camera.page.locator("#notice-words").innerText();
        assert(/relay 127\.0\.0\.1:\d+/i.test(words), words);
        await camera.screenshot("relay-camera-lost");
        await viewer.untilNotice("lost");
        relay.run();
        await camera.untilNotice("none");
        await viewer.untilNotice("none");
        const seen = (await viewer.told()).units.length;
        await untilUnits(viewer, seen + ENOUGH);
        const { states } = await camera.told();
        same([states.at(-1)?.state, states.some(({ state }) => state === "lost")], ["live", true], "states");
      });
    });
  });
});

void test("a name that another camera has, or a relay that is none, is said before anything is sealed", OPTIONS,
  async () => {
    await withStage(async ({ relay, page }) => {
      await withProfile(async (one) => {
        const camera = await publishing(one, page, relay.url(NAME));
        await ticketOf(camera);
        await withProfile(async (two) => {
          const other = await publishing(two, page, relay.url(NAME));
          await other.untilNotice("failed");
          same(await other.page.locator("#notice-cause").textContent(), "cause: name-taken", "cause");
          await other.screenshot("relay-name-taken");
          same(await other.page.locator("#picture video").count(), 0, "the camera is let go");
          await other.page.locator("#other-ticket").click();
          await fillIn(other, relay.url("another").replace(/sha256=./, "sha256=0").replace("sha256=00", "sha256=01"));
          await other.page.locator("#publish-go").click();
          await other.untilNotice("failed");
          same(await other.page.locator("#notice-cause").textContent(), "cause: carrier", "cause");
          await other.page.locator("#other-ticket").click();
          for (const [address, words] of [
            ["http://127.0.0.1/front", /begins with https/], ["https://127.0.0.1:4443/", /name of the broadcast/],
            ["https://127.0.0.1:4443/a?jwt=1", /fits in no ticket/], ["nonsense", /https:\/\/HOST:PORT\/NAME/],
          ] as const) {
            await fillIn(other, address);
            await other.page.locator("#ticket-error", { hasText: words }).waitFor();
          }
          await other.screenshot("relay-address");
        });
      });
    });
  });

void test("after the camera's page was reloaded, its viewers need no new ticket, and no key is used again", OPTIONS,
  async () => {
    await withStage(async ({ relay, page }) => {
      await withProfile(async (one) => {
        const camera = await publishing(one, page, relay.url(NAME));
        const ticket = await ticketOf(camera);
        await withProfile(async (two) => {
          const viewer = await two.visit(`${page}#${ticket.replace("#", "%23")}`);
          await viewer.untilNotice("none");
          await untilUnits(viewer, 10);
          const before = (await camera.told()).audience?.epoch ?? Infinity;
          await camera.page.reload();
          // It is told that the stream ended, or sees the connection break.
          await viewer.page.close();
          await camera.page.locator("#publish-go").click();
          await untilAudience(camera, ["away"]);
          const back = await two.visit(`${page}#${ticket.replace(/#.*/, "")}`);
          await back.untilNotice("none");
          await untilAudience(camera, ["watching"]);
          const after = (await camera.told()).audience?.epoch ?? 0;
          assert(after >= 2 ** 20 && before < 2 ** 20, `epochs ${before} and ${after}`);
        });
      });
    });
  });

void test("no state of a page at a relay has a serious fault of accessibility", OPTIONS, async () => {
  const found: string[] = [];
  await withStage(async ({ relay, page }) => {
    await withProfile(async (profile) => {
      const camera = await profile.visit(`${page}?publish`);
      await fillIn(camera, "https://relay.example/");
      found.push(...await inspect(camera, "relay-address"));
      await fillIn(camera, relay.url(NAME));
      await camera.page.locator("#publish-form").waitFor();
      found.push(...await inspect(camera, "relay-form"));
      await camera.page.locator("#publish-go").click();
      const ticket = await ticketOf(camera);
      await withProfile(async (other) => {
        const viewer = await other.visit(`${page}#${ticket.replace("#", "%23")}`);
        await viewer.untilNotice("none");
        await untilAudience(camera, ["watching"]);
        found.push(...await inspect(camera, "relay-camera"));
      }, { plain: true });
    }, { plain: true });
  });
  same(found, [], "faults");
});
