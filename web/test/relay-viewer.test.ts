// A whole viewer whose camera is behind a relay, in memory and in a time that goes on where a test says so.

import { CarrierError } from "../src/carrier/carrier.ts";
import { hasWebTransport } from "../src/carrier/webtransport.ts";
import { Player } from "../src/media/player.ts";
import { type Media } from "../src/protocol/unit/assemble.ts";
import { type Age, type FromWorker, type LinkState } from "../src/messages.ts";
import { meet } from "../src/relay/meet.ts";
import { openRelay } from "../src/relay/open.ts";
import { MemoryStore } from "../src/store/memory-store.ts";
import { Viewer } from "../src/worker/viewer.ts";
import { picture } from "./support/group-camera.ts";
import { DEAF } from "./support/deaf.ts";
import { assert, same, test, testWhere } from "./support/harness.ts";
import { MemoryRelay } from "./support/memory-relay.ts";
import { NAME, RelayCamera } from "./support/relay-camera.ts";
import { VirtualTime, breathe, until } from "./support/virtual-time.ts";

/** Draws nothing, since the camera's pictures are none, and checks that each is the camera's. */
class CheckingPlayer extends Player {
  frames = 0;

  override media(media: Media): void {
    if (media.type === "frame") {
      same(media.data, picture(Number(media.preamble.frame)), "a picture of the camera");
      this.frames += 1;
    } else if (media.type !== "info") {
      super.media(media);
    }
  }
}

class Seat {
  readonly time: VirtualTime;
  readonly relay: MemoryRelay;
  readonly posted: FromWorker[] = [];
  readonly viewer: Viewer;
  readonly camera: RelayCamera;
  readonly #player: CheckingPlayer;
  done = false;

  private constructor(camera: RelayCamera, relay: MemoryRelay, time: VirtualTime) {
    [this.camera, this.relay, this.time] = [camera, relay, time];
    const surface = { resize: () => undefined, show: () => undefined, clear: () => undefined };
    const image = (): Promise<never> => Promise.reject(new Error("no images here"));
    this.#player = new CheckingPlayer({ surface, codec: undefined, image, sound: DEAF, time }, {
      needsKeyframe: (stream) => {
        this.viewer.needsKeyframe(stream);
      },
      news: () => undefined,
      unable: () => undefined,
      size: () => undefined,
      clock: (now) => this.viewer.clock(now),
      offer: () => undefined,
    }, 0);
    const store = new MemoryStore();
    const random = (): Uint8Array<ArrayBuffer> => crypto.getRandomValues(new Uint8Array(32));
    const openRelay = (): Promise<ReturnType<MemoryRelay["connect"]>> => this.relay.isThere
      ? Promise.resolve(this.relay.connect())
      : Promise.reject(new CarrierError("relay relay.example:4443 cannot be reached", "relay"));
    this.viewer = new Viewer({
      ticket: camera.ticket, time, random, openStore: () => Promise.resolve(store),
      connect: (ticket, signal) => meet(ticket, { openRelay, time, random }, signal),
      post: (message) => this.posted.push(message),
    }, this.#player);
  }

  get frames(): number {
    return this.#player.frames;
  }

  static async create(): Promise<Seat> {
    const [relay, time] = [new MemoryRelay(), new VirtualTime()];
    return new Seat(await RelayCamera.create(relay, time), relay, time);
  }

  /** Begins to watch. */
  run(): void {
    void this.viewer.run().then(() => {
      this.done = true;
    });
  }

  /** A viewer that is a member, and was shown the first two frames. */
  static async watching(): Promise<Seat> {
    const seat = await Seat.create();
    seat.run();
    await seat.joins();
    await seat.film(true);
    await seat.film(false);
    await seat.shows(2);
    return seat;
  }

  /** The camera takes the session that comes next, and its viewer becomes a member. */
  async joins(): Promise<void> {
    const before = this.camera.sessions.length;
    await until(() => this.relay.names.some((name) => name.startsWith(`${NAME}/viewers/`)), "the viewer comes");
    await this.camera.accept();
    const isMember = (): boolean => this.membership !== undefined && this.camera.sessions.length > before;
    await until(isMember, "it is a member");
    await breathe();
  }

  async film(keyframe: boolean): Promise<void> {
    await this.camera.film(keyframe);
    await breathe();
  }

  async shows(frames: number): Promise<void> {
    await until(() => this.frames === frames, `${frames} frames were shown, and not ${this.frames}`);
  }

  /** Time in which the camera films 10 frames a second, a keyframe each second. */
  async goesOn(milliseconds: number): Promise<void> {
    for (let passed = 0; passed < milliseconds; passed += 100) {
      await this.time.pass(100);
      await this.film(passed % 1_000 === 0);
    }
  }

  get membership(): Extract<FromWorker, { type: "membership" }>["membership"] | undefined {
    return this.posted.findLast((message) => message.type === "membership")?.membership;
  }

  get age(): Age | undefined {
    return this.posted.findLast((message) => message.type === "figures")?.figures.membership?.age;
  }

  get states(): LinkState[] {
    return this.posted.flatMap((message) => (message.type === "state" ? [message.state] : []));
  }

  get end(): unknown {
    const last = this.posted.findLast((message) => message.type === "state");
    return [last?.state, last?.cause, last?.words];
  }

  get news(): string[] {
    return this.posted.flatMap((message) => (message.type === "event" ? [message.words] : []));
  }

  joinsHeard(): number {
    return this.camera.sessions.at(-1)?.heard.filter(({ type }) => type === "join").length ?? 0;
  }
}

