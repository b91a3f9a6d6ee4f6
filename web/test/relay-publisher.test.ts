// A page that publishes through a relay, in memory and in a time that goes on where a test says so, and its viewers.

import { CarrierError } from "../src/carrier/carrier.ts";
import { type MakeEncoder } from "../src/media/encoder.ts";
import { Player } from "../src/media/player.ts";
import { type Audience, type FromWorker, type PublishOptions } from "../src/messages.ts";
import { type Bytes } from "../src/protocol/bytes.ts";
import { ProtocolError } from "../src/protocol/error.ts";
import { HelloKeys, PresharedKey } from "../src/protocol/keys/psk.ts";
import { type Wish } from "../src/protocol/keys/wish.ts";
import { generateIdentity } from "../src/protocol/keys/identity.ts";
import { DEFAULT_MECHANISMS, DEFAULT_SUITES } from "../src/protocol/crypto/policy.ts";
import { type GroupPolicy } from "../src/protocol/session/membership.ts";
import { Session } from "../src/protocol/session/session.ts";
import { type Media } from "../src/protocol/unit/assemble.ts";
import { parseControl } from "../src/protocol/wire/control.ts";
import { type Ticket, parseTicket } from "../src/protocol/wire/ticket.ts";
import { meet } from "../src/relay/meet.ts";
import { type OpenRelay } from "../src/relay/relay.ts";
import { type CameraStore, MemoryCameraStore } from "../src/store/camera-store.ts";
import { MemoryStore } from "../src/store/memory-store.ts";
import { SessionDriver } from "../src/worker/driver.ts";
import { chosen } from "../src/worker/publish-options.ts";
import { RelayPublisher } from "../src/worker/relay-publisher.ts";
import { Viewer } from "../src/worker/viewer.ts";
import { DEAF } from "./support/deaf.ts";
import { assert, same, test } from "./support/harness.ts";
import { MemoryRelay } from "./support/memory-relay.ts";
import { TestEncoder } from "./support/test-encoder.ts";
import { TestMicrophone, TestSoundEncoder } from "./support/test-microphone.ts";
import { VirtualTime, breathe, until } from "./support/virtual-time.ts";

const OPTIONS: PublishOptions = {
  carrier: "auto", codec: "h264", width: 640, height: 480, rate: 30, bitrate: 2_000_000, quality: 0.8,
  suites: ["aes-256-gcm"], mechanisms: ["x25519-mlkem768"], selection: "all", rekeySeconds: 600,
};
const ADDRESS = "https://relay.example:4443/meeting";
const NAME = "meeting";

function random(): Bytes {
  return crypto.getRandomValues(new Uint8Array(32));
}

function opens(relay: MemoryRelay): OpenRelay {
  return () => relay.isThere ? Promise.resolve(relay.connect())
    : Promise.reject(new CarrierError("relay relay.example:4443 cannot be reached", "relay"));
}

/** Draws nothing, and keeps what it would have drawn. */
class KeepingPlayer extends Player {
  readonly pictures: number[] = [];
  readonly sounds: number[] = [];

  override media(media: Media): void {
    if (media.type === "frame") {
      this.pictures.push(new DataView(media.data.buffer, media.data.byteOffset).getUint32(0) / 20_000);
    } else if (media.type === "sound") {
      this.sounds.push(Number(media.preamble.frame));
    } else if (media.type !== "info") {
      super.media(media);
    }
  }
}

/** A viewer in a page. */
class Watching {
  readonly posted: FromWorker[] = [];
  readonly player: KeepingPlayer;
  readonly viewer: Viewer;

