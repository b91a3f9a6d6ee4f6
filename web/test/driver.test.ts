// The loop between a session and its carrier, over carriers in memory.

import { CarrierError } from "../src/carrier/carrier.ts";
import { X25519 } from "../src/protocol/crypto/curves.ts";
import { DEFAULT_SUITES } from "../src/protocol/crypto/policy.ts";
import { ProtocolError } from "../src/protocol/error.ts";
import { identityFromSeed } from "../src/protocol/keys/identity.ts";
import { HelloKeys } from "../src/protocol/keys/psk.ts";
import { type SessionEvent } from "../src/protocol/session/output.ts";
import { Session } from "../src/protocol/session/session.ts";
import { type Media } from "../src/protocol/unit/assemble.ts";
import { Close } from "../src/protocol/wire/control.ts";
import { SessionDriver } from "../src/worker/driver.ts";
import { assert, reasonOf, same, test } from "./support/harness.ts";
import { JoinedCarrier } from "./support/joined-carriers.ts";
import { frame } from "./support/pair.ts";
import { VirtualTime, until } from "./support/virtual-time.ts";

/** One end, and what it was told. */
interface End {
  readonly driver: SessionDriver;
  readonly carrier: JoinedCarrier;
  readonly events: SessionEvent[];
  readonly media: Media[];
  over: { readonly error: Error | undefined } | undefined;
}

function end(session: Session, carrier: JoinedCarrier, time: VirtualTime): End {
  const driver = new SessionDriver(session, carrier, {
    event(event) {
      one.events.push(event);
      if (event.type === "peer-proved") {
        void driver.step((responder, now) => responder.admit(now));
      }
    },
    media(media) {
      one.media.push(media);
    },
    over(error) {
      assert(one.over === undefined, "the end is told once");
      one.over = { error };
    },
  }, time);
  const one: End = { driver, carrier, events: [], media: [], over: undefined };
  return one;
}

async function pair(piece = Infinity): Promise<{ viewer: End; publisher: End; time: VirtualTime }> {
  const time = new VirtualTime();
  const [own, other] = [await identityFromSeed(new Uint8Array(32).fill(1)), await identityFromSeed(new Uint8Array(32))];
  const helloKeys = await HelloKeys.create(other.peerId, []);
  const policy = { helloKeys, suites: DEFAULT_SUITES, mechanisms: [X25519] };
  const viewing = { ...policy, role: "viewer", identity: own } as const;
  const config = { handshake: viewing, side: "initiator", pinned: other.peerId } as const;
  const viewer = await Session.initiate(config, new Uint8Array(32).fill(3), time.now());
  const publishing = { ...policy, role: "publisher", identity: other } as const;
  const publisher = Session.respond(
    { handshake: publishing, side: "responder" }, new Uint8Array(32).fill(4), time.now(),
  );
  const [one, two] = JoinedCarrier.pair(piece);
  return { viewer: end(viewer, one, time), publisher: end(publisher, two, time), time };
}

async function established(piece = Infinity): Promise<Awaited<ReturnType<typeof pair>>> {
  const ends = await pair(piece);
  const stand = (): boolean => [ends.viewer, ends.publisher].every(({ driver }) => driver.session.isEstablished);
  await until(stand, "both ends are established");
  return ends;
}

function errorOf({ over }: End): Error | undefined {
  assert(over !== undefined, "it is over");
  return over.error;
}

for (const piece of [7, 1_000, Infinity]) {
  test(`frames pass two drivers in pieces of ${piece} bytes, and a goodbye ends both without an error`, async () => {
    const { viewer, publisher } = await established(piece);
    // Not awaited one by one: the driver keeps them in order.
    const sealed = Array.from({ length: 20 }, (_, number) =>
      publisher.driver.step((session, now) => session.sealFrame(now, frame(number, number === 0, 3_000))));
    await Promise.all(sealed);
    await until(() => viewer.media.length === 20, "all frames came");
    for (const [number, media] of viewer.media.entries()) {
      assert(media.type === "frame", "it is a frame");
      same([media.preamble.frame, media.data], [BigInt(number), frame(number, true, 3_000).data], "frame");
    }
    await publisher.driver.close(Close.EndOfStream, "the film is over");
    await until(() => viewer.over !== undefined, "the viewer is over");
    same([errorOf(viewer), errorOf(publisher)], [undefined, undefined], "errors");
    same(viewer.events.at(-1), { type: "closed", reason: Close.EndOfStream, text: "the film is over" }, "goodbye");
    assert(viewer.carrier.isClosed && publisher.carrier.isClosed, "both carriers are closed");
  });
}