test("a viewer meets its camera at a relay, shows what the relay brings, and says how old it is", async () => {
  const seat = await Seat.watching();
  same(seat.states, ["connecting", "handshake", "live"], "states");
  const { carrier, signed } = seat.posted.findLast((message) => message.type === "protection")?.protection ?? {};
  same([carrier, signed], ["relay", "frame"], "the lock");
  await seat.goesOn(2_000);
  await seat.shows(22);
  const { age } = seat;
  assert(age?.state === "live" && age.atMost <= 500, `an age of some frames: ${JSON.stringify(age)}`);
  same(seat.news.filter((line) => line.includes("refused")), [], "nothing was refused");
  seat.viewer.command({ type: "stop" });
  await until(() => seat.done, "it has ended");
  await seat.time.pass(2_000);
  same(seat.relay.names, [NAME], "its broadcast is gone from the relay");
});

test("who comes in the middle begins with the newest group of pictures, from its first frame", async () => {
  const seat = await Seat.create();
  const late = seat.camera.group.admit(new Uint8Array(32).fill(1));
  assert(late === 0, "another viewer is there");
  await seat.camera.rekey();
  await seat.film(true);
  await seat.film(true);
  await seat.film(false);
  seat.run();
  await seat.joins();
  // What is there was sealed before it was a member.
  await breathe();
  same(seat.frames, 0, "frames under keys that it never had");
  same(seat.news.filter((line) => line.includes("refused")), [], "and that is no news");
  await seat.film(true);
  await seat.film(false);
  await seat.shows(2);
});

test("a relay that withholds key sheets is got round: the camera tells them when it is asked", async () => {
  const seat = await Seat.watching();
  seat.camera.keys.withheld = true;
  same(seat.joinsHeard(), 1, "it has joined once");
  await seat.camera.rekey();
  await seat.film(true);
  await seat.film(false);
  await seat.time.pass(200);
  same([seat.frames, seat.joinsHeard()], [2, 1], "they wait");
  await seat.time.pass(100);
  await until(() => seat.joinsHeard() === 2, "the camera is asked");
  await seat.shows(4);
  same(seat.news.filter((line) => line.includes("refused")), [], "nothing was refused");
});

test("sheets that come by the relay alone open what follows, and the camera is not asked", async () => {
  const seat = await Seat.watching();
  await seat.camera.rekey();
  await breathe();
  await seat.film(true);
  await seat.shows(3);
  await seat.goesOn(1_000);
  same(seat.joinsHeard(), 1, "it has joined once");
});

test("a relay that stalls is noticed by the age of the picture, in words, and so is the end of it", async () => {
  const seat = await Seat.watching();
  await seat.goesOn(1_000);
  assert(seat.age?.state === "live", "it is live");
  seat.camera.video.withheld = true;
  await seat.time.pass(3_000);
  same(seat.age, { state: "alarm", cause: "freeze" }, "no frames come");
  same(seat.states.at(-1), "live", "the session goes on");
  assert(seat.news.some((line) => line.startsWith("the picture may be old: no frame comes")), seat.news.join("; "));
  seat.camera.video.withheld = false;
  await seat.goesOn(1_000);
  assert(seat.news.some((line) => line.startsWith("the picture is live again")), seat.news.join("; "));
});

