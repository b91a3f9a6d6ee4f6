// A whole viewer, but for carrier, decoder and canvas, which a test plays.

import { type MakeCodec } from "../src/media/codecs.ts";
import { Player } from "../src/media/player.ts";
import { type FromWorker, type LinkState } from "../src/messages.ts";
import { Close } from "../src/protocol/wire/control.ts";
import { MemoryStore } from "../src/store/memory-store.ts";
import { AFTER_REPLACED } from "../src/worker/link.ts";
import { Viewer } from "../src/worker/viewer.ts";
import { Camera } from "./support/camera.ts";
import { clipFrames, clipParameters } from "./support/clip.ts";
import { DEAF } from "./support/deaf.ts";
import { assert, same, show, test } from "./support/harness.ts";
import { frame } from "./support/pair.ts";
import { VirtualTime, until } from "./support/virtual-time.ts";

const INFO = { codec: "h264", width: 32, height: 32, rate: { numerator: 25, denominator: 1 } } as const;

class Seat {
  readonly time: VirtualTime;
  readonly camera: Camera;
  readonly viewer: Viewer;
  readonly posted: FromWorker[] = [];
  /** What happened on the canvas. */
  readonly canvas: string[] = [];
  /** Hashes are not taken here: how many access units went to the decoder. */
  units = 0;
  done = false;

  constructor(time: VirtualTime, camera: Camera, ticket: string, store = new MemoryStore(), decodes = true,
    name = "") {
    this.time = time;
    this.camera = camera;
    const surface = {
      resize: () => undefined,
      show: () => {
        this.canvas.push("picture");
      },
      clear: () => {
        this.canvas.push("clear");
      },
    };
    const codec: MakeCodec = (events) => ({
      queued: 0,
      configure: () => undefined,
      decode: ({ timestamp }) => {
        events.picture({ image: {} as CanvasImageSource, width: 32, height: 32, close: () => undefined }, timestamp);
      },
      close: () => undefined,
    });
    const image = (): Promise<never> => Promise.reject(new Error("no images here"));
    const player = new Player({ surface, codec: decodes ? codec : undefined, image, sound: DEAF, time }, {
      needsKeyframe: (stream) => {
        this.viewer.needsKeyframe(stream);
      },
      news: (words, bad) => {
        this.viewer.news(words, bad);
      },
      unable: (words) => {
        this.viewer.unable(words);
      },
      size: (width, height) => this.posted.push({ type: "size", width, height }),
      clock: (now) => this.viewer.clock(now),
      offer: (sound) => this.posted.push({ type: "sound", sound }),
      unit: () => {
        this.units += 1;
      },
    }, 0);
    this.viewer = new Viewer({
      ticket, time, camera: name,
      openStore: () => Promise.resolve(store),
      connect: camera.connect,
      random: () => crypto.getRandomValues(new Uint8Array(32)),
      post: (message) => this.posted.push(message),
    }, player);
    void this.viewer.run().then(() => {
      this.done = true;
    });
  }

  get states(): LinkState[] {
    return this.posted.flatMap((message) => (message.type === "state" ? [message.state] : []));
  }

  /** The last state, with its cause. */
  get end(): unknown {
    const last = this.posted.findLast((message) => message.type === "state");
    return last && [last.state, last.cause];
  }

  async comesTo(state: LinkState, times = 1): Promise<void> {
    await until(() => this.states.filter((one) => one === state).length >= times, `it is ${state}`);
  }

  /** The camera sends a keyframe and a frame after it. */
  async film(): Promise<void> {
    const { driver } = this.camera.last;
    const before = this.units;
    await driver.step((session, now) => session.sealInfo(now, 1, { ...INFO, parameters: clipParameters() }));
    for (const [number, { data, keyframe }] of clipFrames().slice(0, 2).entries()) {
      await driver.step((session, now) => session.sealFrame(now, { ...frame(number, keyframe), data }));
    }
    await until(() => this.units === before + 2, "both frames came");
  }
}

async function seat(invited = true, store = new MemoryStore()): Promise<Seat> {
  const time = new VirtualTime();
  const camera = await Camera.create(time);
  return new Seat(time, camera, camera.ticket(invited), store);
}

