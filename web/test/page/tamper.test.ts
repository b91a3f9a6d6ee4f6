// Somebody on the path changes what the program sends: it is refused and counted, and what is shown is right.

import { test } from "node:test";

import { assert, same } from "../support/harness.ts";
import { OPTIONS, type Visit, withProfile } from "./support/browser.ts";
import { Proxy, type Tamper } from "./support/proxy.ts";
import { type Clip, partsOf, throughPort, withClip } from "./support/servers.ts";
import { checkUnits, untilWholeClip } from "./support/units.ts";

/** The frame that is tampered with: the stream runs, and a keyframe is not near. */
const TARGET = 20;
/** Bytes of a record before its payload: the header of protocol.md, section 2. */
const HEADER = 24;

/** A record with one bit changed. */
function flipped(message: Buffer, at: number): Buffer {
  const changed = Buffer.from(message);
  changed[at] = (changed[at] ?? 0) ^ 1;
  return changed;
}

/** Watches a clip through somebody who tampers. */
async function through(tamper: Tamper, body: (visit: Visit, clip: Clip) => Promise<void>): Promise<void> {
  await withClip([], async ({ link }, clip) => {
    const proxy = await Proxy.before(partsOf(link).port, { tamper });
    try {
      await withProfile(async (profile) => {
        await body(await profile.visitBy("websocket", throughPort(link, proxy.port)), clip);
      });
    } finally {
      proxy.close();
    }
  });
}

/** Waits until so many records were refused for this reason. */
async function untilRefused(visit: Visit, reason: string): Promise<void> {
  await visit.until(`a refused record (${reason})`, ({ told }, wanted) =>
    (told.at(-1)?.figures?.refused[wanted] ?? 0) > 0, reason);
}

interface Case {
  readonly what: string;
  readonly tamper: Tamper;
  readonly reason: string;
}

/** Passes frame number `from` on, and again before frame number `to`. */
function again(from: number, to: number): Tamper {
  let kept: Buffer | undefined;
  return (message, { frame }) => {
    kept = frame === from ? message : kept;
    return frame === to && kept !== undefined ? [kept, message] : [message];
  };
}

/** Puts the end of frame `at + 1` behind the begin of frame `at`, which came unharmed before. */
function spliced(at: number): Tamper {
  let head: Buffer = Buffer.alloc(0);
  return (message, { frame }) => {
    head = frame === at ? message.subarray(0, HEADER + 200) : head;
    return [frame === at + 1 ? Buffer.concat([head, message.subarray(HEADER + 200)]) : message];
  };
}

/** Changes frame `at`. */
function changed(at: number, change: (message: Buffer) => Buffer): Tamper {
  return (message, { frame }) => [frame === at ? change(Buffer.from(message)) : message];
}

/** Writes a number into the header of frame `at`. */
function rewritten(at: number, rewrite: (message: Buffer) => unknown): Tamper {
  return changed(at, (message) => {
    rewrite(message);
    return message;
  });
}

const CASES: readonly Case[] = [
  { what: "a bit of the picture was flipped", reason: "tag", tamper: changed(5, (message) => flipped(message, 124)) },
  { what: "a bit of the time was flipped", reason: "tag", tamper: changed(10, (message) => flipped(message, 23)) },
  { what: "it came twice", reason: "replay", tamper: again(30, 30) },
  { what: "it came again much later", reason: "replay", tamper: again(26, 40) },
  { what: "it was put together of two", reason: "replay", tamper: spliced(55) },
  {
    what: "it bears the number of another one", reason: "tag",
    tamper: rewritten(65, (message) => message.writeBigUInt64BE(message.readBigUInt64BE(8) + 1_000n, 8)),
  },
  {
    what: "it claims to be in clear", reason: "cleartext",
    tamper: rewritten(80, (message) => message.writeUInt8(message.readUInt8(1) & 0xfe, 1)),
  },
  {
    what: "it is of keys that were never agreed on", reason: "unknown-epoch",
    tamper: rewritten(90, (message) => message.writeUInt16BE(7, 2)),
  },
];

