// H.264 by WebCodecs, each picture as soon as it comes.

import { type Now } from "../protocol/index.ts";
import { type Bytes } from "../protocol/bytes.ts";
import { type AvcConfig, fromLengths, parameterSetsOf, parseAvcConfig } from "./annexb-writer.ts";
import {
  type Encoded, type Encoder, EncoderError, type EncoderEvents, type EncoderOptions, type Stamps,
} from "./encoder.ts";
import { Letterbox } from "./letterbox.ts";

/** Milliseconds between keyframes at most: a viewer that lost one unnoticed sees the whole picture again. */
export const KEYFRAME_INTERVAL = 10_000;
/** Pictures that the encoder has not begun, at most. */
const MAX_QUEUED = 1;
/** Pictures in the encoder at most, begun ones included: hardware that works on several at once has fewer. */
const MAX_INSIDE = 8;
const MACROBLOCK = 16;

/** Levels: number, macroblocks a second, macroblocks of a picture, kilobits a second (ITU-T H.264, table A-1). */
const LEVELS = [
  [30, 40_500, 1_620, 10_000], [31, 108_000, 3_600, 14_000], [32, 216_000, 5_120, 20_000], [40, 245_760, 8_192, 20_000],
  [41, 245_760, 8_192, 50_000], [42, 522_240, 8_704, 50_000], [50, 589_824, 22_080, 135_000],
  [51, 983_040, 36_864, 240_000], [52, 2_073_600, 36_864, 240_000],
] as const;

/**
 * The lowest level that is enough, from 3 on, which all browsers encode.
 * @throws EncoderError if none is
 */
export function levelFor({ width, height, rate, bitrate }: EncoderOptions): number {
  const blocks = Math.ceil(width / MACROBLOCK) * Math.ceil(height / MACROBLOCK);
  const found = LEVELS.find(([, perSecond, perPicture, kilobits]) =>
    blocks <= perPicture && blocks * rate <= perSecond && bitrate <= kilobits * 1_000);
  if (found === undefined) {
    throw new EncoderError("H.264 has no level for so many pixels a second; choose a smaller picture or a lower rate");
  }
  return found[0];
}

/** Constrained baseline: no B pictures, so every picture leaves the encoder before the next one comes. */
function codecName(level: number): string {
  return `avc1.42e0${level.toString(16)}`;
}

/** Configurations to try, best first. */
function configurations(options: EncoderOptions): VideoEncoderConfig[] {
  const { width, height, rate, bitrate, failures } = options;
  const common: VideoEncoderConfig = {
    codec: codecName(levelFor(options)), width, height, framerate: rate, bitrate, latencyMode: "realtime",
    avc: { format: "annexb" },
  };
  // A constant rate keeps a picture with much motion from filling a narrow path.
  const modes = (["constant", "variable"] as const).map((bitrateMode) => ({ ...common, bitrateMode }));
  const kinds: HardwareAcceleration[] = failures === 0 ? ["no-preference", "prefer-software"] : ["prefer-software"];
  return kinds.flatMap((hardwareAcceleration) => modes.map((mode) => ({ ...mode, hardwareAcceleration })));
}

/** Makes an encoder. @throws EncoderError */
export async function makeH264Encoder(
  options: EncoderOptions, events: EncoderEvents, now: () => Now,
): Promise<Encoder> {
  if (typeof VideoEncoder !== "function") {
    throw new EncoderError("this browser encodes no video; choose Motion JPEG");
  }
  for (const config of configurations(options)) {
    const { supported } = await VideoEncoder.isConfigSupported(config);
    if (supported === true) {
      return new H264Encoder(config, events, now);
    }
  }
  throw new EncoderError("this browser does not encode H.264 of this size; choose another size, or Motion JPEG");
}

interface Inside {
  readonly timestamp: number;
  readonly stamps: Stamps;
}

