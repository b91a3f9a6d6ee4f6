// Bytes that nobody who follows the protocol sends: every parser and every state answers with the protocol's own error.

import { type Bytes, concat } from "../src/protocol/bytes.ts";
import { X25519 } from "../src/protocol/crypto/curves.ts";
import { ProtocolError } from "../src/protocol/error.ts";
import { alerted, parseFinish, parseHello, parseReply, parseRetry } from "../src/protocol/keys/messages.ts";
import { parseSheet } from "../src/protocol/group/sheet.ts";
import { parseTerms } from "../src/protocol/group/terms.ts";
import { type Purpose } from "../src/protocol/keys/epoch.ts";
import { identityFromSeed, seedOfIdentityFile } from "../src/protocol/keys/identity.ts";
import { signRekey } from "../src/protocol/keys/rekey-signature.ts";
import { parseAnswer } from "../src/protocol/live/answer.ts";
import { constantRate } from "../src/protocol/session/shape-plan.ts";
import { parseProof } from "../src/protocol/sign/statement.ts";
import { parseInfo } from "../src/protocol/unit/info.ts";
import { parseSoundInfo } from "../src/protocol/unit/sound-info.ts";
import { joinImage, splitImage } from "../src/protocol/unit/jpeg-split/split.ts";
import { type Preamble, preambleBytes, splitPreamble } from "../src/protocol/unit/preamble.ts";
import { splitUnit } from "../src/protocol/unit/unit-header.ts";
import { parseCell } from "../src/protocol/wire/cell.ts";
import { answerHead, offerHead, parseControl } from "../src/protocol/wire/control.ts";
import { MessageReader } from "../src/protocol/wire/framing.ts";
import {
  CONFIG_FLAGS, CONTROL_FLAGS, Flag, HEADER_LEN, Kind, REPAIR_FLAGS, TAG_LEN, frameFlags, parseHeader,
} from "../src/protocol/wire/header.ts";
import { parseTicket } from "../src/protocol/wire/ticket.ts";
import { assert, same, sequence, test } from "./support/harness.ts";
import { type Deceived, deceivedPublisher, deceivedViewer } from "./support/liar.ts";
import { type End, Pair, frame } from "./support/pair.ts";

const TRIALS = 400;

const PARSERS: Readonly<Record<string, (bytes: Bytes) => unknown>> = {
  hello: (bytes) => parseHello(bytes, true, "viewer"),
  retry: parseRetry,
  reply: parseReply,
  finish: parseFinish,
  alert: alerted,
  control: parseControl,
  cell: parseCell,
  sheet: (bytes) => parseSheet(concat(Uint8Array.of(0x20, 1, 1, 2, 0, 0, 0, 1), bytes)),
  terms: (bytes) => parseTerms(concat(Uint8Array.of(0x21, 1, 1, 2, 0, 0, 0, 1), bytes)),
  proof: (bytes) => parseProof(concat(Uint8Array.of(1), bytes)),
  answer: (bytes) => parseAnswer(concat(Uint8Array.of(1), bytes)),
  header: (bytes) => parseHeader(bytes, "clear"),
  preamble: splitPreamble,
  info: parseInfo,
  sound: parseSoundInfo,
  unit: (bytes) => splitUnit(bytes, false),
  "split image": joinImage,
  image: (bytes) => splitImage(concat(Uint8Array.of(0xff, 0xd8), bytes), 5),
  ticket: (bytes) => parseTicket(`sealcast://${String.fromCharCode(...bytes)}`),
  identity: (bytes) => seedOfIdentityFile(`sealcast-identity-1\n${String.fromCharCode(...bytes)}\n`),
  framing: (bytes) => {
    const reader = new MessageReader();
    reader.push(bytes);
    return reader.next(4_096);
  },
};

/** Random bytes of up to 300; the first ones are often small, as kinds and types are. */
function randomBytes(next: () => number): Bytes {
  const bytes = new Uint8Array(next() % 300).map(() => next() & 0xff);
  bytes.subarray(0, 2).forEach((_, at) => (bytes[at] = next() % 24));
  return bytes;
}

for (const [name, parse] of Object.entries(PARSERS)) {
  test(`random bytes as ${name} are parsed or refused with the protocol's own error`, () => {
    const next = sequence(31);
    for (let trial = 0; trial < TRIALS; trial += 1) {
      try {
        parse(randomBytes(next));
      } catch (thrown) {
        assert(thrown instanceof ProtocolError, `seed 31, trial ${trial}: ${String(thrown)}`);
      }
    }
  });
}

async function refusalsOf(pair: Pair, end: End, message: Bytes): Promise<string> {
  const sum = (): number => Object.values(end.session.refusals).reduce((total, count) => total + count, 0);
  const before = sum();
  try {
    await end.session.message(pair.now, message);
    return sum() > before ? "refused" : "taken";
  } catch (thrown) {
    assert(thrown instanceof ProtocolError, String(thrown));
    return "ended";
  }
}