  constructor({ memory, time }: Stage, ticket: string, store = new MemoryStore()) {
    const surface = { resize: () => undefined, show: () => undefined, clear: () => undefined };
    const image = (): Promise<never> => Promise.reject(new Error("no images here"));
    this.player = new KeepingPlayer({ surface, codec: undefined, image, sound: DEAF, time }, {
      needsKeyframe: (stream) => {
        this.viewer.needsKeyframe(stream);
      },
      news: () => undefined, unable: () => undefined, size: () => undefined, clock: (now) => this.viewer.clock(now),
      offer: (sound) => this.posted.push({ type: "sound", sound }),
    }, 0);
    this.viewer = new Viewer({
      ticket, time, random, openStore: () => Promise.resolve(store),
      connect: (to, signal) => meet(to, { openRelay: opens(memory), time, random }, signal),
      post: (message) => this.posted.push(message),
    }, this.player);
    void this.viewer.run();
  }

  get state(): unknown {
    const last = this.posted.findLast((message) => message.type === "state");
    return last && (last.cause === undefined ? last.state : `${last.state}: ${last.cause}`);
  }

  get words(): string {
    return this.posted.findLast((message) => message.type === "state")?.words ?? "";
  }

  get refused(): unknown {
    const figures = this.posted.findLast((message) => message.type === "figures")?.figures;
    return [figures?.refused ?? {}, figures?.membership?.refused ?? {}];
  }
}

/** The publisher under test, with a camera and an encoder of the test, and a relay. */
class Stage {
  readonly memory: MemoryRelay;
  readonly time: VirtualTime;
  readonly told: FromWorker[] = [];
  readonly encoders: TestEncoder[] = [];
  readonly publisher: RelayPublisher;
  readonly keys: MemoryStore;
  readonly store: CameraStore;
  cancelled = false;
  taken: number;
  #camera: ReadableStreamDefaultController<VideoFrame> | undefined;

  constructor(before?: Stage, uses = 2, store: CameraStore = before?.store ?? new MemoryCameraStore()) {
    [this.memory, this.time] = [before?.memory ?? new MemoryRelay(), before?.time ?? new VirtualTime()];
    [this.keys, this.store, this.taken] = [before?.keys ?? new MemoryStore(), store, before?.taken ?? 0];
    const pictures = new ReadableStream<VideoFrame>({
      start: (camera) => {
        this.#camera = camera;
      },
      cancel: () => {
        this.cancelled = true;
      },
    });
    const makeEncoder: MakeEncoder = (_, events) => {
      const encoder = new TestEncoder(events, this.time);
      this.encoders.push(encoder);
      return Promise.resolve(encoder);
    };
    this.publisher = new RelayPublisher({
      relay: { address: ADDRESS, uses }, pictures, makeEncoder,
      makeSoundEncoder: (format, events) => new TestSoundEncoder(format, events),
      choice: chosen(OPTIONS), time: this.time, random,
      openStore: () => Promise.resolve(this.keys), openCameraStore: () => Promise.resolve(store),
      openRelay: opens(this.memory),
      post: (message) => {
        this.told.push(message);
      },
    });
    void this.publisher.run();
  }

  /** One that the relay takes the pictures of. */
  static async live(before?: Stage, uses = 2): Promise<Stage> {
    const stage = new Stage(before, uses);
    await until(() => stage.state === "live" && stage.encoders.length > 0, `it is live, not ${String(stage.state)}`);
    return stage;
  }

  get state(): unknown {
    const last = this.told.findLast((message) => message.type === "state");
    return last && (last.cause === undefined ? last.state : `${last.state}: ${last.cause}`);
  }

  get words(): string {
    return this.told.findLast((message) => message.type === "state")?.words ?? "";
  }

  get log(): string[] {
    return this.told.flatMap((message) => (message.type === "event" ? [message.words] : []));
  }

  get audience(): Audience {
    const found = this.told.findLast((message) => message.type === "audience")?.audience;
    assert(found !== undefined, "the page knows for whom it publishes");
    return found;
  }

  get viewers(): string[] {
    return this.audience.viewers.map(({ state }) => state);
  }

  /** Takes pictures, 25 a second. */
  async film(count: number): Promise<void> {
    for (let left = count; left > 0; left -= 1) {
      this.taken += 1;
      this.#camera?.enqueue({ timestamp: this.taken * 20_000, close: () => undefined } as unknown as VideoFrame);
      await this.time.pass(40);
    }
  }

