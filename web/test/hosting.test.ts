// A publisher's session that offers a group: what it hears, what it tells, and what ends it.

import { EnrolledSecret, NodeSecret } from "../src/protocol/group/secret.ts";
import { type SessionEvent } from "../src/protocol/session/output.ts";
import { type Control, controlBytes, parseControl } from "../src/protocol/wire/control.ts";
import { type MediaFrom } from "../src/protocol/wire/group-message.ts";
import { GroupCamera } from "./support/group-camera.ts";
import { assert, reasonOf, same, test } from "./support/harness.ts";
import { type Deceived, deceivedPublisher } from "./support/liar.ts";

/** The terms of some group of stream 1: what is in them is for viewers. */
const terms = (await GroupCamera.create()).terms();
const CHALLENGE = { type: "challenge", challenge: new Uint8Array(16).fill(7) } as const;

function join(media: MediaFrom, stream = 1): Control {
  return { type: "join", stream, media };
}

async function says(pair: Deceived, message: Control): Promise<SessionEvent[]> {
  await pair.victim.message(pair.now, await pair.control(controlBytes(message)));
  return pair.drain().flatMap((output) => (output.type === "event" ? [output.event] : []));
}

test("a viewer that joins is told of, also when it lacks a sheet, and then its challenges are heard", async () => {
  const pair = await deceivedPublisher(await terms);
  same(await says(pair, CHALLENGE), [], "before it has joined");
  same(await says(pair, join("relay")), [{ type: "joins-group", media: "relay", again: false }], "it joins");
  same(await says(pair, join("relay")), [{ type: "joins-group", media: "relay", again: true }], "it lacks a sheet");
  same(await says(pair, CHALLENGE), [{ type: "challenged", challenge: CHALLENGE.challenge }], "its challenge");
  const name = { camera: pair.identity.peerId, stream: 1 };
  const key = await NodeSecret.ofMember(pair.exporter, name);
  assert((await pair.victim.memberKey(name)).equals(key), "both ends have the same member key");
  const sheet = Uint8Array.of(1, 2, 3);
  await pair.victim.tell(pair.now, { type: "key-sheet", sheet });
  same(parseControl(await pair.heard()), { type: "key-sheet", sheet }, "what it is told");
});

test("what a viewer may not say of a group ends its session", async () => {
  const cases: readonly (readonly Control[])[] = [
    [join("relay", 2)], [join("session"), join("session")], [join("relay"), join("relay-enrolled")],
    [{ type: "group-terms", terms: await terms }], [join("relay"), { type: "key-sheet", sheet: Uint8Array.of(1) }],
    [join("relay"), { type: "answer", answer: Uint8Array.of(1) }],
  ];
  for (const messages of cases) {
    const pair = await deceivedPublisher(await terms);
    for (const message of messages.slice(0, -1)) {
      await says(pair, message);
    }
    const last = messages.at(-1) ?? join("relay");
    same(await reasonOf(() => says(pair, last), last.type), "protocol-error", `after ${last.type}`);
    assert(pair.victim.isOver, "the session is over");
  }
});

test("without a group nobody joins, and nothing is told of one", async () => {
  for (const message of [join("relay"), CHALLENGE]) {
    const pair = await deceivedPublisher();
    same(await reasonOf(() => says(pair, message), message.type), "protocol-error", message.type);
  }
  const pair = await deceivedPublisher();
  const { victim, now, identity } = pair;
  const sheet = { type: "key-sheet", sheet: Uint8Array.of(1) } as const;
  same(await reasonOf(() => victim.tell(now, sheet), "telling"), "misuse", "reason");
  const name = { camera: identity.peerId, stream: 1 };
  same(await reasonOf(() => victim.memberKey(name), "the key of a member"), "misuse", "reason");
});

test("what an enrolment leaves with a camera is taken once, and gives the viewer's member key", async () => {
  const { victim, identity } = await deceivedPublisher(await terms);
  const guest = await victim.takeGuest();
  assert(guest !== undefined, "it is there");
  same(await victim.takeGuest(), undefined, "once");
  const name = { camera: identity.peerId, stream: 1 };
  const kept = EnrolledSecret.restore(guest.secret.stored);
  assert((await kept.memberKey(name)).equals(await guest.secret.memberKey(name)), "after it was kept, too");
  same([guest.secret.stored.extractable, guest.psk.stored.extractable], [false, false], "whether anybody can read it");
});