class H264Encoder implements Encoder {
  readonly name: string;
  readonly #encoder: VideoEncoder;
  readonly #events: EncoderEvents;
  readonly #now: () => Now;
  readonly #letterbox: Letterbox;
  /** Pictures in the encoder, in order; there are no B pictures, so they come out in this order as well. */
  readonly #inside: Inside[] = [];
  #config: VideoEncoderConfig;
  #avc: AvcConfig | undefined;
  #lastKey = -Infinity;
  #lastTimestamp = -Infinity;

  constructor(config: VideoEncoderConfig, events: EncoderEvents, now: () => Now) {
    this.name = config.codec;
    this.#config = config;
    this.#events = events;
    this.#now = now;
    this.#letterbox = new Letterbox(config.width, config.height);
    this.#encoder = new VideoEncoder({
      output: (chunk, metadata) => {
        try {
          this.#came(chunk, metadata?.decoderConfig);
        } catch {
          // What it makes is not what it says.
          this.close();
          this.#events.failed();
        }
      },
      error: () => {
        this.#events.failed();
      },
    });
    this.#encoder.configure(config);
  }

  encode(picture: VideoFrame, stamps: Stamps): void {
    const full = this.#encoder.encodeQueueSize > MAX_QUEUED || this.#inside.length >= MAX_INSIDE;
    if (this.#encoder.state !== "configured" || full) {
      picture.close();
      this.#events.dropped();
      return;
    }
    const key = stamps.captured.monotonic - this.#lastKey >= KEYFRAME_INTERVAL;
    const fitting = this.#letterbox.fit(picture);
    try {
      const named = this.#withOwnTimestamp(fitting, stamps);
      try {
        this.#encoder.encode(named, { keyFrame: key });
      } finally {
        named.close();
      }
      this.#inside.push({ timestamp: named.timestamp, stamps });
      this.#lastKey = key ? stamps.captured.monotonic : this.#lastKey;
    } finally {
      fitting.close();
    }
  }

  /** Sources may repeat timestamps, which tell the encoder's outputs apart here, and by which it counts its rate. */
  #withOwnTimestamp(picture: VideoFrame, stamps: Stamps): VideoFrame {
    const timestamp = Math.max(Number(stamps.mediaTime / 1_000n), this.#lastTimestamp + 1);
    this.#lastTimestamp = timestamp;
    return new VideoFrame(picture, { timestamp });
  }

  requestKeyframe(): void {
    this.#lastKey = -Infinity;
  }

  setBitrate(bitrate: number): void {
    if (this.#encoder.state === "configured" && bitrate !== this.#config.bitrate) {
      this.#config = { ...this.#config, bitrate };
      this.#encoder.configure(this.#config);
    }
  }

  close(): void {
    if (this.#encoder.state !== "closed") {
      this.#encoder.close();
    }
  }

  #came(chunk: EncodedVideoChunk, config: VideoDecoderConfig | undefined): void {
    const encoded = this.#now();
    // A real-time encoder may leave out a picture by itself.
    let inside = this.#inside.shift();
    while (inside !== undefined && inside.timestamp !== chunk.timestamp) {
      this.#events.dropped();
      inside = this.#inside.shift();
    }
    if (inside === undefined) {
      return;
    }
    if (config !== undefined) {
      this.#avc = config.description === undefined ? undefined : parseAvcConfig(bytesOf(config.description));
    }
    const raw = new Uint8Array(chunk.byteLength);
    chunk.copyTo(raw);
    const data = this.#avc === undefined ? raw : fromLengths(raw, this.#avc.lengthSize);
    const keyframe = chunk.type === "key";
    const parameters = keyframe ? this.#parametersOf(data) : new Uint8Array(0);
    this.#events.encoded({ data, keyframe, parameters, stamps: inside.stamps, encoded } satisfies Encoded);
  }

  #parametersOf(keyframe: Bytes): Bytes {
    const inside = parameterSetsOf(keyframe);
    return inside.length > 0 ? inside : (this.#avc?.parameters ?? inside);
  }
}

function bytesOf(source: AllowSharedBufferSource): Bytes {
  const view = ArrayBuffer.isView(source)
    ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength) : new Uint8Array(source);
  return Uint8Array.from(view);
}
