// A publisher, with a camera and an encoder of the test, and a viewer that waits for it in memory.

import { type MakeEncoder, type Stamps } from "../src/media/encoder.ts";
import { type FromWorker, type PublishOptions } from "../src/messages.ts";
import { MemoryStore } from "../src/store/memory-store.ts";
import { chosen } from "../src/worker/publish-options.ts";
import { Publisher } from "../src/worker/publisher.ts";
import { Close } from "../src/protocol/wire/control.ts";
import { assert, reasonOf, same, test } from "./support/harness.ts";
import { PARAMETERS, TestEncoder } from "./support/test-encoder.ts";
import { TestMicrophone, TestSoundEncoder } from "./support/test-microphone.ts";
import { WaitingViewer } from "./support/viewing.ts";
import { VirtualTime, breathe, until } from "./support/virtual-time.ts";

const OPTIONS: PublishOptions = {
  carrier: "auto", codec: "h264", width: 640, height: 480, rate: 60, bitrate: 4_000_000, quality: 0.8,
  suites: ["aes-256-gcm"], mechanisms: ["x25519"], selection: "all", rekeySeconds: 600,
};

/** A publisher under test, in virtual time. */
class Stage {
  readonly time: VirtualTime;
  readonly viewer: WaitingViewer;
  readonly told: FromWorker[] = [];
  readonly encoders: TestEncoder[] = [];
  readonly publisher: Publisher;
  taken = 0;
  closedPictures = 0;
  cancelled = false;
  #camera: ReadableStreamDefaultController<VideoFrame> | undefined;

  private constructor(time: VirtualTime, viewer: WaitingViewer, options: Partial<PublishOptions>) {
    this.time = time;
    this.viewer = viewer;
    const pictures = new ReadableStream<VideoFrame>({
      start: (camera) => {
        this.#camera = camera;
      },
      cancel: () => {
        this.cancelled = true;
      },
    });
    const makeEncoder: MakeEncoder = (_, events) => {
      this.encoders.push(new TestEncoder(events, time));
      return Promise.resolve(this.encoder);
    };
    const store = new MemoryStore();
    this.publisher = new Publisher({
      ticket: viewer.ticket, pictures, makeEncoder,
      makeSoundEncoder: (format, events) => new TestSoundEncoder(format, events),
      choice: chosen({ ...OPTIONS, ...options }), time,
      openStore: () => Promise.resolve(store),
      connect: () => viewer.accept(),
      random: () => crypto.getRandomValues(new Uint8Array(32)),
      post: (message) => {
        this.told.push(message);
      },
    });
  }

  /** Begins to publish to a viewer. */
  static async begin(options: Partial<PublishOptions> = {}, prepare?: (viewer: WaitingViewer) => void): Promise<Stage> {
    const time = new VirtualTime();
    const viewer = await WaitingViewer.create(time);
    prepare?.(viewer);
    const stage = new Stage(time, viewer, options);
    void stage.publisher.run();
    return stage;
  }

  /** The same, up to the first frames. */
  static async live(options: Partial<PublishOptions> = {}): Promise<Stage> {
    const stage = await Stage.begin(options);
    await until(() => stage.states.at(-1) === "live" && stage.encoders.length > 0, "the session stands");
    await stage.frames(3);
    return stage;
  }

  get encoder(): TestEncoder {
    const encoder = this.encoders.at(-1);
    assert(encoder !== undefined, "there is an encoder");
    return encoder;
  }

  /** Takes pictures, 50 a second. */
  async film(count: number): Promise<void> {
    for (let left = count; left > 0; left -= 1) {
      this.taken += 1;
      let open = true;
      const close = (): void => {
        this.closedPictures += open ? 1 : 0;
        open = false;
      };
      this.#camera?.enqueue({ timestamp: this.taken * 20_000, close } as unknown as VideoFrame);
      await this.time.pass(20);
    }
  }

  /** Films until the viewer has so many frames of the latest session. */
  async frames(count: number): Promise<void> {
    await this.filmUntil(() => this.viewer.sessions.length > 0 && this.viewer.frames.length >= count);
  }

  async filmUntil(done: () => boolean): Promise<void> {
    for (let pictures = 0; !done(); pictures += 1) {
      assert(pictures < 2_000, "it comes while the camera films");
      await this.film(1);
    }
  }

  endOfPictures(): void {
    this.#camera?.close();
  }

  get states(): string[] {
    return this.told.filter((message) => message.type === "state").map(({ state }) => state);
  }

  get last(): { readonly cause?: string; readonly words?: string } {
    return this.told.filter((message) => message.type === "state").at(-1) ?? {};
  }

