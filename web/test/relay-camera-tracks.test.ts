// What a page publishes at a relay: its tracks, the viewers that come, what waits, and the addresses that people enter.

import { Announce, type Broadcast, Path } from "@moq/net";

import { parseTicket } from "../src/protocol/wire/ticket.ts";
import { Invite } from "../src/protocol/wire/invite.ts";
import { generateIdentity } from "../src/protocol/keys/identity.ts";
import { parseRelayAddress, ticketAt, ticketText } from "../src/relay/address.ts";
import { type Established, MoqCamera } from "../src/relay/moq-camera.ts";
import { type Broadcast as ViewersBroadcast } from "../src/relay/relay.ts";
import { assert, reasonOf, same, test, toHex } from "./support/harness.ts";

const TOKEN = "0123456789abcdef0123456789abcdef";

/** A camera on a connection whose relay is this test. */
class Scene {
  readonly viewers = new Announce.Producer();
  readonly camera: MoqCamera;
  broadcast!: Broadcast.Producer;

  constructor() {
    const connection = {
      publish: (_: unknown, broadcast: Broadcast.Producer) => {
        this.broadcast = broadcast;
      },
      announced: () => this.viewers.consume(),
      closed: new Promise<void>(() => undefined),
    };
    const find = (): Promise<ViewersBroadcast> => Promise.reject(new Error("there is none here"));
    this.camera = new MoqCamera(connection as unknown as Established, "front", find);
  }

  /** A viewer's broadcast is announced. */
  comes(token: string): void {
    this.viewers.append({ path: Path.from(token), active: true });
  }
}

/** The bytes of the objects of the next group of a track. */
async function nextGroup(track: ReturnType<Broadcast.Producer["subscribe"]>, objects: number): Promise<unknown[]> {
  const group = await track.recvGroup();
  assert(group !== undefined, "there is a group");
  const found: unknown[] = [group.sequence];
  for (let at = 0; at < objects; at += 1) {
    found.push((await group.readFrame())?.payload[0]);
  }
  return found;
}

test("groups have the camera's numbers, and who comes late gets the newest from its first object on", async () => {
  const { camera, broadcast } = new Scene();
  for (const number of [2 ** 40, 2 ** 40 + 1]) {
    const group = camera.begin("video", number);
    group.write(Uint8Array.of(number % 256));
    group.write(Uint8Array.of(7));
  }
  const track = broadcast.subscribe("video", {});
  track.startAt(track.latest() ?? 0);
  same(await nextGroup(track, 2), [2 ** 40 + 1, 1, 7], "the newest group");
});

test("a viewer that asks for its track before it is announced gets all of it, as one that asks later", async () => {
  const { camera, broadcast, viewers } = new Scene();
  const whole = { startGroup: 0, latencyMax: 60_000 };
  const early = broadcast.subscribe(`viewers/${TOKEN}`, whole);
  const nobodys = broadcast.subscribe("viewers/x", whole);
  viewers.append({ path: Path.from("no-token"), active: true });
  viewers.append({ path: Path.from(TOKEN), active: true });
  const viewer = await camera.viewer();
  same(viewer?.token, TOKEN, "the viewer");
  const first = viewer?.answers.begin();
  first?.write(Uint8Array.of(1));
  const late = broadcast.subscribe(`viewers/${TOKEN}`, whole);
  same([await nextGroup(early, 1), await nextGroup(late, 1)], [[0, 1], [0, 1]], "what it says first");
  first?.end();
  viewer?.answers.begin().write(Uint8Array.of(2));
  same([await nextGroup(early, 1), await nextGroup(late, 1)], [[1, 2], [1, 2]], "and then");
  assert((await nobodys.closed) instanceof Error, "a track of nobody is refused");
  viewer?.leave();
  await Promise.all([early.closed, late.closed]);
});

test("who is announced twice comes once, and again once the session is over", async () => {
  const scene = new Scene();
  scene.comes(TOKEN);
  scene.comes(TOKEN);
  const viewer = await scene.camera.viewer();
  scene.comes(TOKEN);
  const other = TOKEN.replace("0", "f");
  scene.comes(other);
  same((await scene.camera.viewer())?.token, other, "the next one");
  viewer?.leave();
  scene.comes(TOKEN);
  same((await scene.camera.viewer())?.token, TOKEN, "it came again");
  scene.camera.close();
  same(await scene.camera.viewer(), undefined, "after the end");
});

test("what waits are the bytes that a reader has not taken, and nothing where nobody reads", async () => {
  const { camera, broadcast } = new Scene();
  const first = camera.begin("video", 5);
  first.write(new Uint8Array(1_000));
  same(camera.backlog, 0, "nobody reads");
  const track = broadcast.subscribe("video", {});
  const group = await track.recvGroup();
  first.write(new Uint8Array(300));
  same(camera.backlog, 1_300, "given, and not taken");
  await group?.readFrame();
  same(camera.backlog, 300, "one object was taken");
  const second = camera.begin("video", 6);
  second.write(new Uint8Array(50));
  const next = await track.recvGroup();
  same(camera.backlog, 350, "of both groups");
  group?.close(new Error("too old"));
  same(camera.backlog, 50, "one was given up");
  await next?.readFrame();
  same(camera.backlog, 0, "all was taken");
});

test("a relay's address makes the ticket that leads there, and what is none is refused in words", async () => {
  const { peerId } = await generateIdentity();
  const invite = new Invite(new Uint8Array(16).fill(9));
  const hash = "ab".repeat(32);
  const place = parseRelayAddress(` https://relay.example:4443/door/front#sha256=${hash} `);
  const ticket = parseTicket(ticketText(ticketAt(place, peerId, invite)));
  same([ticket.host.name, ticket.port, ticket.broadcast, ticket.transport, ticket.certHashes.map(toHex)],
    ["relay.example", 4_443, "door/front", "relay", [hash]], "what the ticket says");
  same(parseRelayAddress("https://[fd00::1]/a").host, { kind: "ipv6", name: "fd00::1" }, "an address");
  same(parseRelayAddress("https://relay.example/a").port, 443, "the port of https");
  const none = [
    "", "relay.example/a", "http://relay.example/a", "https://relay.example", "https://relay.example/a/",
    "https://me@relay.example/a", "https://relay.example/a?jwt=x", "https://relay.example/a#sha256=12",
    `https://relay.example/a#${Array<string>(5).fill(`sha256=${hash}`).join("&")}`, "https://relay_example/a",
  ];
  for (const text of none) {
    same(await reasonOf(() => parseRelayAddress(text), text), "relay-address", text);
  }
  const unusual = parseRelayAddress("https://relay.example/a%20b");
  same(await reasonOf(() => ticketText(ticketAt(unusual, peerId)), "a name with a blank"), "relay-address", "reason");
});
