// From packets of sound to samples with their media time, with a decoder that a test plays.

import { type Bytes } from "../src/protocol/bytes.ts";
import { type SoundInfo } from "../src/protocol/unit/sound-info.ts";
import { type MakeSoundCodec, type SoundCodecEvents } from "../src/sound/browser-decoder.ts";
import { type SoundConfig, soundConfig, soundName } from "../src/sound/config.ts";
import { SoundDecoder } from "../src/sound/decoder.ts";
import { expand } from "../src/sound/g711.ts";
import { type Pcm } from "../src/sound/pcm.ts";
import { assert, hex, same, test, toHex } from "./support/harness.ts";
import { VirtualTime } from "./support/virtual-time.ts";

const AAC: SoundInfo = {
  codec: "aac", channels: 2, samplesPerSecond: 48_000, samplesPerFrame: 1_024, parameters: hex("1190"),
};
const OPUS: SoundInfo = {
  codec: "opus", channels: 2, samplesPerSecond: 48_000, samplesPerFrame: 960,
  parameters: hex("0102380180bb0000000000"),
};
const ULAW: SoundInfo = {
  codec: "ulaw", channels: 1, samplesPerSecond: 8_000, samplesPerFrame: 160, parameters: new Uint8Array(0),
};

test("the browser's decoder is told what the stream is", () => {
  const told = (info: SoundInfo): unknown => {
    const config = soundConfig(info);
    return config && [config.codec, config.sampleRate, config.numberOfChannels, toHex(config.description)];
  };
  same(told(AAC), ["mp4a.40.2", 48_000, 2, "1190"], "AAC-LC");
  same(told({ ...AAC, parameters: hex("2b11880800") }), ["mp4a.40.5", 48_000, 2, "2b11880800"], "HE-AAC");
  // 31 says that six bits follow: 32 and 10 more are USAC.
  same(told({ ...AAC, parameters: hex("f94000") }), ["mp4a.40.42", 48_000, 2, "f94000"], "an escaped type");
  same(told(OPUS), ["opus", 48_000, 2, "4f707573486561640102000080bb0000000000"], "Opus, from its first sample on");
  same(told(ULAW), undefined, "G.711 needs none");
  same([AAC, OPUS, ULAW].map(soundName),
    ["AAC, 48 kHz, 2 channels", "Opus, 48 kHz, 2 channels", "G.711 µ-law, 8 kHz, 1 channel"], "names");
});

test("G.711 is expanded as the recommendation says", () => {
  const values = (law: "ulaw" | "alaw", codes: readonly number[]): number[] =>
    Array.from(expand(law, 1, Uint8Array.from(codes))[0] ?? [], (value) => value * 32_768);
  // Largest, smallest and middle values of G.711, tables 1a to 2b, in 16 bits.
  same(values("ulaw", [0x00, 0x80, 0x7f, 0xff, 0x7e, 0xfe, 0x0f, 0x8f, 0x10]),
    [-32_124, 32_124, 0, 0, -8, 8, -16_764, 16_764, -15_996], "µ-law");
  same(values("alaw", [0x2a, 0xaa, 0x55, 0xd5, 0x54, 0xd4, 0x25, 0xa5]),
    [-32_256, 32_256, -8, 8, -24, 24, -16_896, 16_896], "A-law");
  const stereo = expand("ulaw", 2, Uint8Array.from([0x00, 0x80, 0xff, 0x00, 0x80]));
  same(stereo.map((plane) => Array.from(plane, (value) => Math.sign(value))), [[-1, 0], [1, -1]], "interleaved");
});

/** A decoder, and the browser's that it thinks it has. */
class Bench {
  readonly time = new VirtualTime();
  readonly configs: SoundConfig[] = [];
  readonly fed: number[] = [];
  readonly came: Pcm[] = [];
  queued = 0;
  dropped = 0;
  unable = 0;
  closed = 0;
  fails = false;
  browser: SoundCodecEvents | undefined;
  readonly decoder: SoundDecoder;