void test("the page refuses each record that was changed or repeated, counts it, and goes on", OPTIONS, async (run) => {
  const all: Tamper = (message, place) =>
    CASES.reduce<readonly Buffer[]>((messages, { tamper }) => messages.flatMap((one) => tamper(one, place)), [message]);
  const counts: Record<string, number> = {};
  for (const { what, reason } of CASES) {
    counts[reason] = (counts[reason] ?? 0) + 1;
    run.diagnostic(`${reason}: ${what}`);
  }
  await through(all, async (visit, clip) => {
    await untilRefused(visit, "unknown-epoch");
    await untilWholeClip(visit, clip);
    const told = await checkUnits(visit, clip);
    same(told.figures?.refused, counts, "refused records");
    for (const reason of Object.keys(counts)) {
      assert(told.events.some(({ words, bad }) => bad && words.includes(`(${reason})`)), `the log has ${reason}`);
    }
    await visit.openDetails();
    const shown = await visit.page.locator("#refused").innerText();
    assert(Object.keys(counts).every((reason) => shown.includes(reason)), `the page shows each reason: ${shown}`);
    same(told.states.map(({ state }) => state), ["connecting", "handshake", "live"], "states");
  });
});

void test("records that were swapped on the way never show pictures out of order", OPTIONS, async () => {
  let kept: Buffer | undefined;
  const swap: Tamper = (message, { frame }) => {
    if (frame === TARGET) {
      kept = message;
      return [];
    }
    return frame === TARGET + 1 && kept !== undefined ? [message, kept] : [message];
  };
  await through(swap, async (visit, clip) => {
    await untilWholeClip(visit, clip);
    const { units } = await checkUnits(visit, clip);
    const pair = units.filter(({ frame }) => frame === TARGET || frame === TARGET + 1);
    assert(pair.length < 2, `of two swapped frames one at most is decoded: ${JSON.stringify(pair)}`);
  });
});

void test("records of another session are refused", OPTIONS, async () => {
  // One of the first session's records, in the place of the second session's with the same number. What is sent when
  // the viewer asks for a keyframe takes numbers too, and on a busy machine it asks more often: the same frame would
  // have another number, and if that was before, it would be refused as a replay before its tag is looked at.
  const ofFirst = new Map<bigint, Buffer>();
  let given = false;
  const splice: Tamper = (message, { socket, frame }) => {
    if (frame === undefined) {
      return [message];
    }
    const number = message.readBigUInt64BE(8);
    if (socket === 0) {
      ofFirst.set(number, message);
      return [message];
    }
    const stolen = given || frame < 5 ? undefined : ofFirst.get(number);
    given ||= stolen !== undefined;
    return [stolen ?? message];
  };
  await through(splice, async (visit, clip) => {
    await visit.untilDrawn(TARGET + 10);
    await visit.openDetails();
    await visit.page.locator("#reconnect").click();
    await visit.until("the second connection", ({ told }, count) => told.length === count, 2);
    await untilRefused(visit, "tag");
    await untilWholeClip(visit, clip);
    same((await checkUnits(visit, clip)).figures?.refused, { tag: 1 }, "refused records");
  });
});

void test("a record that is none ends the session, and the page connects again", OPTIONS, async () => {
  const destroy: Tamper = (message, { socket, frame }) =>
    socket === 0 && frame === TARGET ? [Buffer.from(message).fill(0x77, 0, 1)] : [message];
  await through(destroy, async (visit, clip) => {
    await visit.until("another session after a loss", ({ told }, wanted) => {
      const states = told.at(-1)?.states.map(({ state }) => state) ?? [];
      return states.join() === wanted;
    }, "connecting,handshake,live,lost,live");
    await untilWholeClip(visit, clip);
    await checkUnits(visit, clip, 2);
    await visit.untilNotice("none");
  });
});

void test("a stream of nothing but rubbish shows nothing, and the page counts what it refused", OPTIONS, async () => {
  const rubbish: Tamper = (message, { frame }) => [frame === undefined ? message : flipped(message, HEADER + 50)];
  await through(rubbish, async (visit) => {
    await visit.until("refused records", ({ told }, count) => (told.at(-1)?.figures?.refused["tag"] ?? 0) > count, 40);
    const told = await visit.told();
    same(told.units, [], "access units that go to the decoder");
    await visit.checkBlank();
    await visit.untilNotice("tampered");
    assert(/altered or repeated on the way/.test(await visit.page.locator("#notice").innerText()), "the page says why");
    await visit.screenshot("tampered");
  });
});

void test("a picture that nothing follows any more is not shown as live", OPTIONS, async () => {
  const withhold: Tamper = (message, { frame }) => (frame !== undefined && frame > 30 ? [] : [message]);
  await through(withhold, async (visit) => {
    await visit.untilNotice("none");
    await visit.page.locator('#view:not([data-notice="none"])').waitFor();
    assert(await visit.page.locator("#notice").isVisible(), "the page says that there is no picture");
    assert(!(await visit.page.locator("#picture canvas").isVisible()), "the old picture is not seen");
  });
});
