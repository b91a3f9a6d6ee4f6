// `node scripts/measure-page.mjs [OPTIONS]`: opens the page of a program in Chromium, without a window, and says what
// it measures there, one JSON object a line. `sealcast-lab browser` starts it. The page's link, with its invite, is the
// first line of the standard input: other users could read an argument.
//
//   --carrier websocket|webtransport   the carrier that the page uses (webtransport)
//   --warm-up SECONDS                  after the first picture; does not count (2)
//   --seconds SECONDS                  how long frames and processor time count (20)
//   --heap-at SECONDS,SECONDS,…        instead: size of the heaps at these times after the first picture
//
// CHROMIUM names another browser than Debian's. The types of lines are those of `say`.

import { readFile, readdir } from "node:fs/promises";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

import { chromium } from "playwright-core";

const PATIENCE_MS = 60_000;
/** Milliseconds between looks at the page. */
const LOOK = 500;
/** Readings of a look at the heaps, and the milliseconds from one to the next. */
const READINGS = 3;
const READING = 250;
/** What a heap snapshot calls compiled code, and what is the browser's own. */
const NO_OBJECTS = ["code", "native"];
/** Ticks of `/proc/PID/stat` in a second: the same on every Linux that Debian's Chromium runs on. */
const TICKS = 100;
/** What Chromium calls the thread of a page's worker. */
const WORKER_THREAD = "DedicatedWorker";
/** The name by which the page's worker tells the way of each frame. */
const MEASURED = "measure";
/** Names are not looked up at all, so that nothing but this machine can be reached. */
const ARGUMENTS = ["--no-sandbox", "--no-proxy-server", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"];

const { values: options } = parseArgs({
  options: {
    carrier: { type: "string", default: "webtransport" },
    "warm-up": { type: "string", default: "2" },
    seconds: { type: "string", default: "20" },
    "heap-at": { type: "string", default: "" },
  },
});

function say(type, fields) {
  process.stdout.write(`${JSON.stringify({ type, ...fields })}\n`);
}

function sleep(milliseconds) {
  return new Promise((done) => setTimeout(done, Math.max(0, milliseconds)));
}

/** The first line of the standard input. */
async function readLink() {
  for await (const line of createInterface({ input: process.stdin })) {
    return line.trim();
  }
  throw new Error("the standard input has no link");
}

/**
 * Runs in the page before the page's own program: puts a class of its own in the place of `Worker`, which chooses the
 * carrier, gives the worker its name, and keeps the frames' rows from the page, which knows nothing of them.
 */
function prepare({ carrier, name }) {
  const measured = { rows: [], states: [], figures: undefined, reports: 0, kind: undefined, picture: undefined };
  globalThis.measured = measured;
  globalThis.Worker = class extends Worker {
    constructor(url, settings = {}) {
      super(url, name === undefined ? settings : { ...settings, name });
      this.addEventListener("message", (event) => {
        const { data } = event;
        if (data.type === "frame") {
          event.stopImmediatePropagation();
          measured.rows.push(data.row);
        } else if (data.type === "size") {
          measured.picture ??= performance.now();
        } else if (data.type === "state") {
          measured.states.push(data);
        } else if (data.type === "protection") {
          measured.kind = data.protection.carrier;
        } else if (data.type === "figures") {
          measured.figures = data.figures;
          measured.reports += 1;
        }
      });
    }

    postMessage(message, transfer) {
      const own = message.type === "watch"
        ? { ...message, options: { ...message.options, carrier } } : message;
      super.postMessage(own, transfer);
    }
  };
}

/** Sessions that were lost, each of which another one followed. */
function lostSessions(states) {
  return states.filter(({ state }) => state === "lost").length;
}

/** Fails with the page's words if its connection is over. */
function mustLive({ states }) {
  const last = states.at(-1);
  if (last !== undefined && ["ended", "refused", "failed"].includes(last.state)) {
    throw new Error(`the page's connection is ${last.state} (${last.cause}): ${last.words}`);
  }
}

async function untilPicture(page) {
  for (const until = Date.now() + PATIENCE_MS; Date.now() < until; await sleep(50)) {
    const { states, picture } = await page.evaluate(() => globalThis.measured);
    mustLive({ states });
    if (picture !== undefined) {
      return picture;
    }
  }
  throw new Error("the page drew no picture within a minute");
}

/** The process of the page: the one with the worker's thread. Page and worker share it. */
async function findRenderer(browser) {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  for (const { id, type } of processInfo) {
    for (const thread of type === "renderer" ? await readdir(`/proc/${id}/task`) : []) {
      const name = await readFile(`/proc/${id}/task/${thread}/comm`, "utf8").catch(() => "");
      if (name.trim() === WORKER_THREAD) {
        return { process: id, thread, all: processInfo.map((one) => one.id) };
      }
    }
  }
  throw new Error(`no renderer of the browser has a thread ${WORKER_THREAD}`);
}

/** Seconds of the processor that a process has used, with the threads that have ended. */
async function processSeconds(id) {
  const stat = await readFile(`/proc/${id}/stat`, "utf8").catch(() => "");
  // The fields follow the name, which is in parentheses; user and system time are the 12th and 13th of them.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / TICKS;
}

/** Seconds that one thread has used, by the kernel's scheduler. */
async function threadSeconds(id, thread) {
  const text = await readFile(`/proc/${id}/task/${thread}/schedstat`, "utf8");
  return Number(text.split(" ")[0]) / 1e9;
}

async function processorMark(found) {
  const { process: id, thread, all } = found;
  const others = await Promise.all(all.map(processSeconds));
  return {
    at: performance.now() / 1_000, renderer: await processSeconds(id), worker: await threadSeconds(id, thread),
    browser: others.reduce((sum, seconds) => sum + seconds, 0),
  };
}

/** Takes the rows that came, so that they do not gather in the page. */
function takeRows(page) {
  return page.evaluate(() => ({ rows: globalThis.measured.rows.splice(0), states: globalThis.measured.states }));
}

/** Frames and processor time. */
async function measureFrames(browser, page) {
  const found = await findRenderer(browser);
  await sleep(Number(options["warm-up"]) * 1_000);
  const { rows: before } = await takeRows(page);
  if (before.length === 0) {
    throw new Error("the worker tells no frames: the program's page is older than this script, or nothing is drawn");
  }
  const figures = () => page.evaluate(() => globalThis.measured.figures);
  const lost = async () => lostSessions(await page.evaluate(() => globalThis.measured.states));
  const first = await figures();
  const from = await processorMark(found);
  for (const end = performance.now() + Number(options.seconds) * 1_000; performance.now() < end; ) {
    await sleep(Math.min(LOOK, end - performance.now()));
    const { rows, states } = await takeRows(page);
    mustLive({ states });
    rows.forEach((row) => say("frame", row));
  }
  const to = await processorMark(found);
  const last = await figures();
  say("processor", {
    seconds: to.at - from.at, renderer: to.renderer - from.renderer, worker: to.worker - from.worker,
    browser: to.browser - from.browser,
  });
  // Figures are made twice a second, so the counts may be of a window that lies half a second beside.
  say("counts", {
    dropped: last.dropped - (first?.dropped ?? 0), refused: last.refused, lost: await lost(), codec: last.codec,
  });
}

/**
 * The inspector of the page, and of its worker, which only the page's reaches. `send` sends a command, and `chunks` are
 * the pieces of a heap snapshot that came.
 */
async function inspectors(page) {
  const session = await page.context().newCDPSession(page);
  const worker = new Promise((resolve) => {
    session.on("Target.attachedToTarget", ({ sessionId, targetInfo }) => {
      if (targetInfo.type === "worker") {
        resolve(sessionId);
      }
    });
  });
  await session.send("Target.setAutoAttach", { autoAttach: true, waitForDebuggerOnStart: false, flatten: false });
  const late = sleep(PATIENCE_MS).then(() => Promise.reject(new Error("the worker has no inspector")));
  late.catch(() => undefined);
  const workerSession = await Promise.race([worker, late]);
  let count = 0;
  const waiting = new Map();
  const sendToWorker = (method) => new Promise((resolve, reject) => {
    const id = ++count;
    waiting.set(id, { resolve, reject });
    const message = JSON.stringify({ id, method, params: {} });
    session.send("Target.sendMessageToTarget", { sessionId: workerSession, message }).catch(reject);
  });
  const ofPage = { send: (method) => session.send(method), chunks: [] };
  const ofWorker = { send: sendToWorker, chunks: [] };
  session.on("HeapProfiler.addHeapSnapshotChunk", ({ chunk }) => ofPage.chunks.push(chunk));
  session.on("Target.receivedMessageFromTarget", ({ message }) => {
    const { id, result, error, method, params } = JSON.parse(message);
    if (method === "HeapProfiler.addHeapSnapshotChunk") {
      ofWorker.chunks.push(params.chunk);
      return;
    }
    const answer = waiting.get(id);
    waiting.delete(id);
    if (error !== undefined) {
      answer?.reject(new Error(`the worker's inspector says: ${error.message}`));
    } else {
      answer?.resolve(result);
    }
  });
  return [ofPage, ofWorker];
}

/** What is used of a heap when nothing is left to collect, and what array buffers have outside of it. */
async function readHeap({ send }) {
  // What a first collection finalises goes with the second.
  await send("HeapProfiler.collectGarbage");
  await send("HeapProfiler.collectGarbage");
  const { usedSize, backingStorageSize } = await send("Runtime.getHeapUsage");
  return { used: usedSize, outside: backingStorageSize ?? 0 };
}

/** The least of some readings: what a task has under way is not in it. */
async function heapUsed(inspector) {
  let least = await readHeap(inspector);
  for (let count = 1; count < READINGS; count += 1) {
    await sleep(READING);
    const next = await readHeap(inspector);
    least = next.used < least.used ? next : least;
  }
  return least;
}

/** Bytes of a heap without compiled code and the browser's own, by a snapshot: that stops what runs for a second. */
async function objectBytes(inspector) {
  await inspector.send("HeapProfiler.takeHeapSnapshot");
  const { snapshot, nodes } = JSON.parse(inspector.chunks.splice(0).join(""));
  const { node_fields: fields, node_types: [types] } = snapshot.meta;
  const [type, size] = [fields.indexOf("type"), fields.indexOf("self_size")];
  let bytes = 0;
  for (let at = 0; at < nodes.length; at += fields.length) {
    bytes += NO_OBJECTS.includes(types[nodes[at + type]]) ? 0 : nodes[at + size];
  }
  return bytes;
}

/** Sizes of the heaps at the times asked for. */
async function measureHeaps(page, times) {
  const both = await inspectors(page);
  for (const { send } of both) {
    await send("HeapProfiler.enable");
  }
  const began = performance.now();
  for (const at of times) {
    await sleep(at * 1_000 - (performance.now() - began));
    const seconds = (performance.now() - began) / 1_000;
    const [inPage, inWorker] = await Promise.all(both.map(heapUsed));
    const { states } = await page.evaluate(() => globalThis.measured);
    mustLive({ states });
    const sizes = { page: inPage.used, worker: inWorker.used, outside: inPage.outside + inWorker.outside };
    const edge = at === times[0] || at === times.at(-1);
    const [pageObjects, workerObjects] = edge ? await Promise.all(both.map(objectBytes)) : [];
    const objects = edge ? { objects: pageObjects + workerObjects } : {};
    say("heap", { seconds, ...sizes, ...objects, lost: lostSessions(states) });
  }
}

/** What the page showed first. */
async function tellPaint(page, picture) {
  const entries = await page.evaluate(() =>
    performance.getEntriesByType("paint").map(({ name, startTime }) => [name, startTime]));
  const paints = Object.fromEntries(entries);
  const { states, kind } = await page.evaluate(() => globalThis.measured);
  mustLive({ states });
  if (kind !== options.carrier) {
    throw new Error(`the page uses ${kind} and not ${options.carrier}`);
  }
  say("paint", {
    first: paints["first-paint"] ?? null, contentful: paints["first-contentful-paint"] ?? null, picture,
  });
}

async function measure(link) {
  const heapAt = options["heap-at"].split(",").filter((text) => text !== "").map(Number);
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, args: ARGUMENTS });
  try {
    const context = await browser.newContext();
    // Heaps are those of a worker as users have it, which tells no frames.
    const name = heapAt.length === 0 ? MEASURED : undefined;
    await context.addInitScript(prepare, { carrier: options.carrier, name });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    page.on("crash", () => say("error", { words: "the page crashed" }));
    await page.goto(link);
    const picture = await untilPicture(page);
    await tellPaint(page, picture);
    if (heapAt.length === 0) {
      await measureFrames(browser, page);
    } else {
      await measureHeaps(page, heapAt);
    }
    say("end", { browser: browser.version() });
  } finally {
    await browser.close();
  }
}

try {
  await measure(await readLink());
  process.exit(0);
} catch (error) {
  // An address in an error could have the ticket in it.
  const words = String(error?.message ?? error).split("\n")[0].replaceAll(/#\S+/g, "#…");
  say("error", { words });
  console.error(words);
  process.exit(1);
}
