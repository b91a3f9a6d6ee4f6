// Passes over macroblocks (ITU-T H.264, clause 7.3.5).

import { type BitReader, broken } from "./bits.ts";
import { passBlock, passChromaDc } from "./cavlc.ts";
import {
  B_PARTS, B_TYPES, DIRECT, GREY_PATTERNS, type Inter, type Part, PATTERNS, P_PARTS, P_TYPES,
} from "./mb-types.ts";
import { passQpChange } from "./parameter-sets.ts";
import { type SliceContext } from "./slice-header.ts";

/** Kind of a macroblock: intra in blocks of 4 by 4, of 8 by 8 or as a whole; samples; predicted from other pictures. */
export type MacroblockKind = "intra4x4" | "intra8x8" | "intra16x16" | "pcm" | "inter" | "skipped";

/**
 * Numbers of coefficients of the blocks at one edge of a macroblock: four of luma, then two of each chroma plane.
 * `UNAVAILABLE` in place of a number: the block is in another slice or outside.
 */
export type Edge = readonly number[];

const UNAVAILABLE = 0xff;
/** Coefficients of every block of an uncompressed macroblock, as its neighbours see it. */
const PCM_COUNT = 16;

export const NO_EDGE: Edge = new Array<number>(8).fill(UNAVAILABLE);
export const EMPTY_EDGE: Edge = new Array<number>(8).fill(0);
const PCM_EDGE: Edge = new Array<number>(8).fill(PCM_COUNT);

/** What was found in a macroblock, with the counts that the macroblocks below and to the right need. */
export interface Passed {
  readonly kind: MacroblockKind;
  readonly bottom: Edge;
  readonly right: Edge;
}

/** Which coefficients a macroblock has. */
interface Coded {
  readonly kind: MacroblockKind;
  /** A bit for each quarter. */
  readonly luma: number;
  /** 0 for none, 1 for DC, 2 for all. */
  readonly chroma: number;
}

/** Passes over the macroblock layer, given the edges of the neighbours above and to the left. */
export function passMacroblock(bits: BitReader, context: SliceContext, above: Edge, left: Edge): Passed {
  const number = bits.ueTo(48);
  const types = context.kind === "P" ? P_TYPES : context.kind === "B" ? B_TYPES : [];
  const inter = types[number];
  const intra = number - types.length;
  if (inter === undefined && intra === 25) {
    return passPcm(bits, context);
  }
  const coded = inter === undefined ? intraCoded(bits, context, intra) : interCoded(bits, context, inter);
  if (coded.luma === 0 && coded.chroma === 0 && coded.kind !== "intra16x16") {
    return { kind: coded.kind, bottom: EMPTY_EDGE, right: EMPTY_EDGE };
  }
  passQpChange(bits);
  return passResidual(bits, context.monochrome, coded, above, left);
}

/** An uncompressed macroblock. */
function passPcm(bits: BitReader, context: SliceContext): Passed {
  if (bits.read(-bits.at & 7) !== 0) {
    throw broken();
  }
  bits.skip(context.pcmBits);
  return { kind: "pcm", bottom: PCM_EDGE, right: PCM_EDGE };
}

/** `I_NxN`, or `I_16x16`, whose number holds prediction mode, chroma and luma (table 7-11). */
function intraCoded(bits: BitReader, context: SliceContext, number: number): Coded {
  if (number > 25) {
    throw broken();
  }
  if (number > 0) {
    skipChromaMode(bits, context);
    const chroma = Math.floor((number - 1) / 4) % 3;
    if (chroma > 0 && context.monochrome) {
      throw broken();
    }
    return { kind: "intra16x16", luma: number > 12 ? 15 : 0, chroma };
  }
  const large = context.transform8x8 && bits.flag();
  for (let block = large ? 4 : 16; block > 0; block -= 1) {
    if (!bits.flag()) {
      bits.skip(3);
    }
  }
  skipChromaMode(bits, context);
  return { kind: large ? "intra8x8" : "intra4x4", ...pattern(bits, context, "intra") };
}

function skipChromaMode(bits: BitReader, context: SliceContext): void {
  if (!context.monochrome) {
    bits.ueTo(3);
  }
}

/** The coded block pattern. */
function pattern(bits: BitReader, context: SliceContext, column: "intra" | "inter"): { luma: number; chroma: number } {
  const patterns = (context.monochrome ? GREY_PATTERNS : PATTERNS)[column];
  const value = patterns[bits.ue()];
  if (value === undefined) {
    throw broken();
  }
  return { luma: value & 15, chroma: value >> 4 };
}