test("a viewer shows what comes, says how it is protected, and leaves in good order", async () => {
  const one = await seat();
  await one.comesTo("live");
  same(one.states, ["connecting", "handshake", "live"], "states");
  await one.film();
  same(one.canvas, ["picture", "picture"], "canvas");
  const protection = one.posted.find((message) => message.type === "protection")?.protection;
  const { suite, mechanism, epoch, selection } = protection ?? {};
  same([suite, mechanism, epoch, selection], ["aes-256-gcm", "x25519-mlkem768", 0, "all"], "protection");
  assert(one.camera.ticket().includes(protection?.peer ?? "?"), "the peer is the ticket's");
  await one.time.pass(500);
  const figures = one.posted.find((message) => message.type === "figures")?.figures;
  const { frames, drawn, dropped, codec } = figures ?? {};
  same([frames, drawn, dropped, codec, figures?.refused], [2, 2, 0, "avc1.64000A", {}], "figures");
  one.viewer.command({ type: "stop" });
  await until(() => one.done && one.camera.last.isOver, "both have ended");
  same([one.end, one.canvas.at(-1)], [["ended", "stopped"], "clear"], "end");
});

test("an invite enrols once, and afterwards the kept key is proved instead of it", async () => {
  const store = new MemoryStore();
  const one = await seat(true, store);
  await one.comesTo("live");
  const { invite, kept } = await one.camera.names();
  same(one.camera.last.proved, invite, "the invite");
  const { peer } = one.posted.find((message) => message.type === "protection")?.protection ?? {};
  assert(peer !== undefined, "the peer is known");
  one.viewer.command({ type: "stop" });
  await until(() => one.done, "it has ended");
  const again = new Seat(one.time, one.camera, one.camera.ticket(), store);
  await again.comesTo("live");
  same(one.camera.last.proved, kept, "the kept key");
  again.viewer.command({ type: "stop" });
  const stranger = new Seat(one.time, one.camera, one.camera.ticket());
  await until(() => stranger.done, "somebody else is refused");
  same([stranger.end, stranger.camera.attempts], [["refused", "psk"], 3], "the invite is used up");
});

test("where an enrolment was removed the link's invite is tried, and without one the viewer is refused", async () => {
  const store = new MemoryStore();
  const one = await seat(true, store);
  await one.comesTo("live");
  one.viewer.command({ type: "stop" });
  await until(() => one.done, "it has ended");
  one.camera.forget(1);
  const again = new Seat(one.time, one.camera, one.camera.ticket(), store);
  await again.comesTo("live");
  same(one.camera.last.proved, (await one.camera.names()).invite, "the invite");
  again.viewer.command({ type: "stop" });
  await until(() => again.done, "it has ended");
  one.camera.forget(0);
  const last = new Seat(one.time, one.camera, one.camera.ticket(false), store);
  await until(() => last.done, "it is refused");
  same(last.end, ["refused", "psk"], "end");
});

test("a lost session is tried again with growing pauses, and the last picture goes after two seconds", async () => {
  const one = await seat();
  await one.comesTo("live");
  await one.film();
  one.camera.isThere = false;
  one.camera.last.carrier.break();
  await one.comesTo("lost");
  same(one.canvas, ["picture", "picture"], "the last picture stays");
  let attempts = one.camera.attempts;
  const again = async (pause: number): Promise<void> => {
    await one.time.pass(pause - 1);
    same(one.camera.attempts, attempts, "it waits");
    await one.time.pass(1);
    attempts += 1;
    await one.comesTo("lost", attempts);
  };
  await again(500);
  await again(1_000);
  await one.time.pass(499);
  same(one.canvas.at(-1), "picture", "for two seconds");
  await one.time.pass(1);
  same(one.canvas.at(-1), "clear", "and not longer");
  await again(1_500);
  for (const pause of [4_000, 8_000, 8_000, 8_000]) {
    await again(pause);
  }
  one.camera.isThere = true;
  await one.time.pass(8_000);
  await one.comesTo("live", 2);
  await one.film();
  same(one.canvas.at(-1), "picture", "it is shown again");
  one.viewer.command({ type: "stop" });
  await until(() => one.done, "it has ended");
});