  get figures(): Extract<FromWorker, { type: "figures" }>["figures"] | undefined {
    return this.told.filter((message) => message.type === "figures").at(-1)?.figures;
  }

  get log(): string[] {
    return this.told.filter((message) => message.type === "event").map(({ words }) => words);
  }

  /** Stops, and checks that every picture was closed and the camera let go. */
  async end(): Promise<void> {
    this.publisher.command({ type: "stop" });
    await this.ended("ended");
    assert(this.cancelled, "the camera is let go");
  }

  async ended(state: string): Promise<void> {
    await until(() => this.states.at(-1) === state, `the state is ${state}`);
    assert(this.encoders.every(({ closed }) => closed), "the encoder is closed");
    same(this.closedPictures, this.taken, "every picture is closed");
  }
}

test("a viewer gets a description, a keyframe, and then every picture, and the page is told", async () => {
  const stage = await Stage.live();
  await stage.frames(50);
  same(stage.states, ["connecting", "handshake", "live"], "states");
  const [first, second] = stage.viewer.latest.media;
  const info = {
    codec: "h264", width: 640, height: 480, rate: { numerator: 60_000, denominator: 1_000 }, parameters: PARAMETERS,
  };
  same(first, { type: "info", stream: 1, info }, "description");
  assert(second?.type === "frame" && second.keyframe, "a keyframe");
  const { frames } = stage.viewer;
  same(frames.map(({ preamble }) => preamble.frame), frames.map((_, at) => BigInt(at)), "numbers");
  assert(frames.slice(1).every(({ keyframe }) => !keyframe), "no more keyframes");
  const times = frames.map(({ preamble }) => preamble.mediaTime);
  same(times, frames.map((_, at) => BigInt(at) * 20_000_000n), "media times");
  const figures = stage.figures;
  same([figures?.width, figures?.codec, figures?.dropped, figures?.total], [640, "test", 0, undefined], "figures");
  same(figures?.stages.map(({ name }) => name), ["capture", "encode", "queue", "seal", "send"], "stages");
  const protection = stage.told.find((message) => message.type === "protection")?.protection;
  same([protection?.mechanism, protection?.suite, protection?.selection], ["x25519", "aes-256-gcm", "all"], "lock");
  await stage.end();
  await until(() => stage.viewer.latest.over, "the viewer's session is over");
  const closed = stage.viewer.latest.events.at(-1);
  assert(closed?.type === "closed" && closed.reason === Close.EndOfStream, "the viewer is told");
});

test("a viewer that asks gets the description and a keyframe, and so it does when the parameters change", async () => {
  const stage = await Stage.live();
  const { media, driver } = stage.viewer.latest;
  const infos = (): number => media.filter(({ type }) => type === "info").length;
  const keyframes = (): number => stage.viewer.frames.filter(({ keyframe }) => keyframe).length;
  await driver.step((session, now) => session.requestKeyframe(now, 1));
  await stage.filmUntil(() => keyframes() === 2);
  same(infos(), 2, "a description with the keyframe that the viewer asked for");
  stage.publisher.command({ type: "keyframe" });
  await stage.filmUntil(() => keyframes() === 3);
  same(infos(), 2, "none with the user's");
  stage.encoder.parameters = PARAMETERS.slice(0, 8);
  stage.publisher.command({ type: "keyframe" });
  await stage.filmUntil(() => keyframes() === 4);
  const last = media.findLast((one) => one.type === "info");
  same([infos(), last?.info.parameters.length], [3, 8], "the other description");
  await stage.end();
});

test("keyframes that are asked for all the time come four times a second", async () => {
  const stage = await Stage.live();
  await stage.film(20);
  const before = stage.viewer.frames.length;
  const { driver } = stage.viewer.latest;
  for (let picture = 0; picture < 50; picture += 1) {
    await driver.step((session, now) => session.requestKeyframe(now, 1));
    await stage.film(1);
  }
  await stage.frames(before + 50);
  const keyframes = stage.viewer.frames.slice(before).filter(({ keyframe }) => keyframe).length;
  assert(keyframes >= 3 && keyframes <= 5, `${keyframes} keyframes in a second`);
  await stage.end();
});

test("a selection and new keys take effect while it runs, and what is none is refused in words", async () => {
  const stage = await Stage.live({ selection: "rate:12.5" });
  const selection = (): string | undefined =>
    stage.told.findLast((message) => message.type === "protection")?.protection.selection;
  await until(() => selection() === "rate:12.5", "the first selection is in force");
  stage.publisher.command({ type: "select", selection: "some" });
  assert(stage.log.some((words) => words.includes("level:N")), "what a selection is");
  stage.publisher.command({ type: "select", selection: "level:2" });
  await until(() => selection() === "level:2", "another is in force");
  stage.publisher.command({ type: "select", selection: "all" });
  await until(() => selection() === "all", "everything is encrypted");
  stage.publisher.command({ type: "rekey" });
  await stage.filmUntil(() => stage.viewer.latest.driver.session.epoch === 1n);
  await stage.end();
});

