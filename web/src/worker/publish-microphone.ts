// Takes the sound of a microphone or a screen, and encodes it while somebody is there to hear it.

import { type MakeSoundEncoder, type SoundEncoder, type SoundPacket } from "../sound/encoder.ts";
import { type SoundFormat, preSkip } from "../sound/opus-head.ts";
import { type Bytes } from "../protocol/bytes.ts";
import { type Now, type SoundInfo } from "../protocol/index.ts";
import { type Time } from "./clock.ts";
import { SourceClock } from "./source-clock.ts";

/** Channels of Opus without a table of them. */
const MAX_CHANNELS = 2;
/** Samples a second of Opus, whatever was recorded. */
const OPUS_RATE = 48_000;
/** Pieces of sound that wait for the encoder at most, of some 10 ms each. */
const MAX_QUEUED = 32;
/** Encoders that may fail one after the other, without a packet between, before it is given up. */
const MAX_FAILURES = 3;
/** Milliseconds between two levels. */
const LEVEL_INTERVAL = 100;
/** Sound whose time differs by more (ms) from the end of what came before is another piece: something is missing. */
const GAP = 40;
/** Milliseconds by which a packet's time may move against the end of the one before, to follow the source's clock. */
const MOVES = 0.1;
const US_PER_MS = 1_000;
const NS_PER_MS = 1e6;

/** A packet, and what there is to say of it. */
export interface EncodedSound {
  readonly data: Bytes;
  readonly info: SoundInfo;
  /** When the first sample that a decoder makes of it was recorded, by the monotonic clock (ms). */
  readonly at: number;
  /** The same by the wall clock, and when it was encoded (ns). */
  readonly captured: bigint;
  readonly encoded: bigint;
}

/** Who is told what becomes of sound. */
export interface MicrophoneEvents {
  /** True while a packet would be heard by somebody. */
  open(): boolean;
  encoded(sound: EncodedSound): void;
  /** A piece of sound of which no packet comes. */
  dropped(): void;
  /** The loudest sample of the last moment, 0 to 1. */
  level(peak: number): void;
  /** It cannot be encoded, and is let go. The sentence says why, and what to do. */
  failed(words: string): void;
}

/** The sound of one source after another. */
export class Microphone {
  readonly #make: MakeSoundEncoder | undefined;
  readonly #events: MicrophoneEvents;
  readonly #time: Time;
  #reader: ReadableStreamDefaultReader<AudioData> | undefined;
  #clock = new SourceClock();
  #encoder: SoundEncoder | undefined;
  #format: SoundFormat = { rate: 0, channels: 0 };
  /** Timestamp at which what comes next should begin (µs). */
  #next = 0;
  #failures = 0;
  #peak = 0;
  #levelAt = 0;
  /** When the last packet ended, by the monotonic clock (ms). */
  #end = -Infinity;

  /** @param make `undefined` where the browser encodes no sound */
  constructor(make: MakeSoundEncoder | undefined, events: MicrophoneEvents, time: Time) {
    this.#make = make;
    this.#events = events;
    this.#time = time;
  }

  /** True while there is a source. */
  get isOn(): boolean {
    return this.#reader !== undefined;
  }