/** An inter macroblock up to its coded block pattern and transform size. */
function interCoded(bits: BitReader, context: SliceContext, inter: Inter): Coded {
  let mayBeLarge = true;
  if (inter === "direct") {
    mayBeLarge = context.direct8x8;
  } else if (typeof inter === "string") {
    const types = context.kind === "P" ? P_PARTS : B_PARTS;
    const quarters: Part[] = [];
    for (let quarter = 0; quarter < 4; quarter += 1) {
      const part = types[bits.ue()];
      if (part === undefined) {
        throw broken();
      }
      quarters.push(part);
    }
    skipPrediction(bits, context, quarters, inter === "four");
    mayBeLarge = quarters.every(([lists, vectors]) => (lists === DIRECT ? context.direct8x8 : vectors === 1));
  } else {
    skipPrediction(bits, context, inter.map((lists) => [lists, 1]), true);
  }
  const { luma, chroma } = pattern(bits, context, "inter");
  if (luma > 0 && context.transform8x8 && mayBeLarge) {
    bits.skip(1);
  }
  return { kind: "inter", luma, chroma };
}

/** The reference indices and the motion vectors of partitions. */
function skipPrediction(bits: BitReader, context: SliceContext, parts: readonly Part[], references: boolean): void {
  for (let list = 0; list < 2; list += 1) {
    const most = (context.references[list] ?? 1) - 1;
    if (!references || most === 0) {
      continue;
    }
    for (const [lists] of parts) {
      if (((lists >> list) & 1) === 1) {
        bits.te(most);
      }
    }
  }
  for (let list = 0; list < 2; list += 1) {
    for (const [lists, vectors] of parts) {
      for (let left = ((lists >> list) & 1) === 1 ? 2 * vectors : 0; left > 0; left -= 1) {
        bits.se();
      }
    }
  }
}

/** The coefficients. With the large transform, CAVLC codes them as four blocks too. */
function passResidual(bits: BitReader, monochrome: boolean, coded: Coded, above: Edge, left: Edge): Passed {
  const grid = new Grid(4, 0, above, left);
  const whole = coded.kind === "intra16x16";
  if (whole) {
    passBlock(bits, grid.expected(0, 0), 16);
  }
  for (let quarter = 0; quarter < 4; quarter += 1) {
    for (let block = 0; block < 4 && ((coded.luma >> quarter) & 1) === 1; block += 1) {
      const [x, y] = [(quarter & 1) * 2 + (block & 1), (quarter >> 1) * 2 + (block >> 1)];
      grid.set(x, y, passBlock(bits, grid.expected(x, y), whole ? 15 : 16));
    }
  }
  const [bottom, right] = [grid.bottom(), grid.right()];
  if (monochrome || coded.chroma === 0) {
    return { kind: coded.kind, bottom: [...bottom, 0, 0, 0, 0], right: [...right, 0, 0, 0, 0] };
  }
  passChromaDc(bits);
  passChromaDc(bits);
  for (const plane of [4, 6]) {
    const cells = new Grid(2, plane, above, left);
    for (let block = 0; block < 4 && coded.chroma === 2; block += 1) {
      const [x, y] = [block & 1, block >> 1];
      cells.set(x, y, passBlock(bits, cells.expected(x, y), 15));
    }
    bottom.push(...cells.bottom());
    right.push(...cells.right());
  }
  return { kind: coded.kind, bottom, right };
}

/** The numbers of coefficients of a macroblock's blocks, with a row above and a column to the left. */
class Grid {
  readonly #blocks: number;
  readonly #cells: number[];

  /** `blocks` is 4 for luma, 2 for chroma; `from` is where they begin in an edge. */
  constructor(blocks: number, from: number, above: Edge, left: Edge) {
    const side = blocks + 1;
    this.#blocks = blocks;
    this.#cells = new Array<number>(side * side).fill(0);
    for (let index = 0; index < blocks; index += 1) {
      this.#cells[index + 1] = above[from + index] ?? 0;
      this.#cells[(index + 1) * side] = left[from + index] ?? 0;
    }
  }

  #at(x: number, y: number): number {
    return this.#cells[(y + 1) * (this.#blocks + 1) + x + 1] ?? 0;
  }

  set(x: number, y: number, count: number): void {
    this.#cells[(y + 1) * (this.#blocks + 1) + x + 1] = count;
  }

  /** The number of coefficients that a block's neighbours suggest: nC (clause 9.2.1). */
  expected(x: number, y: number): number {
    const [left, above] = [this.#at(x - 1, y), this.#at(x, y - 1)];
    if (left === UNAVAILABLE) {
      return above === UNAVAILABLE ? 0 : above;
    }
    return above === UNAVAILABLE ? left : (left + above + 1) >> 1;
  }

  bottom(): number[] {
    return this.#edge((index) => this.#at(index, this.#blocks - 1));
  }

  right(): number[] {
    return this.#edge((index) => this.#at(this.#blocks - 1, index));
  }

  #edge(of: (index: number) => number): number[] {
    const out: number[] = [];
    for (let index = 0; index < this.#blocks; index += 1) {
      out.push(of(index));
    }
    return out;
  }
}
