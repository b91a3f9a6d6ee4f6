// Two TypeScript ends talk to each other: all mechanisms and suites, rekeying, selections, cells, and damage.

import { type Bytes } from "../src/protocol/bytes.ts";
import { overrideFeatures } from "../src/protocol/crypto/features.ts";
import { P256, X25519 } from "../src/protocol/crypto/curves.ts";
import { MLKEM768, X25519_MLKEM768 } from "../src/protocol/crypto/mlkem.ts";
import { PresharedKey } from "../src/protocol/keys/psk.ts";
import { AES_128_GCM, AES_256_GCM } from "../src/protocol/seal/suite.ts";
import { RekeyPolicy } from "../src/protocol/session/config.ts";
import { constantRate } from "../src/protocol/session/shape-plan.ts";
import { Close } from "../src/protocol/wire/control.ts";
import { Flag, Kind } from "../src/protocol/wire/header.ts";
import { Invite } from "../src/protocol/wire/invite.ts";
import { type Selection } from "../src/protocol/wire/selection.ts";
import { assert, reasonOf, same, sequence, test } from "./support/harness.ts";
import { Pair, type PairOptions, frame, framesOf } from "./support/pair.ts";

const INFO = {
  codec: "h264", width: 640, height: 480, rate: { numerator: 25, denominator: 1 }, parameters: new Uint8Array([1, 2]),
} as const;

async function established(options: PairOptions = {}): Promise<Pair> {
  const pair = await Pair.begin(options);
  await pair.run();
  assert(pair.initiator.session.isEstablished && pair.responder.session.isEstablished, "both are established");
  return pair;
}

/** Publishes frames `from` to below `to`, one each 40 ms, each tenth a keyframe, and checks that they arrive whole. */
async function publish(pair: Pair, from: number, to: number, length = 1_000): Promise<void> {
  const before = framesOf(pair.viewer).length;
  for (let number = from; number < to; number += 1) {
    await pair.publisher.session.sealFrame(pair.now, frame(number, number % 10 === 0, length));
    await pair.pass(40);
  }
  const frames = framesOf(pair.viewer).slice(before);
  same(frames.map(({ preamble }) => preamble.frame), numbers(from, to), "frames");
  for (const { data, preamble } of frames) {
    same(data, frame(Number(preamble.frame), true, length).data, `frame ${preamble.frame}`);
  }
}

function numbers(from: number, to: number): bigint[] {
  return Array.from({ length: to - from }, (_, at) => BigInt(from + at));
}

const COMBINATIONS = [X25519_MLKEM768, X25519, P256, MLKEM768].flatMap((mechanism) =>
  [AES_128_GCM, AES_256_GCM].map((suite) => ({ mechanism, suite })),
);

for (const { mechanism, suite } of COMBINATIONS) {
  test(`frames and new epochs pass with ${mechanism.name} and ${suite.name}`, async () => {
    for (const initiatorRole of ["viewer", "publisher"] as const) {
      const pair = await established({ mechanisms: [mechanism], suites: [suite], initiatorRole });
      const { facts } = pair.viewer.session;
      same([facts?.mechanism, facts?.suite], [mechanism.name, suite.name], "choice");
      same(facts?.sessionId, pair.publisher.session.facts?.sessionId, "session id");
      await pair.publisher.session.sealInfo(pair.now, 1, INFO);
      await publish(pair, 0, 5);
      await pair.publisher.session.rekey(pair.now);
      await publish(pair, 5, 25);
      await pair.viewer.session.rekey(pair.now);
      await publish(pair, 25, 60);
      const media = pair.viewer.media[0];
      same(media, { type: "info", stream: 1, info: INFO }, "description");
      same([pair.publisher.session.epoch, pair.viewer.session.epoch], [2n, 2n], "epochs");
      const events = pair.publisher.events.filter(({ type }) => type === "rekeyed");
      same(events, [1n, 2n].map((epoch) => ({ type: "rekeyed", epoch, cause: "demand" })), "events");
      const refused = [pair.viewer, pair.publisher].flatMap(({ session }) => Object.values(session.refusals));
      assert(refused.every((count) => count === 0), "nothing is refused");
    }
  });
}

test("without native Ed25519, X25519 and ML-KEM the same handshakes succeed", async () => {
  overrideFeatures({ ed25519: false, x25519: false, mlkem768: false, mldsa65: false });
  try {
    for (const mechanism of [X25519_MLKEM768, X25519, P256]) {
      const pair = await established({ mechanisms: [mechanism] });
      await pair.publisher.session.rekey(pair.now);
      await publish(pair, 0, 12);
    }
  } finally {
    overrideFeatures();
  }
});

