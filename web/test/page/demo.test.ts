// The demo's page: it is a viewer itself, its user changes how it is protected, and has a bit flipped on the way.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import type { AxeResults } from "axe-core";

import { Program, withFolder, within } from "../node/program.ts";
import { assert, same } from "../support/harness.ts";
import { BINARY, OPTIONS, PATIENCE_MS, type Profile, type Visit, withProfile } from "./support/browser.ts";
import { readStrip } from "./support/strip.ts";

const TOKEN = "a-token-of-this-test";
/** As a user has it: the page gives its worker a name, by which it tells of each frame. */
const PLAIN = { plain: true, demo: true } as const;
const AXE = "node_modules/axe-core/axe.min.js";
/** Rules that apply to every state; if fewer were checked, axe did not look at the page. */
const MIN_RULES = 15;
const LOOKS = [
  { look: "phone", width: 360, height: 780 }, { look: "desktop", width: 1280, height: 800 },
  { look: "projector", width: 1920, height: 1080 },
] as const;

/** Runs a test with a demo and the address of its page. */
async function withDemo(body: (address: string) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const file = join(folder, "token");
    await writeFile(file, `${TOKEN}\n`, { mode: 0o600 });
    const program = Program.start(BINARY, folder, ["demo", "--page", `http://127.0.0.1:0?token=@${file}`]);
    try {
      const address = /http:\/\/[\d.:]+/.exec(await program.line("open http"))?.[0];
      assert(address !== undefined, "the demo says where its page is");
      await body(`${address}/?token=${TOKEN}`);
    } finally {
      program.stop();
      await within(program.exited, "the program's end");
    }
  });
}

/** Runs a test with a demo and a page that watches it. */
async function withPage(body: (visit: Visit, profile: Profile, address: string) => Promise<void>): Promise<void> {
  await withDemo(async (address) => {
    await withProfile(async (profile) => {
      const visit = await profile.visit(address);
      await visit.untilNotice("none");
      await visit.untilDrawn(10);
      await body(visit, profile, address);
    }, PLAIN);
  });
}

/** Waits until the element has such a text. */
async function untilText({ page }: Visit, selector: string, pattern: RegExp): Promise<void> {
  const found = page.locator(selector).filter({ hasText: pattern });
  await found.waitFor().catch(async (error: unknown) => {
    const text = await page.locator(selector).textContent();
    throw new Error(`waited for ${String(pattern)} in ${selector}, which says ${text ?? "nothing"}`, { cause: error });
  });
}

/** Waits until as many pictures more were drawn by the newest session. */
async function drawsOn(visit: Visit): Promise<void> {
  await visit.until("further pictures", ({ told }, seen) => (told.at(-1)?.figures?.drawn ?? 0) > seen + 5,
    (await visit.told()).figures?.drawn ?? 0);
}

/** The number of the program's picture that the page shows, or -1 if it shows none. */
function still({ page }: Visit, id: string): Promise<number> {
  return page.locator(`#${id}`).evaluate((image: HTMLImageElement) =>
    image.complete && image.naturalWidth > 0 ? Number(image.src.split("?")[1]) : -1);
}

/** Waits until the program's pictures are there, and come one after the other. */
async function untilStills(visit: Visit): Promise<void> {
  for (const id of ["camera", "wire", "attack"]) {
    const begin = await still(visit, id);
    await waited(`further pictures of ${id} after ${begin}`, visit, async () => await still(visit, id) > begin + 3);
  }
}

