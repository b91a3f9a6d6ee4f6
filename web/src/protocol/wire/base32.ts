// Base32 (RFC 4648) in lower case without padding, in its one canonical spelling (protocol.md, section 6).

import { type Bytes } from "../bytes.ts";

const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";
const BITS = 5;

/** The text for these bytes. */
export function encodeBase32(bytes: Uint8Array): string {
  let [text, held, count] = ["", 0, 0];
  for (const byte of bytes) {
    held = (held << 8) | byte;
    count += 8;
    while (count >= BITS) {
      count -= BITS;
      text += ALPHABET.charAt((held >> count) & 31);
    }
    held &= (1 << count) - 1;
  }
  return count > 0 ? text + ALPHABET.charAt((held << (BITS - count)) & 31) : text;
}

/** The `length` bytes that this text stands for; `undefined` unless it is their one spelling. */
export function decodeBase32(text: string, length: number): Bytes | undefined {
  if (text.length !== Math.ceil((length * 8) / BITS)) {
    return undefined;
  }
  const bytes = new Uint8Array(length);
  let [held, count, at] = [0, 0, 0];
  for (const letter of text) {
    const value = ALPHABET.indexOf(letter);
    if (value < 0) {
      return undefined;
    }
    held = (held << BITS) | value;
    count += BITS;
    if (count >= 8) {
      count -= 8;
      bytes[at] = held >> count;
      at += 1;
    }
    held &= (1 << count) - 1;
  }
  // What is left over are the unused bits of the last character.
  return held === 0 ? bytes : undefined;
}
