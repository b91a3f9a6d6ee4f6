// Rules about time and bounds, each tried alone on a clock of the test.

import { clockReading } from "../src/protocol/clock/exchange.ts";
import { EpochSecret } from "../src/protocol/keys/epoch.ts";
import { WIDEST_LIMITS } from "../src/protocol/seal/sealer.ts";
import { AES_128_GCM } from "../src/protocol/seal/suite.ts";
import { CellWriter } from "../src/protocol/session/cell-writer.ts";
import { RekeyPolicy } from "../src/protocol/session/config.ts";
import { KeyRing } from "../src/protocol/session/keyring.ts";
import { Liveness } from "../src/protocol/session/liveness.ts";
import { RekeyFollower, RekeyLeader } from "../src/protocol/session/rekey.ts";
import { Selecting } from "../src/protocol/session/selecting.ts";
import { constantRate } from "../src/protocol/session/shape-plan.ts";
import { Assembler } from "../src/protocol/unit/assemble.ts";
import { preambleBytes } from "../src/protocol/unit/preamble.ts";
import { controlBytes, parseControl } from "../src/protocol/wire/control.ts";
import { Kind, frameFlags } from "../src/protocol/wire/header.ts";
import { assert, reasonOf, same, test } from "./support/harness.ts";
import { frame } from "./support/pair.ts";

test("ticks go on by whole periods, at most eight late ones are sent, and none to a full carrier", () => {
  const plan = { tick: 10_000_000, cells: 2, size: 500 };
  const writer = new CellWriter(plan, 1_000);
  same([writer.due(999, 0), writer.due(1_000, 0), writer.due(1_009, 0)], [0, 1, 0], "ticks");
  same([writer.due(1_035, 0), writer.deadline], [3, 1_040], "three ticks at once");
  same([writer.due(1_240, 0), writer.deadline], [8, 1_250], "eight of 21");
  same([writer.due(1_250, 8_001), writer.deadline], [0, 1_260], "a full carrier");
  same(writer.due(1_260, 8_000), 1, "a carrier with room");
  const { lateTicks, skippedTicks } = writer.counts;
  same([lateTicks, skippedTicks], [22, 14], "counts");
});

test("control messages that wait for cells are bounded", () => {
  const writer = new CellWriter({ tick: 10_000_000, cells: 1, size: 500 }, 0);
  for (let count = 0; count < 70; count += 1) {
    writer.pushControl(new Uint8Array(1_000));
  }
  same(writer.counts.droppedControl, 5, "dropped");
});

test("a peer is lost after two seconds, or ten while parts of a record keep coming", () => {
  const liveness = new Liveness(0);
  same([liveness.isLost(1_999), liveness.isLost(2_000)], [false, true], "silence");
  for (let at = 0; at < 20_000; at += 1_000) {
    liveness.partCame(at);
  }
  same([liveness.isLost(9_999), liveness.isLost(10_000)], [false, true], "parts");
  liveness.heard(10_000);
  same(liveness.isLost(11_999), false, "heard");
});

test("a pong counts if it answers one of the last eight pings, and once", () => {
  const liveness = new Liveness(0);
  for (let ping = 0; ping < 9; ping += 1) {
    const now = { monotonic: ping * 500, wall: BigInt(ping) };
    same([liveness.takePing(now), liveness.takePing(now)], [true, false], `ping ${ping}`);
  }
  same([0n, 9n, 1n, 8n, 8n].map((wall) => liveness.takePong(wall)), [false, false, true, true, false], "pongs");
});

test("an exchange of pings tells the offset to within half the round trip", () => {
  const reading = clockReading(1_000n, 5_600n, 5_700n, 2_301n);
  same(reading, { roundTrip: 1_201n, offset: 3_999n, uncertainty: 601n }, "reading");
});

test("an offer is repeated each 500 ms, and a request honoured once a second", () => {
  const leader = new RekeyLeader();
  same([0, 999, 1_000].map((now) => leader.allowsRequest(now)), [true, false, true], "requests");
  const key = { share: new Uint8Array(1), decapsulate: () => Promise.resolve(new Uint8Array(1)) };
  leader.offered(2_000, key, Uint8Array.of(7), "demand");
  same(leader.repeat(2_499), undefined, "too early");
  same([leader.repeat(2_500), leader.repeat(2_999)], [Uint8Array.of(7), undefined], "repeated");
  same([leader.allowsRequest(9_000), leader.deadline], [false, 3_000], "while one is under way");
  const follower = new RekeyFollower();
  same([follower.mayAsk(0), follower.mayAsk(999), follower.mayAsk(1_000)], [true, false, true], "questions");
});

test("a publisher switches at a keyframe, or after the patience that the cause allows", () => {
  const key = { share: new Uint8Array(1), decapsulate: () => Promise.resolve(new Uint8Array(1)) };
  for (const [cause, from, until] of [["demand", 0, 1_000], ["time", 5_000, 6_000]] as const) {
    const leader = new RekeyLeader();
    leader.offered(0, key, Uint8Array.of(7), cause);
    leader.answered(0, [5_000, 6_000]);
    const keyframes = [leader.shouldSwitch(from - 1, true), leader.shouldSwitch(from, true)];
    same(keyframes, [false, true], `${cause}, keyframe`);
    same([leader.shouldSwitch(until - 1, false), leader.shouldSwitch(until, false)], [false, true], cause);
  }
});

