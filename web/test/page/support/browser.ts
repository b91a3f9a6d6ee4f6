// One Chromium for all tests, and pages of which everything that matters is written down.

import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { spawnSync } from "node:child_process";
import { after } from "node:test";

import { type Browser, type BrowserContext, type BrowserContextOptions, type Page, chromium } from "playwright-core";

import { assert, same } from "../../support/harness.ts";
import { FROM_DIST, serveBuiltPage } from "./built-page.ts";
import { type Recorded, type Told, record } from "./recorder.ts";
import { type Pixels } from "./strip.ts";

/** How long a test waits for what it checks, on however busy a machine. */
export const PATIENCE_MS = 90_000;
/** How long a connection that is over may be the newest one: another may be about to begin. */
const OVER_MS = 15_000;
/** How long a test may take before it counts as hung. */
export const TEST_TIMEOUT_MS = 300_000;

const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
/** The program under test. */
export const BINARY = process.env["SEALCAST"] === undefined ? "" : resolve(process.env["SEALCAST"]);

/** Why the tests of the page cannot run here; `false` if they can. */
export const SKIP: string | false = missing() ?? false;

function missing(): string | undefined {
  if (BINARY === "") {
    return "not run: set SEALCAST to the path of a sealcast program, such as target/debug/sealcast";
  }
  if (!existsSync(CHROMIUM)) {
    return `not run: there is no browser at ${CHROMIUM}; set CHROMIUM to the path of one`;
  }
  const absent = ["ffmpeg", "ffprobe"].filter((name) => spawnSync(name, ["-version"]).error !== undefined);
  return absent.length === 0 ? undefined : `not run: there is no ${absent.join(" and no ")}`;
}

/** Options of each test. */
export const OPTIONS = { skip: SKIP, timeout: TEST_TIMEOUT_MS };

/** Names are not looked up at all, so that nothing but this machine can be reached. */
const ARGUMENTS = [
  "--no-sandbox", "--no-proxy-server", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
  // There is no graphics card, and to imitate one takes a fifth more time of the processor.
  "--disable-gpu", "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream",
  // Of a page whose files come from Playwright the browser does not know that it is this machine's.
  ...(FROM_DIST ? ["--disable-features=LocalNetworkAccessChecks,LocalNetworkAccessChecksWebSockets," +
    "LocalNetworkAccessChecksWebTransport"] : []),
];

let launched: Promise<Browser> | undefined;

function launch(env: NodeJS.ProcessEnv = process.env): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS, env });
}

function browser(): Promise<Browser> {
  launched ??= launch();
  return launched;
}

after(async () => {
  await (await launched)?.close();
});

/** How a page is opened. */
export interface ContextOptions {
  /** True: workers have their usual name, so that they tell no access units. */
  readonly plain?: boolean;
  /** True: the page is the demo's, which always comes from the program. */
  readonly demo?: boolean;
  /** The home of a browser of its own, which trusts the authorities in there. */
  readonly home?: string;
  readonly browser?: BrowserContextOptions;
}

/** What a browser with a profile of its own asked for, and what went wrong in it. */
export class Profile {
  readonly context: BrowserContext;
  /** Requests that the tests let through, by URL. */
  readonly requests: string[] = [];
  readonly errors: string[] = [];
  readonly #close: () => Promise<void>;

  private constructor(context: BrowserContext, close: () => Promise<void>) {
    this.context = context;
    this.#close = close;
  }

  static async open(options: ContextOptions): Promise<Profile> {
    const own = options.home === undefined ? undefined : await launch({ ...process.env, HOME: options.home });
    const context = await (own ?? (await browser())).newContext(options.browser ?? {});
    context.setDefaultTimeout(PATIENCE_MS);
    await context.addInitScript(record, options.plain !== true);
    const profile = new Profile(context, () => own?.close() ?? context.close());
    context.on("request", (request) => {
      profile.requests.push(request.url(), request.headers()["referer"] ?? "");
    });
    context.on("weberror", (error) => {
      profile.errors.push(String(error.error()));
    });
    if (options.demo !== true) {
      await serveBuiltPage(context);
    }
    return profile;
  }

  /** A new page at this address. */
  async visit(link: string): Promise<Visit> {
    const page = await this.context.newPage();
    page.on("websocket", (socket) => {
      this.requests.push(socket.url());
    });
    page.on("crash", () => {
      this.errors.push("the page crashed");
    });
    await page.goto(link);
    return new Visit(page);
  }