  async filmUntil(done: () => boolean, what: string): Promise<void> {
    for (let pictures = 0; !done(); pictures += 1) {
      assert(pictures < 1_000, `it comes to it while the camera films that ${what}`);
      await this.film(1);
    }
  }

  /** A viewer that was shown a picture. */
  async watched(ticket = this.audience.ticket, store?: MemoryStore): Promise<Watching> {
    const watching = new Watching(this, ticket, store);
    await this.filmUntil(() => watching.player.pictures.length > 0, `it is shown a picture: ${String(watching.state)}`);
    return watching;
  }
}

/** Checks that pictures follow each other without a gap. */
function isWhole(pictures: readonly number[]): boolean {
  return pictures.every((picture, at) => picture === (pictures[0] ?? 0) + at);
}

test("a page's viewers at a relay are shown each picture, and the page says who they are", async () => {
  const stage = await Stage.live();
  same([stage.audience.left, stage.viewers, stage.audience.broadcast], [2, [], NAME], "before anybody came");
  await stage.film(10);
  same(stage.told.findLast((message) => message.type === "figures")?.figures.frames ?? 0, 0, "nobody could open it");
  const one = await stage.watched();
  const two = await stage.watched();
  same([stage.audience.left, stage.viewers], [0, ["watching", "watching"]], "both watch");
  const seen = [one, two].map(({ player }) => player.pictures.length);
  await stage.film(120);
  const all = (): boolean => [one, two].every(({ player }, at) => player.pictures.length >= (seen[at] ?? 0) + 110);
  await until(all, "both see what was filmed");
  assert(isWhole(one.player.pictures) && isWhole(two.player.pictures), "each picture, in order");
  same([one.refused, two.refused], [[{}, {}], [{}, {}]], "refused");
  const age = one.posted.findLast((message) => message.type === "figures")?.figures.membership?.age;
  same(age?.state, "live", "the age of the picture");
  const third = new Watching(stage, stage.audience.ticket);
  await until(() => String(third.state).startsWith("refused"), "the invite is used up");
  stage.publisher.command({ type: "stop" });
  await stage.time.pass(1_000);
  await until(() => stage.state === "ended: stopped" && one.state === "ended: end-of-stream", "both ends are told");
  assert(stage.cancelled, "the camera is let go");
});

test("a viewer whose access ends is told, opens nothing more, and cannot come back by the ticket", async () => {
  const stage = await Stage.live(undefined, 3);
  const { ticket } = stage.audience;
  const goes = await stage.watched(ticket);
  const peer = stage.audience.viewers[0]?.peer ?? "";
  const stays = await stage.watched(ticket);
  const epoch = stage.audience.epoch;
  stage.publisher.command({ type: "end-access", peer });
  await stage.filmUntil(() => goes.state === "refused: removed", "it is told");
  const seen = goes.player.pictures.length;
  await stage.film(60);
  same([goes.player.pictures.length, stage.viewers], [seen, ["watching"]], "what it sees");
  assert(stage.audience.epoch > epoch && isWhole(stays.player.pictures), "other keys; who stays misses nothing");
  same([stage.audience.left, parseTicket(stage.audience.ticket).invite], [0, undefined], "the invite went with it");
  const again = new Watching(stage, ticket);
  await until(() => String(again.state).startsWith("refused"), "the ticket admits nobody new");
});