test("frames that a relay holds back and gives late are told by the age, though all are the camera's", async () => {
  const seat = await Seat.watching();
  await seat.goesOn(1_000);
  // Its answers come at once, and the frames that they belong to 3 s later.
  const held: (() => void)[] = [];
  const write = seat.camera.video.write.bind(seat.camera.video);
  seat.camera.video.write = (object) => {
    const copy = object.slice();
    held.push(() => {
      write(copy);
    });
    if (held.length > 30) {
      held.shift()?.();
    }
  };
  for (let passed = 0; passed < 6_000; passed += 100) {
    await seat.time.pass(100);
    await seat.camera.film(false);
    await breathe();
  }
  same(seat.age, { state: "alarm", cause: "stale" }, "they come too late");
  same(seat.news.filter((line) => line.includes("refused")), [], "nothing was refused");
});

test("a relay that goes away is said in words, and tried again until it is back", async () => {
  const seat = await Seat.watching();
  seat.relay.isThere = false;
  seat.relay.restart();
  await until(() => seat.states.at(-1) === "lost", "it is lost");
  same(seat.end, ["lost", "connection", "The connection to the relay broke."], "words");
  await seat.time.pass(2_000);
  same(seat.end, ["lost", "carrier", "Relay relay.example:4443 cannot be reached."], "it is not back");
  seat.relay.isThere = true;
  seat.camera.publish();
  await seat.time.pass(8_000);
  await seat.joins();
  await seat.film(true);
  await seat.shows(3);
  same(seat.states.at(-1), "live", "it is back");
});

test("a camera that is gone from the relay is said in words, and awaited", async () => {
  const seat = await Seat.watching();
  seat.relay.unpublish(NAME);
  await seat.time.pass(1_000);
  await until(() => seat.states.includes("lost"), "it is lost");
  const words = seat.posted.flatMap((message) => (message.type === "state" ? [message.words] : []));
  assert(words.some((one) => /gave the session up|gone from the relay/.test(one ?? "")), words.join("; "));
  seat.camera.publish();
  await seat.time.pass(1_000);
  await seat.joins();
  await seat.film(true);
  await seat.shows(3);
});

test("what keeps a viewer from its camera at a relay is said in words", async () => {
  const away = await Seat.create();
  away.relay.unpublish(NAME);
  away.run();
  await until(() => away.relay.connections === 1, "it has connected");
  await breathe();
  await away.time.pass(10_000);
  await until(() => away.done, "it gives up");
  same(away.end, ["failed", "carrier", `The camera's broadcast ${NAME} is not at relay relay.example:4443: the ` +
    "camera is away, or publishes elsewhere."], "no camera");

  const busy = await Seat.create();
  busy.camera.takes = false;
  busy.run();
  await until(() => busy.relay.names.length > 1, "it has come");
  await breathe();
  await busy.time.pass(10_000);
  await until(() => busy.done, "it gives up");
  same(busy.end, ["failed", "carrier", "The camera takes no session through relay relay.example:4443: it has too " +
    "many viewers, or the relay does not let this page publish, which a session needs."], "no session");

  const refused = await Seat.create();
  refused.relay.isThere = false;
  refused.run();
  await until(() => refused.done, "it gives up");
  same(refused.end, ["failed", "carrier", "Relay relay.example:4443 cannot be reached."], "no relay");
});

testWhere(!hasWebTransport(), "this browser has it",
  "a browser without WebTransport is told so in words where the ticket names the relay's certificate", async () => {
    const [host, url] = ["relay.example:4443", new URL("https://relay.example:4443/")];
    const address = { host, url, hashes: [new Uint8Array(32)] };
    const error: unknown = await openRelay("https://page.example", address, new AbortController().signal)
      .catch((thrown: unknown) => thrown);
    assert(error instanceof CarrierError && error.where === "relay", "it is refused");
    assert(/^this browser has no WebTransport, .* certificate of relay relay\.example:4443/.test(error.message),
      error.message);
  });

test("a camera that signs no frames is refused in words", async () => {
  const seat = await Seat.create();
  seat.camera.signs = "off";
  seat.run();
  await until(() => seat.relay.names.length > 1, "it has come");
  await seat.camera.accept();
  await until(() => seat.done, "it has ended");
  const [state, cause] = seat.end as [string, string];
  same([state, cause], ["refused", "unfit-group"], "end");
});