test("a responder that prefers another mechanism gets it by a retry", async () => {
  const pair = await established({ offers: [X25519, P256], mechanisms: [P256, X25519] });
  same(pair.viewer.session.facts?.mechanism, "p256", "mechanism");
  same(pair.initiator.sent[0]?.[0], 1, "first hello");
  same(pair.initiator.sent[1]?.[0], 1, "second hello");
  await publish(pair, 0, 3);
});

test("an invite is proved and leaves both ends the same pre-shared key", async () => {
  const psk = await PresharedKey.fromInvite(new Invite(new Uint8Array(16).fill(9)));
  const pair = await established({ psk });
  same(pair.publisher.session.facts?.peer.pskName, await psk.name(), "name");
  const keys = [await pair.initiator.session.takeEnrolment(), await pair.responder.session.takeEnrolment()];
  same(await keys[0]?.name(), await keys[1]?.name(), "enrolment");
  same(await pair.initiator.session.takeEnrolment(), undefined, "it is taken once");
  const again = await established({ ...(keys[0] && { psk: keys[0] }) });
  await publish(again, 0, 3);
});

test("ends that have nothing in common say so", async () => {
  const pair = await Pair.begin({ mechanisms: [P256], offers: [X25519] });
  same(await reasonOf(() => pair.run(), "handshake"), "no-common-mechanism", "responder");
  same(await reasonOf(() => pair.run(), "handshake"), "alert", "initiator");
  assert(pair.initiator.session.isOver && pair.responder.session.isOver, "both are over");
});

test("keys are replaced by their age and by the number of records", async () => {
  const byAge = await established({ publisher: { rekey: new RekeyPolicy(2 ** 20, 4_000) } });
  await publish(byAge, 0, 250);
  same([byAge.publisher.session.epoch, byAge.viewer.session.epoch], [2n, 2n], "two epochs in ten seconds");
  const byCount = await established({ publisher: { rekey: new RekeyPolicy(16, 600_000) } });
  await publish(byCount, 0, 100);
  const epoch = byCount.publisher.session.epoch ?? 0n;
  assert(epoch >= 4n && epoch === byCount.viewer.session.epoch, `an epoch for about 20 records, not ${epoch}`);
  assert(byCount.publisher.events.some((event) => event.type === "rekeyed" && event.cause === "count"), "cause");
});

test("without an answer to its offer a publisher seals no more than the hard limit", async () => {
  const pair = await established({
    publisher: { rekey: new RekeyPolicy(16, 600_000) },
    tamper: (message, from, index) => {
      const answers = from === "initiator" && index > 1 && message[0] === Kind.Control;
      return answers ? undefined : message;
    },
  });
  const reason = await reasonOf(async () => {
    for (let number = 0; number < 40; number += 1) {
      await pair.publisher.session.sealFrame(pair.now, frame(number, number === 0));
      await pair.run();
    }
  }, "publishing");
  same(reason, "key-limit", "reason");
  same(framesOf(pair.viewer).length, 32, "frames under one key");
});

/** The flag `encrypted` of each media record that the publisher has sent. */
function encrypted(pair: Pair, from: number): boolean[] {
  const media = pair.publisher.sent.slice(from).filter((message) => message[0] === Kind.Media);
  return media.map((message) => ((message[1] ?? 0) & Flag.Encrypted) !== 0);
}

test("nothing is in clear before the viewer has agreed, and then only what the selection leaves", async () => {
  const cases: readonly [Selection, (keyframe: boolean) => boolean][] = [
    [{ mode: "none" }, () => false],
    [{ mode: "keyframes" }, (keyframe) => keyframe],
    [{ mode: "level", level: 4 }, () => true],
  ];
  for (const [selection, expected] of cases) {
    const pair = await established();
    await publish(pair, 0, 10);
    await pair.publisher.session.select(pair.now, selection);
    await pair.publisher.session.sealFrame(pair.now, frame(10, true));
    assert(encrypted(pair, 0).every(Boolean), "all is encrypted without an acknowledgement");
    await pair.run();
    same(encrypted(pair, 0).at(-1), true, "the frame before the acknowledgement");
    const from = pair.publisher.sent.length;
    await publish(pair, 11, 31);
    same(encrypted(pair, from), numbers(11, 31).map((number) => expected(number % 10n === 0n)), selection.mode);
    same(pair.viewer.session.selection, selection, "the viewer knows");
    await pair.publisher.session.select(pair.now, { mode: "all" });
    const back = pair.publisher.sent.length;
    await publish(pair, 31, 41);
    assert(encrypted(pair, back).every(Boolean), "all is encrypted again at once");
  }
});

