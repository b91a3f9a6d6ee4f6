// The browser's encoder of Opus.

import { type Bytes } from "../protocol/bytes.ts";
import { type MakeSoundEncoder, type SoundEncoder, type SoundEncoderEvents } from "./encoder.ts";
import { type SoundFormat, opusParameters } from "./opus-head.ts";

/** Bits a second of a channel. */
const BITRATE = 64_000;
/** Microseconds of a packet. */
const DURATION = 20_000;

/**
 * All packets are equally long, also those of silence: their lengths would tell who listens on the way when somebody
 * speaks, and more than that.
 */
export function soundEncoderConfig({ rate, channels }: SoundFormat): AudioEncoderConfig {
  return {
    codec: "opus", sampleRate: rate, numberOfChannels: channels, bitrate: BITRATE * channels, bitrateMode: "constant",
    opus: { format: "opus", frameDuration: DURATION, usedtx: false },
  };
}

/** The browser's encoder; `undefined` where it has none for sound. */
export function browserSoundEncoder(): MakeSoundEncoder | undefined {
  return typeof AudioEncoder === "function" ? (format, events) => new BrowserSoundEncoder(format, events) : undefined;
}

class BrowserSoundEncoder implements SoundEncoder {
  readonly #encoder: AudioEncoder;
  readonly #channels: number;

  constructor(format: SoundFormat, events: SoundEncoderEvents) {
    this.#channels = format.channels;
    let parameters = opusParameters(undefined, format);
    this.#encoder = new AudioEncoder({
      output(chunk, metadata) {
        const description = bytesOf(metadata?.decoderConfig?.description);
        parameters = description === undefined ? parameters : opusParameters(description, format);
        const data = new Uint8Array(chunk.byteLength);
        chunk.copyTo(data);
        const { timestamp, duration } = chunk;
        events.encoded({ data, timestamp, duration: duration ?? DURATION, parameters });
      },
      error() {
        events.failed();
      },
    });
    this.#encoder.configure(soundEncoderConfig(format));
  }

  get queued(): number {
    return this.#encoder.encodeQueueSize;
  }

  encode(sound: AudioData): void {
    const narrow = sound.numberOfChannels === this.#channels ? sound : narrowed(sound, this.#channels);
    try {
      this.#encoder.encode(narrow);
    } finally {
      if (narrow !== sound) {
        narrow.close();
      }
    }
  }

  close(): void {
    if (this.#encoder.state !== "closed") {
      this.#encoder.close();
    }
  }
}

function bytesOf(source: AllowSharedBufferSource | undefined): Bytes | undefined {
  if (source === undefined) {
    return undefined;
  }
  const view = ArrayBuffer.isView(source)
    ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength) : new Uint8Array(source);
  return Uint8Array.from(view);
}

/** The first channels of sound that has more of them. */
function narrowed(sound: AudioData, channels: number): AudioData {
  const { numberOfFrames, sampleRate, timestamp } = sound;
  const data = new Float32Array(numberOfFrames * channels);
  for (let planeIndex = 0; planeIndex < channels; planeIndex += 1) {
    sound.copyTo(data.subarray(planeIndex * numberOfFrames), { planeIndex, format: "f32-planar" });
  }
  return new AudioData({
    format: "f32-planar", sampleRate, numberOfFrames, numberOfChannels: channels, timestamp, data,
    transfer: [data.buffer],
  });
}