test("a selection is announced each 500 ms until it is acknowledged, and older numbers are ignored", () => {
  const selecting = new Selecting();
  selecting.begin(0, { mode: "none" });
  same(selecting.repeat(499), undefined, "too early");
  same(selecting.repeat(500), { type: "selection", number: 1, selection: { mode: "none" } }, "repeated");
  selecting.begin(600, { mode: "keyframes" });
  same([selecting.acknowledged(1), selecting.inForce.mode], [undefined, "all"], "an older number");
  same([selecting.acknowledged(2), selecting.deadline], [{ mode: "keyframes" }, Infinity], "the newest number");
});

test("an old epoch is known for five seconds, and no more than five of them", async () => {
  const first = new EpochSecret(0n, new Uint8Array(32));
  const ring = await KeyRing.create(first, AES_128_GCM, "initiator", WIDEST_LIMITS, 0);
  await ring.installNext(new EpochSecret(1n, new Uint8Array(32)));
  same([ring.switch(1_000), ring.retirement], [1n, 6_000], "the first switch");
  ring.retire(5_999);
  same(ring.retirement, 6_000, "before the window ends");
  ring.retire(6_000);
  same(ring.retirement, undefined, "afterwards");
  for (let epoch = 2n; epoch < 9n; epoch += 1n) {
    await ring.installNext(new EpochSecret(epoch, new Uint8Array(32)));
    ring.switch(Number(epoch) * 10_000);
  }
  same(ring.retirement, 4 * 10_000 + 5_000, "the oldest of five");
  assert(ring.secret.number === 8n && !ring.hasNext, "the current one");
});

test("frames that are missing are counted, and nothing is handed out before a keyframe", () => {
  const assembler = new Assembler();
  let seq = 0;
  const take = (number: number, keyframe: boolean): unknown => {
    const { stamps, data } = frame(number, keyframe, 4);
    const preamble = preambleBytes({ ...stamps, padding: 0, layout: "source", kept: false });
    const flags = frameFlags(keyframe, true, true);
    const header = { kind: Kind.Media, flags, epoch: 0, stream: 1, seq, timestamp: 0n };
    seq += 1;
    const [media] = assembler.take({ header, payload: new Uint8Array([...preamble, ...data]), followsGap: false }, 0);
    return media?.type === "frame" || media?.type === "undecodable" ? [media.type, media.skipped] : media;
  };
  same(take(0, false), ["undecodable", 0n], "no keyframe yet");
  same([take(1, true), take(2, false)], [["frame", 0n], ["frame", 0n]], "in order");
  same([take(5, false), take(6, false)], [["undecodable", 2n], ["undecodable", 0n]], "two are missing");
  same([take(7, true), take(7, false)], [["frame", 0n], ["undecodable", 0n]], "one goes back");
});

test("the text of a close is cut to 256 bytes at the end of a character", () => {
  const cases = [["a".repeat(300), 256], [`${"a".repeat(255)}éé`, 255], ["é".repeat(128), 128]] as const;
  for (const [text, length] of cases) {
    const close = parseControl(controlBytes({ type: "close", reason: 1, text }));
    same(close, { type: "close", reason: 1, text: text.slice(0, length) }, "close");
  }
});

test("limits are those of keys.md, and stricter only downwards", async () => {
  const policy = new RekeyPolicy();
  same([policy.softRecords, policy.softAge, policy.hardAge], [2 ** 20, 600_000, 660_000], "defaults");
  same([policy.offerAge, policy.switchAge, policy.hardLimits.records], [599_000, 599_000, 2 ** 21], "derived");
  const strict = new RekeyPolicy(16, 400);
  same([strict.offerAge, strict.switchAge, strict.pressingRecords], [200, 350, 24], "strict");
  for (const [records, age] of [[15, 400], [2 ** 20 + 1, 400], [16, 99], [16, 600_001], [16.5, 400]] as const) {
    same(await reasonOf(() => new RekeyPolicy(records, age), `${records}, ${age}`), "misuse", "reason");
  }
});

test("a constant rate is kept by cells within their bounds", async () => {
  for (const rate of [64_000, 100_000, 2_000_000, 33_333_333, 200_000_000]) {
    const { publisher, viewer } = constantRate(rate);
    const sent = (publisher.cells * (publisher.size + 4) * 8 * 1e9) / publisher.tick;
    assert(Math.abs(sent - rate) / rate < 1e-4, `${rate}: ${sent}`);
    const back = ((viewer.size + 4) * 8 * 1e9) / viewer.tick;
    assert(back <= Math.max(rate / 8, 15_000) + 1, `${rate}: the viewer sends ${back}`);
  }
  same(await reasonOf(() => constantRate(63_999), "rate"), "unsupported", "reason");
});