test("a rate leaves about its share of units in clear, the same with the same seed", async () => {
  const shares: boolean[][] = [];
  for (const selectionSeed of [7, 7, 8]) {
    const pair = await established({ publisher: { selectionSeed, unit: { chunk: 100 } } });
    await pair.publisher.session.select(pair.now, { mode: "rate", thousandths: 250 });
    await pair.run();
    const from = pair.publisher.sent.length;
    await publish(pair, 0, 40);
    shares.push(encrypted(pair, from));
  }
  const [first, second, third] = shares.map((share) => share.join());
  same(first, second, "the same seed");
  assert(first !== third, "another seed");
  const share = (shares[0] ?? []).filter(Boolean).length / (shares[0] ?? []).length;
  assert(share > 0.15 && share < 0.35, `share ${share} of 0.25 (seed 7)`);
});

test("what a viewer may not do is refused as misuse, and ends nothing", async () => {
  const pair = await established();
  same(await reasonOf(() => pair.viewer.session.select(pair.now, { mode: "none" }), "viewer"), "misuse", "viewer");
  same(await reasonOf(() => pair.viewer.session.sealFrame(pair.now, frame(0, true)), "viewer"), "misuse", "viewer");
  await publish(pair, 0, 3);
});

test("frames pass whatever the unit is, empty ones and long ones too", async () => {
  for (const unit of ["frame", "packet", { chunk: 16 }, { chunk: 1_000 }] as const) {
    for (const length of [0, 1, 1_148, 5_000]) {
      const pair = await established({ publisher: { unit } });
      await publish(pair, 0, 3, length);
    }
  }
  const pair = await established();
  await publish(pair, 0, 1, 9_000_000);
});

test("records that are removed, altered or repeated cost frames and never the session", async () => {
  let step = 0;
  const pair = await established({
    tamper: (message, from, index) => {
      const media = from === "responder" && index > 0 && message[0] === Kind.Media;
      step += media ? 1 : 0;
      if (!media || step % 4 !== 0) {
        return message;
      }
      if (step % 8 === 0) {
        return undefined;
      }
      const altered = message.slice();
      altered[30] = (altered[30] ?? 0) ^ 1;
      return altered;
    },
  });
  for (let number = 0; number < 60; number += 1) {
    await pair.publisher.session.sealFrame(pair.now, frame(number, number % 10 === 0));
    await pair.pass(40);
  }
  const repeated = pair.publisher.sent.find((message) => message[0] === Kind.Media);
  assert(repeated !== undefined, "media was sent");
  await pair.deliver(pair.viewer, repeated.slice());
  const { tag, replay } = pair.viewer.session.refusals;
  same([tag, replay], [8, 1], "refusals");
  assert(pair.viewer.session.isEstablished && pair.publisher.session.isEstablished, "the session goes on");
  for (const { data, preamble } of framesOf(pair.viewer)) {
    same(data, frame(Number(preamble.frame), true).data, `frame ${preamble.frame}`);
  }
  assert(pair.viewer.media.some(({ type }) => type === "undecodable"), "what cannot be decoded is held back");
  assert(pair.viewer.media.some(({ type }) => type === "lost"), "a removed record is told");
});

test("a viewer's request for a keyframe reaches the publisher, and readings of the clock come", async () => {
  const pair = await established();
  await pair.viewer.session.requestKeyframe(pair.now, 3);
  await pair.pass(1_600);
  assert(pair.publisher.events.some((event) => event.type === "keyframe-requested" && event.stream === 3), "request");
  const readings = pair.viewer.events.filter((event) => event.type === "clock");
  same(readings.length, 4, "readings");
  same(readings[0]?.reading, { roundTrip: 0n, offset: 0n, uncertainty: 0n }, "reading");
});

test("a session that is closed tells the peer why", async () => {
  for (const shape of [undefined, constantRate(2_000_000)]) {
    const pair = await established({ publisher: shape === undefined ? {} : { shape } });
    await pair.pass(500);
    await pair.publisher.session.close(pair.now, Close.EndOfStream, "done\u0007");
    await pair.pass(100);
    const closed = pair.viewer.events.at(-1);
    same(closed, { type: "closed", reason: Close.EndOfStream, text: "done\ufffd" }, "close");
    assert(pair.viewer.session.isOver && pair.publisher.session.isOver, "both are over");
  }
});

