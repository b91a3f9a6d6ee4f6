// What is used of WebCodecs, so that tests can put something else in its place.

import { type Bytes } from "../protocol/bytes.ts";

/** A decoded picture: a `VideoFrame`, or an `ImageBitmap`. Whoever has it closes it. */
export interface Picture {
  readonly image: CanvasImageSource;
  readonly width: number;
  readonly height: number;
  close(): void;
}

/** What the decoder gets. */
export interface Chunk {
  readonly key: boolean;
  /** Microseconds; the picture comes out with it. */
  readonly timestamp: number;
  readonly data: Bytes;
}

/** A configuration of the decoder. */
export interface CodecConfig {
  readonly codec: string;
  readonly description?: Bytes;
  readonly software: boolean;
}

/** Who is told what a decoder does. */
export interface CodecEvents {
  picture(picture: Picture, timestamp: number): void;
  /** The decoder has failed, and is closed. */
  failed(): void;
}

/** A decoder. */
export interface Codec {
  /** Chunks that it has not begun to decode. */
  readonly queued: number;
  /** Both may throw. */
  configure(config: CodecConfig): void;
  decode(chunk: Chunk): void;
  /** Nothing comes out any more. */
  close(): void;
}

/** Makes a decoder. */
export type MakeCodec = (events: CodecEvents) => Codec;

/** The browser's decoder; `undefined` where it has none. */
export function browserCodec(): MakeCodec | undefined {
  return typeof VideoDecoder === "function" ? (events) => new BrowserCodec(events) : undefined;
}

/** True if the browser decodes this codec, as it says. */
export async function browserSupports(codec: string): Promise<boolean> {
  return (await VideoDecoder.isConfigSupported({ codec, optimizeForLatency: true })).supported === true;
}

class BrowserCodec implements Codec {
  readonly #decoder: VideoDecoder;

  constructor(events: CodecEvents) {
    this.#decoder = new VideoDecoder({
      output(frame) {
        events.picture(pictureOf(frame), frame.timestamp);
      },
      error() {
        events.failed();
      },
    });
  }

  get queued(): number {
    return this.#decoder.decodeQueueSize;
  }

  configure({ software, ...config }: CodecConfig): void {
    this.#decoder.configure({
      ...config, optimizeForLatency: true,
      hardwareAcceleration: software ? "prefer-software" : "no-preference",
    });
  }

  decode({ key, timestamp, data }: Chunk): void {
    this.#decoder.decode(new EncodedVideoChunk({ type: key ? "key" : "delta", timestamp, data }));
  }

  close(): void {
    if (this.#decoder.state !== "closed") {
      this.#decoder.close();
    }
  }
}

/** Width and height of a picture at most: a stream may claim any shape of its pixels. */
export const MAX_SIDE = 8_192;

function pictureOf(frame: VideoFrame): Picture {
  const { displayWidth, displayHeight, visibleRect } = frame;
  const shown = displayWidth <= MAX_SIDE && displayHeight <= MAX_SIDE;
  return {
    image: frame,
    width: shown ? displayWidth : (visibleRect?.width ?? 0),
    height: shown ? displayHeight : (visibleRect?.height ?? 0),
    close() {
      frame.close();
    },
  };
}
