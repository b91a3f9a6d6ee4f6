// Split images (protocol.md, section 5, layout 1): the codes of the first coefficients apart from the others.

import { type Bytes, concat } from "../../bytes.ts";
import { asProtocolError } from "../../error.ts";
import { Reader } from "../../wire/reader.ts";
import { Writer } from "../../wire/writer.ts";
import { MAX_FRAME } from "../preamble.ts";
import { BitReader, BitWriter, imageSink, imageSource, notSplit, partsSink, partsSource } from "./bits.ts";
import { Scan } from "./scan.ts";

/** Highest index in zig-zag order whose code may be of the first part. */
export const MAX_LAST = 62;

/** A split image. */
export interface SplitFrame {
  /** Its bytes in layout 1. */
  readonly data: Bytes;
  /** Bytes from the beginning that have all but the codes of the other coefficients. */
  readonly first: number;
}

/**
 * Splits an image. The codes of its coefficients up to index `last` go to the front with its headers.
 * @throws ProtocolError `not-split` for an image of another kind, one that is broken, or one that is too long
 */
export function splitImage(image: Bytes, last: number): SplitFrame {
  if (!Number.isInteger(last) || last < 0 || last > MAX_LAST) {
    throw notSplit("the last coefficient is 0 to 62");
  }
  const scan = Scan.parse(image);
  const [head, coded] = [image.subarray(0, scan.head), image.subarray(scan.head)];
  const reader = new BitReader(coded, true);
  const [first, other] = [new BitWriter(false, coded.length >> 2), new BitWriter(false, coded.length)];
  scan.copy(last, imageSource(reader), partsSink(first, other));
  const tail = coded.subarray(reader.end(true));
  first.end(false);
  other.end(false);
  const lengths = new Writer().u8(last).u32(head.length).u32(tail.length).u32(first.length).done();
  const before = lengths.length + head.length + tail.length + first.length;
  if (before + other.length > MAX_FRAME) {
    throw notSplit("it is too long");
  }
  return { data: concat(lengths, head, tail, first.bytes, other.bytes), first: before };
}

/**
 * Joins a frame in layout 1 to the image that it was made from.
 * @throws ProtocolError `not-split` if its parts do not fit together, or the image would be longer than a frame
 */
export function joinImage(data: Bytes): Bytes {
  const { last, head, tail, first, other } = parts(data);
  const scan = Scan.parse(head);
  if (last > MAX_LAST || scan.head !== head.length) {
    throw notSplit("its parts do not fit together");
  }
  // Stuffing makes it longer; a good guess saves growing.
  const image = new BitWriter(true, data.length + (data.length >> 6));
  image.append(head);
  const sources = [new BitReader(first, false), new BitReader(other, false)] as const;
  scan.copy(last, partsSource(...sources), imageSink(image));
  if (sources[0].end(false) !== first.length || sources[1].end(false) !== other.length) {
    throw notSplit("its parts do not fit together");
  }
  image.end(true);
  if (image.length + tail.length > MAX_FRAME) {
    throw notSplit("it is too long");
  }
  image.append(tail);
  return image.bytes;
}

function parts(data: Bytes): Record<"head" | "tail" | "first" | "other", Bytes> & { last: number } {
  const reader = new Reader(data);
  try {
    const [last, head, tail, first] = [reader.u8(), reader.u32(), reader.u32(), reader.u32()];
    return {
      last,
      head: reader.bytes(head),
      tail: reader.bytes(tail),
      first: reader.bytes(first),
      other: reader.rest(),
    };
  } catch (thrown) {
    throw asProtocolError(thrown).reason === "malformed" ? notSplit("its parts do not fit together") : thrown;
  }
}