  /** Sound comes from here from now on; without a source none does. */
  turn(source?: ReadableStream<AudioData>): void {
    this.#reader?.cancel().catch(() => undefined);
    this.#closeEncoder();
    this.#clock = new SourceClock();
    this.#failures = 0;
    this.#peak = 0;
    this.#reader = source?.getReader();
    if (this.#make === undefined && source !== undefined) {
      this.#fail("This browser cannot send sound: it has no encoder for it (WebCodecs has no AudioEncoder here). " +
        "Use another browser.");
    } else if (this.#reader !== undefined) {
      void this.#read(this.#reader);
    }
  }

  async #read(reader: ReadableStreamDefaultReader<AudioData>): Promise<void> {
    try {
      for (let next = await reader.read(); !next.done; next = await reader.read()) {
        if (reader === this.#reader) {
          this.#took(next.value);
        }
        next.value.close();
      }
    } catch {
      // A microphone that was pulled out: the page hears of that from the browser.
    }
    if (reader === this.#reader) {
      this.turn();
    }
  }

  #took(sound: AudioData): void {
    const { monotonic } = this.#time.now();
    const { timestamp, duration, sampleRate: rate, numberOfChannels } = sound;
    // A piece is there when its last sample is.
    this.#clock.came((timestamp + duration) / US_PER_MS, monotonic);
    this.#measure(sound, monotonic);
    if (!this.#events.open()) {
      this.#closeEncoder();
      return;
    }
    const channels = Math.min(numberOfChannels, MAX_CHANNELS);
    const other = rate !== this.#format.rate || channels !== this.#format.channels;
    if (other || Math.abs(timestamp - this.#next) > GAP * US_PER_MS) {
      // An encoder counts samples, and would put what follows where it does not belong.
      this.#closeEncoder();
    }
    this.#format = other ? { rate, channels } : this.#format;
    this.#next = timestamp + duration;
    this.#encode(sound);
  }

  #encode(sound: AudioData): void {
    const encoder = this.#encoder ?? this.#begin();
    if (encoder === undefined || encoder.queued > MAX_QUEUED) {
      this.#events.dropped();
      return;
    }
    try {
      encoder.encode(sound);
    } catch {
      this.#failed();
    }
  }

  #begin(): SoundEncoder | undefined {
    const format = this.#format;
    try {
      const encoder: SoundEncoder | undefined = this.#make?.(format, {
        encoded: (packet) => {
          if (encoder === this.#encoder) {
            this.#encoded(packet, format);
          }
        },
        failed: () => {
          if (encoder === this.#encoder) {
            this.#failed();
          }
        },
      });
      this.#encoder = encoder;
    } catch {
      this.#failed();
    }
    return this.#encoder;
  }

  #encoded({ data, timestamp, duration, parameters }: SoundPacket, { channels }: SoundFormat): void {
    const now = this.#time.now();
    const length = duration / US_PER_MS;
    this.#failures = 0;
    const at = this.#placed(this.#clock.at(timestamp / US_PER_MS) - preSkip(parameters));
    this.#end = at + length;
    const samplesPerFrame = Math.round((length * OPUS_RATE) / US_PER_MS);
    this.#events.encoded({
      data, at, info: { codec: "opus", channels, samplesPerSecond: OPUS_RATE, samplesPerFrame, parameters },
      captured: wallOf(now, at), encoded: now.wall,
    });
  }

  /** Packets follow each other without a gap, as the samples do. Where something is missing there is one. */
  #placed(at: number): number {
    const off = at - this.#end;
    return Math.abs(off) > GAP ? at : this.#end + Math.min(MOVES, Math.max(-MOVES, off));
  }

  #measure(sound: AudioData, now: number): void {
    const plane = new Float32Array(sound.numberOfFrames);
    for (let planeIndex = 0; planeIndex < Math.min(sound.numberOfChannels, MAX_CHANNELS); planeIndex += 1) {
      sound.copyTo(plane, { planeIndex, format: "f32-planar" });
      this.#peak = plane.reduce((peak, value) => Math.max(peak, Math.abs(value)), this.#peak);
    }
    if (now >= this.#levelAt + LEVEL_INTERVAL) {
      this.#levelAt = now;
      this.#events.level(Math.min(1, this.#peak));
      this.#peak = 0;
    }
  }

  #closeEncoder(): void {
    this.#encoder?.close();
    this.#encoder = undefined;
  }

  #failed(): void {
    this.#closeEncoder();
    this.#failures += 1;
    if (this.#failures >= MAX_FAILURES) {
      this.#fail("The browser's encoder of sound failed again and again, so no sound is sent. Choose another " +
        "microphone, or reload the page.");
    }
  }

  #fail(words: string): void {
    this.turn();
    this.#events.failed(words);
  }
}

/** The wall clock at a time of the monotonic clock, which is not long ago. */
function wallOf({ monotonic, wall }: Now, at: number): bigint {
  return wall - BigInt(Math.round((monotonic - at) * NS_PER_MS));
}
