// Codec configurations (protocol.md, section 5).

import { type Bytes } from "../bytes.ts";
import { malformed, misuse } from "../error.ts";
import { Reader } from "../wire/reader.ts";
import { Writer } from "../wire/writer.ts";

/** How frames are coded. */
export type Codec = "h264" | "mjpeg";

const MAX_PARAMETERS = 0xffff;

/** Description of a stream. */
export interface StreamInfo {
  readonly codec: Codec;
  /** Pixels, 1 to 65 535. */
  readonly width: number;
  readonly height: number;
  /** Frames per second as a fraction; a hint. The denominator is not 0. */
  readonly rate: { readonly numerator: number; readonly denominator: number };
  /** H.264: SPS and PPS in Annex B. Motion JPEG: empty. */
  readonly parameters: Bytes;
}

function isValid(info: StreamInfo): boolean {
  const parameters = info.codec === "mjpeg" ? info.parameters.length === 0 : info.parameters.length <= MAX_PARAMETERS;
  return info.width > 0 && info.height > 0 && info.rate.denominator > 0 && parameters;
}

/** The payload of a codec configuration. @throws ProtocolError `misuse` for one that no viewer would accept */
export function infoBytes(info: StreamInfo): Bytes {
  if (!isValid(info)) {
    throw misuse("a stream has pixels, a rate, and parameters only with H.264");
  }
  return new Writer()
    .u8(info.codec === "h264" ? 1 : 2)
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
  const codec = reader.u8();
  const info: StreamInfo = {
    codec: codec === 1 ? "h264" : "mjpeg",
    width: reader.u16(),
    height: reader.u16(),
    rate: { numerator: reader.u32(), denominator: reader.u32() },
    parameters: reader.bytes16().slice(),
  };
  reader.finish();
  if (codec < 1 || codec > 2 || !isValid(info)) {
    throw malformed();
  }
  return info;
}
