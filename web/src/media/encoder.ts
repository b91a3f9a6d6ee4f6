// What encoders of both codecs have in common.

import { type Bytes } from "../protocol/bytes.ts";
import { type Codec, type Now } from "../protocol/index.ts";

/** When a picture was taken. */
export interface Stamps {
  /** Both clocks when the picture reached this worker. */
  readonly captured: Now;
  /** Nanoseconds before that at which the browser got it, as far as the browser says; else 0. */
  readonly capture: number;
  /** Nanoseconds since the stream began. */
  readonly mediaTime: bigint;
}

/** A picture as it is sent. */
export interface Encoded {
  /** An access unit in Annex B, or a JPEG image. */
  readonly data: Bytes;
  readonly keyframe: boolean;
  /** SPS and PPS in Annex B, with a keyframe of H.264; else empty. */
  readonly parameters: Bytes;
  readonly stamps: Stamps;
  readonly encoded: Now;
}

/** Who is told what an encoder does. */
export interface EncoderEvents {
  encoded(picture: Encoded): void;
  /** A picture was left out, because the encoder had not finished those before. */
  dropped(): void;
  /** The encoder has failed, and is closed. */
  failed(): void;
}

/** What to encode. */
export interface EncoderOptions {
  readonly codec: Codec;
  /** Pixels; even numbers for H.264. */
  readonly width: number;
  readonly height: number;
  /** Pictures a second. */
  readonly rate: number;
  /** Bits a second, for H.264. */
  readonly bitrate: number;
  /** 0.1 to 1, for Motion JPEG. */
  readonly quality: number;
  /** How many encoders before this one have failed: the first is the browser's choice, others are in software. */
  readonly failures: number;
}

/** An encoder. Its first picture is a keyframe. */
export interface Encoder {
  /** For the page, such as `avc1.42e01f`. */
  readonly name: string;
  /** Encodes a picture, which is the encoder's to close. */
  encode(picture: VideoFrame, stamps: Stamps): void;
  /** Makes the next picture a keyframe. */
  requestKeyframe(): void;
  /** Bits a second from here on; means nothing to Motion JPEG. */
  setBitrate(bitrate: number): void;
  /** Nothing comes out any more, and pictures that are inside are closed. */
  close(): void;
}

/** Why this browser does not encode what was chosen. Its text says what to do. */
export class EncoderError extends Error {
  override readonly name = "EncoderError";
}

/** Makes an encoder. @throws EncoderError */
export type MakeEncoder = (options: EncoderOptions, events: EncoderEvents) => Promise<Encoder>;