test("a call that the state forbids is refused, and the session goes on", async () => {
  const { viewer, publisher } = await established();
  const wrong = viewer.driver.step((session, now) => session.sealFrame(now, frame(0, true)));
  same(await reasonOf(() => wrong, "a viewer's frame"), "misuse", "reason");
  await publisher.driver.step((session, now) => session.sealFrame(now, frame(0, true)));
  await until(() => viewer.media.length === 1, "a frame comes");
  same(viewer.over, undefined, "not over");
});

test("a carrier that breaks ends both sessions with its own error", async () => {
  const { viewer, publisher } = await established();
  viewer.carrier.break();
  await until(() => viewer.over !== undefined && publisher.over !== undefined, "both are over");
  assert(errorOf(viewer) instanceof CarrierError && errorOf(publisher) instanceof CarrierError, "carrier errors");
});

test("a length that no message has ends the session with a goodbye", async () => {
  const { viewer, publisher } = await established();
  await viewer.carrier.deliver(new Uint8Array([0xff, 0xff, 0xff, 0xff]));
  await until(() => viewer.over !== undefined && publisher.over !== undefined, "both are over");
  const error = errorOf(viewer);
  same(error instanceof ProtocolError && error.reason, "framing", "reason");
  const goodbye = publisher.events.at(-1);
  same(goodbye?.type === "closed" && goodbye.reason, Close.ProtocolError, "goodbye");
});

test("a peer that never answers ends the handshake after its time", async () => {
  const time = new VirtualTime();
  const ends = await pair();
  const carrier = JoinedCarrier.alone();
  const helloKeys = await HelloKeys.create((await identityFromSeed(new Uint8Array(32))).peerId, []);
  const identity = await identityFromSeed(new Uint8Array(32).fill(1));
  const handshake = { role: "viewer", identity, helloKeys, suites: DEFAULT_SUITES, mechanisms: [X25519] } as const;
  const pinned = (await identityFromSeed(new Uint8Array(32))).peerId;
  const session = await Session.initiate({ handshake, side: "initiator", pinned }, new Uint8Array(32), time.now());
  const viewer = end(session, carrier, time);
  await until(() => carrier.sent.length > 0, "the hello is sent");
  await time.pass(4_999);
  same(viewer.over, undefined, "not yet");
  await time.pass(1);
  await until(() => viewer.over !== undefined, "it is over");
  const error = errorOf(viewer);
  same(error instanceof ProtocolError && error.reason, "timeout", "reason");
  ends.viewer.carrier.break();
});

test("a peer that falls silent is lost, and pings keep a session that has nothing to say", async () => {
  const { viewer, publisher, time } = await established();
  for (let second = 0; second < 10; second += 1) {
    await time.pass(500);
    const clocks = (one: End): number => one.events.filter(({ type }) => type === "clock").length;
    await until(() => Math.min(clocks(viewer), clocks(publisher)) > second, "both ends know the clocks again");
  }
  same([viewer.over, publisher.over], [undefined, undefined], "nobody is lost");
  publisher.carrier.isClosed = true;
  // What came before may still be on its way through the driver, and is heard later by the clock of the test.
  for (let tick = 0; tick < 200 && publisher.over === undefined; tick += 1) {
    await time.pass(100);
  }
  await until(() => publisher.over !== undefined, "the publisher has heard nothing");
  const error = errorOf(publisher);
  same(error instanceof ProtocolError && error.reason, "peer-lost", "reason");
});

test("after a pause of the browser what has come is heard before the silence is judged", async () => {
  const { viewer, publisher, time } = await established();
  // The page sleeps for three seconds. Then its timers come first, and after them what came meanwhile.
  time.sleep(3_000);
  await time.pass(0);
  await publisher.driver.step((session, now) => session.sealFrame(now, frame(0, true)));
  await viewer.driver.step((session, now) => session.requestKeyframe(now, 1));
  await until(() => viewer.media.length === 1 && publisher.events.length > 1, "both are heard");
  for (let tick = 0; tick < 10; tick += 1) {
    await time.pass(100);
  }
  same([viewer.over, publisher.over], [undefined, undefined], "nobody counts as lost");
});

test("a peer that sends faster than this end opens is asked to wait, and in the end left", async () => {
  const { viewer } = await established();
  // The beginning of one long record: it waits for its end.
  const first = new Uint8Array(1 << 20);
  first.set([0, 0x80, 0, 0]);
  same(viewer.carrier.deliver(first), undefined, "one piece may wait");
  const wait = viewer.carrier.deliver(new Uint8Array(1 << 20));
  assert(wait instanceof Promise, "two are enough");
  for (let piece = 0; piece < 31; piece += 1) {
    void viewer.carrier.deliver(new Uint8Array(1 << 20));
  }
  assert(errorOf(viewer) instanceof CarrierError, "33 are too many");
});
