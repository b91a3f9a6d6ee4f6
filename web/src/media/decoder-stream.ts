// Streams in which frames depend on those before them, as WebCodecs wants them.

import { type Bytes } from "../protocol/bytes.ts";
import { MAX_FRAME } from "../protocol/index.ts";

/** What a decoder is configured with. */
export interface StreamConfig {
  /** Such as `avc1.PPCCLL`. */
  readonly codec: string;
  /** What the codec's decoders get apart from the frames, if they do. */
  readonly description?: Bytes;
  /** For how many pictures the decoder must wait before it shows one, as the stream states. */
  readonly reordering: number;
}

/** Why an access unit is kept from the decoder. */
export type Absurd = "empty" | "too-long" | "too-many-units" | "no-picture";

/** The parameters of one stream, and its access units in the decoder's form. */
export interface DecoderStream {
  /** Takes the parameters of a description, instead of all before. */
  describe(parameters: Bytes): void;
  /** The same object as long as nothing changes; `undefined` while parameters are missing. */
  readonly config: StreamConfig | undefined;
  /** @returns the access unit for the decoder, perhaps in its own buffer, or why this cannot be one */
  convert(data: Bytes, keyframe: boolean): Bytes | Absurd;
}

/** Why an access unit of this length cannot be one. */
export function absurdLength({ length }: Bytes): Absurd | undefined {
  return length === 0 ? "empty" : length > MAX_FRAME ? "too-long" : undefined;
}
