// Peer ids (keys.md, section 1): canonical points of Ed25519 that are not of small order.

import { type Bytes, equal } from "../bytes.ts";
import { decodeBase32, encodeBase32 } from "./base32.ts";

/** Bytes of a peer id. */
export const PEER_ID_LEN = 32;
/** Characters that a log shows of a peer id: enough to recognise a known peer, never enough to trust one. */
const SHORT = 10;

function littleEndian(hex: string): bigint {
  return BigInt(`0x${(hex.match(/../g) ?? []).reverse().join("")}`);
}

const P = 2n ** 255n - 19n;
/** The y coordinates of the points of small order; those of order 8 are RFC 7748's, as Ed25519 encodes them. */
const SMALL_ORDER: readonly bigint[] = [
  0n,
  1n,
  P - 1n,
  littleEndian("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
  littleEndian("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"),
];

/** The public half of an identity. */
export class PeerId {
  readonly bytes: Bytes;

  private constructor(bytes: Bytes) {
    this.bytes = bytes;
  }

  /** The peer id with these 32 bytes; `undefined` if they are none, because anybody could sign for such an identity. */
  static fromBytes(bytes: Bytes): PeerId | undefined {
    if (bytes.length !== PEER_ID_LEN) {
      return undefined;
    }
    const copy = bytes.slice();
    let y = 0n;
    for (let at = PEER_ID_LEN - 1; at >= 0; at -= 1) {
      const byte = copy[at] ?? 0;
      // The highest bit is the sign of x.
      y = (y << 8n) | BigInt(at === PEER_ID_LEN - 1 ? byte & 0x7f : byte);
    }
    return y >= P || SMALL_ORDER.includes(y) ? undefined : new PeerId(copy);
  }

  /** The peer id that these 52 characters stand for, or `undefined`. */
  static parse(text: string): PeerId | undefined {
    const bytes = decodeBase32(text, PEER_ID_LEN);
    return bytes && PeerId.fromBytes(bytes);
  }

  equals(other: PeerId): boolean {
    return equal(this.bytes, other.bytes);
  }

  /** The first ten characters, for logs. */
  short(): string {
    return this.toString().slice(0, SHORT);
  }

  /** The 52 characters. */
  toString(): string {
    return encodeBase32(this.bytes);
  }
}
