// Huffman codes of JPEG images (ITU-T T.81, annexes C and F).

import { type Bytes } from "../../bytes.ts";
import { notSplit } from "./bits.ts";

/** Codes of up to this length are looked up at once. */
const FAST = 9;
/** The longest code in bits. */
const LONGEST = 16;

/** The codes of one table. */
export class Codes {
  /** For each beginning of nine bits: the value of its code times 32, plus its length; 0 for a longer code. */
  readonly #fast = new Uint16Array(1 << FAST);
  /** For each length: one more than its last code, with zeros after it up to 16 bits. */
  readonly #end = new Uint32Array(LONGEST + 1);
  /** For each length: what to add to a code for the index of its value. */
  readonly #offset = new Int32Array(LONGEST + 1);
  readonly #values: Bytes;

  /**
   * @param counts how many codes there are of each length, 1 to 16 bits
   * @param values their values in order
   * @throws ProtocolError `not-split` if there cannot be so many codes
   */
  constructor(counts: Bytes, values: Bytes) {
    this.#values = values;
    let [code, index] = [0, 0];
    for (let length = 1; length <= LONGEST; length += 1) {
      this.#offset[length] = index - code;
      for (let left = counts[length - 1] ?? 0; left > 0; left -= 1) {
        const value = values[index];
        if (value === undefined || code >>> length !== 0) {
          throw notSplit("a table of codes is wrong");
        }
        this.#learn(code, length, value);
        code += 1;
        index += 1;
      }
      this.#end[length] = code << (LONGEST - length);
      code <<= 1;
    }
  }

  #learn(code: number, length: number, value: number): void {
    if (length <= FAST) {
      const from = code << (FAST - length);
      this.#fast.fill((value << 5) | length, from, from + (1 << (FAST - length)));
    }
  }

  /** The value of the code that these 32 bits begin with, times 32, plus its length. */
  find(bits: number): number {
    const fast = this.#fast[bits >>> (32 - FAST)] ?? 0;
    if (fast !== 0) {
      return fast;
    }
    const code = bits >>> 16;
    for (let length = FAST + 1; length <= LONGEST; length += 1) {
      if (code < (this.#end[length] ?? 0)) {
        const value = this.#values[(code >>> (LONGEST - length)) + (this.#offset[length] ?? 0)];
        if (value !== undefined) {
          return (value << 5) | length;
        }
      }
    }
    throw notSplit("its data has an unknown code");
  }
}
