// Sound on its way out: from a microphone to packets with times, and what is told of it.

import { type MakeSoundEncoder, type SoundEncoder, type SoundEncoderEvents } from "../src/sound/encoder.ts";
import { type SoundFormat, opusParameters, preSkip } from "../src/sound/opus-head.ts";
import { ascii, concat } from "../src/protocol/bytes.ts";
import { parseSoundInfo, soundInfoBytes } from "../src/protocol/unit/sound-info.ts";
import { type FromWorker } from "../src/messages.ts";
import { PublishSound } from "../src/worker/publish-sound.ts";
import { type EncodedSound, Microphone } from "../src/worker/publish-microphone.ts";
import { assert, same, test } from "./support/harness.ts";
import { TestMicrophone, TestSoundEncoder } from "./support/test-microphone.ts";
import { VirtualTime, breathe } from "./support/virtual-time.ts";

/** Milliseconds of libopus's look-ahead, by which what is decoded is earlier. */
const LOOK_AHEAD = 6.5;

/** A microphone under test. */
class Stage {
  readonly time = new VirtualTime();
  readonly source = new TestMicrophone(this.time);
  readonly encoders: TestSoundEncoder[] = [];
  readonly formats: SoundFormat[] = [];
  readonly packets: EncodedSound[] = [];
  readonly levels: number[] = [];
  readonly words: string[] = [];
  dropped = 0;
  open = true;
  readonly microphone: Microphone;

  constructor(make: MakeSoundEncoder | undefined = (format, events) => this.#encoder(format, events)) {
    this.microphone = new Microphone(make, {
      open: () => this.open,
      encoded: (packet) => this.packets.push(packet),
      dropped: () => {
        this.dropped += 1;
      },
      level: (peak) => this.levels.push(peak),
      failed: (words) => this.words.push(words),
    }, this.time);
  }

  #encoder(format: SoundFormat, events: SoundEncoderEvents): SoundEncoder {
    const encoder = new TestSoundEncoder(format, events);
    this.encoders.push(encoder);
    this.formats.push(format);
    return encoder;
  }

  get steps(): number[] {
    return this.packets.slice(1).map(({ at }, index) => at - (this.packets[index]?.at ?? NaN));
  }
}

test("packets follow each other in media time, by the time at which their first sample was recorded", async () => {
  const stage = new Stage();
  stage.microphone.turn(stage.source.stream);
  await stage.source.speak(100);
  same([stage.packets.length, stage.dropped, stage.encoders.length], [50, 0, 1], "packets of 20 ms");
  assert(stage.steps.every((step) => Math.abs(step - 20) < 0.11), "without a gap");
  // The first piece was recorded from 1000 to 1010 ms, and its sound comes out of a decoder 6.5 ms late.
  assert(Math.abs((stage.packets[0]?.at ?? NaN) - (1_000 - LOOK_AHEAD)) < 0.1, `the first at ${stage.packets[0]?.at}`);
  const { info, captured, encoded } = stage.packets[40] ?? {};
  same([info?.codec, info?.channels, info?.samplesPerSecond, info?.samplesPerFrame], ["opus", 1, 48_000, 960], "info");
  assert(encoded !== undefined && captured !== undefined && encoded > captured, "stamps");
  same(new Set(stage.source.closed).size, stage.source.given, "each piece is closed");
});

test("a gap of the microphone is one in media time, and another form of sound has another description", async () => {
  const stage = new Stage();
  stage.microphone.turn(stage.source.stream);
  await stage.source.speak(20);
  stage.source.sleep(500);
  await stage.source.speak(20);
  same(stage.encoders.map(({ closed }) => closed), [true, false], "encoders count samples");
  same(stage.steps.filter((step) => step > 21).map((step) => Math.round(step / 10)), [52], "gaps, in 10 ms");
  stage.source.channels = 2;
  await stage.source.speak(20);
  stage.source.channels = 6;
  await stage.source.speak(20);
  same(stage.formats.map(({ channels }) => channels), [1, 1, 2], "what encoders were made for");
  same(stage.packets.at(-1)?.info.channels, 2, "of six channels the first two");
});

test("for nobody nothing is encoded, and the level is told all the same", async () => {
  const stage = new Stage();
  stage.open = false;
  stage.source.loudness = 0.25;
  stage.microphone.turn(stage.source.stream);
  await stage.source.speak(100);
  same([stage.packets.length, stage.encoders.length], [0, 0], "what is made");
  assert(stage.levels.length >= 9 && stage.levels.every((level) => level === 0.25), stage.levels.join());
  stage.open = true;
  await stage.source.speak(10);
  same(stage.packets.length, 5, "packets");
});

test("a microphone that is muted is let go, and nothing comes of it any more", async () => {
  const stage = new Stage();
  stage.microphone.turn(stage.source.stream);
  await stage.source.speak(10);
  stage.microphone.turn();
  await breathe();
  same([stage.source.cancelled, stage.encoders[0]?.closed, stage.microphone.isOn], [true, true, false], "let go");
  const { length } = stage.packets;
  stage.encoders[0]?.events.encoded({ data: new Uint8Array(1), timestamp: 0, duration: 20_000,
    parameters: new Uint8Array(11) });
  same(stage.packets.length, length, "packets of an encoder that was closed");
  const other = new TestMicrophone(stage.time);
  stage.microphone.turn(other.stream);
  await other.speak(10);
  same(stage.packets.length, length + 5, "another one");
  other.end();
  await breathe();
  same([stage.microphone.isOn, stage.words], [false, []], "one that ended");
});

