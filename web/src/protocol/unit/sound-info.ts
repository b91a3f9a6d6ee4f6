// Codec configurations of sound (protocol.md, section 5, Sound).

import { type Bytes } from "../bytes.ts";
import { malformed, misuse } from "../error.ts";
import { Reader } from "../wire/reader.ts";
import { Writer } from "../wire/writer.ts";

/** The media stream of the picture, where the session carries one camera. */
export const PICTURE_STREAM = 1;
/** The media stream of sound; all others are pictures. */
export const SOUND_STREAM = 2;

/** Codecs by their numbers, from 16. */
const CODECS = ["aac", "opus", "ulaw", "alaw"] as const;
const FIRST_CODEC = 16;
const MAX_CHANNELS = 8;
const MIN_RATE = 8_000;
const MAX_RATE = 192_000;
/** Bytes of an AudioSpecificConfig. */
const MIN_AAC = 2;
const MAX_AAC = 256;
/** Bytes of an OpusHead of mapping family 0, without its magic, and where its family stands. */
const OPUS_HEAD = 11;
const OPUS_FAMILY = 10;
/** Samples a second of Opus, whatever was recorded. */
const OPUS_RATE = 48_000;

/** How sound is coded; the last two are G.711. */
export type SoundCodec = (typeof CODECS)[number];

/** Description of sound. */
export interface SoundInfo {
  readonly codec: SoundCodec;
  /** 1 to 8. */
  readonly channels: number;
  /** Samples a second of each channel, 8 000 to 192 000. */
  readonly samplesPerSecond: number;
  /** Samples of each channel in a frame, a hint; 0 if frames differ. */
  readonly samplesPerFrame: number;
  /** AAC: the AudioSpecificConfig. Opus: the OpusHead without its magic. G.711: empty. */
  readonly parameters: Bytes;
}

function isOpusHead(parameters: Bytes, channels: number): boolean {
  const family = parameters[OPUS_FAMILY];
  const length = family === 0 ? OPUS_HEAD : family === 1 ? OPUS_HEAD + 2 + channels : 0;
  return parameters.length === length && parameters[0] === 1 && parameters[1] === channels &&
    (family !== 0 || channels <= 2);
}

function isValid({ codec, channels, samplesPerSecond: rate, parameters }: SoundInfo): boolean {
  const fits = codec === "aac" ? parameters.length >= MIN_AAC && parameters.length <= MAX_AAC
    : codec === "opus" ? rate === OPUS_RATE && isOpusHead(parameters, channels) : parameters.length === 0;
  return fits && channels >= 1 && channels <= MAX_CHANNELS && rate >= MIN_RATE && rate <= MAX_RATE;
}

/** The payload of a codec configuration. @throws ProtocolError `misuse` for one that no viewer would accept */
export function soundInfoBytes(info: SoundInfo): Bytes {
  if (!isValid(info)) {
    throw misuse("sound has 1 to 8 channels, 8000 to 192000 samples a second, and the parameters of its codec");
  }
  return new Writer()
    .u8(FIRST_CODEC + CODECS.indexOf(info.codec))
    .u16(info.channels)
    .u16(0)
    .u32(info.samplesPerSecond)
    .u32(info.samplesPerFrame)
    .bytes16(info.parameters)
    .done();
}

/** Parses the payload of a codec configuration of stream 2. @throws ProtocolError `malformed` */
export function parseSoundInfo(payload: Bytes): SoundInfo {
  const reader = new Reader(payload);
  const codec = CODECS[reader.u8() - FIRST_CODEC];
  const [channels, reserved] = [reader.u16(), reader.u16()];
  const [samplesPerSecond, samplesPerFrame] = [reader.u32(), reader.u32()];
  const parameters = reader.bytes16().slice();
  reader.finish();
  if (codec === undefined || reserved !== 0) {
    throw malformed();
  }
  const info: SoundInfo = { codec, channels, samplesPerSecond, samplesPerFrame, parameters };
  if (!isValid(info)) {
    throw malformed();
  }
  return info;
}