  constructor(info: SoundInfo) {
    const bench = (): this => this;
    const make: MakeSoundCodec = (config, events) => {
      this.configs.push(config);
      this.browser = events;
      return {
        get queued() {
          return bench().queued;
        },
        decode: (_packet: Bytes, timestamp: number) => {
          if (this.fails) {
            throw new Error("it fails");
          }
          this.fed.push(timestamp);
        },
        close: () => {
          this.closed += 1;
        },
      };
    };
    this.decoder = new SoundDecoder(info, make, {
      sound: (pcm) => this.came.push(pcm),
      dropped: () => {
        this.dropped += 1;
      },
      unable: () => {
        this.unable += 1;
      },
    }, this.time);
  }

  /** A packet of the media time in milliseconds. */
  feed(media: number, length = 9): void {
    this.decoder.feed(new Uint8Array(length), BigInt(Math.round(media * 1e6)));
  }

  /** The browser gives sound with this timestamp (µs). */
  give(timestamp: number): void {
    this.browser?.sound([new Float32Array(1_024), new Float32Array(1_024)], 48_000, timestamp);
  }
}

test("sound has the media time of its packet, also where the decoder counts on by itself", () => {
  const bench = new Bench(AAC);
  for (const media of [1_000, 1_021.333, 1_042.667]) {
    bench.feed(media);
  }
  for (const timestamp of [1_000_000, 1_021_333, 1_042_666]) {
    bench.give(timestamp);
  }
  same(bench.came.map(({ at }) => at), [1_000, 1_021.333, 1_042.666], "as the decoder says");
  // Packets are missing, and the decoder counts samples: what it says is 100 ms too early.
  bench.feed(1_164);
  bench.give(1_064_000);
  bench.feed(1_185.333);
  bench.give(1_085_333);
  same(bench.came.slice(3).map(({ at }) => at), [1_164, 1_185.333], "as the packets say");
  // Packets overlap, as where a file begins anew, and wait together: what it says is half a packet too late, or more.
  for (const [timestamp, media] of [[1_106_666, 1_196], [1_128_000, 1_201], [1_149_333, 1_222.333]] as const) {
    bench.feed(media);
    bench.feed(media + 21.333);
    bench.give(timestamp + 120_000);
    bench.give(timestamp + 141_333);
  }
  same(bench.came.slice(5).map(({ at }) => at), [1_196, 1_217.333, 1_201, 1_222.333, 1_222.333, 1_243.666], "in order");
  same(bench.dropped, 0, "nothing was dropped");
});

test("a first packet of which nothing comes out shifts nothing", () => {
  const bench = new Bench(AAC);
  bench.feed(1_000);
  bench.feed(1_021.333);
  bench.give(1_021_333);
  same([bench.came.map(({ at }) => at), bench.dropped], [[1_021.333], 1], "the second packet's");
});

test("a decoder that falls behind or holds everything is not fed without end", async () => {
  const slow = new Bench(AAC);
  slow.queued = 17;
  slow.feed(0);
  slow.feed(21);
  same([slow.fed.length, slow.dropped], [0, 2], "dropped while it is behind");
  const mute = new Bench(AAC);
  for (let number = 0; number < 70; number += 1) {
    mute.feed(number * 21);
  }
  same([mute.fed.length, mute.closed, mute.dropped], [64, 1, 70], "one that gives nothing has failed");
  await mute.time.pass(1_000);
  mute.feed(2_000);
  mute.give(2_000_000);
  same([mute.configs.length, mute.came.length], [2, 1], "another one is made a second later");
});

test("decoders that fail again and again are told once, and packets that are none are dropped", async () => {
  const bench = new Bench(OPUS);
  bench.fails = true;
  for (let round = 0; round < 6; round += 1) {
    bench.feed(round);
    await bench.time.pass(1_000);
  }
  same([bench.unable, bench.came.length, bench.dropped], [1, 0, 6], "told");
  bench.fails = false;
  bench.feed(10_000);
  bench.give(10_000_000);
  same(bench.came.length, 1, "and tried on");
  const before = bench.dropped;
  bench.feed(10_020, 0);
  bench.feed(10_040, 131_073);
  same([bench.dropped - before, bench.fed.length], [2, 1], "an empty one, and one that is too long");
});

test("nothing comes of a decoder that was closed", () => {
  const bench = new Bench(AAC);
  bench.feed(0);
  const { browser } = bench;
  bench.decoder.close();
  browser?.sound([new Float32Array(1_024)], 48_000, 0);
  browser?.failed();
  same([bench.came.length, bench.closed, bench.dropped], [0, 1, 0], "nothing");
  assert(bench.configs.length === 1, "none was made for it");
});
