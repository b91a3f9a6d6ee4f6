// What the publisher chose, checked and in the protocol's own words.

import { type EncoderOptions } from "../media/encoder.ts";
import { type PublishOptions } from "../messages.ts";
import {
  type Mechanism, mechanismNamed, misuse, RekeyPolicy, type Selection, selectionNamed, type StreamInfo, type Suite,
  suiteNamed,
} from "../protocol/index.ts";
import { type Bytes } from "../protocol/bytes.ts";

/** Bits of a pixel in an image at most: that of good quality has one, of the best and with much noise four. */
const JPEG_BITS = 4;
/** A rate as a fraction: pictures a second may be a broken number. */
const RATE_DENOMINATOR = 1_000;
const MAX_SIDE = 8_192;
const MAX_RATE = 60;
const MAX_BITRATE = 100_000_000;

/** The choice, ready to use. */
export interface Choice {
  readonly encoder: Omit<EncoderOptions, "failures">;
  readonly suites: readonly Suite[];
  readonly mechanisms: readonly Mechanism[];
  readonly selection: Selection;
  readonly rekey: RekeyPolicy;
}

/** Checks what was chosen. @throws ProtocolError with a sentence for what is wrong */
export function chosen(options: PublishOptions): Choice {
  const { codec, width, height, rate, bitrate, quality, suites, mechanisms, selection, rekeySeconds } = options;
  const sides = [width, height].every((side) => Number.isInteger(side) && side >= 2 && side <= MAX_SIDE);
  const rates = rate >= 1 && rate <= MAX_RATE && (codec === "mjpeg" || (bitrate > 0 && bitrate <= MAX_BITRATE));
  if (!sides || !rates) {
    throw misuse("a picture has 2 to 8192 pixels in each direction, 1 to 60 a second, and up to 100 Mbit/s");
  }
  if (suites.length === 0 || mechanisms.length === 0) {
    throw misuse("at least one suite and one mechanism must be chosen");
  }
  // H.264 stores colours for blocks of two by two pixels.
  const side = (pixels: number): number => (codec === "h264" ? pixels - (pixels % 2) : pixels);
  return {
    encoder: {
      codec, width: side(width), height: side(height), rate, bitrate: Math.round(bitrate),
      quality: Math.min(1, Math.max(0.1, quality)),
    },
    suites: suites.map(suiteNamed),
    mechanisms: mechanisms.map(mechanismNamed),
    selection: selectionNamed(selection),
    rekey: new RekeyPolicy(undefined, rekeySeconds * 1_000),
  };
}

/**
 * Bits a second at most. The bit rate of images follows from their quality, which was chosen: on a narrow path there
 * are fewer of them.
 */
export function highestRate({ codec, bitrate, width, height, rate }: Choice["encoder"]): number {
  return codec === "h264" ? bitrate : width * height * rate * JPEG_BITS;
}

/** The description of the stream with these parameter sets. */
export function describeStream({ codec, width, height, rate }: Choice["encoder"], parameters: Bytes): StreamInfo {
  const fraction = { numerator: Math.round(rate * RATE_DENOMINATOR), denominator: RATE_DENOMINATOR };
  return { codec, width, height, rate: fraction, parameters };
}
