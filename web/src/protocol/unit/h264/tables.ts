// The codes of CAVLC as tables that are read by the next bits.

import { CHROMA_DC_TOKEN, CHROMA_DC_ZEROS, COEFF_TOKEN, type Code, RUN_BEFORE, TOTAL_ZEROS } from "./codes.ts";

/**
 * What the next bits say: the code's length in the lowest five bits, and above them a value. 0 if there is no such
 * code. Of `coeff_token` the value is four times the number of coefficients that are not 0, plus the number of the last
 * ones among them that are 1 or -1.
 */
export type Found = number;

/** Tokens by the number of leading zeros, up to 15, and the three bits after the first one: no code has more. */
const TOKENS = COEFF_TOKEN.map((column) => {
  const out = new Uint16Array(128);
  eachToken(column, ([length, code], found) => {
    const after = 31 - Math.clz32(code);
    const zeros = length - after - 1;
    const first = zeros * 8 + ((code - (1 << after)) << (3 - after));
    out.fill(found, first, first + (1 << (3 - after)));
  });
  return out;
});

const CHROMA_TOKENS = (() => {
  const out = new Uint16Array(256);
  eachToken(CHROMA_DC_TOKEN, ([length, code], found) => {
    out.fill(found, code << (8 - length), (code + 1) << (8 - length));
  });
  return out;
})();

const ZEROS = TOTAL_ZEROS.map((codes) => byBits(codes, 9));
const CHROMA_ZEROS = CHROMA_DC_ZEROS.map((codes) => byBits(codes, 3));
const RUNS = RUN_BEFORE.map((codes) => byBits(codes, 3));

function eachToken(column: readonly (readonly Code[])[], use: (code: Code, found: Found) => void): void {
  column.forEach((row, total) => {
    row.forEach((code, ones) => {
      if (code[0] > 0) {
        use(code, ((total * 4 + ones) << 5) | code[0]);
      }
    });
  });
}

/** A table by the next `bits` bits; the value is the code's place in the list. */
function byBits(codes: readonly Code[], bits: number): Uint16Array {
  const out = new Uint16Array(1 << bits);
  codes.forEach(([length, code], index) => {
    out.fill((index << 5) | length, code << (bits - length), (code + 1) << (bits - length));
  });
  return out;
}

/** The `coeff_token` at the begin of `word`, for a block whose neighbours have `expected` coefficients: nC. */
export function coeffToken(word: number, expected: number): Found {
  if (expected >= 8) {
    return fixedToken(word);
  }
  const zeros = Math.clz32(word);
  if (zeros > 15) {
    return 0;
  }
  const table = TOKENS[expected < 2 ? 0 : expected < 4 ? 1 : 2];
  return table?.[zeros * 8 + ((word << (zeros + 1)) >>> 29)] ?? 0;
}

/** Table 9-5, the column from 8 on: six bits. */
function fixedToken(word: number): Found {
  const code = word >>> 26;
  if (code === 3) {
    return 6;
  }
  const [total, ones] = [(code >> 2) + 1, code & 3];
  return ones > total ? 0 : ((total * 4 + ones) << 5) | 6;
}

/** The `coeff_token` of chroma DC at the begin of `word`. */
export function chromaDcToken(word: number): Found {
  return CHROMA_TOKENS[word >>> 24] ?? 0;
}

/** `total_zeros` at the begin of `word`, after `total` coefficients, 1 to 15. */
export function totalZeros(word: number, total: number): Found {
  return ZEROS[total - 1]?.[word >>> 23] ?? 0;
}

/** `total_zeros` of chroma DC at the begin of `word`, after `total` coefficients, 1 to 3. */
export function chromaDcZeros(word: number, total: number): Found {
  return CHROMA_ZEROS[total - 1]?.[word >>> 29] ?? 0;
}

/** `run_before` at the begin of `word`, with `left` zeros left, at least 1. */
export function runBefore(word: number, left: number): Found {
  const next = word >>> 29;
  if (left <= 6) {
    return RUNS[left - 1]?.[next] ?? 0;
  }
  if (next > 0) {
    return ((7 - next) << 5) | 3;
  }
  const zeros = Math.clz32(word);
  return zeros <= 10 ? ((zeros + 4) << 5) | (zeros + 1) : 0;
}
