// Groups and byte streams as a relay gives them: in its own order, late, in part or not at all.

import { type Carrier } from "../src/carrier/carrier.ts";
import { type Bytes, concat } from "../src/protocol/bytes.ts";
import { RelayCarrier } from "../src/relay/carrier.ts";
import { Delivery } from "../src/relay/delivery.ts";
import { Inlet } from "../src/relay/inlet.ts";
import { objectBytes } from "../src/relay/object.ts";
import { Outlet } from "../src/relay/outlet.ts";
import { assert, same, test } from "./support/harness.ts";
import { MemoryRelay, type MemoryTrack } from "./support/memory-relay.ts";
import { VirtualTime, breathe, until } from "./support/virtual-time.ts";

/** A track that is delivered, and what came of it: a mark where a group begins, and each object's byte. */
class Delivered {
  readonly time = new VirtualTime();
  readonly track: MemoryTrack;
  readonly came: string[] = [];
  readonly delivery: Promise<Delivery>;

  constructor(prepare: (track: MemoryTrack) => void = () => undefined) {
    const memory = new MemoryRelay();
    this.track = memory.track("door", "video");
    prepare(this.track);
    this.delivery = memory.connect().broadcast("door").then((broadcast) => {
      const delivery = new Delivery(broadcast, "video", this.time, ({ begins, bytes }) => {
        this.came.push(`${begins ? "|" : ""}${bytes[0]}`);
        return undefined;
      });
      void delivery.run();
      return delivery;
    });
  }

  write(...objects: number[]): void {
    for (const object of objects) {
      this.track.write(Uint8Array.of(object));
    }
  }

  async text(): Promise<string> {
    await breathe();
    return this.came.join(" ");
  }
}

test("delivery begins with the newest group, from its first object on, and goes on in order", async () => {
  const one = new Delivered((track) => {
    for (const number of [1, 2, 3]) {
      track.begin(number);
      track.write(Uint8Array.of(10 * number));
      track.write(Uint8Array.of(10 * number + 1));
    }
  });
  same(await one.text(), "|30 31", "the newest");
  one.write(32);
  one.track.begin(4);
  one.write(40);
  same(await one.text(), "|30 31 32 |40", "the rest of it, and the next");
});

test("a group that was overtaken has its turn, and one that comes after a later one is left out", async () => {
  const one = new Delivered();
  one.track.begin(5);
  one.write(50);
  same(await one.text(), "|50", "the first");
  one.track.begin(7);
  one.write(70);
  same(await one.text(), "|50", "one in between can still come");
  // Relays give the newer one of two first.
  one.track.begin(6);
  one.write(60);
  one.track.end();
  same(await one.text(), "|50 |60 |70", "in order");
  one.track.begin(9);
  one.write(90);
  same(await one.text(), "|50 |60 |70", "one in between can still come, again");
  await one.time.pass(50);
  same(await one.text(), "|50 |60 |70 |90", "it has waited long enough");
  one.track.begin(8);
  one.write(80);
  one.track.begin(10);
  one.write(100);
  same(await one.text(), "|50 |60 |70 |90 |100", "too late");
});

test("the rest of a group that stalls is left out once a later one is there", async () => {
  const one = new Delivered();
  one.track.begin(5);
  one.write(50);
  await breathe();
  await one.time.pass(10_000);
  same(await one.text(), "|50", "nobody else is there, so it is waited for");
  const stalled = one.track.groups[0];
  one.track.begin(6);
  assert(stalled !== undefined, "there is a group");
  stalled.ended = false;
  one.write(60);
  await breathe();
  await one.time.pass(499);
  same(await one.text(), "|50", "half a second, nearly");
  await one.time.pass(1);
  same(await one.text(), "|50 |60", "the next one");
});

test("a delivery that was left gives nothing more", async () => {
  const one = new Delivered();
  one.track.begin(1);
  one.write(10);
  await breathe();
  (await one.delivery).leave();
  one.write(11);
  await one.time.pass(1_000);
  same(await one.text(), "|10", "what came before");
});

/** Both ends of a session, and the track that the first one hears. */
interface TwoEnds {
  readonly time: VirtualTime;
  readonly ends: readonly [Carrier, Carrier];
  readonly heard: readonly [Bytes[], Bytes[]];
  readonly closed: readonly [string[], string[]];
  readonly memory: MemoryRelay;
}

