// What is used of the browser's encoder of sound, so that tests can put something else in its place.

import { type Bytes } from "../protocol/bytes.ts";
import { type SoundFormat } from "./opus-head.ts";

/** A packet of Opus. */
export interface SoundPacket {
  readonly data: Bytes;
  /** Microseconds, by the clock of what went in, of its first sample; and how long it is. */
  readonly timestamp: number;
  readonly duration: number;
  /** The OpusHead without its magic. */
  readonly parameters: Bytes;
}

/** Who is told what an encoder does. */
export interface SoundEncoderEvents {
  encoded(packet: SoundPacket): void;
  /** It has failed, and is closed. */
  failed(): void;
}

/** An encoder. */
export interface SoundEncoder {
  /** Pieces of sound that it has not begun to encode. */
  readonly queued: number;
  /** Of sound with more channels the first ones. It may throw. The sound stays the caller's to close. */
  encode(sound: AudioData): void;
  /** Nothing comes out any more. */
  close(): void;
}

/** Makes an encoder of sound that was recorded so; it may throw. */
export type MakeSoundEncoder = (format: SoundFormat, events: SoundEncoderEvents) => SoundEncoder;
