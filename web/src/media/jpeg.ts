// What of a JPEG image is checked before the browser sees it (ITU-T T.81, annex B).

import { type Bytes } from "../protocol/bytes.ts";
import { MAX_SIDE } from "./codecs.ts";

const SOI = 0xd8;
const EOI = 0xd9;
const SOS = 0xda;
const TEM = 0x01;
const RST0 = 0xd0;
const RST7 = 0xd7;
/** Segments before the frame's header, at most. */
const MAX_SEGMENTS = 256;
/** Markers within C0 to CF that begin no frame: tables of codes, a reserved one, arithmetic conditioning. */
const NO_FRAME = new Set([0xc4, 0xc8, 0xcc]);

/** Size of an image. */
export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** The size that a JPEG image states; `undefined` if it is none, or larger than `MAX_SIDE` either way. */
export function jpegSize(data: Bytes): ImageSize | undefined {
  if (data[0] !== 0xff || data[1] !== SOI) {
    return undefined;
  }
  let at = 2;
  for (let count = 0; count < MAX_SEGMENTS; count += 1) {
    if (data[at] !== 0xff) {
      return undefined;
    }
    // A marker may have fill bytes before it.
    while (data[at] === 0xff) {
      at += 1;
    }
    const marker = data[at] ?? 0;
    at += 1;
    if (marker === 0 || marker === SOI || marker === EOI || marker === SOS) {
      return undefined;
    }
    if (marker === TEM || (marker >= RST0 && marker <= RST7)) {
      continue;
    }
    if ((marker & 0xf0) === 0xc0 && !NO_FRAME.has(marker)) {
      return sizeAt(data, at);
    }
    const length = word(data, at);
    if (length < 2) {
      return undefined;
    }
    at += length;
  }
  return undefined;
}

function word(data: Bytes, at: number): number {
  return (data[at] ?? 0) * 256 + (data[at + 1] ?? 0);
}

/** The size in the frame's header, from its length on. */
function sizeAt(data: Bytes, at: number): ImageSize | undefined {
  const [height, width] = [word(data, at + 3), word(data, at + 5)];
  const whole = at + 7 <= data.length && width > 0 && height > 0;
  return whole && width <= MAX_SIDE && height <= MAX_SIDE ? { width, height } : undefined;
}
