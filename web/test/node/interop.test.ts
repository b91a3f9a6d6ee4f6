// The TypeScript peer against the real program. The environment variable SEALCAST names the program; without it
// these tests are skipped in words.

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { type Bytes } from "../../src/protocol/bytes.ts";
import { mechanismNamed, suiteNamed } from "../../src/protocol/crypto/policy.ts";
import { generateIdentity, type Identity } from "../../src/protocol/keys/identity.ts";
import { type Role } from "../../src/protocol/keys/messages.ts";
import { HelloKeys, PresharedKey } from "../../src/protocol/keys/psk.ts";
import { RekeyPolicy, type SessionConfig } from "../../src/protocol/session/config.ts";
import { type ShapePlan, constantRate } from "../../src/protocol/session/shape-plan.ts";
import { Session } from "../../src/protocol/session/session.ts";
import { type Unit } from "../../src/protocol/unit/unit.ts";
import { Close } from "../../src/protocol/wire/control.ts";
import { type Selection } from "../../src/protocol/wire/selection.ts";
import { type Ticket, parseTicket } from "../../src/protocol/wire/ticket.ts";
import { assert, same, show } from "../support/harness.ts";
import { Carrier, dial, readClocks } from "./carrier.ts";
import { type Clip, Program, accessUnits, makeClip, within, withFolder } from "./program.ts";

const BINARY = process.env["SEALCAST"];
const SKIP = BINARY === undefined
  ? "not run: set SEALCAST to the path of a sealcast program, such as target/debug/sealcast"
  : false;
const FRAMES = 50;
/** Records of a key, where there are few; no frame has as many. */
const REKEY_RECORDS = 20;

interface Options {
  /** Names with commas between them; the first share is for the first. */
  readonly mechanism?: string;
  readonly suite?: string;
  readonly psk?: PresharedKey;
  readonly rekey?: RekeyPolicy;
  readonly unit?: Unit;
  readonly shape?: ShapePlan;
}

/** Connects to the end that a ticket names. */
async function connect(ticket: Ticket, identity: Identity, role: Role, options: Options): Promise<Carrier> {
  const invite = ticket.invite && (await PresharedKey.fromInvite(ticket.invite));
  const psk = options.psk ?? invite;
  const config: SessionConfig = {
    handshake: {
      role,
      identity,
      helloKeys: await HelloKeys.create(ticket.peer, psk === undefined ? [] : [psk]),
      suites: [suiteNamed(options.suite ?? "aes-256-gcm")],
      mechanisms: (options.mechanism ?? "x25519-mlkem768").split(",").map(mechanismNamed),
    },
    side: "initiator",
    pinned: ticket.peer,
    ...(options.rekey && { rekey: options.rekey }),
    ...(options.unit && { unit: options.unit }),
    ...(options.shape && { shape: options.shape }),
  };
  const random = crypto.getRandomValues(new Uint8Array(32));
  const socket = await dial(ticket.host.name, ticket.port);
  return new Carrier(await Session.initiate(config, random, readClocks()), socket);
}

