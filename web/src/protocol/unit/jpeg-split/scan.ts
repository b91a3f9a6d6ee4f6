// The scan of a JPEG image whose codes can be walked over (ITU-T T.81, processes 1 and 2).

import { type Bytes } from "../../bytes.ts";
import { asProtocolError } from "../../error.ts";
import { Reader } from "../../wire/reader.ts";
import { type Sink, type Source, notSplit } from "./bits.ts";
import { Codes } from "./huffman.ts";

/** Markers, without the 0xFF before them. */
const SOI = 0xd8;
const EOI = 0xd9;
const SOF0 = 0xc0;
const SOF1 = 0xc1;
const DHT = 0xc4;
const SOF15 = 0xcf;
const JPG = 0xc8;
const SOS = 0xda;
const DRI = 0xdd;
const TEM = 0x01;
const RST0 = 0xd0;

/** Blocks of a minimum coded unit at most (B.2.3). */
const MAX_BLOCKS = 10;
/** Components of a scan at most. */
const MAX_COMPONENTS = 4;
/** Tables of each class at most. */
const MAX_TABLES = 4;
/** Bits after a code at most: 15 keeps code and bits within 31. */
const MAX_SIZE = 15;

interface Component {
  readonly id: number;
  readonly horizontal: number;
  readonly vertical: number;
}

/** The codes of a block. */
interface Block {
  readonly dc: Codes;
  readonly ac: Codes;
}

/** The headers of an image up to its only scan. */
export class Scan {
  /** Bytes before the entropy-coded data. */
  head = 0;
  readonly #dc: (Codes | undefined)[] = [];
  readonly #ac: (Codes | undefined)[] = [];
  readonly #components: Component[] = [];
  /** The blocks of a minimum coded unit, in order. */
  readonly #blocks: Block[] = [];
  #width = 0;
  #height = 0;
  #interval = 0;

  /** Reads the headers. @throws ProtocolError `not-split` for an image of another kind */
  static parse(image: Bytes): Scan {
    const scan = new Scan();
    try {
      scan.#read(image);
    } catch (thrown) {
      const error = asProtocolError(thrown);
      throw error.reason === "malformed" ? notSplit("a header is wrong") : error;
    }
    return scan;
  }

