// What is used of the browser's decoder of sound, so that tests can put something else in its place.

import { type Bytes } from "../protocol/bytes.ts";
import { type SoundConfig } from "./config.ts";

/** Who is told what a decoder does. */
export interface SoundCodecEvents {
  /** Decoded samples, one plane a channel, with a timestamp in microseconds. */
  sound(planes: readonly Float32Array<ArrayBuffer>[], rate: number, timestamp: number): void;
  /** The decoder has failed, and is closed. */
  failed(): void;
}

/** A decoder. */
export interface SoundCodec {
  /** Packets that it has not begun to decode. */
  readonly queued: number;
  /** It may throw. */
  decode(packet: Bytes, timestamp: number): void;
  /** Nothing comes out any more. */
  close(): void;
}

/** Makes a decoder; it may throw. */
export type MakeSoundCodec = (config: SoundConfig, events: SoundCodecEvents) => SoundCodec;

/** The browser's decoder; `undefined` where it has none for sound. */
export function browserSoundCodec(): MakeSoundCodec | undefined {
  return typeof AudioDecoder === "function" ? (config, events) => new BrowserSoundCodec(config, events) : undefined;
}

/** Whether the browser says that it decodes this. */
export async function browserDecodes(config: SoundConfig): Promise<boolean> {
  try {
    return (await AudioDecoder.isConfigSupported({ ...config })).supported === true;
  } catch {
    return false;
  }
}

class BrowserSoundCodec implements SoundCodec {
  readonly #decoder: AudioDecoder;

  constructor(config: SoundConfig, events: SoundCodecEvents) {
    this.#decoder = new AudioDecoder({
      output(data) {
        const planes = Array.from({ length: data.numberOfChannels }, (_, planeIndex) => {
          const plane = new Float32Array(data.numberOfFrames);
          data.copyTo(plane, { planeIndex, format: "f32-planar" });
          return plane;
        });
        const { sampleRate, timestamp } = data;
        data.close();
        events.sound(planes, sampleRate, timestamp);
      },
      error() {
        events.failed();
      },
    });
    this.#decoder.configure({ ...config });
  }

  get queued(): number {
    return this.#decoder.decodeQueueSize;
  }

  decode(data: Bytes, timestamp: number): void {
    this.#decoder.decode(new EncodedAudioChunk({ type: "key", timestamp, data }));
  }

  close(): void {
    if (this.#decoder.state !== "closed") {
      this.#decoder.close();
    }
  }
}
