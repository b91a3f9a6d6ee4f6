// Bits of a raw byte sequence payload (RBSP): a NAL unit without its emulation prevention bytes.

import { type Bytes } from "../../bytes.ts";
import { ProtocolError } from "../../error.ts";

/** Zeros behind the data, so that five bytes can be read at each position in it. */
const PADDING = 8;

/** The error for a slice whose macroblocks cannot be found. */
export function unsplit(detail: string): ProtocolError {
  return new ProtocolError("not-split", detail);
}

/** The error for data that is no H.264, or is damaged. */
export function broken(): ProtocolError {
  return unsplit("the data is damaged");
}

/** The bytes of a NAL unit without its emulation prevention bytes, and where those were. */
export class Rbsp {
  readonly bytes: Bytes;
  /** The bit that ends the payload; the bits after it are 0. */
  readonly stop: number;
  /** For each emulation prevention byte the index of the byte that follows it, in `bytes`. */
  readonly #removed: readonly number[];

  /** @throws ProtocolError `not-split` without a bit that ends the payload */
  constructor(unit: Bytes) {
    this.bytes = new Uint8Array(unit.length + PADDING);
    const removed: number[] = [];
    let [from, length] = [0, 0];
    for (let at = 0; at + 2 < unit.length; ) {
      const third = unit[at + 2] ?? 0;
      if (third === 3 && unit[at] === 0 && unit[at + 1] === 0) {
        this.bytes.set(unit.subarray(from, at + 2), length);
        length += at + 2 - from;
        removed.push(length);
        at += 3;
        from = at;
      } else {
        // Above 3 no sequence ends with this byte or begins before it.
        at += third > 3 ? 3 : 1;
      }
    }
    this.bytes.set(unit.subarray(from), length);
    this.#removed = removed;
    let last = length + unit.length - from - 1;
    while (last >= 0 && this.bytes[last] === 0) {
      last -= 1;
    }
    const byte = this.bytes[last];
    if (byte === undefined) {
      throw broken();
    }
    this.stop = last * 8 + 7 - (31 - Math.clz32(byte & -byte));
  }

  /** A reader from this bit of the payload on. */
  reader(at: number): BitReader {
    return new BitReader(this.bytes, at, this.stop);
  }

  /** Turns positions in the payload into positions in the unit, both in bits. They are asked for in ascending order. */
  places(): (bit: number) => number {
    let passed = 0;
    return (bit) => {
      while ((this.#removed[passed] ?? Infinity) <= bit >>> 3) {
        passed += 1;
      }
      return bit + 8 * passed;
    };
  }
}

/** Reads bits in order. Behind the end it reads zeros; `check` tells. */
export class BitReader {
  /** Position in the payload, in bits. */
  at: number;
  readonly #bytes: Bytes;
  readonly #stop: number;

  constructor(bytes: Bytes, at: number, stop: number) {
    this.at = at;
    this.#bytes = bytes;
    this.#stop = stop;
  }

  /** True if there is more before the bit that ends the payload: `more_rbsp_data`. */
  get hasMore(): boolean {
    return this.at < this.#stop;
  }

  /** @throws ProtocolError `not-split` behind the end of the payload */
  check(): void {
    if (this.at > this.#stop) {
      throw broken();
    }
  }

  /** The next 32 bits as an unsigned number, the next bit highest. */
  peek(): number {
    const bytes = this.#bytes;
    const byte = this.at >>> 3;
    const shift = this.at & 7;
    const word =
      ((bytes[byte] ?? 0) << 24) | ((bytes[byte + 1] ?? 0) << 16) | ((bytes[byte + 2] ?? 0) << 8) |
      (bytes[byte + 3] ?? 0);
    return ((word << shift) | ((bytes[byte + 4] ?? 0) >> (8 - shift))) >>> 0;
  }

  skip(bits: number): void {
    this.at += bits;
  }

  /** Reads up to 32 bits: `u(n)`. */
  read(bits: number): number {
    if (bits === 0) {
      return 0;
    }
    const value = this.peek() >>> (32 - bits);
    this.at += bits;
    return value;
  }

  flag(): boolean {
    return this.read(1) === 1;
  }

  /** Reads an unsigned Exp-Golomb code, `ue(v)`. @throws ProtocolError `not-split` if it has more than 63 bits */
  ue(): number {
    const word = this.peek();
    const zeros = Math.clz32(word);
    if (zeros <= 15) {
      this.at += 2 * zeros + 1;
      return (word >>> (31 - 2 * zeros)) - 1;
    }
    if (zeros > 31) {
      throw broken();
    }
    this.at += zeros;
    return this.read(zeros + 1) - 1;
  }

  /** Reads an unsigned Exp-Golomb code. @throws ProtocolError `not-split` if it is above `most` */
  ueTo(most: number): number {
    const value = this.ue();
    if (value > most) {
      throw broken();
    }
    return value;
  }

  /** Reads a signed Exp-Golomb code: `se(v)`. */
  se(): number {
    const code = this.ue();
    const half = Math.ceil(code / 2);
    return code % 2 === 1 ? half : -half;
  }

  /** Reads a truncated Exp-Golomb code for values up to `most`, at least 1: `te(v)`. */
  te(most: number): number {
    if (most === 1) {
      return this.flag() ? 0 : 1;
    }
    return this.ueTo(most);
  }
}