async function twoEnds(receives: readonly [boolean, boolean] = [true, true]): Promise<TwoEnds> {
  const [memory, time] = [new MemoryRelay(), new VirtualTime()];
  const [one, other] = [memory.connect(), memory.connect()];
  const outlets = [new Outlet(one.publish("one", "session")), new Outlet(other.publish("other", "session"))] as const;
  const [toOther, toOne] = [await one.broadcast("other"), await other.broadcast("one")];
  const ends = [
    new RelayCarrier({
      relay: one, other: toOther, who: "camera", outlet: outlets[0], inlet: await Inlet.open(toOther, "session", time),
    }, time),
    new RelayCarrier({
      relay: other, other: toOne, who: "viewer", outlet: outlets[1], inlet: await Inlet.open(toOne, "session", time),
    }, time),
  ] as const;
  const heard: TwoEnds["heard"] = [[], []];
  const closed: TwoEnds["closed"] = [[], []];
  for (const at of [0, 1] as const) {
    ends[at].receive({
      bytes: (piece) => {
        heard[at].push(piece.slice());
        return receives[at] ? undefined : new Promise(() => undefined);
      },
      closed: (clean, why = "") => closed[at].push(`${clean ? "clean" : "broken"}: ${why}`),
    });
  }
  return { time, ends, heard, closed, memory };
}

function length(pieces: readonly Bytes[]): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0);
}

function stream(seed: number): Bytes {
  return new Uint8Array(3 << 20).map((_, at) => (at * 31 + (at >> 8) + (at >> 16) + seed) & 0xff);
}

test("bytes of a session go both ways whole and in order, however long they are", async () => {
  const { ends, heard, closed, time } = await twoEnds();
  const [up, down] = [stream(0), stream(1)];
  for (let at = 0; at < up.length; at += 9_001) {
    ends[0].send(up.slice(at, at + 9_001));
  }
  ends[1].send(down.slice());
  await until(() => length(heard[0]) === down.length && length(heard[1]) === up.length, "all has come");
  same([concat(...heard[1]), concat(...heard[0])].map((bytes, at) => bytes.every((byte, place) =>
    byte === (at === 0 ? up : down)[place])), [true, true], "both streams");
  for (let number = 0; number < 3_000; number += 1) {
    ends[0].send(Uint8Array.of(number & 0xff));
    if (number % 100 === 0) {
      await breathe();
    }
  }
  await until(() => length(heard[1]) === up.length + 3_000, "many short ones");
  ends[0].send(Uint8Array.of(77));
  ends[0].close();
  await until(() => closed[1].length > 0, "the other end hears of it");
  same([closed[1], heard[1].at(-1)?.at(-1)], [["clean: "], 77], "after the last byte");
  await time.pass(2_000);
  same(closed[0], [], "who closed it is told nothing");
});

test("an end that takes nothing costs the other one a bounded wait", async () => {
  const { ends, closed } = await twoEnds([true, false]);
  for (let sent = 0; sent < 80; sent += 1) {
    ends[0].send(new Uint8Array(65_536));
    await breathe();
  }
  assert(ends[0].backlog <= 4 << 20, "what waits is bounded");
  same(closed[0], ["broken: the other end takes nothing of the session"], "it is given up");
});

test("a session of which bytes are lost, or that is not one, ends in words", async () => {
  for (const [what, spoil, words] of [
    ["what is no object", (track: MemoryTrack) => {
      track.write(Uint8Array.of(9));
    }, "the other end of the session sent what is not of a session"],
    ["more than was sent was taken", (track: MemoryTrack) => {
      track.write(objectBytes({ type: "taken", pieces: 5n }));
    }, "the other end says that it took what it cannot have"],
    ["a group is missing", (track: MemoryTrack) => {
      track.begin(5);
    }, "bytes of the session were lost at the relay"],
    ["too many groups come before their turn", (track: MemoryTrack) => {
      for (let number = 5; number < 15; number += 1) {
        track.begin(number);
      }
    }, "bytes of the session were lost at the relay"],
  ] as const) {
    const [memory, time] = [new MemoryRelay(), new VirtualTime()];
    const relay = memory.connect();
    const outlet = new Outlet(relay.publish("one", "session"));
    const track = memory.track("other", "session");
    track.begin(0);
    track.write(objectBytes({ type: "taken", pieces: 0n }));
    const camera = await relay.broadcast("other");
    const inlet = await Inlet.open(camera, "session", time);
    const closed: string[] = [];
    new RelayCarrier({ relay, other: camera, who: "camera", outlet, inlet }, time).receive({
      bytes: () => undefined,
      closed: (clean, why = "") => closed.push(`${clean}: ${why}`),
    });
    spoil(track);
    await breathe();
    await time.pass(10_000);
    same(closed, [`false: ${words}`], what);
  }
});