function sha256(data: Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

/**
 * Watches a publisher to its end, and checks that every access unit of the clip came but `leftOut`, which the publisher
 * counted: behind a constant rate it leaves out groups of pictures that a busy machine has made too late.
 */
async function watchAll(carrier: Carrier, clip: Clip, leftOut: () => Promise<number>): Promise<void> {
  await within(carrier.over, "the end of the stream");
  const frames = carrier.media.filter((media) => media.type === "frame");
  const numbers = frames.map(({ preamble }) => Number(preamble.frame));
  same(frames.map(({ data }) => sha256(data)), numbers.map((number) => clip.hashes[number]), "SHA-256 of access units");
  for (const [at, { keyframe }] of frames.entries()) {
    const [before, number] = [numbers[at - 1] ?? -1, numbers[at] ?? -1];
    assert(number === before + 1 || (number > before && keyframe), `access unit ${number} follows ${before}`);
  }
  same(frames.length + (await leftOut()), clip.hashes.length, "access units that came, and those left out");
  assert(frames.length > 0, "some came");
  same(carrier.media[0]?.type, "info", "the description comes first");
  same(carrier.events.at(-1)?.type, "closed", "the publisher says that it is over");
  const refused = Object.values(carrier.session.refusals).reduce((sum, count) => sum + count, 0);
  same(refused, 0, "refused records");
}

/** The frames that a program says in its report to have left out. */
async function leftOutBy(program: Program, report: string): Promise<number> {
  await program.succeed();
  const { totals } = JSON.parse(await readFile(report, "utf8")) as {
    readonly totals: { readonly frames_dropped: Readonly<Record<string, number>> };
  };
  return Object.values(totals.frames_dropped).reduce((sum, count) => sum + count, 0);
}

interface Watched {
  readonly name: string;
  readonly codec?: "h264" | "mjpeg";
  /** Options of the clip's address. */
  readonly query?: string;
  readonly args: readonly string[];
  readonly options?: Options;
  /** True if it leaves out access units that are late. */
  readonly leavesOut?: boolean;
  readonly check?: (carrier: Carrier) => void;
}

/** Checks that a selection left something in clear and this end was told. */
function leavesInClear({ came, events }: Carrier): void {
  assert(came.clear > 10, `records come in clear: ${show(came)}`);
  assert(events.some(({ type }) => type === "selection"), "this end knows what is in clear");
}

const WATCHED: readonly Watched[] = [
  ...["x25519-mlkem768", "x25519", "p256"].flatMap((mechanism) =>
    ["aes-256-gcm", "aes-128-gcm"].map((suite) => ({
      name: `with ${mechanism} and ${suite}`,
      args: ["--mech", mechanism, "--suite", suite],
      options: { mechanism, suite },
    })),
  ),
  {
    name: "that wants another mechanism than the first",
    args: ["--mech", "p256"],
    options: { mechanism: "x25519,p256" },
    check: (carrier) => {
      assert(carrier.events.some((event) => event.type === "established" && event.facts.mechanism === "p256"), "p256");
    },
  },
  {
    name: "that replaces keys each second and each 16 records",
    args: ["--rekey-seconds", "1", "--rekey-records", "16"],
    // Sixteen further records may pass until both ends have agreed on the next keys.
    query: "?fps=10",
    check: (carrier) => {
      assert((carrier.session.epoch ?? 2n) >= 2n, "keys were replaced");
      assert(carrier.events.filter(({ type }) => type === "rekeyed").length >= 2, "and this end was told");
    },
  },
  {
    name: "that leaves slices in clear, in chunks",
    args: ["--encrypt", "headers+keyframes", "--unit", "chunk:700"],
    check: leavesInClear,
  },
  { name: "that leaves everything in clear", args: ["--encrypt", "none"], check: leavesInClear },
  { name: "of images that are split", codec: "mjpeg", args: ["--encrypt", "level:2"], check: leavesInClear },
  { name: "of images, in packets", codec: "mjpeg", args: ["--unit", "packet"] },
  { name: "that pads its frames", args: ["--shape", "pad:1024"] },
  {
    name: "at a constant rate",
    args: ["--shape", "constant:4mbit"],
    leavesOut: true,
    check: ({ came }) => {
      assert(came.cells > 100 && came.clear + came.encrypted === 0, `all comes in cells: ${show(came)}`);
    },
  },
];

for (const { name, codec = "h264", query = "", args, options = {}, leavesOut = false, check } of WATCHED) {
  void test(`a browser peer gets every access unit of a publisher ${name}`, { skip: SKIP }, async () => {
    await withFolder(async (folder) => {
      const clip = makeClip(folder, codec, FRAMES);
      const report = join(folder, "report.json");
      const program = Program.start(BINARY ?? "", folder, [
        "publish", `file:${clip.file}${query}`, "--listen", "tcp://127.0.0.1:0", "--ticket-file", "-",
        "--report", report, ...args,
      ]);
      try {
        const ticket = parseTicket(await program.line("sealcast://"));
        const carrier = await connect(ticket, await generateIdentity(), "viewer", options);
        await watchAll(carrier, clip, async () => (leavesOut ? leftOutBy(program, report) : 0));
        check?.(carrier);
        await program.succeed();
      } finally {
        program.stop();
      }
    });
  });
}

void test("a browser peer that an invite enrolled comes back without it", { skip: SKIP }, async () => {
  await withFolder(async (folder) => {
    const clip = makeClip(folder, "h264", FRAMES);
    const program = Program.start(BINARY ?? "", folder, [
      "publish", `file:${clip.file}?loop`, "--listen", "tcp://127.0.0.1:0", "--ticket-file", "-",
    ]);
    try {
      const ticket = parseTicket(await program.line("sealcast://"));
      const identity = await generateIdentity();
      const isFrame = ({ type }: { type: string }): boolean => type === "frame";
      const first = await connect(ticket, identity, "viewer", {});
      await within(first.until(() => first.media.some(isFrame)), "a frame");
      const psk = await first.session.takeEnrolment();
      assert(psk !== undefined, "there is a key to keep");
      await first.step(() => first.session.close(readClocks(), Close.GoingAway));
      const second = await connect(ticket, identity, "viewer", { psk });
      await within(second.until(() => second.media.some(isFrame)), "a frame of the second session");
      await second.step(() => second.session.close(readClocks(), Close.GoingAway));
      const third = await connect(ticket, await generateIdentity(), "viewer", {});
      await within(third.over, "a refusal");
      const closed = third.events.at(-1);
      const refused = closed?.type === "closed" && closed.reason === Close.NotAuthorised;
      assert(refused, `a used invite is refused: ${show(closed)}`);
    } finally {
      program.stop();
    }
  });
});

void test("a publisher gives a browser peer new keys and a keyframe when it asks", { skip: SKIP }, async () => {
  await withFolder(async (folder) => {
    const program = Program.start(BINARY ?? "", folder, [
      "publish", "test:320x240@25?gop=1000000", "--listen", "tcp://127.0.0.1:0", "--ticket-file", "-",
    ]);
    try {
      const ticket = parseTicket(await program.line("sealcast://"));
      const carrier = await connect(ticket, await generateIdentity(), "viewer", {});
      const keyframes = (): number => carrier.media.filter((one) => one.type === "frame" && one.keyframe).length;
      await within(carrier.until(() => carrier.media.filter(({ type }) => type === "frame").length > 10), "frames");
      const before = keyframes();
      await carrier.step(() => carrier.session.requestKeyframe(readClocks(), 1));
      await within(carrier.until(() => keyframes() > before), "the keyframe");
      await carrier.step(() => carrier.session.rekey(readClocks()));
      await within(carrier.until(() => (carrier.session.epoch ?? 0n) >= 1n), "new keys");
      await within(carrier.until(() => carrier.events.some(({ type }) => type === "clock")), "a reading of the clock");
      await carrier.step(() => carrier.session.close(readClocks(), Close.GoingAway));
    } finally {
      program.stop();
    }
  });
});

/** Cuts a clip into its access units: ffmpeg says how long each is. */
async function cutClip(clip: Clip, folder: string): Promise<Bytes[]> {
  const bytes = new Uint8Array(await readFile(clip.file));
  const starts = [...unitStarts(bytes), bytes.length];
  const units = starts.slice(1).map((end, at) => bytes.subarray(starts[at], end));
  same(units.map(sha256), clip.hashes, `access units in ${folder}`);
  return units;
}

/** Where access units begin in x264's baseline output: before an SPS or SEI, or a slice right after a slice. */
function unitStarts(bytes: Uint8Array): number[] {
  const starts: number[] = [];
  let afterSlice = true;
  for (let at = 0; at + 3 < bytes.length; at += 1) {
    if (bytes[at] !== 0 || bytes[at + 1] !== 0 || bytes[at + 2] !== 1) {
      continue;
    }
    const kind = (bytes[at + 3] ?? 0) & 31;
    const slice = kind === 1 || kind === 5;
    if (afterSlice) {
      starts.push(bytes[at - 1] === 0 ? at - 1 : at);
    }
    afterSlice = slice;
  }
  return starts;
}

const PUBLISHED: readonly { readonly name: string; readonly options: Options; readonly selection?: Selection }[] = [
  { name: "in whole frames", options: {} },
  {
    name: "in packets with new keys each 20 records",
    options: { unit: "packet", rekey: new RekeyPolicy(REKEY_RECORDS, 600_000) },
  },
  { name: "with p256 and aes-128-gcm", options: { mechanism: "p256", suite: "aes-128-gcm" } },
  { name: "at a constant rate", options: { shape: constantRate(4_000_000) } },
  { name: "with headers and keyframes encrypted", options: {}, selection: { mode: "headers+keyframes" } },
  { name: "with the begin of intra slices encrypted", options: {}, selection: { mode: "level", level: 2 } },
  {
    name: "with intra macroblocks encrypted, in chunks",
    options: { unit: { chunk: 200 } },
    selection: { mode: "level", level: 3 },
  },
];

for (const { name, options, selection } of PUBLISHED) {
  const behaviour = `a listening viewer gets every access unit that a browser peer publishes ${name}`;
  void test(behaviour, { skip: SKIP }, async () => {
    await withFolder(async (folder) => {
      const clip = makeClip(folder, "h264", FRAMES);
      const units = await cutClip(clip, folder);
      const out = join(folder, "out.h264");
      const mechanisms = "x25519-mlkem768,p256".split(",").flatMap((mechanism) => ["--mech", mechanism]);
      const program = Program.start(BINARY ?? "", folder, [
        "watch", "--listen", "tcp://127.0.0.1:0", "--ticket-file", "-", "--to", `file:${out}`, "--no-reconnect",
        ...mechanisms,
      ]);
      try {
        const ticket = parseTicket(await program.line("sealcast://"));
        const carrier = await connect(ticket, await generateIdentity(), "publisher", options);
        await within(carrier.until(() => carrier.session.isEstablished), "an established session");
        if (selection !== undefined) {
          await select(carrier, selection);
        }
        await publishUnits(carrier, units, options.rekey !== undefined);
        same(carrier.session.unsplit, undefined, "every slice is split");
        await within(carrier.over, "the end of the session");
        await within(program.exited, "the viewer's end");
      } finally {
        program.stop();
      }
      same(accessUnits(out), clip.hashes, `SHA-256 of the access units; the program said ${program.stderr}`);
      same(/in clear/.test(program.stderr), selection !== undefined, `what is in clear is said: ${program.stderr}`);
    });
  });
}

/** Puts a selection into force. */
async function select(carrier: Carrier, selection: Selection): Promise<void> {
  await carrier.step(() => carrier.session.select(readClocks(), selection));
  await within(carrier.until(() => carrier.session.selection?.mode === selection.mode), "the viewer's agreement");
}

/**
 * Publishes access units, and ends the session. Where keys are replaced often they wait for the viewer's agreement, on
 * however busy a machine: a camera's pictures leave it the time.
 */
async function publishUnits(carrier: Carrier, units: readonly Bytes[], rekeys: boolean): Promise<void> {
  const { session } = carrier;
  const first = units[0] ?? new Uint8Array(0);
  const info = { codec: "h264", width: 320, height: 240, rate: { numerator: 25, denominator: 1 } } as const;
  // Parameter sets stand before the first slice, in the keyframe too.
  await carrier.step(() => session.sealInfo(readClocks(), 1, { ...info, parameters: parameterSets(first) }));
  for (const [number, data] of units.entries()) {
    const now = readClocks();
    const stamps = {
      frame: BigInt(number), mediaTime: BigInt(number) * 40_000_000n, captured: now.wall, encoded: now.wall,
      previousSeal: 0, previousSend: 0, capture: 0, stamp: "arrival",
    } as const;
    await carrier.step(() => session.sealFrame(now, { stream: 1, keyframe: number % 10 === 0, stamps, data }));
    await carrier.flushed();
    await within(carrier.until(() => session.waitingMedia < 20_000), "room in the cells");
    if (rekeys) {
      await within(carrier.until(() => carrier.sealed < REKEY_RECORDS || session.hasNextEpoch), "an agreement");
    }
  }
  await carrier.step(() => session.close(readClocks(), Close.EndOfStream));
}

/** SPS and PPS of a keyframe. */
function parameterSets(unit: Bytes): Bytes {
  const kinds = new Map<number, Bytes>();
  const starts: number[] = [];
  for (let at = 0; at + 3 < unit.length; at += 1) {
    if (unit[at] === 0 && unit[at + 1] === 0 && unit[at + 2] === 1) {
      starts.push(unit[at - 1] === 0 ? at - 1 : at);
    }
  }
  for (const [index, start] of starts.entries()) {
    const nal = unit.subarray(start, starts[index + 1] ?? unit.length);
    const header = nal[2] === 1 ? nal[3] : nal[4];
    kinds.set((header ?? 0) & 31, nal);
  }
  const [sps, pps] = [kinds.get(7), kinds.get(8)];
  assert(sps !== undefined && pps !== undefined, "a keyframe has parameter sets");
  return new Uint8Array([...sps, ...pps]);
}
