// The browser's encoders.

import { type Now } from "../protocol/index.ts";
import { type MakeEncoder } from "./encoder.ts";
import { makeH264Encoder } from "./h264-encoder.ts";
import { makeJpegEncoder } from "./jpeg-encoder.ts";

/** Makes the browser's encoders, whose stamps are by this clock. */
export function browserEncoder(now: () => Now): MakeEncoder {
  return (options, events) =>
    options.codec === "h264" ? makeH264Encoder(options, events, now) : makeJpegEncoder(options, events, now);
}
