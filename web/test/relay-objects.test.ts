// What is on a relay's tracks, byte for byte as docs/relay.md and sealcast-moq's session/object.rs have it, and the
// session on two of them.

import { CarrierError } from "../src/carrier/carrier.ts";
import { concat } from "../src/protocol/bytes.ts";
import { identityFromSeed } from "../src/protocol/keys/identity.ts";
import { recordsOf } from "../src/protocol/session/relayed.ts";
import { parseTicket } from "../src/protocol/wire/ticket.ts";
import { relayOf } from "../src/relay/meet.ts";
import { MAX_PIECE, type SessionObject, objectBytes, parseObject } from "../src/relay/object.ts";
import { GROUP_OBJECTS, Outlet, WINDOW_PIECES } from "../src/relay/outlet.ts";
import { assert, hex, same, test, toHex } from "./support/harness.ts";
import { type Case, big, each, vectors } from "./support/vectors.ts";

interface ObjectCase extends Case {
  readonly bytes: string;
  readonly object?: SessionObject["type"];
  readonly fields?: { readonly pieces?: number | bigint; readonly bytes?: string };
}

test("objects of a session are written and read as the native relay client does", () => {
  for (const [object, bytes] of [
    [{ type: "taken", pieces: 258n }, "000000000000000102"],
    [{ type: "piece", bytes: hex("7365616c6564") }, "017365616c6564"],
    [{ type: "end" }, "02"],
  ] as const) {
    same(objectBytes(object), hex(bytes), object.type);
    same(parseObject(hex(bytes)), object, `${object.type}, read`);
  }
});

test("objects of a session are those of the vectors, and what is none is refused", async () => {
  const { session_objects: objects } = await vectors<{ readonly session_objects: readonly ObjectCase[] }>("relay");
  await each(objects, { run: 15, skipped: 0 }, ({ bytes, object, fields }) => {
    const expected: SessionObject | undefined =
      object === "taken" ? { type: "taken", pieces: big(fields?.pieces ?? -1) } :
      object === "piece" ? { type: "piece", bytes: hex(fields?.bytes ?? "") } :
      object === "end" ? { type: "end" } : undefined;
    same(parseObject(hex(bytes)), expected, "read");
    same(expected === undefined ? bytes : toHex(objectBytes(expected)), bytes, "written");
    return true;
  });
});

test("a piece of a session has at most 64 KiB", () => {
  const longest = new Uint8Array(1 + MAX_PIECE).fill(1);
  assert(parseObject(longest)?.type === "piece", "the longest piece");
  same(parseObject(concat(longest, Uint8Array.of(1))), undefined, "a longer one");
});

test("a frame on the track is its records, each behind its length, and nothing else", () => {
  same(recordsOf(hex("00000001aa00000002bbcc")), [hex("aa"), hex("bbcc")], "two records");
  for (const bytes of ["", "000000", "00000000", "00000002aa", "00000001aa00", "ffffffff00"]) {
    same(recordsOf(hex(bytes)), undefined, `frame ${bytes}`);
  }
});

test("a ticket's relay is reached where the native program reaches it", async () => {
  const peer = (await identityFromSeed(new Uint8Array(32).fill(7))).peerId.toString();
  const at = (authority: string, name: string): unknown => {
    const { url, host, name: last } = relayOf(parseTicket(
      `sealcast://${authority}/${peer}?transport=relay&broadcast=${name}`,
    ));
    return [url.href, host, last];
  };
  same(at("relay.example:4443", "front"), ["https://relay.example:4443/", "relay.example:4443", "front"], "a name");
  same(at("[2001:db8::7]:4443", "rov/front"), ["https://[2001:db8::7]:4443/rov/", "[2001:db8::7]:4443", "front"],
    "a path");
});

/** An outlet, and the objects that it wrote, by group. */
function outlet(): { readonly one: Outlet; readonly groups: { objects: string[]; ended: boolean }[] } {
  const groups: { objects: string[]; ended: boolean }[] = [];
  const one = new Outlet({
    begin() {
      const group: (typeof groups)[number] = { objects: [], ended: false };
      groups.push(group);
      return {
        write: (object) => group.objects.push(String(object[0])),
        end() {
          group.ended = true;
        },
      };
    },
  });
  return { one, groups };
}

test("what is on the way is bounded by pieces and by bytes until the other end has taken some", () => {
  const { one } = outlet();
  for (let sent = 0; sent < WINDOW_PIECES; sent += 1) {
    assert(one.hasRoom, `room for piece ${sent}`);
    one.send(Uint8Array.of(1));
  }
  assert(!one.hasRoom, "the window is full");
  one.wasTaken(1n);
  assert(one.hasRoom, "there is room again");
  for (const wrong of [0n, BigInt(WINDOW_PIECES + 1), 2n ** 63n]) {
    let refused: unknown;
    try {
      one.wasTaken(wrong);
    } catch (thrown) {
      refused = thrown;
    }
    assert(refused instanceof CarrierError, `${wrong} pieces cannot have been taken`);
  }
  const long = outlet().one;
  for (let sent = 0; sent < 4; sent += 1) {
    assert(long.hasRoom, `room for long piece ${sent}`);
    long.send(new Uint8Array(MAX_PIECE));
  }
  assert(!long.hasRoom, "four of the longest fill it");
});

test("groups of a session end before they have more objects than the other end takes", () => {
  const { one, groups } = outlet();
  for (let sent = 1; sent <= GROUP_OBJECTS; sent += 1) {
    one.send(Uint8Array.of(1));
    one.wasTaken(BigInt(sent));
  }
  one.sayEnd();
  same(groups.map(({ objects, ended }) => [objects.length, ended]), [[GROUP_OBJECTS, true], [2, false]], "groups");
  same([groups[0]?.objects[0], groups[1]?.objects.at(-1)], ["0", "2"], "the first and the last object");
});
