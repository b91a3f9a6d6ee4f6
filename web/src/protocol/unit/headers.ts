// Where the headers of a coded picture end. A source may give anything: no length is trusted, and whatever is not
// understood counts as a header.

import { type Bytes } from "../bytes.ts";
import { isSlice, nalType, nalUnits } from "./annexb.ts";
import { type Plan } from "./plan.ts";

/**
 * Bytes after the first byte of a slice that count as its header. Without prediction weights it has 4 to 30 bytes; this
 * is twice that. Explicit weights for many reference pictures can make it longer, and their tail then stays in clear.
 */
export const SLICE_HEAD = 64;

const SOI = 0xd8;
const EOI = 0xd9;
const SOS = 0xda;
const TEM = 0x01;
const RST0 = 0xd0;
const RST7 = 0xd7;

/** Plans an H.264 frame in Annex B: everything but the slice data is header. */
export function planH264Headers(data: Bytes, plan: Plan): void {
  for (const { first, end } of nalUnits(data)) {
    if (isSlice(nalType(data[first]))) {
      plan.encryptTo(Math.min(end, first + 1 + SLICE_HEAD));
      plan.clearTo(end);
    } else {
      plan.encryptTo(end);
    }
  }
}

/**
 * Plans a JPEG image (ITU-T T.81, annex B): everything up to the end of each SOS segment, and all markers after a scan,
 * are headers. Only the entropy-coded data with its restart markers is not.
 */
export function planJpegHeaders(data: Bytes, plan: Plan): void {
  for (let at = 0; at < data.length; ) {
    const segment = nextSegment(data, at);
    // After the image, or if this is none, the rest is encrypted.
    if (segment === undefined || segment.marker === EOI) {
      return;
    }
    plan.encryptTo(segment.end);
    at = segment.end;
    if (segment.marker === SOS) {
      at = endOfScan(data, at);
      plan.clearTo(at);
    }
  }
}

/** The marker at `at`, and where its segment ends; `undefined` if there is no whole one. */
function nextSegment(data: Bytes, at: number): { readonly marker: number; readonly end: number } | undefined {
  if (data[at] !== 0xff) {
    return undefined;
  }
  let place = at + 1;
  // A marker may have fill bytes before it.
  while (data[place] === 0xff) {
    place += 1;
  }
  const marker = data[place];
  if (marker === undefined || marker === 0) {
    return undefined;
  }
  const alone = marker === SOI || marker === EOI || marker === TEM || (marker >= RST0 && marker <= RST7);
  const [high, low] = [data[place + 1], data[place + 2]];
  if (alone) {
    return { marker, end: place + 1 };
  }
  if (high === undefined || low === undefined) {
    return undefined;
  }
  const length = high * 256 + low;
  const end = place + 1 + length;
  return length < 2 || end > data.length ? undefined : { marker, end };
}

/** Where the entropy-coded data from `from` on ends: at the next marker that is no restart marker. */
function endOfScan(data: Bytes, from: number): number {
  for (let at = data.indexOf(0xff, from); at >= 0; at = data.indexOf(0xff, at)) {
    let place = at + 1;
    while (data[place] === 0xff) {
      place += 1;
    }
    const code = data[place];
    if (code === undefined) {
      return at;
    }
    if (code !== 0 && (code < RST0 || code > RST7)) {
      return at;
    }
    at = place + 1;
  }
  return data.length;
}
