// Bits of entropy-coded data (ITU-T T.81, annex F): read, and written.

import { type Bytes } from "../../bytes.ts";
import { ProtocolError } from "../../error.ts";
import { MAX_FRAME } from "../preamble.ts";

/** First of the eight restart markers, without the 0xFF before it. */
const RST0 = 0xd0;

/** The error for an image that cannot be split, or for parts that do not fit together. */
export function notSplit(detail: string): ProtocolError {
  return new ProtocolError("not-split", detail);
}

/** Where codes come from. `first` says of which part a code is. */
export interface Source {
  /** The next 32 bits as an unsigned number, the next bit highest; zeros after the end. */
  peek(first: boolean): number;
  /** Consumes up to 31 bits. @throws ProtocolError `not-split` if there are fewer */
  consume(first: boolean, count: number): void;
  /** The `number`th restart interval ends here. @throws ProtocolError `not-split` if it does not */
  restart(number: number): void;
}

/** Where codes go to. */
export interface Sink {
  /** Appends the lowest `count` bits, up to 31. */
  put(first: boolean, bits: number, count: number): void;
  /** The `number`th restart interval ends here. @throws ProtocolError `not-split` if there is too much already */
  restart(number: number): void;
}

/** Reads bits. Stuffed data has a zero after each byte 0xFF, and ends at a marker. */
export class BitReader {
  readonly #data: Bytes;
  readonly #stuffed: boolean;
  #at = 0;
  /** Bits read and not consumed: the lowest `#count` of two words, the next bit highest. */
  #high = 0;
  #low = 0;
  #count = 0;

  constructor(data: Bytes, stuffed: boolean) {
    this.#data = data;
    this.#stuffed = stuffed;
  }

  #fill(): void {
    while (this.#count <= 56) {
      const byte = this.#data[this.#at];
      if (byte === undefined) {
        return;
      }
      if (this.#stuffed && byte === 0xff) {
        if (this.#data[this.#at + 1] !== 0) {
          return;
        }
        this.#at += 1;
      }
      this.#at += 1;
      this.#high = ((this.#high << 8) | (this.#low >>> 24)) >>> 0;
      this.#low = ((this.#low << 8) | byte) >>> 0;
      this.#count += 8;
    }
  }

  peek(): number {
    if (this.#count < 32) {
      this.#fill();
    }
    const above = this.#count - 32;
    if (above === 0) {
      return this.#low;
    }
    if (above < 0) {
      return this.#count === 0 ? 0 : (this.#low << -above) >>> 0;
    }
    return above === 32 ? this.#high : ((this.#high << (32 - above)) | (this.#low >>> above)) >>> 0;
  }

  consume(count: number): void {
    if (count > this.#count) {
      throw notSplit("its data ends before its blocks do");
    }
    this.#count -= count;
    // What was consumed stays above the lowest `#count` bits; it is cleared, so that `end` sees only what is left.
    this.#high = this.#count > 32 ? (this.#high & mask(this.#count - 32)) >>> 0 : 0;
    this.#low = this.#count < 32 ? (this.#low & mask(this.#count)) >>> 0 : this.#low;
  }

  /** Ends the data: less than a byte is left, all of ones or all of zeros. Returns where the next byte stands. */
  end(ones: boolean): number {
    this.#fill();
    if (this.#count >= 8 || this.#low !== (ones ? mask(this.#count) : 0)) {
      throw notSplit("its data does not end where its blocks do");
    }
    [this.#low, this.#count] = [0, 0];
    return this.#at;
  }

  /** Skips a restart marker. */
  skipMarker(number: number): void {
    const at = this.end(true);
    if (this.#data[at] !== 0xff || this.#data[at + 1] !== RST0 + (number % 8)) {
      throw notSplit("a restart marker is missing");
    }
    this.#at += 2;
  }
}

/** The lowest `count` bits, up to 32. */
function mask(count: number): number {
  return count >= 32 ? 0xffff_ffff : (1 << count) - 1;
}

/** Writes bits into a buffer that grows. */
export class BitWriter {
  readonly #stuffed: boolean;
  #data: Bytes;
  #at = 0;
  #held = 0;
  #count = 0;

  /** @param room bytes that are likely needed */
  constructor(stuffed: boolean, room: number) {
    this.#stuffed = stuffed;
    this.#data = new Uint8Array(Math.max(room, 64));
  }

  /** Bytes written so far. */
  get length(): number {
    return this.#at;
  }

  /** What was written, as a view. */
  get bytes(): Bytes {
    return this.#data.subarray(0, this.#at);
  }

  #grow(more: number): void {
    if (this.#at + more > this.#data.length) {
      const grown = new Uint8Array(2 * this.#data.length + more);
      grown.set(this.bytes);
      this.#data = grown;
    }
  }

  append(bytes: Bytes): void {
    this.#grow(bytes.length);
    this.#data.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  put(bits: number, count: number): void {
    // In two steps, so that the bits held, fewer than eight, and the new ones fit 32.
    if (count > 16) {
      this.#put(bits >>> 16, count - 16);
      this.#put(bits & 0xffff, 16);
    } else {
      this.#put(bits, count);
    }
  }

  #put(bits: number, count: number): void {
    this.#held = (this.#held << count) | bits;
    this.#count += count;
    this.#grow(8);
    while (this.#count >= 8) {
      this.#count -= 8;
      const byte = (this.#held >>> this.#count) & 0xff;
      this.#data[this.#at] = byte;
      this.#at += 1;
      if (this.#stuffed && byte === 0xff) {
        this.#data[this.#at] = 0;
        this.#at += 1;
      }
    }
    this.#held &= mask(this.#count);
  }

  /** Fills up the last byte with ones or zeros. */
  end(ones: boolean): void {
    const missing = (8 - this.#count) % 8;
    this.#put(ones ? mask(missing) : 0, missing);
  }

  /** Ends an interval with its marker. @throws ProtocolError `not-split` if the image is too long already */
  marker(number: number): void {
    // A marker is longer than the shortest interval, so without this check markers alone could fill the memory.
    if (this.#at > MAX_FRAME) {
      throw notSplit("it is too long");
    }
    this.end(true);
    this.append(Uint8Array.of(0xff, RST0 + (number % 8)));
  }
}

/** Where the codes of an image come from: all from its entropy-coded data. */
export function imageSource(reader: BitReader): Source {
  return {
    peek: () => reader.peek(),
    consume: (_, count) => {
      reader.consume(count);
    },
    restart: (number) => {
      reader.skipMarker(number);
    },
  };
}

/** Where the codes of a split image come from. */
export function partsSource(first: BitReader, other: BitReader): Source {
  const of = (isFirst: boolean): BitReader => (isFirst ? first : other);
  return {
    peek: (isFirst) => of(isFirst).peek(),
    consume: (isFirst, count) => {
      of(isFirst).consume(count);
    },
    restart: () => undefined,
  };
}

/** Where the codes of an image go to. */
export function imageSink(writer: BitWriter): Sink {
  return {
    put: (_, bits, count) => {
      writer.put(bits, count);
    },
    restart: (number) => {
      writer.marker(number);
    },
  };
}

/** Where the codes of a split image go to. */
export function partsSink(first: BitWriter, other: BitWriter): Sink {
  return {
    put: (isFirst, bits, count) => {
      (isFirst ? first : other).put(bits, count);
    },
    restart: () => undefined,
  };
}