/** Checks that a viewer got nothing that it cannot decode: after each gap comes a keyframe. */
function checkGaps(stage: Stage): number {
  const { media } = stage.viewer.latest;
  assert(media.every(({ type }) => type === "info" || type === "frame"), "all can be decoded");
  let gaps = 0;
  for (const [at, { keyframe, preamble }] of stage.viewer.frames.entries()) {
    const before = stage.viewer.frames[at - 1]?.preamble.frame;
    const gap = before !== undefined && preamble.frame !== before + 1n;
    assert(!gap || keyframe, `frame ${preamble.frame} follows ${before} and is a keyframe`);
    gaps += gap ? 1 : 0;
  }
  return gaps;
}

test("pictures are left out before they are encoded while much waits, and the rate falls", async () => {
  const stage = await Stage.live();
  const { carrier } = stage.viewer.latest;
  stage.encoder.length = 20_000;
  for (let round = 0; round < 3; round += 1) {
    carrier.held = true;
    await stage.film(40);
    assert(carrier.backlog > 20_000 && carrier.backlog < 65_536 + 21_000, `${carrier.backlog} bytes wait`);
    carrier.held = false;
    await stage.frames(stage.viewer.frames.length + 10);
  }
  await stage.film(30);
  assert((stage.figures?.dropped ?? 0) > 60, `${stage.figures?.dropped} dropped pictures are counted`);
  same(checkGaps(stage), 0, "gaps");
  const { bitrates } = stage.encoder;
  assert(bitrates.some((rate, at) => rate < (bitrates[at - 1] ?? 0)), "the rate falls");
  await stage.end();
});

test("pictures that an encoder gives while the carrier is full are left out up to a keyframe", async () => {
  const stage = await Stage.live();
  const { carrier } = stage.viewer.latest;
  const give = (keyframe: boolean): void => {
    const encoded = stage.time.now();
    const stamps: Stamps = { captured: encoded, capture: 0, mediaTime: BigInt(stage.taken) * 20_000_000n };
    const data = new Uint8Array(70_000);
    stage.encoder.events.encoded({ data, keyframe, parameters: new Uint8Array(0), stamps, encoded });
  };
  carrier.held = true;
  for (let count = 0; count < 8; count += 1) {
    give(false);
    await stage.time.pass(20);
  }
  carrier.held = false;
  await stage.frames(stage.viewer.frames.length + 5);
  same(checkGaps(stage), 1, "gaps");
  await stage.film(30);
  assert((stage.figures?.dropped ?? 0) >= 5, `${stage.figures?.dropped} dropped pictures are counted`);
  await stage.end();
});

test("after a loss it connects again, begins with a keyframe, and the numbers go on", async () => {
  const stage = await Stage.live();
  const last = stage.viewer.frames.at(-1)?.preamble.frame ?? 0n;
  stage.viewer.latest.cut();
  await until(() => stage.states.at(-1) === "lost", "the loss is told");
  const { taken } = stage;
  await stage.filmUntil(() => stage.viewer.sessions.length === 2 && stage.viewer.frames.length > 3);
  same(stage.states.slice(-2), ["lost", "live"], "states");
  assert(stage.taken > taken + 20, "the camera went on");
  const [first] = stage.viewer.frames;
  assert(first?.keyframe === true && first.preamble.frame > last, "a keyframe with a later number");
  same(stage.viewer.latest.media[0]?.type, "info", "the description comes first");
  await stage.end();
});

test("the end of the pictures ends the session in good order", async () => {
  const stage = await Stage.live();
  stage.endOfPictures();
  await stage.ended("ended");
  same(stage.last.cause, "source", "cause");
  await until(() => stage.viewer.latest.over, "the viewer's session is over");
  const closed = stage.viewer.latest.events.at(-1);
  assert(closed?.type === "closed" && closed.reason === Close.EndOfStream, "the viewer is told");
});

test("an encoder that fails is made anew, and given up after three", async () => {
  const stage = await Stage.live();
  for (const encoders of [2, 3]) {
    const before = stage.encoder;
    before.close();
    before.events.failed();
    await until(() => stage.encoders.length === encoders, "there is another encoder");
    await stage.frames(stage.viewer.frames.length + 3);
  }
  stage.encoder.close();
  stage.encoder.events.failed();
  await stage.ended("failed");
  same(stage.last.cause, "encoder", "cause");
});