/** Waits until it holds. */
async function waited(what: string, visit: Visit, holds: () => Promise<boolean>): Promise<void> {
  for (const until = Date.now() + PATIENCE_MS; !(await holds());) {
    if (Date.now() > until) {
      throw new Error(`waited in vain for ${what}; ${await visit.describe()}`);
    }
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** The number that the picture shows. On a busy machine there may be no picture for a while. */
async function clock(visit: Visit): Promise<number> {
  let frame = 0;
  let wrong = "";
  await waited("a picture with its clock", visit, async () => {
    const pixels = await visit.pixels();
    const strip = pixels === undefined ? "there is no canvas" : readStrip(pixels);
    if (typeof strip !== "string") {
      frame = strip.frame;
      return true;
    }
    wrong = strip;
    return false;
  }).catch((error: unknown) => {
    throw new Error(`the picture has no clock: ${wrong}`, { cause: error });
  });
  return frame;
}

void test("the demo's page opens the stream itself, beside what the program shows", OPTIONS, async () => {
  await withPage(async (visit) => {
    const first = await clock(visit);
    await drawsOn(visit);
    assert(await clock(visit) > first, "the clock in the picture goes on");
    await untilStills(visit);
    await untilText(visit, "#status", /^live for /);
    await untilText(visit, "#lock-words", /^Encrypted end to end$/);
    await untilText(visit, "#keys", /^aes-256-gcm, epoch 0 for \d+ s, 0 rekeys$/);
    await untilText(visit, "#who-words", /^(?:[a-z]+ ){5}[a-z]+$/);
    await untilText(visit, "#known", /^nothing is in clear/);
    await untilText(visit, "#interval", /^95 % confidence: /);
    await visit.page.locator('#program-stages tr:has-text("seal")').waitFor();
    await visit.page.locator('#chart path[data-stage="decode"]').waitFor();
    same((await visit.told()).states.map(({ state }) => state), ["connecting", "handshake", "live"], "states");
  });
});

void test("a bit flipped on the way is refused and counted, and the picture goes on", OPTIONS, async () => {
  await withPage(async (visit) => {
    await visit.page.locator("#flip").click();
    await visit.page.locator('#flip-story[data-step="on"]').waitFor();
    const story = await visit.page.locator("#flip-story").innerText();
    const goesOn = /refused \(tag: not authentic\)[^]*before it stood for [\d.]+ ms\. \d+ frames? (?:is|are) missing/;
    assert(goesOn.test(story), `the page says what came of it: ${story}`);
    await untilText(visit, "#refused", /^1tag: not authentic$/);
    await drawsOn(visit);
    const told = await visit.told();
    same(told.figures?.refused, { tag: 1 }, "refused records");
    same(told.states.map(({ state }) => state), ["connecting", "handshake", "live"], "states");
    await clock(visit);
  });
});

void test("new keys raise the epoch while the stream goes on", OPTIONS, async () => {
  await withPage(async (visit) => {
    await visit.page.locator("#rekey").click();
    await untilText(visit, "#keys", /, epoch 1 for \d+ s, 1 rekey$/);
    await untilText(visit, "#log", /new keys are in force \(epoch 1\)/);
    await drawsOn(visit);
    same((await visit.told()).figures?.refused, {}, "refused records");
  });
});

void test("what is encrypted changes at once, and page and eavesdropper show it", OPTIONS, async () => {
  await withPage(async (visit) => {
    const { page } = visit;
    await page.locator("#selection").selectOption("none");
    await untilText(visit, "#selection-effect", /^Everybody on the way watches/);
    await untilText(visit, "#lock-words", /^Not encrypted$/);
    assert(await page.locator("#warning").isVisible() && await page.locator("#badge").isVisible(), "a warning");
    await untilText(visit, "#known", /^made of the (?:9\d|100) % of bytes in clear$/);
    await page.locator("#selection").selectOption("all");
    await untilText(visit, "#lock-words", /^Encrypted end to end$/);
    await untilText(visit, "#known", /^nothing is in clear/);
    same((await visit.told()).states.map(({ state }) => state), ["connecting", "handshake", "live"], "states");
  });
});

void test("with another suite or shape the stream begins anew, and the page comes back", OPTIONS, async () => {
  await withPage(async (visit) => {
    const { page } = visit;
    const before = (await visit.told()).protections.at(-1);
    await page.locator("#suite").selectOption("aes-128-gcm");
    await untilText(visit, "#keys", /^aes-128-gcm, epoch 0 /);
    await visit.untilNotice("none");
    await page.locator("#shape").selectOption("constant:2mbit");
    await untilText(visit, "#selection-effect", /With a shape nothing is left in clear/);
    await untilText(visit, "#log", /You chose another shape[^]*You chose another suite/);
    await visit.until("the third session", ({ told }, count) =>
      told.at(-1)?.states.filter(({ state }) => state === "live").length === count, 3);
    await visit.untilNotice("none");
    await drawsOn(visit);
    const after = (await visit.told()).protections.at(-1);
    same([after?.suite, after?.peer, after?.own], ["aes-128-gcm", before?.peer, before?.own], "suite and identities");
    assert(await page.locator("#selection").isDisabled(), "there is nothing to choose with a shape");
  });
});

void test("a choice that does not fit the stream is refused in words, and nothing changes", OPTIONS, async () => {
  await withPage(async (visit) => {
    const { page } = visit;
    await page.locator("#shape").evaluate((select: HTMLSelectElement) => {
      select.append(new Option("too little", "constant:64kbit"));
    });
    await page.locator("#shape").selectOption("constant:64kbit");
    await untilText(visit, "#shape-error", /too small for this stream/);
    same(await page.locator("#shape").inputValue(), "off", "shape");
    await visit.untilNotice("none");
    await drawsOn(visit);
  });
});

void test("several tabs and another browser watch at once", OPTIONS, async () => {
  await withPage(async (visit, profile, address) => {
    // More than the connections that a browser has to one server: each tab must do with less than one of them for good.
    const tabs = [visit, await profile.visit(address), await profile.visit(address)];
    await withProfile(async (other) => {
      tabs.push(await other.visit(address));
      for (const tab of tabs) {
        await tab.untilNotice("none");
        await untilText(tab, "#status", /^live for /);
      }
      for (const tab of tabs) {
        await drawsOn(tab);
        await untilStills(tab);
      }
      const owners = await Promise.all(tabs.map(async (tab) => (await tab.told()).protections.at(-1)?.own));
      same([owners[1], owners[2]], [owners[0], owners[0]], "tabs of one browser are one viewer");
      assert(owners[3] !== owners[0], "another browser is another one");
    }, PLAIN);
  });
});

void test("a browser without decoders shows the picture of the program's viewer, and says so", OPTIONS, async () => {
  await withDemo(async (address) => {
    await withProfile(async (profile) => {
      await profile.context.addInitScript(() => {
        Reflect.deleteProperty(globalThis, "VideoDecoder");
      });
      const visit = await profile.visit(address);
      await untilText(visit, "#no-page", /program's own viewer.*VideoDecoder/);
      await visit.page.locator("#fallback").evaluate((one: HTMLImageElement) => new Promise<void>((done) => {
        const look = (): void => {
          if (one.naturalWidth > 0) {
            done();
          } else {
            setTimeout(look, 50);
          }
        };
        look();
      }));
      await untilText(visit, "#status", /^live for /);
      same((await visit.all()).length, 0, "workers");
      assert(!(await visit.page.locator("#view").isVisible()), "no empty picture");
      await visit.page.locator("#suite").selectOption("aes-128-gcm");
      await untilText(visit, "#session", /aes-128-gcm/);
    }, PLAIN);
  });
});

/** Faults that keep somebody out, and parts that are wider than the window, at each size, light and dark. */
async function faults(visit: Visit, state: string): Promise<string[]> {
  const { page } = visit;
  const found: string[] = [];
  for (const { look, width, height } of LOOKS) {
    for (const colorScheme of ["light", "dark"] as const) {
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme });
      await visit.screenshot(`demo-${state}-${look}-${colorScheme}`);
      const { violations, passes } = await page.evaluate(() => {
        const { axe } = globalThis as unknown as { axe: { run(): Promise<AxeResults> } };
        return axe.run();
      });
      assert(passes.length >= MIN_RULES, `axe applied ${passes.length} rules`);
      const bad = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
      found.push(...bad.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) =>
        `${state}, ${look}, ${colorScheme}: ${id}: ${target.join(" ")}: ${failureSummary ?? ""}`)));
      const over = await page.evaluate(() => {
        const { scrollWidth, clientWidth } = document.documentElement;
        return scrollWidth - clientWidth;
      });
      if (over > 0) {
        found.push(`${state}, ${look}: the page is ${over} pixels wider than its window`);
      }
    }
  }
  return found;
}