  #read(image: Bytes): void {
    const reader = new Reader(image);
    if (reader.u8() !== 0xff || reader.u8() !== SOI) {
      throw notSplit("it does not begin as an image");
    }
    for (let marker = nextMarker(reader); ; marker = nextMarker(reader)) {
      if (marker === TEM || (marker >= RST0 && marker < SOI)) {
        continue;
      }
      if (marker === SOI || marker === EOI) {
        throw notSplit("it has no scan");
      }
      const length = reader.u16();
      if (length < 2) {
        throw notSplit("a header is wrong");
      }
      this.#segment(marker, reader.bytes(length - 2));
      if (marker === SOS) {
        this.head = reader.at;
        return;
      }
    }
  }

  #segment(marker: number, content: Bytes): void {
    switch (marker) {
      case SOF0:
      case SOF1:
        this.#frame(new Reader(content));
        return;
      case DHT:
        this.#tables(new Reader(content));
        return;
      case DRI:
        this.#interval = new Reader(content).u16();
        return;
      case SOS:
        this.#scan(new Reader(content));
        return;
      default:
        // SOF2 to SOF15, and DAC among them, announce other processes.
        if (marker >= SOF0 && marker <= SOF15 && marker !== JPG) {
          throw notSplit("only baseline and extended sequential images with Huffman codes are split");
        }
    }
  }

  #frame(reader: Reader): void {
    const precision = reader.u8();
    [this.#height, this.#width] = [reader.u16(), reader.u16()];
    const count = reader.u8();
    const repeated = this.#components.length > 0;
    if (precision !== 8 || this.#height === 0 || this.#width === 0 || repeated) {
      throw notSplit("only images of one frame with 8 bits are split");
    }
    if (count < 1 || count > MAX_COMPONENTS) {
      throw notSplit("it has too many components");
    }
    for (let at = 0; at < count; at += 1) {
      const [id, sampling] = [reader.u8(), reader.u8()];
      reader.u8();
      const [horizontal, vertical] = [sampling >> 4, sampling & 15];
      if (horizontal < 1 || horizontal > 4 || vertical < 1 || vertical > 4) {
        throw notSplit("a header is wrong");
      }
      this.#components.push({ id, horizontal, vertical });
    }
  }

  #tables(reader: Reader): void {
    while (reader.left > 0) {
      const place = reader.u8();
      const counts = reader.bytes(16);
      const values = reader.bytes(counts.reduce((sum, count) => sum + count, 0));
      const number = place & 15;
      if (place >> 4 > 1 || number >= MAX_TABLES) {
        throw notSplit("a table of codes is wrong");
      }
      (place >> 4 === 0 ? this.#dc : this.#ac)[number] = new Codes(counts, values);
    }
  }

  #scan(reader: Reader): void {
    const count = reader.u8();
    if (count === 0 || count !== this.#components.length) {
      throw notSplit("its components are in several scans");
    }
    for (const component of this.#components) {
      const [id, tables] = [reader.u8(), reader.u8()];
      if (id !== component.id) {
        throw notSplit("its components are in another order");
      }
      const [dc, ac] = [this.#dc[tables >> 4], this.#ac[tables & 15]];
      if (dc === undefined || ac === undefined) {
        throw notSplit("a table of codes is missing");
      }
      // A scan of one component is not interleaved, so its sampling plays no part (A.2.2).
      const blocks = count === 1 ? 1 : component.horizontal * component.vertical;
      for (let block = 0; block < blocks; block += 1) {
        this.#blocks.push({ dc, ac });
      }
    }
    if (reader.u8() !== 0 || reader.u8() !== 63 || reader.u8() !== 0) {
      throw notSplit("only images with all coefficients in one scan are split");
    }
    if (this.#blocks.length > MAX_BLOCKS) {
      throw notSplit("a header is wrong");
    }
  }

  /** Number of minimum coded units: at most 2²⁶, for 65 535 × 65 535 pixels. */
  #units(): number {
    const single = this.#components.length === 1;
    const most = (sampling: (component: Component) => number): number =>
      single ? 1 : Math.max(...this.#components.map(sampling));
    const across = Math.ceil(this.#width / (8 * most((component) => component.horizontal)));
    return across * Math.ceil(this.#height / (8 * most((component) => component.vertical)));
  }

  /**
   * Copies the codes of all blocks: those up to index `last` in zig-zag order are of the first part, and a code for a
   * run of zeros belongs to the coefficient at which the run begins. It ends when the source does, because each block
   * consumes at least a bit.
   */
  copy(last: number, from: Source, to: Sink): void {
    const units = this.#units();
    for (let unit = 0; unit < units; unit += 1) {
      if (this.#interval > 0 && unit > 0 && unit % this.#interval === 0) {
        const number = unit / this.#interval - 1;
        from.restart(number);
        to.restart(number);
      }
      for (const block of this.#blocks) {
        copyBlock(block, last, from, to);
      }
    }
  }
}

/** The next marker; fill bytes may stand before it. */
function nextMarker(reader: Reader): number {
  if (reader.u8() !== 0xff) {
    throw notSplit("a marker is missing");
  }
  let marker = reader.u8();
  while (marker === 0xff) {
    marker = reader.u8();
  }
  if (marker === 0) {
    throw notSplit("a marker is missing");
  }
  return marker;
}

function copyBlock({ dc, ac }: Block, last: number, from: Source, to: Sink): void {
  if (copyCode(dc, true, from, to) > MAX_SIZE) {
    throw notSplit("its data has an unknown code");
  }
  for (let index = 1; index < 64; ) {
    const value = copyCode(ac, index <= last, from, to);
    const [run, size] = [value >> 4, value & 15];
    if (size === 0 && run === 0) {
      return;
    }
    if (size === 0 && run !== 15) {
      throw notSplit("its data has an unknown code");
    }
    index += run + 1;
    if (index > 64) {
      throw notSplit("a block has too many coefficients");
    }
  }
}

/** Copies a code and the bits that follow it, and returns its value. */
function copyCode(codes: Codes, first: boolean, from: Source, to: Sink): number {
  const bits = from.peek(first);
  const found = codes.find(bits);
  const value = found >> 5;
  const count = (found & 31) + (value & 15);
  from.consume(first, count);
  to.put(first, bits >>> (32 - count), count);
  return value;
}
