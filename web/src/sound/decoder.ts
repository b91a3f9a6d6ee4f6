// Decodes packets of sound, and says which media time each sample has.

import { type Bytes } from "../protocol/bytes.ts";
import { type SoundInfo } from "../protocol/index.ts";
import { type Time } from "../worker/clock.ts";
import { type MakeSoundCodec, type SoundCodec } from "./browser-decoder.ts";
import { type SoundConfig, soundConfig } from "./config.ts";
import { expand } from "./g711.ts";
import { type Pcm } from "./pcm.ts";

/** Packets that wait for the decoder at most, and those of which nothing has come out. */
const MAX_QUEUED = 16;
const MAX_INSIDE = 64;
/** Longest packet in bytes: 60 ms of G.711 with every channel and the highest rate have fewer. */
const MAX_PACKET = 131_072;
/** Milliseconds between two decoders that failed, and how many fail before it is the codec. */
const RESTART_PAUSE = 1_000;
const HOPELESS = 3;
/** Microseconds by which a decoder's timestamps may differ from those that it was given, as it counts samples. */
const TOLERANCE = 3_000;

/** Who is told what comes of packets. */
export interface SoundEvents {
  sound(pcm: Pcm): void;
  /** A packet of which no sound comes. */
  dropped(): void;
  /** Decoders failed again and again: this browser does not decode it. */
  unable(): void;
}

/** Decodes one stream. */
export class SoundDecoder {
  readonly #info: SoundInfo;
  readonly #config: SoundConfig | undefined;
  readonly #make: MakeSoundCodec | undefined;
  readonly #events: SoundEvents;
  readonly #time: Time;
  #codec: SoundCodec | undefined;
  /** Timestamps of packets that went in (µs), of which nothing has come out. */
  #inside: number[] = [];
  /** Something came out of this decoder. */
  #begun = false;
  #lastFailure = -Infinity;
  #failures = 0;

  constructor(info: SoundInfo, make: MakeSoundCodec | undefined, events: SoundEvents, time: Time) {
    this.#info = info;
    this.#config = soundConfig(info);
    this.#make = make;
    this.#events = events;
    this.#time = time;
  }

  /** Takes a packet; `media` is its time in nanoseconds. */
  feed(packet: Bytes, media: bigint): void {
    const { codec } = this.#info;
    if (packet.length === 0 || packet.length > MAX_PACKET) {
      this.#events.dropped();
    } else if (codec === "ulaw" || codec === "alaw") {
      const { channels, samplesPerSecond: rate } = this.#info;
      this.#events.sound({ at: Number(media) / 1e6, rate, planes: expand(codec, channels, packet) });
    } else {
      this.#decode(packet, Number(media / 1_000n));
    }
  }

  /** Nothing comes out any more of what went in. */
  close(): void {
    this.#codec?.close();
    this.#codec = undefined;
    this.#inside = [];
    this.#begun = false;
  }

  #decode(packet: Bytes, timestamp: number): void {
    const codec = this.#begin();
    if (codec === undefined || codec.queued > MAX_QUEUED || this.#inside.length >= MAX_INSIDE) {
      this.#events.dropped();
      if (this.#inside.length >= MAX_INSIDE) {
        this.#failed();
      }
      return;
    }
    this.#inside.push(timestamp);
    try {
      codec.decode(packet, timestamp);
    } catch {
      this.#failed();
    }
  }

  /** The decoder, made anew if the last one failed some time ago. */
  #begin(): SoundCodec | undefined {
    const [config, make] = [this.#config, this.#make];
    const pause = this.#time.now().monotonic < this.#lastFailure + RESTART_PAUSE;
    if (this.#codec !== undefined || config === undefined || make === undefined || pause) {
      return this.#codec;
    }
    try {
      const codec: SoundCodec = make(config, {
        sound: (planes, rate, timestamp) => {
          if (codec === this.#codec) {
            this.#came(planes, rate, timestamp);
          }
        },
        failed: () => {
          if (codec === this.#codec) {
            this.#failed();
          }
        },
      });
      this.#codec = codec;
    } catch {
      this.#failed();
    }
    return this.#codec;
  }

  #came(planes: readonly Float32Array<ArrayBuffer>[], rate: number, timestamp: number): void {
    this.#failures = 0;
    this.#events.sound({ at: this.#mediaTime(timestamp) / 1_000, rate, planes });
  }

  /**
   * A decoder may begin with packets of which nothing comes out; then each packet gives one piece of sound. Some go on
   * counting samples where packets are missing or overlap, so a timestamp that is far from the packet's is none.
   */
  #mediaTime(timestamp: number): number {
    const far = (at: number): number => Math.abs((this.#inside[at] ?? Infinity) - timestamp);
    while (!this.#begun && this.#inside.length > 1 && far(1) < far(0)) {
      this.#inside.shift();
      this.#events.dropped();
    }
    this.#begun = true;
    const packet = this.#inside.shift() ?? timestamp;
    return Math.abs(packet - timestamp) <= TOLERANCE ? timestamp : packet;
  }

  #failed(): void {
    this.#inside.forEach(() => {
      this.#events.dropped();
    });
    this.close();
    this.#lastFailure = this.#time.now().monotonic;
    this.#failures += 1;
    if (this.#failures === HOPELESS) {
      this.#events.unable();
    }
  }
}