void test("the demo's page has no serious fault of accessibility", OPTIONS, async () => {
  await withPage(async (visit) => {
    const { page } = visit;
    await page.evaluate(await readFile(AXE, "utf8"));
    const found = await faults(visit, "live");
    await page.locator("#flip").click();
    await page.locator('#flip-story[data-step="on"]').waitFor();
    await page.locator("#lock").click();
    await page.locator("#chart-card summary").click();
    await page.locator("#selection").selectOption("none");
    await page.locator("#warning").waitFor();
    found.push(...await faults(visit, "flipped"));
    same(found, [], "faults");
  });
});

void test("the demo's controls are reached and used by the keyboard alone", OPTIONS, async () => {
  await withPage(async (visit) => {
    const { page } = visit;
    const missing = new Set(["lock", "rekey", "full", "flip", "selection", "suite", "shape"]);
    // Several times through the page: buttons are disabled while a session is made anew, as on a machine that stalls.
    for (let step = 0; step < 100 && missing.size > 0; step += 1) {
      await page.keyboard.press("Tab");
      const id = await page.evaluate(() => document.activeElement?.id ?? "");
      missing.delete(id);
      if (id === "flip") {
        await page.keyboard.press("Enter");
      }
    }
    same([...missing], [], "controls that the keyboard does not reach");
    await page.locator('#flip-story[data-step="on"]').waitFor();
  });
});
