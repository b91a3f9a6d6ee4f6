// Codec configurations (protocol.md, section 5).

import { type Bytes } from "../bytes.ts";
import { malformed, misuse } from "../error.ts";
import { Reader } from "../wire/reader.ts";
import { Writer } from "../wire/writer.ts";

/** How frames are coded. */
export type Codec = "h264" | "mjpeg" | "h265" | "av1";

/** By their numbers on the wire, from 1. */
const CODECS: readonly Codec[] = ["h264", "mjpeg", "h265", "av1"];

const MAX_PARAMETERS = 0xffff;
/** Of AV1: the sequence header OBU with its header, which has a size field and no extension. */
const MIN_AV1 = 3;
const MAX_AV1 = 1_024;
const AV1_SEQUENCE_HEADER = 0x0a;

/** Description of a stream. */
export interface StreamInfo {
  readonly codec: Codec;
  /** Pixels, 1 to 65 535. */
  readonly width: number;
  readonly height: number;
  /** Frames per second as a fraction; a hint. The denominator is not 0. */
  readonly rate: { readonly numerator: number; readonly denominator: number };
  /** H.264 and H.265: parameter sets in Annex B. AV1: the sequence header OBU with its size. Motion JPEG: empty. */
  readonly parameters: Bytes;
}

function isValid({ codec, width, height, rate, parameters }: StreamInfo): boolean {
  const [least, most] = codec === "mjpeg" ? [0, 0] : codec === "av1" ? [MIN_AV1, MAX_AV1] : [0, MAX_PARAMETERS];
  const fits = parameters.length >= least && parameters.length <= most;
  const begins = codec !== "av1" || parameters[0] === AV1_SEQUENCE_HEADER;
  return width > 0 && height > 0 && rate.denominator > 0 && fits && begins;
}

/** The payload of a codec configuration. @throws ProtocolError `misuse` for one that no viewer would accept */
export function infoBytes(info: StreamInfo): Bytes {
  if (!isValid(info)) {
    throw misuse("a stream has pixels, a rate, and its codec's parameters");
  }
  return new Writer()
    .u8(CODECS.indexOf(info.codec) + 1)
    .u16(info.width)
    .u16(info.height)
    .u32(info.rate.numerator)
    .u32(info.rate.denominator)
    .bytes16(info.parameters)
    .done();
}

/** Parses the payload of a codec configuration. @throws ProtocolError `malformed` */
export function parseInfo(payload: Bytes): StreamInfo {
  const reader = new Reader(payload);
  const codec = CODECS[reader.u8() - 1];
  const info: StreamInfo = {
    codec: codec ?? "mjpeg",
    width: reader.u16(),
    height: reader.u16(),
    rate: { numerator: reader.u32(), denominator: reader.u32() },
    parameters: reader.bytes16().slice(),
  };
  reader.finish();
  if (codec === undefined || !isValid(info)) {
    throw malformed();
  }
  return info;
}
