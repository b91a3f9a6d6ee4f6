// Passes over blocks of transform coefficients in CAVLC (ITU-T H.264, clauses 7.3.5.3.2 and 9.2).

import { type BitReader, broken } from "./bits.ts";
import { type Found, chromaDcToken, chromaDcZeros, coeffToken, runBefore, totalZeros } from "./tables.ts";

/**
 * Longest `level_prefix`. Pictures with 8 bits per sample have at most 15; one more for each bit of a sample and for
 * escapes, up to 14 bits (clause 9.2.2.1).
 */
const MAX_PREFIX = 25;

/** Coefficients of chroma DC in 4:2:0. */
const CHROMA_DC = 4;

/**
 * Passes over a block of up to `most` coefficients, 15 or 16, whose neighbours have `expected`. Returns the number of
 * coefficients that are not 0. @throws ProtocolError `not-split`
 */
export function passBlock(bits: BitReader, expected: number, most: number): number {
  return pass(bits, coeffToken(bits.peek(), expected), most, totalZeros);
}

/** Passes over the chroma DC coefficients of 4:2:0. Returns the number of those that are not 0. */
export function passChromaDc(bits: BitReader): number {
  return pass(bits, chromaDcToken(bits.peek()), CHROMA_DC, chromaDcZeros);
}

function pass(
  bits: BitReader, found: Found, most: number, zerosOf: (word: number, total: number) => Found,
): number {
  const token = take(bits, found, 4 * most + 3);
  const [total, ones] = [token >> 2, token & 3];
  if (total === 0) {
    return 0;
  }
  passLevels(bits, total, ones);
  if (total < most) {
    passRuns(bits, total, take(bits, zerosOf(bits.peek(), total), most - total));
  }
  return total;
}

/** Skips a code and returns its value. Fails if there is none or its value is too high. */
function take(bits: BitReader, found: Found, most: number): number {
  const value = found >> 5;
  if (found === 0 || value > most) {
    throw broken();
  }
  bits.skip(found & 31);
  return value;
}

/**
 * Passes over the signs of the trailing ones and the levels of the other coefficients. The length of each code depends
 * on the magnitude of the level before it.
 */
function passLevels(bits: BitReader, total: number, ones: number): void {
  bits.skip(ones);
  let suffixLength = total > 10 && ones < 3 ? 1 : 0;
  for (let index = ones; index < total; index += 1) {
    const prefix = Math.clz32(bits.peek());
    if (prefix > MAX_PREFIX) {
      throw broken();
    }
    bits.skip(prefix + 1);
    const suffixSize = prefix >= 15 ? prefix - 3 : prefix === 14 && suffixLength === 0 ? 4 : suffixLength;
    let code = (Math.min(prefix, 15) << suffixLength) + bits.read(suffixSize);
    if (prefix >= 15 && suffixLength === 0) {
      code += 15;
    }
    if (prefix >= 16) {
      code += (1 << (prefix - 3)) - 4096;
    }
    if (index === ones && ones < 3) {
      code += 2;
    }
    const magnitude = (code >> 1) + 1;
    suffixLength = Math.max(suffixLength, 1);
    if (magnitude > 3 << (suffixLength - 1) && suffixLength < 6) {
      suffixLength += 1;
    }
  }
}

/** Passes over the runs of zeros before the coefficients. */
function passRuns(bits: BitReader, total: number, zeros: number): void {
  let left = zeros;
  for (let index = 1; index < total && left > 0; index += 1) {
    left -= take(bits, runBefore(bits.peek(), left), left);
  }
}