test("a browser without an encoder is told so at once, and one whose encoder fails after three", async () => {
  const without = new Stage(undefined);
  const none = new Microphone(undefined, {
    open: () => true, encoded: () => undefined, dropped: () => undefined, level: () => undefined,
    failed: (words) => without.words.push(words),
  }, without.time);
  none.turn(without.source.stream);
  await breathe();
  assert(/has no AudioEncoder/.test(without.words.join()) && without.source.cancelled, without.words.join());
  const stage = new Stage();
  stage.microphone.turn(stage.source.stream);
  for (let failures = 1; failures <= 3; failures += 1) {
    same(stage.words, [], `after ${failures - 1} failures`);
    await stage.source.speak(1);
    stage.encoders.at(-1)?.events.failed();
  }
  assert(/failed again and again/.test(stage.words.join()) && stage.encoders.length === 3, stage.words.join());
  await breathe();
  assert(stage.source.cancelled, "the microphone is let go");
});

test("an encoder that is behind costs sound, and not memory", async () => {
  const stage = new Stage();
  stage.microphone.turn(stage.source.stream);
  await stage.source.speak(2);
  const [encoder] = stage.encoders;
  assert(encoder !== undefined, "there is one");
  encoder.queued = 33;
  await stage.source.speak(10);
  same(stage.dropped, 10, "pieces that were left out");
  encoder.queued = 0;
  await stage.source.speak(10);
  assert(stage.packets.length >= 5, "it goes on");
});

test("the description is the encoder's own OpusHead, or one that fits where it has none", () => {
  const format = { rate: 44_100, channels: 2 };
  const head = Uint8Array.of(1, 2, 0x38, 1, 0x44, 0xac, 0, 0, 0, 0, 0);
  const made = opusParameters(undefined, format);
  same(made, head, "where there is none");
  same(opusParameters(concat(ascii("OpusHead"), head.with(2, 0x50)), format), head.with(2, 0x50), "the encoder's");
  for (const wrong of [head.with(1, 1), head.with(0, 2), head.with(10, 1), head.slice(1)]) {
    same(opusParameters(concat(ascii("OpusHead"), wrong), format), head, "one that does not fit");
  }
  same(opusParameters(concat(ascii("OpusTags"), head), format), head, "another one");
  same(preSkip(made), LOOK_AHEAD, "milliseconds");
  const size = { channels: 2, samplesPerSecond: 48_000, samplesPerFrame: 960 };
  const info = { codec: "opus", ...size, parameters: made } as const;
  same(parseSoundInfo(soundInfoBytes(info)), info, "on the wire");
});

test("where the path stands still sound is left out packet by packet, and none is late", async () => {
  const time = new VirtualTime();
  const microphone = new TestMicrophone(time);
  const sealed: { readonly number: number; readonly media: number; readonly at: number }[] = [];
  const posted: FromWorker[] = [];
  const target = {
    isOver: false, backlog: 0, held: false,
    seal({ data, stamps }: { readonly data: Uint8Array; readonly stamps: { frame: bigint; mediaTime: bigint } }) {
      target.backlog += target.held ? data.length + 60 : 0;
      sealed.push({ number: Number(stamps.frame), media: Number(stamps.mediaTime) / 1e6, at: time.now().monotonic });
      return Promise.resolve();
    },
  };
  const sound = new PublishSound({
    makeEncoder: (format, events) => new TestSoundEncoder(format, events), time, post: (one) => posted.push(one),
    mediaTimeAt: (monotonic) => (monotonic < 1_500 ? undefined : BigInt(Math.round((monotonic - 1_500) * 1e6))),
    isHeard: () => true, sent: () => undefined,
  });
  sound.turn(microphone.stream);
  sound.begin(target);
  await microphone.speak(100);
  const early = sealed.length;
  assert(early > 20 && early < 27, `${early} packets since the first picture`);
  [target.held, target.backlog] = [true, 1];
  await microphone.speak(500);
  const during = sealed.length - early;
  assert(during > 45 && during < 60, `${during} packets in five seconds in which nothing left`);
  const dropped = sound.figures?.dropped ?? 0;
  assert(dropped > 150 && dropped + during >= 225, `${dropped} packets were left out`);
  [target.held, target.backlog] = [false, 0];
  await microphone.speak(100);
  const after = sealed.slice(early + during);
  assert(after.length >= 50 && after.every(({ at, media }) => at - 1_500 - media < 450), "none is older than 400 ms");
  same(sealed.every(({ number }, at) => number > (sealed[at - 1]?.number ?? -1)), true, "numbers grow");
  target.backlog = 80_000;
  await microphone.speak(10);
  same(sealed.length, early + during + after.length, "sealed behind more than stops pictures");
  sound.stop();
  await breathe();
  assert(microphone.cancelled && posted.every(({ type }) => type === "microphone-level"), "what the page is told");
});
