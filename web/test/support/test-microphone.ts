// A microphone and an encoder of sound for tests of publishers.

import { type SoundEncoder, type SoundEncoderEvents } from "../../src/sound/encoder.ts";
import { type SoundFormat, opusParameters } from "../../src/sound/opus-head.ts";
import { type VirtualTime } from "./virtual-time.ts";

const RATE = 48_000;
/** Milliseconds of a piece of sound, and of a packet. */
const PIECE = 10;
const PACKET = 20;

/** Gives a piece of sound each 10 ms of virtual time; its clock counts from elsewhere. */
export class TestMicrophone {
  readonly stream: ReadableStream<AudioData>;
  channels = 1;
  loudness = 0.5;
  given = 0;
  readonly closed: number[] = [];
  cancelled = false;
  readonly #time: VirtualTime;
  #controller: ReadableStreamDefaultController<AudioData> | undefined;

  constructor(time: VirtualTime) {
    this.#time = time;
    this.stream = new ReadableStream<AudioData>({
      start: (controller) => {
        this.#controller = controller;
      },
      cancel: () => {
        this.cancelled = true;
      },
    });
  }

  /** So many pieces, each told when its last sample is there. */
  async speak(pieces: number): Promise<void> {
    for (let left = pieces; left > 0; left -= 1) {
      await this.#time.pass(PIECE);
      this.give();
      await this.#time.pass(0);
    }
  }

  /** Time goes on without the microphone. */
  sleep(milliseconds: number): void {
    this.#time.sleep(milliseconds);
  }

  /** The piece of the last 10 ms. */
  give(): void {
    const number = this.given;
    this.given += 1;
    const { loudness, closed } = this;
    const begun = this.#time.now().monotonic - PIECE;
    this.#controller?.enqueue({
      timestamp: Math.round((begun + 777_000) * 1_000), duration: PIECE * 1_000, sampleRate: RATE,
      numberOfChannels: this.channels, numberOfFrames: (RATE * PIECE) / 1_000, format: "f32-planar",
      copyTo(into: Float32Array) {
        into.fill(loudness, 0, (RATE * PIECE) / 1_000);
      },
      close() {
        closed.push(number);
      },
    } as unknown as AudioData);
  }

  end(): void {
    this.#controller?.close();
  }
}

/** Encodes at once: a packet of 20 ms is its number among those of this encoder. */
export class TestSoundEncoder implements SoundEncoder {
  queued = 0;
  closed = false;
  readonly events: SoundEncoderEvents;
  readonly #format: SoundFormat;
  #number = 0;
  /** Milliseconds that wait for the rest of a packet, and when the first sample was recorded (µs). */
  #waiting = 0;
  #from: number | undefined;

  constructor(format: SoundFormat, events: SoundEncoderEvents) {
    this.#format = format;
    this.events = events;
  }

  encode({ timestamp, duration }: AudioData): void {
    this.#from ??= timestamp;
    this.#waiting += duration / 1_000;
    if (this.#waiting >= PACKET) {
      this.#waiting -= PACKET;
      const data = new Uint8Array(160);
      new DataView(data.buffer).setUint32(0, this.#number);
      this.events.encoded({
        data, timestamp: this.#from + this.#number * PACKET * 1_000, duration: PACKET * 1_000,
        parameters: opusParameters(undefined, this.#format),
      });
      this.#number += 1;
    }
  }

  close(): void {
    this.closed = true;
  }
}