test("who was replaced says so, and comes again after a minute and no sooner", async () => {
  const one = await seat();
  await one.comesTo("live");
  await one.camera.last.driver.close(Close.Replaced, "another session of yours");
  await one.comesTo("lost");
  same([one.end, one.done], [["lost", "replaced"], false], "it is told, and not the end");
  await one.time.pass(AFTER_REPLACED - 100);
  same(one.camera.sessions.length, 1, "no second session meanwhile");
  await one.time.pass(200);
  await one.comesTo("live", 2);
  same(one.camera.sessions.length, 2, "sessions");
  // The pauses after other losses are what they were.
  await one.camera.last.driver.close(Close.GoingAway, "");
  await one.comesTo("lost", 2);
  await one.time.pass(1_000);
  await one.comesTo("live", 3);
  one.viewer.command({ type: "stop" });
  await until(() => one.done, "it has ended");
});

test("who is waiting for its place again can stop", async () => {
  const one = await seat();
  await one.comesTo("live");
  await one.camera.last.driver.close(Close.Replaced, "");
  await one.comesTo("lost");
  one.viewer.command({ type: "stop" });
  await until(() => one.done, "it has ended");
  same(one.end, ["ended", "stopped"], "how");
});

test("nothing is drawn after a session has ended, whatever still comes", async () => {
  const one = await seat();
  await one.comesTo("live");
  await one.film();
  await one.camera.last.driver.close(Close.EndOfStream);
  await until(() => one.done, "it has ended");
  same([one.end, one.canvas.at(-1)], [["ended", "end-of-stream"], "clear"], "end");
  const refused = await seat();
  await refused.comesTo("live");
  await refused.film();
  await refused.camera.last.driver.close(Close.NotAuthorised);
  await until(() => refused.done, "it has ended");
  same([refused.end, refused.canvas.at(-1)], [["refused", "removed"], "clear"], "refused");
});

test("whoever is not admitted, hears nothing or has no ticket is told so in words", async () => {
  const unwelcome = await seat(false);
  unwelcome.camera.admits = false;
  await until(() => unwelcome.done, "it is refused");
  same([unwelcome.end, unwelcome.canvas], [["refused", "not-authorised"], ["clear"]], "not admitted");
  const time = new VirtualTime();
  const [silent, other] = [await Camera.create(time), await Camera.create(time)];
  silent.answers = false;
  const unheard = new Seat(time, silent, silent.ticket());
  await unheard.comesTo("handshake");
  await until(() => time.next < Infinity, "the handshake has begun");
  await time.pass(5_000);
  await until(() => unheard.done, "it gives up");
  same(unheard.end, ["refused", "silence"], "silence");
  const lost = new Seat(time, other, silent.ticket());
  await until(() => lost.done, "it gives up");
  same(lost.end, ["refused", "silence"], "another publisher closes without a word");
  const wrong = new Seat(time, other, "sealcast://127.0.0.1:9553/x");
  await until(() => wrong.done, "it gives up");
  same([wrong.end, other.attempts], [["refused", "ticket"], 1], "no ticket");
  other.isThere = false;
  const alone = new Seat(time, other, other.ticket());
  await until(() => alone.done, "it gives up");
  same(alone.end, ["failed", "carrier"], "no server");
  const words = [unwelcome, unheard, lost, wrong, alone].map(({ posted }) =>
    posted.findLast((message) => message.type === "state")?.words ?? "");
  assert(words.every((text) => text.length > 20 && text.endsWith(".") || text.includes("It said")), "sentences");
});

test("a browser without a video decoder says so, and leaves", async () => {
  const time = new VirtualTime();
  const camera = await Camera.create(time);
  const one = new Seat(time, camera, camera.ticket(), new MemoryStore(), false);
  await one.comesTo("live");
  await camera.last.driver.step((session, now) =>
    session.sealInfo(now, 1, { ...INFO, parameters: clipParameters() }));
  await until(() => one.done && camera.last.isOver, "both have ended");
  same([one.end, one.units], [["failed", "codec"], 0], "end");
});

