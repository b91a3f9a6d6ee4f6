// What the browser's decoder is told of a stream of sound (the WebCodecs registrations of AAC and Opus).

import { type Bytes, ascii, concat, equal } from "../protocol/bytes.ts";
import { type SoundInfo } from "../protocol/index.ts";

/** Where the OpusHead says how many samples to leave out at the beginning (RFC 7845, section 5.1). */
const PRE_SKIP = 10;

/** A configuration of the browser's decoder. */
export interface SoundConfig {
  readonly codec: string;
  readonly sampleRate: number;
  readonly numberOfChannels: number;
  readonly description: Bytes;
}

/** The audio object type of an AudioSpecificConfig (ISO/IEC 14496-3, 1.6.2.1): five bits, or 32 and six more. */
function objectType(specific: Bytes): number {
  const [first = 0, second = 0] = specific;
  const short = first >> 3;
  return short === 31 ? 32 + (((first & 7) << 3) | (second >> 5)) : short;
}

/**
 * An OpusHead of which nothing is left out at the beginning: it begins wherever this end joined, and media times count
 * from the first sample of each packet. A browser that leaves something out is off by as much from there on.
 */
function opusHead(parameters: Bytes): Bytes {
  const head = concat(ascii("OpusHead"), parameters);
  head.fill(0, PRE_SKIP, PRE_SKIP + 2);
  return head;
}

/** The decoder's configuration; `undefined` for G.711, which needs no decoder. */
export function soundConfig({ codec, channels, samplesPerSecond, parameters }: SoundInfo): SoundConfig | undefined {
  const size = { sampleRate: samplesPerSecond, numberOfChannels: channels };
  switch (codec) {
    case "aac":
      return { codec: `mp4a.40.${objectType(parameters)}`, ...size, description: parameters };
    case "opus":
      return { codec: "opus", ...size, description: opusHead(parameters) };
    case "ulaw":
    case "alaw":
      return undefined;
  }
}

const NAMES = { aac: "AAC", opus: "Opus", ulaw: "G.711 µ-law", alaw: "G.711 A-law" } as const;

/** The sound as people read it, such as `AAC, 48 kHz, 2 channels`. */
export function soundName({ codec, channels, samplesPerSecond }: SoundInfo): string {
  return `${NAMES[codec]}, ${samplesPerSecond / 1_000} kHz, ${channels === 1 ? "1 channel" : `${channels} channels`}`;
}

/** True if a decoder need not be told the second after the first. */
export function isSameSound(a: SoundInfo, b: SoundInfo): boolean {
  return equal(a.parameters, b.parameters) && a.codec === b.codec && a.channels === b.channels &&
    a.samplesPerSecond === b.samplesPerSecond;
}
