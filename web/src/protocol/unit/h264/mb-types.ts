// What the numbers in macroblocks mean (ITU-T H.264, tables 7-13, 7-14, 7-17, 7-18 and 9-4).

/** Which lists of references predict a partition: bit 0 for list 0, bit 1 for list 1. None is direct prediction. */
type Lists = number;

const L0 = 1;
const L1 = 2;
const BI = 3;
export const DIRECT = 0;

/** An inter macroblock: the lists of its one or two partitions, or what else it is. */
export type Inter =
  | readonly Lists[]
  | "direct"
  /** Four partitions, each with a type of its own. */
  | "four"
  /** The same, and none names a reference (`P_8x8ref0`). */
  | "four-without-references";

/** Lists of a partition, and the number of its vectors. */
export type Part = readonly [lists: Lists, vectors: number];

/** Table 7-13: the inter macroblocks of P slices. Later numbers are intra. */
export const P_TYPES: readonly Inter[] = [[L0], [L0, L0], [L0, L0], "four", "four-without-references"];

/** Table 7-14: the inter macroblocks of B slices. Later numbers are intra. */
export const B_TYPES: readonly Inter[] = [
  "direct", [L0], [L1], [BI], [L0, L0], [L0, L0], [L1, L1], [L1, L1], [L0, L1], [L0, L1], [L1, L0], [L1, L0],
  [L0, BI], [L0, BI], [L1, BI], [L1, BI], [BI, L0], [BI, L0], [BI, L1], [BI, L1], [BI, BI], [BI, BI], "four",
];

/** Table 7-17: lists and number of vectors of the sub-macroblocks of P slices. */
export const P_PARTS: readonly Part[] = [[L0, 1], [L0, 2], [L0, 2], [L0, 4]];

/** Table 7-18: lists and number of vectors of the sub-macroblocks of B slices. */
export const B_PARTS: readonly Part[] = [
  [DIRECT, 4], [L0, 1], [L1, 1], [BI, 1], [L0, 2], [L0, 2], [L1, 2], [L1, 2], [BI, 2], [BI, 2], [L0, 4], [L1, 4],
  [BI, 4],
];

/** Table 9-4: `coded_block_pattern` by its code number. */
export interface Patterns {
  readonly intra: readonly number[];
  readonly inter: readonly number[];
}

/** With chroma. */
export const PATTERNS: Patterns = {
  intra: [
    47, 31, 15, 0, 23, 27, 29, 30, 7, 11, 13, 14, 39, 43, 45, 46, 16, 3, 5, 10, 12, 19, 21, 26, 28, 35, 37, 42, 44,
    1, 2, 4, 8, 17, 18, 20, 24, 6, 9, 22, 25, 32, 33, 34, 36, 40, 38, 41,
  ],
  inter: [
    0, 16, 1, 2, 4, 8, 32, 3, 5, 10, 12, 15, 47, 7, 11, 13, 14, 6, 9, 31, 35, 37, 42, 44, 33, 34, 36, 40, 39, 43,
    45, 46, 17, 18, 20, 24, 19, 21, 26, 28, 23, 27, 29, 30, 22, 25, 38, 41,
  ],
};

/** Without chroma. */
export const GREY_PATTERNS: Patterns = {
  intra: [15, 0, 7, 11, 13, 14, 3, 5, 10, 12, 1, 2, 4, 8, 6, 9],
  inter: [0, 1, 2, 4, 8, 3, 5, 10, 12, 15, 7, 11, 13, 14, 6, 9],
};