test("random bytes end a handshake, and random records are refused by a session", async () => {
  const next = sequence(33);
  for (let trial = 0; trial < 60; trial += 1) {
    const shaking = await Pair.begin({ tamper: () => undefined });
    for (const end of [shaking.initiator, shaking.responder]) {
      same(await refusalsOf(shaking, end, concat(Uint8Array.of(3), randomBytes(next))), "ended", `trial ${trial}`);
      assert(end.session.isOver, "the session is over");
    }
  }
  const pair = await Pair.begin();
  await pair.run();
  for (let trial = 0; trial < 15; trial += 1) {
    for (const end of [pair.viewer, pair.publisher]) {
      const record = randomBytes(next).slice(0, 200);
      const whole = concat(new Uint8Array(HEADER_LEN), record, new Uint8Array(TAG_LEN));
      whole.set([Kind.Control, 1, 0, next() % 3]);
      same(await refusalsOf(pair, end, whole), "refused", `seed 33, trial ${trial}`);
    }
  }
  await pair.publisher.session.sealFrame(pair.now, frame(0, true));
  await pair.run();
  same(pair.viewer.media.length, 1, "the session goes on");
});

/** What an authentic peer must not send, as the payload of a control record, and who gets it. */
const VIOLATIONS: readonly (readonly [what: string, to: "viewer" | "publisher", payload: readonly number[]])[] = [
  ["an empty message", "viewer", []],
  ["a second welcome", "viewer", [1]],
  ["a ping that is cut", "viewer", [6, 1]],
  ["a request for a keyframe", "viewer", [5, 0, 0, 0, 1]],
  ["a request for keys", "viewer", [8]],
  ["an acknowledgement", "viewer", [10, 0, 1]],
  ["a selection without a number", "viewer", [9, 0, 0, 1, 0, 0]],
  ["a nack", "viewer", [12, 1, 0, 0, 0, 1, 0]],
  ["a shape outside of cells", "viewer", [19, 0, 76, 75, 64, 0, 1, 4, 172, 1, 49, 45, 0, 0, 1, 1, 176]],
  ["a path challenge", "viewer", [17, 1, 2, 3, 4, 5, 6, 7, 8]],
  ["a selection", "publisher", [9, 0, 1, 1, 0, 0]],
  ["a nack on a byte stream", "publisher", [12, 1, 0, 0, 0, 1, 0]],
  ["a welcome", "publisher", [1]],
  ["an offer of keys", "publisher", [3, 0, 1, 2, 0, 1, 9, ...new Uint8Array(64)]],
  ["an offer of keys without a signature", "viewer", [3, 0, 1, 2, 0, 1, 9, ...new Uint8Array(64)]],
];

/** The reason for which the victim's session ends; empty if it goes on. */
async function ends({ victim, now }: Deceived, message: Bytes): Promise<string> {
  try {
    await victim.message(now, message);
    return "";
  } catch (thrown) {
    assert(thrown instanceof ProtocolError, String(thrown));
    assert(victim.isOver, "the session is over");
    return thrown.reason;
  }
}

test("an authentic peer that breaks the protocol in a control message ends the session", async () => {
  for (const [what, to, payload] of VIOLATIONS) {
    const pair = to === "viewer" ? await deceivedViewer() : await deceivedPublisher();
    same(await ends(pair, await pair.control(Uint8Array.from(payload))), "protocol-error", what);
    const told = pair.drain().filter(({ type }) => type === "transmit");
    same(told.length, 1, `${what}: the peer is told once`);
  }
});

test("an unknown message and one between gateways are ignored", async () => {
  const pair = await deceivedViewer();
  for (const payload of [[99, 1, 2], [16, 1, 2, 3]]) {
    same(await ends(pair, await pair.control(Uint8Array.from(payload))), "", "message");
  }
  assert(pair.victim.isEstablished, "the session goes on");
});

const PREAMBLE = frame(0, true).stamps;

/** The payload of a frame's first record. */
function framePayload(changes: Partial<Preamble>, data: Bytes): Bytes {
  return concat(preambleBytes({ ...PREAMBLE, padding: 0, layout: "source", kept: false, ...changes }), data);
}

const WHOLE = frameFlags(true, true, true);

test("an authentic peer that breaks the protocol in media or cells ends the session", async () => {
  const data = Uint8Array.of(1, 0, 0);
  const cases: readonly (readonly [string, Purpose, number, number, Bytes])[] = [
    ["a frame without a preamble", "media", WHOLE, 1, data],
    ["more padding than bytes", "media", WHOLE, 1, framePayload({ padding: 4 }, data)],
    ["padding that is not zero", "media", WHOLE, 1, framePayload({ padding: 3 }, data)],
    ["a split image that is none", "media", WHOLE, 1, framePayload({ layout: "split-scan" }, data)],
    ["a description that is none", "media", CONFIG_FLAGS, 1, data],
    ["a repair symbol", "media", REPAIR_FLAGS, 1, data],
    ["a cell that points beyond itself", "cell", CONTROL_FLAGS, 0, Uint8Array.of(0, 9, 255, 255, 1)],
    ["a cell with a cell in it", "cell", CONTROL_FLAGS, 0, cellWith(new Uint8Array(40).fill(Kind.Cell))],
    ["a cell with a record of no length", "cell", CONTROL_FLAGS, 0, Uint8Array.of(0, 4, 0, 0, 0, 0, 0, 0)],
  ];
  for (const [what, purpose, flags, stream, payload] of cases) {
    const pair = await deceivedViewer();
    same(await ends(pair, await pair.seal(purpose, flags, stream, payload)), "protocol-error", what);
  }
  const publisher = await deceivedPublisher();
  const media = await publisher.seal("media", WHOLE, 1, framePayload({}, data));
  same(await ends(publisher, media), "protocol-error", "media from a viewer");
  const other = await deceivedPublisher();
  const cell = await other.seal("cell", CONTROL_FLAGS, 0, cellWith(data));
  same(await ends(other, cell), "protocol-error", "a cell that nobody asked for");
});

