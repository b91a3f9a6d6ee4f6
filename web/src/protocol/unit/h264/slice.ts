// Macroblocks of H.264 slices that are coded with CAVLC (ITU-T H.264, clauses 7.3.2 to 7.3.5 and 9.2): where each one
// begins and ends, and what kind it is. Pictures are not decoded. What is not understood is refused by name. The time
// is proportional to the length of the data.

import { type Bytes } from "../../bytes.ts";
import { type BitReader, Rbsp, broken } from "./bits.ts";
import { EMPTY_EDGE, type Edge, type MacroblockKind, NO_EDGE, passMacroblock } from "./macroblock.ts";
import { type ParameterSets } from "./parameter-sets.ts";
import { type SliceContext, parseHeader } from "./slice-header.ts";

/**
 * A macroblock of a slice, or a run of skipped ones. Bits are counted from the first byte of the NAL unit, emulation
 * prevention bytes included, the most significant bit of a byte first.
 */
export interface Macroblock {
  /** Its number in the picture, row by row. Of a run the first. */
  readonly address: number;
  /** 1, or the length of a run of skipped ones. */
  readonly count: number;
  readonly kind: MacroblockKind;
  /** Its first bit. Skipped macroblocks have none; theirs is the bit after the length of their run. */
  readonly firstBit: number;
  /** The bit after its last one. */
  readonly endBit: number;
}

/** A slice that was parsed to its end. */
export interface ParsedSlice {
  readonly context: SliceContext;
  /** The first bit after the header. */
  readonly dataBit: number;
  readonly macroblocks: readonly Macroblock[];
}

/** Parses a slice: a NAL unit without its start code. @throws ProtocolError `not-split` with the reason */
export function parseSlice(unit: Bytes, sets: ParameterSets): ParsedSlice {
  const rbsp = new Rbsp(unit);
  const { context, at } = parseHeader(rbsp, sets);
  const places = rbsp.places();
  const dataBit = places(at);
  return { context, dataBit, macroblocks: new Walk(context, rbsp.reader(at), places).run() };
}

/** A walk over the data of a slice. */
class Walk {
  readonly #context: SliceContext;
  readonly #bits: BitReader;
  readonly #places: (bit: number) => number;
  readonly #out: Macroblock[] = [];
  /** The lower edges of the last macroblocks, by column. */
  readonly #above: Edge[] = [];
  /** The right edge of the last macroblock. */
  #left = NO_EDGE;
  /** Address of the next macroblock. */
  #address: number;

  constructor(context: SliceContext, bits: BitReader, places: (bit: number) => number) {
    this.#context = context;
    this.#bits = bits;
    this.#places = places;
    this.#address = context.firstMb;
  }

  /** Walks to the end. */
  run(): readonly Macroblock[] {
    const { kind, macroblocks } = this.#context;
    do {
      if (kind !== "I") {
        const count = this.#bits.ueTo(macroblocks - this.#address);
        this.#bits.check();
        if (count > 0) {
          this.#skip(count);
          if (!this.#bits.hasMore) {
            break;
          }
        }
      }
      this.#macroblock();
    } while (this.#bits.hasMore);
    return this.#out;
  }

  /** Passes over a run of skipped macroblocks, whose length was read. */
  #skip(count: number): void {
    const bit = this.#places(this.#bits.at);
    this.#out.push({ address: this.#address, count, kind: "skipped", firstBit: bit, endBit: bit });
    // Beyond a row they only repeat what the row has.
    for (let index = 0; index < Math.min(count, this.#context.widthMbs); index += 1) {
      this.#above[(this.#address + index) % this.#context.widthMbs] = EMPTY_EDGE;
    }
    this.#left = EMPTY_EDGE;
    this.#address += count;
  }

  #macroblock(): void {
    const { firstMb, widthMbs, macroblocks } = this.#context;
    if (this.#address >= macroblocks) {
      throw broken();
    }
    const column = this.#address % widthMbs;
    const above = this.#address - firstMb < widthMbs ? NO_EDGE : (this.#above[column] ?? NO_EDGE);
    const firstBit = this.#places(this.#bits.at);
    const left = column === 0 ? NO_EDGE : this.#left;
    const { kind, bottom, right } = passMacroblock(this.#bits, this.#context, above, left);
    this.#bits.check();
    this.#out.push({ address: this.#address, count: 1, kind, firstBit, endBit: this.#places(this.#bits.at) });
    this.#above[column] = bottom;
    this.#left = right;
    this.#address += 1;
  }
}
