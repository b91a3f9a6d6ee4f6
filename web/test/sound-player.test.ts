// The worker's half of sound: what goes to the audio thread, and what the page is told.

import { type SoundOffer } from "../src/messages.ts";
import { type Frame } from "../src/protocol/unit/assemble.ts";
import { type SoundInfo } from "../src/protocol/unit/sound-info.ts";
import { type Feed, type PlayoutReport } from "../src/sound/pcm.ts";
import { SoundPlayer, type SoundPort } from "../src/sound/player.ts";
import { assert, hex, same, test } from "./support/harness.ts";
import { VirtualTime, breathe } from "./support/virtual-time.ts";

const ULAW: SoundInfo = {
  codec: "ulaw", channels: 1, samplesPerSecond: 8_000, samplesPerFrame: 160, parameters: new Uint8Array(0),
};
const AAC: SoundInfo = {
  codec: "aac", channels: 2, samplesPerSecond: 48_000, samplesPerFrame: 1_024, parameters: hex("1190"),
};
const REPORT: PlayoutReport = { waiting: 20, correction: 0, silence: 0, left: 0, playing: true };

/** The audio thread's end of a port. */
class Port implements SoundPort {
  readonly taken: Feed[] = [];
  closed = false;
  onmessage: SoundPort["onmessage"] = null;

  postMessage(message: Feed): void {
    this.taken.push(message);
  }

  close(): void {
    this.closed = true;
  }

  report(): void {
    this.onmessage?.call(this as unknown as MessagePort, { data: REPORT } as MessageEvent<PlayoutReport>);
  }

  kinds(): string[] {
    return this.taken.splice(0).map(({ type }) => type);
  }
}

class Bench {
  readonly time = new VirtualTime();
  readonly offers: SoundOffer[] = [];
  readonly news: string[] = [];
  readonly player: SoundPlayer;
  #number = 0;

  constructor(decodes?: boolean) {
    const codec = decodes === undefined ? undefined : (): never => {
      throw new Error("no decoder is made here");
    };
    this.player = new SoundPlayer({ codec, decodes: () => Promise.resolve(decodes === true), time: this.time }, {
      offer: (sound) => this.offers.push(sound),
      news: (words) => this.news.push(words),
    });
  }

  packet(skipped = 0n, kept = false): void {
    const frame = BigInt(this.#number);
    this.#number += 1;
    this.player.frame({
      stream: 2, keyframe: true, skipped, sealedAt: 0n, arrived: 0, data: new Uint8Array(160),
      preamble: {
        frame, mediaTime: frame * 20_000_000n, captured: 0n, encoded: 0n, previousSeal: 0, previousSend: 0, capture: 0,
        padding: 0, stamp: "arrival", layout: "source", kept,
      },
    } satisfies Frame);
  }
}

test("nothing is decoded before the user wants it, and every packet from then on", () => {
  const bench = new Bench();
  bench.player.describe(ULAW);
  same(bench.offers, [{ name: "G.711 µ-law, 8 kHz, 1 channel", channels: 1, rate: 8_000, unable: "" }], "offered");
  bench.packet();
  bench.packet(3n);
  bench.player.shown(0n, 5);
  const figures = bench.player.figures();
  same([figures?.state, figures?.frames, figures?.lost, figures?.decoded], ["off", 2, 3, 0], "counted");
  const port = new Port();
  bench.player.turn(port);
  bench.packet();
  bench.packet(0n, true);
  bench.player.shown(40_000_000n, 1_234);
  same(port.taken.map((one) => (one.type === "pcm" ? [one.pcm.at, one.pcm.rate, one.pcm.planes.length] : one)),
    [[40, 8_000, 1], { type: "shown", media: 40, at: 1_234 }], "what was kept is over");
  port.report();
  same([bench.player.figures()?.state, bench.player.figures()?.playout], ["on", REPORT], "reported");
  bench.player.turn(undefined);
  bench.packet();
  same([port.closed, bench.player.figures()?.state], [true, "off"], "switched off");
});

test("an audio thread that stands still is fed nothing more until it reports", async () => {
  const bench = new Bench();
  const port = new Port();
  bench.player.describe(ULAW);
  bench.player.turn(port);
  await bench.time.pass(2_999);
  bench.packet();
  same(port.kinds(), ["pcm"], "fed");
  await bench.time.pass(1);
  bench.packet();
  bench.player.shown(0n, 0);
  same([port.kinds(), bench.player.figures()?.state], [[], "stalled"], "nothing more");
  port.report();
  bench.packet();
  same([port.kinds(), bench.player.figures()?.state], [["pcm"], "on"], "again");
});

test("another session or another description begins anew, and the same description does not", () => {
  const bench = new Bench();
  const port = new Port();
  bench.player.turn(port);
  bench.player.describe(ULAW);
  bench.player.describe({ ...ULAW, samplesPerFrame: 0 });
  same([port.kinds(), bench.offers.length], [[], 1], "said again");
  bench.player.describe({ ...ULAW, codec: "alaw" });
  same([port.kinds(), bench.offers.length], [["anew"], 2], "another codec");
  bench.player.anew();
  bench.packet();
  same([port.kinds(), bench.player.figures()], [["anew"], undefined], "after the session there is no sound");
});

test("a browser that lacks the codec says so, and why", async () => {
  for (const [decodes, why] of [[undefined, "no AudioDecoder"], [false, "mp4a.40.2"]] as const) {
    const bench = new Bench(decodes);
    bench.player.describe(AAC);
    await breathe();
    const [offer] = bench.offers;
    assert(offer?.unable.includes(why) === true && offer.unable.includes("AAC, 48 kHz"), `words: ${offer?.unable}`);
    same(bench.news, [offer.unable], "and so does the log");
    bench.player.turn(new Port());
    bench.packet();
    same([bench.player.figures()?.state, bench.player.figures()?.decoded], ["unable", 0], "figures");
  }
});