/** The payload of a cell with one record in it. */
function cellWith(record: Bytes): Bytes {
  const inner = concat(Uint8Array.of(0, 0, 0, record.length), record);
  return concat(Uint8Array.of(0, inner.length, 0, 0), inner);
}

test("parts of one frame that differ are the peer's fault", async () => {
  for (const [flags, stream] of [[frameFlags(false, false, true), 1], [frameFlags(true, false, true), 2]] as const) {
    const pair = await deceivedViewer();
    const payload = framePayload({}, Uint8Array.of(1));
    const first = await pair.seal("media", frameFlags(true, true, false), 1, payload);
    same(await ends(pair, first), "", "the first part");
    same(await ends(pair, await pair.seal("media", flags, stream, payload)), "protocol-error", "the second part");
  }
});

test("an offer of new keys counts only with the publisher's signature", async () => {
  for (const honest of [true, false]) {
    const pair = await deceivedViewer();
    const signer = honest ? pair.identity : await identityFromSeed(new Uint8Array(32).fill(77));
    const head = offerHead(1, X25519.id, (await X25519.generate()).share);
    const offer = await signRekey(signer, { binding: pair.binding, epoch: 1n }, head);
    same(await ends(pair, await pair.control(offer)), honest ? "" : "protocol-error", `honest ${honest}`);
  }
});

test("an answer to an offer counts only with the viewer's signature", async () => {
  for (const honest of [true, false]) {
    const pair = await deceivedPublisher();
    await pair.victim.rekey(pair.now);
    const payload = await pair.heard();
    const offer = parseControl(payload);
    assert(offer.type === "rekey-offer", "the publisher offers new keys");
    const { ciphertext } = await X25519.encapsulate(offer.share);
    const signer = honest ? pair.identity : await identityFromSeed(new Uint8Array(32).fill(77));
    const context = { binding: pair.binding, epoch: 1n };
    const answer = await signRekey(signer, context, answerHead(1, ciphertext), payload);
    same(await ends(pair, await pair.control(answer)), honest ? "" : "protocol-error", `honest ${honest}`);
  }
});

test("records in clear are accepted for five seconds after everything is encrypted again", async () => {
  const pair = await deceivedViewer();
  const clear = (): Promise<Bytes> =>
    pair.seal("media", WHOLE & ~Flag.Encrypted, 1, framePayload({}, Uint8Array.of(1)));
  same(await ends(pair, await pair.control(Uint8Array.of(9, 0, 1, 1, 0, 0))), "", "a selection");
  same(await ends(pair, await pair.control(Uint8Array.of(9, 0, 2, 0, 0, 0))), "", "everything again");
  for (const [after, refused] of [[4_999, 0], [5_000, 1]] as const) {
    await pair.victim.message({ ...pair.now, monotonic: pair.now.monotonic + after }, await clear());
    same(pair.victim.refusals.cleartext, refused, `after ${after} ms`);
  }
});

test("records in clear are refused unless a selection leaves something in clear", async () => {
  const pair = await deceivedViewer();
  const inClear = WHOLE & ~Flag.Encrypted;
  const clear = await pair.seal("media", inClear, 1, framePayload({}, Uint8Array.of(1)));
  await pair.victim.message(pair.now, clear);
  same(pair.victim.refusals.cleartext, 1, "before a selection");
  same(await ends(pair, await pair.control(Uint8Array.of(9, 0, 1, 1, 0, 0))), "", "selection");
  const later = await pair.seal("media", inClear, 1, framePayload({}, Uint8Array.of(1)));
  await pair.victim.message(pair.now, later);
  same(pair.victim.refusals.cleartext, 1, "after it");
  assert(pair.drain().some(({ type }) => type === "media"), "the frame is handed out");
  const again = await pair.control(Uint8Array.of(9, 0, 1, 3, 0, 0));
  same(await ends(pair, again), "protocol-error", "another selection under the same number");
});

test("a publisher cannot make a viewer send cells faster than every ten milliseconds", async () => {
  const fast = constantRate(2_000_000);
  const pair = await Pair.begin({ publisher: { shape: { ...fast, viewer: { ...fast.viewer, tick: 9_999_999 } } } });
  let reason = "";
  await pair.pass(500).catch((error: unknown) => {
    reason = error instanceof ProtocolError ? error.reason : String(error);
  });
  same(reason, "protocol-error", "reason");
});