test("a peer that falls silent is lost, and one that never finishes its handshake too", async () => {
  const silent = (message: Bytes, from: string, index: number): Bytes | undefined =>
    from === "responder" && index > 2 ? undefined : message;
  const pair = await established({ tamper: silent });
  same(await reasonOf(() => pair.pass(3_000), "silence"), "peer-lost", "reason");
  const halfway = await Pair.begin({ tamper: () => undefined });
  same(await reasonOf(() => halfway.pass(6_000), "handshake"), "timeout", "reason");
  same(halfway.responder.sent.length, 0, "nothing is sent to a stranger");
});

test("under a constant rate all records of both ends are cells of one size, and frames pass", async () => {
  const rekey = new RekeyPolicy(2 ** 20, 2_000);
  const pair = await established({ publisher: { shape: constantRate(2_000_000), rekey } });
  await pair.pass(200);
  await publish(pair, 0, 100, 3_000);
  assert((pair.publisher.session.epoch ?? 0n) >= 1n, "keys are replaced inside of cells");
  for (const [end, size] of [[pair.publisher, 1_196], [pair.viewer, 432]] as const) {
    const after = end.sent.slice(4);
    assert(after.length > 50, "cells were sent");
    assert(after.every((message) => message[0] === Kind.Cell && message.length === size), "cells of one size");
  }
});

test("a cell that is lost costs the records that it touched, and what comes outside of cells is refused", async () => {
  let cells = 0;
  const pair = await established({
    publisher: { shape: constantRate(2_000_000) },
    tamper: (message, from) => {
      cells += from === "responder" && message[0] === Kind.Cell ? 1 : 0;
      return from === "responder" && message[0] === Kind.Cell && cells % 60 === 59 ? undefined : message;
    },
  });
  for (let number = 0; number < 100; number += 1) {
    await pair.publisher.session.sealFrame(pair.now, frame(number, number % 10 === 0, 4_000));
    await pair.pass(40);
  }
  const frames = framesOf(pair.viewer);
  assert(frames.length > 30 && frames.length < 100, `some frames are lost, and not all: ${frames.length} came`);
  for (const { data, preamble } of frames) {
    same(data, frame(Number(preamble.frame), true, 4_000).data, `frame ${preamble.frame}`);
  }
  const welcome = pair.publisher.sent.find((message) => message[0] === Kind.Control);
  assert(welcome !== undefined, "there was a welcome");
  await pair.deliver(pair.viewer, welcome.slice());
  same(pair.viewer.session.refusals["outside-cell"], 1, "outside of cells");
});

test("messages that are altered or cut in a handshake end it with the protocol's own error", async () => {
  const next = sequence(21);
  for (let trial = 0; trial < 60; trial += 1) {
    const [victim, cut] = [trial % 4, trial % 3 === 0];
    let seen = -1;
    const pair = await Pair.begin({
      tamper: (message) => {
        seen += 1;
        if (seen !== victim || cut) {
          return seen === victim ? message.slice(0, 1 + (next() % (message.length - 1))) : message;
        }
        const altered = message.slice();
        const at = next() % altered.length;
        altered[at] = (altered[at] ?? 0) ^ (1 << (next() & 7));
        return altered;
      },
    });
    if (victim < 3 || cut) {
      await reasonOf(() => pair.run(), `seed 21, trial ${trial}`);
    } else {
      // An altered welcome is a refused record, or a malformed one, which ends the connection.
      await pair.run().catch((error: unknown) => reasonOf(() => {
        throw error;
      }, "altered welcome"));
      const refused = Object.values(pair.initiator.session.refusals).reduce((sum, count) => sum + count, 0);
      assert(refused === 1, `seed 21, trial ${trial}: the welcome is refused`);
    }
    assert(!pair.initiator.session.isEstablished, `seed 21, trial ${trial}: no session`);
  }
});

test("two calls at once are refused as misuse, and the session goes on", async () => {
  const pair = await established();
  const { session } = pair.publisher;
  const first = session.sealFrame(pair.now, frame(0, true));
  same(await reasonOf(() => session.sealFrame(pair.now, frame(1, false)), "second call"), "misuse", "reason");
  await first;
  await pair.run();
  await publish(pair, 1, 3);
});