test("after a loss of the relay both ends are back, and after a new start the enrolled need no ticket", async () => {
  const stage = await Stage.live();
  const store = new MemoryStore();
  const viewer = await stage.watched(stage.audience.ticket, store);
  stage.memory.isThere = false;
  stage.memory.restart();
  await until(() => stage.state === "lost: carrier" && viewer.state !== "live", "the loss is told");
  await stage.film(20);
  const seen = viewer.player.pictures.length;
  stage.memory.isThere = true;
  await stage.filmUntil(() => viewer.player.pictures.length > seen, "pictures come again");
  const first = stage.memory.groupsOf(NAME, "video");
  stage.publisher.command({ type: "stop" });
  await stage.time.pass(1_000);
  await until(() => String(stage.state).startsWith("ended"), "it ends");
  stage.memory.restart();
  const next = await Stage.live(stage);
  same(next.viewers, ["away"], "who was enrolled");
  const bare = next.audience.ticket.replace(/#.*/, "");
  const back = await next.watched(bare, store);
  same(next.viewers, ["watching"], "who is back");
  const later = next.memory.groupsOf(NAME, "video");
  assert(Math.min(...later) > Math.max(...first), "numbers of groups of pictures go on");
  assert(back.player.pictures.length > 0, "it sees the pictures");
});

test("without a store that keeps its numbers a page publishes nothing, and says why", async () => {
  const full = new MemoryCameraStore();
  full.reserveEpochs = () => Promise.reject(new ProtocolError("storage"));
  const stage = new Stage(undefined, 1, full);
  await until(() => stage.state === "failed: storage", "it says so");
  assert(/allow the page to store data/.test(stage.words), stage.words);
  same([stage.memory.connections, stage.memory.names, stage.cancelled], [0, [], true], "what it did");
});

test("a name that is taken is not taken away, and a relay that is not there is said", async () => {
  const memory = new MemoryRelay();
  memory.track(NAME, "video");
  const stage = new Stage({ memory, time: new VirtualTime(), keys: new MemoryStore(), taken: 0,
    store: new MemoryCameraStore() } as unknown as Stage);
  await until(() => stage.log.some((words) => words.includes("has a broadcast meeting already")), "it waits");
  await stage.time.pass(15_000);
  await until(() => stage.state === "failed: name-taken", "it gives up");
  memory.unpublish(NAME);
  memory.isThere = false;
  const next = new Stage(stage);
  await until(() => next.state === "failed: carrier", "the relay is not there");
  assert(next.words.includes("cannot be reached"), next.words);
});

/** A viewer of other wishes than a page's. */
async function stranger(
  stage: Stage, ticket: string, media: Wish["media"], group?: GroupPolicy,
): Promise<{ readonly end: string[] }> {
  const to: Ticket = parseTicket(ticket);
  const psks = to.invite === undefined ? [] : [await PresharedKey.fromInvite(to.invite)];
  const handshake = {
    role: "viewer", identity: await generateIdentity(), helloKeys: await HelloKeys.create(to.peer, psks),
    suites: DEFAULT_SUITES, mechanisms: DEFAULT_MECHANISMS, wish: { media, camera: "" },
  } as const;
  const parts = { openRelay: opens(stage.memory), time: stage.time, random };
  const carrier = await meet(to, parts, new AbortController().signal);
  const config = { handshake, side: "initiator", pinned: to.peer, ...(group && { group }) } as const;
  const session = await Session.initiate(config, random(), stage.time.now());
  const end: string[] = [];
  new SessionDriver(session, carrier, {
    event: (event) => {
      if (event.type === "closed") {
        end.push(`${event.reason}: ${event.text}`);
      }
    },
    media: () => undefined,
    over: (error) => {
      end.push(error === undefined ? "over" : error.message);
    },
  }, stage.time);
  return { end };
}

test("who wants no group, or its pictures over its session, is told goodbye in words", async () => {
  const stage = await Stage.live();
  const { ticket } = stage.audience;
  for (const media of ["frames", "packets"] as const) {
    const wishes = await stranger(stage, ticket, media);
    await until(() => wishes.end.length > 0, "it is told");
    assert(/^10: this camera is a page/.test(wishes.end[0] ?? ""), wishes.end.join());
  }
  const session = await stranger(stage, ticket, "nothing-yet", { sign: "frame" });
  await until(() => session.end.length > 0, "it is told");
  assert(/^1: this camera is a page/.test(session.end[0] ?? ""), session.end.join());
  const none = await stranger(stage, ticket, "nothing-yet");
  await until(() => stage.viewers.includes("joining"), "it has a session");
  await stage.time.pass(9_000);
  same(none.end, [], "for ten seconds");
  await stage.time.pass(2_000);
  await until(() => none.end.length > 0, "it is told");
  assert(/^1: this camera is a page/.test(none.end[0] ?? ""), none.end.join());
});

test("viewers who come all at once, or say nothing, take no more than the places that there are", async () => {
  const stage = await Stage.live();
  for (let viewer = 0; viewer < 40; viewer += 1) {
    stage.memory.track(`${NAME}/viewers/${viewer.toString(16).padStart(32, "0")}`, "session");
  }
  await until(() => stage.log.some((words) => words.includes("16 in all")), "further ones are left alone");
  same(stage.viewers, [], "nobody was admitted");
  // They never speak, and their places are free again.
  await stage.time.pass(11_000);
  const viewer = await stage.watched();
  same([stage.viewers, viewer.state], [["watching"], "live"], "one that speaks");
});

test("what waits for the relay makes the bit rate fall, and pictures are left out before they are old", async () => {
  const stage = await Stage.live();
  const viewer = await stage.watched();
  await stage.film(50);
  const [encoder] = stage.encoders;
  const before = encoder?.bitrates.at(-1) ?? 0;
  stage.memory.backlog = 60_000;
  await stage.film(75);
  assert((encoder?.bitrates.at(-1) ?? 0) < before, "it follows what the path carries");
  const dropped = stage.told.findLast((message) => message.type === "figures")?.figures.dropped ?? 0;
  assert(dropped > 0, "pictures were left out");
  stage.memory.backlog = 0;
  const seen = viewer.player.pictures.length;
  await stage.filmUntil(() => viewer.player.pictures.length > seen + 20, "pictures come again");
});

test("each group of pictures is two seconds long, and keys stand before pictures that need them", async () => {
  const stage = await Stage.live();
  await stage.watched();
  await stage.film(100);
  const groups = stage.memory.groupsOf(NAME, "video").length;
  assert(groups >= 2 && groups <= 5, `${groups} groups of pictures in some four seconds`);
  const [first, ...sheets] = stage.memory.newest(NAME, "keys").map((object) => parseControl(object).type);
  same([first, new Set(sheets).size, sheets[0]], ["group-terms", 1, "key-sheet"], "the track of keys");
  await breathe();
});

test("sound has a track of its own, of which each viewer gets each packet from some group on", async () => {
  const stage = await Stage.live();
  const microphone = new TestMicrophone(stage.time);
  stage.publisher.command({ type: "microphone", sound: microphone.stream });
  await microphone.speak(20);
  same(stage.memory.groupsOf(NAME, "sound"), [], "nobody could open it");
  const speak = async (pieces: number): Promise<void> => {
    for (let left = pieces; left > 0; left -= 4) {
      await microphone.speak(4);
      microphone.sleep(-40);
      await stage.film(1);
    }
  };
  const one = await stage.watched();
  await speak(400);
  await until(() => one.player.sounds.length > 150, "packets come");
  const two = await stage.watched();
  await speak(400);
  await until(() => two.player.sounds.length > 100, "packets come to both");
  for (const { player, refused } of [one, two]) {
    const [first = 0] = player.sounds;
    same(player.sounds, player.sounds.map((_, at) => first + at), "each packet, in order");
    same(refused, [{}, {}], "refused");
    assert(isWhole(player.pictures), "each picture");
  }
  const groups = stage.memory.groupsOf(NAME, "sound");
  assert(groups.length >= 2 && groups.every((group, at) => group === (groups[0] ?? 0) + at), groups.join());
  stage.publisher.command({ type: "microphone" });
  await breathe();
  assert(microphone.cancelled, "a muted microphone is let go");
});
