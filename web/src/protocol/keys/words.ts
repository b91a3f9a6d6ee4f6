// Six words for a peer id, which two people compare aloud (keys.md, section 1).

import { wordlist } from "@scure/bip39/wordlists/english.js";

import { ascii, concat } from "../bytes.ts";
import { ProtocolError } from "../error.ts";
import { sha256 } from "../crypto/primitives.ts";
import { type PeerId } from "../wire/peer-id.ts";

const LABEL = ascii("sealcast words 1");
const WORDS = 6;
/** Bits of one word: the list has 2048. */
const BITS = 11;

/** The places in the list at which the words of a peer stand. */
export async function wordIndices(peer: PeerId): Promise<readonly number[]> {
  const hash = await sha256(concat(LABEL, peer.bytes));
  const bits = hash.reduce((all, byte) => (all << 8n) | BigInt(byte), 0n);
  const unused = hash.length * 8 - WORDS * BITS;
  return Array.from({ length: WORDS }, (_, at) => {
    const shift = unused + (WORDS - 1 - at) * BITS;
    return Number((bits >> BigInt(shift)) & BigInt((1 << BITS) - 1));
  });
}

/**
 * The six words of a peer. They are for people who compare them aloud; a program compares the whole peer id.
 * @throws ProtocolError `library`, if the list of words is not the one of BIP 39
 */
export async function wordsOf(peer: PeerId): Promise<readonly string[]> {
  return (await wordIndices(peer)).map((index) => {
    const word = wordlist[index];
    if (word === undefined) {
      throw new ProtocolError("library", "the list of words is too short");
    }
    return word;
  });
}