test("a keyframe is asked for on command, and where a frame cannot be decoded", async () => {
  const one = await seat();
  await one.comesTo("live");
  one.viewer.command({ type: "keyframe" });
  await until(() => one.camera.last.keyframes === 1, "on command");
  const { driver } = one.camera.last;
  await driver.step((session, now) => session.sealInfo(now, 1, { ...INFO, parameters: clipParameters() }));
  await driver.step((session, now) => session.sealFrame(now, { ...frame(5, false), data: new Uint8Array(9) }));
  await one.time.pass(250);
  await until(() => one.camera.last.keyframes === 2, "for what cannot be decoded");
  const said = one.camera.last.carrier.sent.length;
  one.viewer.command({ type: "rekey" });
  // Only an offer, with its share, is so long.
  const isOffer = ({ length }: Uint8Array): boolean => length > 1_200;
  await until(() => one.camera.last.carrier.sent.slice(said).some(isOffer), "new keys are offered");
  // The answer is on its way before these frames are there, and before the request that follows.
  await one.film();
  await one.time.pass(250);
  one.viewer.command({ type: "keyframe" });
  await until(() => one.camera.last.keyframes === 3, "the publisher has the answer");
  await one.film();
  const renewed = (message: FromWorker): boolean => message.type === "event" && message.words.includes("new keys");
  await until(() => one.posted.some(renewed), "there are new keys");
  one.viewer.command({ type: "stop" });
  await until(() => one.done, "it has ended");
});

/** A store that keeps an enrolment when it is told to. */
class SlowStore extends MemoryStore {
  keep: () => void = () => undefined;

  override async keepEnrolment(...enrolment: Parameters<MemoryStore["keepEnrolment"]>): Promise<void> {
    await new Promise<void>((done) => {
      this.keep = done;
    });
    await super.keepEnrolment(...enrolment);
  }
}

test("cameras are told once other sessions can go by the enrolment, and again only when they change", async () => {
  const store = new SlowStore();
  const one = await seat(true, store);
  const told = (): unknown => one.posted.flatMap((message) => message.type === "cameras" ? [message.names] : []);
  await one.comesTo("live");
  const { driver } = one.camera.last;
  const tell = (names: readonly string[]): Promise<void> =>
    driver.step((session, now) => session.tellOfCameras(now, { type: "cameras", names }));
  await tell(["front", "yard", "front"]);
  await one.film();
  same(told(), [], "before the enrolment is kept");
  store.keep();
  await until(() => show(told()) === show([["front", "yard"]]), "they are told, none twice");
  await tell(["front", "yard"]);
  await tell(["yard"]);
  await until(() => show(told()) === show([["front", "yard"], ["yard"]]), "what changed is told");
  const other = new Seat(one.time, one.camera, one.camera.ticket(false), store);
  await other.comesTo("live");
  same(one.camera.last.proved, (await one.camera.names()).kept, "what the other session proves");
  for (const { viewer } of [one, other]) {
    viewer.command({ type: "stop" });
  }
  await until(() => one.done && other.done, "both have ended");
});

test("a viewer wishes its camera by name, and is told in words where there is none of that name", async () => {
  const time = new VirtualTime();
  const camera = await Camera.create(time);
  camera.offers = ["front"];
  const named = (name: string): Seat =>
    new Seat(time, camera, camera.ticket(), new MemoryStore(), true, name);
  const [unknown, wrong] = [named("nowhere"), named("x".repeat(65))];
  await until(() => unknown.done && wrong.done, "they are refused");
  same([unknown.end, wrong.end], [["refused", "not-offered"], ["failed", "camera"]], "ends");
  const words = [unknown, wrong].map(({ posted }) => posted.findLast((message) => message.type === "state")?.words);
  same(words, [
    "What this page asks for is not there. It said: there is no such camera",
    "A camera's name has at most 64 bytes and no characters unfit to be shown.",
  ], "words");
  const right = named("front");
  await right.comesTo("live");
  same(camera.last.wished, "front", "the wish");
  right.viewer.command({ type: "stop" });
  await until(() => right.done, "it has ended");
});