  /** A new page that opens this link by this carrier alone: the user chooses the carrier before the ticket. */
  async visitBy(carrier: "webtransport" | "websocket", link: string): Promise<Visit> {
    const visit = await this.visit(link.replace(/#.*/, ""));
    await visit.page.locator("#carrier").evaluate((select: HTMLSelectElement, value) => {
      select.value = value;
    }, carrier);
    await visit.paste(link);
    return visit;
  }

  close(): Promise<void> {
    return this.#close();
  }

  /** Nothing but this machine was asked, no secret was in it, and nothing of the page failed. */
  async check(): Promise<void> {
    const others = this.requests.filter((url) => url !== "" && new URL(url).hostname !== "127.0.0.1");
    same(others, [], "requests to other hosts");
    // A ticket ends with # and an invite, and nothing else in an address has a fragment.
    same(this.requests.filter((url) => /#|sealcast:\/\//.test(url)), [], "requests with a fragment or a ticket");
    same(this.errors, [], "errors of the page");
    for (const page of this.context.pages()) {
      same((await page.evaluate(() => globalThis.recorded)).violations, [], "violations of the content policy");
    }
  }
}

/** Runs a test in a new profile of the browser, and checks what holds for each. */
export async function withProfile(body: (profile: Profile) => Promise<void>, options: ContextOptions = {}):
Promise<void> {
  const profile = await Profile.open(options);
  try {
    await body(profile);
    await profile.check();
  } finally {
    await profile.close();
  }
}

/** One open page. */
export class Visit {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  /** Enters a ticket or a link by hand. */
  async paste(link: string): Promise<void> {
    await this.page.locator("#ticket").fill(link);
    await this.page.locator("#ticket-form [type=submit]").click();
  }

  /** Opens what is behind Details, where the page shows it. */
  async openDetails(): Promise<void> {
    const closed = this.page.locator("#details:not([open]) > summary");
    if (await closed.isVisible()) {
      await closed.click();
    }
  }

  /** Opens the form's further settings. */
  async openSettings(): Promise<void> {
    await this.page.locator("#publish-more:not([open]) > summary").click();
  }

  /** What the newest worker has said. */
  async told(): Promise<Told> {
    const all = await this.all();
    const told = all.at(-1);
    assert(told !== undefined, "the page has begun a connection");
    return told;
  }

  /** What each worker has said. */
  async all(): Promise<Told[]> {
    const { told } = await this.page.evaluate(() => globalThis.recorded);
    return told;
  }

  /** Waits until this holds in the page. It is serialised: it uses its arguments alone. */
  async until<A>(what: string, condition: (recorded: Recorded, argument: A) => boolean, argument: A): Promise<void> {
    const holds = `(${condition.toString()})(globalThis.recorded, ${JSON.stringify(argument)})`;
    // A connection that is over says nothing more, so there is nothing to wait for, unless another one follows.
    const over = "['ended', 'refused', 'failed'].includes(globalThis.recorded.told.at(-1)?.states.at(-1)?.state)";
    const until = Date.now() + PATIENCE_MS;
    let overSince = Infinity;
    while (!(await this.page.evaluate<boolean>(holds))) {
      const now = Date.now();
      overSince = (await this.page.evaluate<boolean>(over)) ? Math.min(overSince, now) : Infinity;
      if (now > until || now > overSince + OVER_MS) {
        throw new Error(`waited in vain for ${what}; ${await this.describe()}`);
      }
      await new Promise((done) => setTimeout(done, 50));
    }
  }

  /** Waits until the newest worker has said this state. */
  async untilState(state: string): Promise<void> {
    await this.until(`the state ${state}`, ({ told }, wanted) =>
      told.at(-1)?.states.some((one) => one.state === wanted) === true, state);
  }

  /** Waits until so many pictures of this connection were drawn. */
  async untilDrawn(count: number): Promise<void> {
    await this.until(`${count} drawn pictures`, ({ told }, wanted) =>
      (told.at(-1)?.figures?.drawn ?? 0) >= wanted, count);
  }

  /** Waits until the area of the picture says this: a state, `waiting`, or `none` if it shows the picture. */
  async untilNotice(notice: string): Promise<void> {
    await this.page.locator(`#view[data-notice="${notice}"]`).waitFor().catch(async (error: unknown) => {
      throw new Error(`waited for the notice ${notice}; ${await this.describe()}`, { cause: error });
    });
  }

  /** For the message of a test that fails. */
  async describe(): Promise<string> {
    const told = (await this.all().catch(() => [])).at(-1);
    const text = await this.page.locator("#view").innerText({ timeout: 1_000 }).catch(() => "");
    const known = told && { states: told.states, events: told.events.slice(-20), figures: told.figures };
    return `the page says ${JSON.stringify(text)}; its worker said ${JSON.stringify(known)}`;
  }

  /** The pixels of the picture in its own size, or `undefined` if there is no canvas. */
  async pixels(): Promise<Pixels | undefined> {
    const taken = await this.page.evaluate(() => {
      const shown = document.querySelector<HTMLCanvasElement>("#picture canvas");
      if (shown === null) {
        return undefined;
      }
      const { width, height } = shown;
      const copy = new OffscreenCanvas(width, height);
      const context = copy.getContext("2d");
      context?.drawImage(shown, 0, 0);
      const data = context?.getImageData(0, 0, width, height).data ?? [];
      // As text, because an array of numbers is several times as long.
      const pieces: string[] = [];
      for (let at = 0; at < data.length; at += 8_192) {
        pieces.push(String.fromCharCode(...data.slice(at, at + 8_192)));
      }
      return { width, height, base64: btoa(pieces.join("")) };
    });
    return taken && { width: taken.width, height: taken.height, data: Buffer.from(taken.base64, "base64") };
  }

  /** Nothing was ever drawn by the newest connection, and no picture stands in the page. */
  async checkBlank(): Promise<void> {
    const told = await this.told();
    same(told.sizes, [], "pictures that were drawn");
    same(told.figures?.drawn ?? 0, 0, "pictures in the figures");
    const pixels = await this.pixels();
    const lit = pixels?.data.some((value, at) => at % 4 !== 3 && value !== 0) ?? false;
    assert(!lit, "the canvas is black, or gone");
    same(await this.page.locator("#picture canvas:visible").count(), 0, "visible canvases");
  }

  /** Keeps a picture of the page where SCREENSHOTS names a folder. */
  async screenshot(name: string): Promise<void> {
    const folder = process.env["SCREENSHOTS"];
    if (folder !== undefined && folder !== "") {
      await mkdir(folder, { recursive: true });
      await this.page.screenshot({ path: join(resolve(folder), `${name}.png`), fullPage: true });
    }
  }
}
