// Sound beside the picture in one session: what is handed out, what a loss costs, and what is malformed.

import { type Bytes } from "../src/protocol/bytes.ts";
import { ProtocolError } from "../src/protocol/error.ts";
import { Assembler, type Media } from "../src/protocol/unit/assemble.ts";
import { infoBytes } from "../src/protocol/unit/info.ts";
import { type SoundInfo, soundInfoBytes } from "../src/protocol/unit/sound-info.ts";
import { CONFIG_FLAGS, Flag, Kind } from "../src/protocol/wire/header.ts";
import { assert, same, test } from "./support/harness.ts";
import { Pair, type PairOptions, frame, framesOf } from "./support/pair.ts";

const SOUND: SoundInfo = {
  codec: "ulaw", channels: 1, samplesPerSecond: 8_000, samplesPerFrame: 160, parameters: new Uint8Array(0),
};
const PICTURE = {
  codec: "mjpeg", width: 64, height: 48, rate: { numerator: 25, denominator: 1 }, parameters: new Uint8Array(0),
} as const;

function soundsOf(media: readonly Media[]): Extract<Media, { type: "sound" }>[] {
  return media.filter((one) => one.type === "sound");
}

/** A session in which a frame of the picture and two of sound follow each other, from a keyframe each tenth. */
async function played(options: PairOptions, frames: number): Promise<Pair> {
  const pair = await Pair.begin(options);
  await pair.run();
  const { session } = pair.publisher;
  await session.sealInfo(pair.now, 1, { ...PICTURE });
  await session.sealSoundInfo(pair.now, SOUND);
  for (let number = 0; number < frames; number += 1) {
    await session.sealFrame(pair.now, frame(number, number % 10 === 0));
    for (const sound of [2 * number, 2 * number + 1]) {
      await session.sealFrame(pair.now, { ...frame(sound, true, 160), stream: 2 });
    }
    await pair.pass(40);
  }
  return pair;
}

test("sound comes beside the picture with numbers of its own, and byte for byte", async () => {
  const pair = await played({}, 20);
  const { media } = pair.viewer;
  const infos = media.filter((one) => one.type === "sound-info");
  same(infos.map(({ info }) => info), [SOUND], "descriptions");
  same(framesOf(pair.viewer).map(({ preamble }) => preamble.frame), [...Array(20).keys()].map(BigInt), "pictures");
  const sounds = soundsOf(media);
  same(sounds.map(({ preamble, skipped }) => [preamble.frame, skipped]),
    [...Array(40).keys()].map((number) => [BigInt(number), 0n]), "sounds");
  assert(sounds.every(({ data }, at) => data.join() === frame(at, true, 160).data.join()), "data");
});

/** Removes or alters each seventh record of one stream. */
function harming(stream: number, removes: boolean): NonNullable<PairOptions["tamper"]> {
  let seen = 0;
  return (message, from) => {
    const its = from === "responder" && message[0] === Kind.Media && message[7] === stream &&
      ((message[1] ?? 0) & Flag.CodecConfig) === 0;
    seen += its ? 1 : 0;
    if (!its || seen % 7 !== 0) {
      return message;
    }
    const altered = message.slice();
    altered[40] = (altered[40] ?? 0) ^ 1;
    return removes ? undefined : altered;
  };
}

for (const removes of [true, false]) {
  const what = removes ? "removed" : "altered";
  test(`sound that is ${what} is counted, and holds no picture`, async () => {
    const { viewer } = await played({ tamper: harming(2, removes) }, 40);
    const missing = Math.floor(80 / 7);
    same(framesOf(viewer).length, 40, "pictures");
    same(viewer.media.filter(({ type }) => type === "lost" || type === "undecodable"), [], "nothing to ask for");
    const sounds = soundsOf(viewer.media);
    const skips = sounds.reduce((sum, { skipped }) => sum + skipped, 0n);
    same([sounds.length, skips], [80 - missing, BigInt(missing)], "sounds");
    same(viewer.session.refusals.tag, removes ? 0 : missing, "refusals");
  });

  test(`a picture that is ${what} costs no sound, and the next keyframe is waited for`, async () => {
    const { viewer } = await played({ tamper: harming(1, removes) }, 40);
    same(soundsOf(viewer.media).length, 80, "sounds");
    const shown = framesOf(viewer).map(({ preamble }) => Number(preamble.frame));
    // The frames 6, 13, 20, 27 and 34 are missing, and what follows them up to the next keyframe; 20 is one itself.
    same(shown, [0, 1, 2, 3, 4, 5, 10, 11, 12, 30, 31, 32, 33], "pictures");
    assert(viewer.media.some(({ type }) => type === "undecodable"), "what cannot be decoded is told");
  });
}

test("sound is encrypted whatever is left in clear", async () => {
  const pair = await Pair.begin();
  await pair.run();
  const { session } = pair.publisher;
  await session.select(pair.now, { mode: "none" });
  await pair.run();
  const from = pair.publisher.sent.length;
  await session.sealInfo(pair.now, 1, { ...PICTURE });
  await session.sealSoundInfo(pair.now, SOUND);
  await session.sealFrame(pair.now, frame(0, true));
  await session.sealFrame(pair.now, { ...frame(0, true), stream: 2 });
  await pair.run();
  const media = pair.publisher.sent.slice(from).filter((message) => message[0] === Kind.Media);
  same(media.map((message) => (message[1] ?? 0) & Flag.Encrypted), [0, 1, 0, 1], "encrypted");
  same([framesOf(pair.viewer).length, soundsOf(pair.viewer.media).length], [1, 1], "both come");
});

test("the description of a picture on stream 2 and that of sound elsewhere are malformed", () => {
  const take = (stream: number, payload: Bytes): string => {
    const header = { kind: Kind.Media, flags: CONFIG_FLAGS, epoch: 0, stream, seq: 0, timestamp: 0n };
    try {
      new Assembler().take({ header, payload, followsGap: false }, 0);
      return "taken";
    } catch (thrown) {
      return thrown instanceof ProtocolError ? thrown.reason : "another error";
    }
  };
  const [sound, picture] = [soundInfoBytes(SOUND), infoBytes({ ...PICTURE })];
  same([take(1, picture), take(2, sound), take(3, picture)], ["taken", "taken", "taken"], "where they belong");
  same([take(2, picture), take(1, sound), take(3, sound)], ["malformed", "malformed", "malformed"], "elsewhere");
});