test("a viewer that does not admit is told apart from one that is away", async () => {
  const refused = await Stage.begin({}, (viewer) => {
    viewer.admits = false;
  });
  await refused.ended("refused");
  same(refused.last.cause, "not-authorised", "cause");
  const words = refused.last.words ?? "";
  assert(words.includes("The viewer does not admit you") && words.endsWith("It said: go away"), words);
  const away = await Stage.begin({}, (viewer) => {
    viewer.reachable = false;
  });
  await away.ended("failed");
  same(away.last.cause, "carrier", "cause");
});

test("settings that fit nothing are refused in words", async () => {
  for (const [options, reason] of [
    [{ width: 0 }, "misuse"], [{ rate: 61 }, "misuse"], [{ suites: [] }, "misuse"], [{ bitrate: 0 }, "misuse"],
    [{ selection: "some" }, "selection"], [{ mechanisms: ["rsa2048"] }, "unsupported"], [{ rekeySeconds: 0 }, "misuse"],
  ] as const) {
    same(await reasonOf(() => chosen({ ...OPTIONS, ...options }), "options"), reason, Object.keys(options).join());
  }
  const { encoder } = chosen({ ...OPTIONS, width: 641, height: 361 });
  same([encoder.width, encoder.height], [640, 360], "even sides");
});

/** Speaks for so many pieces of 10 ms, and films at the same time. */
async function speak(stage: Stage, microphone: TestMicrophone, pieces: number): Promise<void> {
  for (let left = pieces; left > 0; left -= 2) {
    await microphone.speak(1);
    microphone.sleep(-10);
    await stage.film(1);
    microphone.give();
    await stage.time.pass(0);
  }
}

/** The sound of the latest session: media times, and whether a description came before each. */
function soundOf({ viewer }: Stage): { readonly times: number[]; readonly numbers: number[]; readonly infos: number } {
  const { media } = viewer.latest;
  const sounds = media.filter((one) => one.type === "sound");
  return {
    times: sounds.map(({ preamble }) => Number(preamble.mediaTime) / 1e6),
    numbers: sounds.map(({ preamble }) => Number(preamble.frame)),
    infos: media.filter(({ type }) => type === "sound-info").length,
  };
}

test("sound goes with the pictures once it is asked for, on their clock, and no longer than that", async () => {
  const stage = await Stage.live();
  await stage.film(20);
  same(soundOf(stage), { times: [], numbers: [], infos: 0 }, "before it is asked for");
  const microphone = new TestMicrophone(stage.time);
  stage.publisher.command({ type: "microphone", sound: microphone.stream });
  await speak(stage, microphone, 100);
  await until(() => soundOf(stage).times.length >= 45, "packets come");
  const { times, numbers, infos } = soundOf(stage);
  same([infos, numbers], [1, [...numbers.keys()]], "one description, and each packet");
  const picture = Number(stage.viewer.frames.at(-1)?.preamble.mediaTime) / 1e6;
  // A picture is taken when it comes, and the last packet began 20 ms and the decoder's delay before it was there.
  const apart = picture - (times.at(-1) ?? NaN);
  assert(apart > 0 && apart < 60, `the newest picture is ${apart} ms after the newest packet`);
  await stage.time.pass(600);
  const figures = { name: "Opus, 48 kHz, 1 channel", on: true, packets: times.length, dropped: 0 };
  same(stage.figures?.sending, figures, "figures");
  stage.publisher.command({ type: "microphone" });
  await breathe();
  assert(microphone.cancelled, "a muted microphone is let go");
  const { length } = soundOf(stage).times;
  await stage.film(50);
  same(soundOf(stage).times.length, length, "packets after that");
  await stage.end();
});

test("after a loss sound is described anew, its numbers go on, and the end lets the microphone go", async () => {
  const stage = await Stage.live();
  const microphone = new TestMicrophone(stage.time);
  stage.publisher.command({ type: "microphone", sound: microphone.stream });
  await speak(stage, microphone, 40);
  await until(() => soundOf(stage).times.length > 10, "packets come");
  const last = soundOf(stage).numbers.at(-1) ?? NaN;
  stage.viewer.latest.cut();
  await stage.filmUntil(() => stage.viewer.sessions.length === 2 && stage.viewer.frames.length > 3);
  await speak(stage, microphone, 40);
  await until(() => soundOf(stage).times.length > 10, "packets come again");
  const { numbers, infos } = soundOf(stage);
  assert(infos === 1 && (numbers[0] ?? NaN) > last, `described ${infos} times, from number ${numbers[0]} on`);
  await stage.end();
  await breathe();
  assert(microphone.cancelled, "the microphone is let go at the end");
});
