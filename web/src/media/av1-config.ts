// AV1 as WebCodecs wants it: temporal units as they come, and the codec string by the sequence header.

import { type Bytes, equal } from "../protocol/bytes.ts";
import { BitReader, ProtocolError } from "../protocol/index.ts";
import { type Absurd, type DecoderStream, type StreamConfig, absurdLength } from "./decoder-stream.ts";

/** The sequence header of one stream, and its temporal units in the decoder's form. */
export class Av1Stream implements DecoderStream {
  #described: Bytes | undefined;
  config: StreamConfig | undefined;

  describe(parameters: Bytes): void {
    if (this.#described === undefined || !equal(this.#described, parameters)) {
      this.#described = parameters.slice();
      this.config = configOf(parameters);
    }
  }

  convert(data: Bytes): Bytes | Absurd {
    return absurdLength(data) ?? data;
  }
}

/** The configuration by a sequence header OBU with a size; `undefined` if it is damaged. */
function configOf(parameters: Bytes): StreamConfig | undefined {
  // Header, and a size whose bytes but the last have the top bit.
  const begin = parameters.findIndex((byte, at) => at > 0 && byte < 0x80) + 1;
  const bits = new BitReader(parameters, begin * 8, parameters.length * 8);
  try {
    const codec = codecOf(bits);
    bits.check();
    // Temporal units come in the order in which they are shown.
    return { codec, reordering: 0 };
  } catch (thrown) {
    if (!(thrown instanceof ProtocolError)) {
      throw thrown;
    }
    return undefined;
  }
}

/** The codec string of the sequence header (AV1 bitstream specification, 5.5.1) in the AV1 codec's ISO media form. */
function codecOf(bits: BitReader): string {
  const profile = bits.read(3);
  bits.skip(1);
  const reduced = bits.flag();
  const { level, tier } = reduced ? { level: bits.read(5), tier: false } : operatingPoint(bits);
  const sides = [bits.read(4) + 1, bits.read(4) + 1];
  sides.forEach((side) => {
    bits.skip(side);
  });
  if (!reduced && bits.flag()) {
    bits.skip(7);
  }
  bits.skip(3);
  if (!reduced) {
    skipTools(bits);
  }
  bits.skip(3);
  const high = bits.flag();
  const depth = !high ? 8 : profile === 2 && bits.flag() ? 12 : 10;
  const padded = [level, depth].map((number) => String(number).padStart(2, "0"));
  return `av01.${profile}.${padded[0] ?? ""}${tier ? "H" : "M"}.${padded[1] ?? ""}`;
}

/** Reads from the timing information to the operating points; returns what the first says. */
function operatingPoint(bits: BitReader): { level: number; tier: boolean } {
  let delay = 0;
  if (bits.flag()) {
    bits.skip(64);
    if (bits.flag()) {
      bits.ue();
    }
    if (bits.flag()) {
      delay = bits.read(5) + 1;
      bits.skip(42);
    }
  }
  const delays = bits.flag();
  let first: { level: number; tier: boolean } | undefined;
  for (let left = bits.read(5); left >= 0; left -= 1) {
    bits.skip(12);
    const level = bits.read(5);
    const tier = level > 7 && bits.flag();
    first ??= { level, tier };
    if (delay > 0 && bits.flag()) {
      bits.skip(2 * delay + 1);
    }
    if (delays && bits.flag()) {
      bits.skip(4);
    }
  }
  return first ?? { level: 0, tier: false };
}

/** Skips what a sequence of more than one picture says of its tools. */
function skipTools(bits: BitReader): void {
  bits.skip(4);
  const order = bits.flag();
  bits.skip(order ? 2 : 0);
  // Chosen by each frame, or forced on or off.
  if ((bits.flag() || bits.flag()) && !bits.flag()) {
    bits.skip(1);
  }
  bits.skip(order ? 3 : 0);
}
