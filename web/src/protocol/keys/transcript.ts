// The handshake's transcript (keys.md, section 3).

import { type Bytes, concat } from "../bytes.ts";
import { sha256 } from "../crypto/primitives.ts";

/** Stands before the hash of a first hello that was answered with a retry. */
const FIRST_HELLO_HASH = 0xfe;

/** `entry(m)`: a message after its length. */
export function entry(message: Bytes): Bytes {
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, message.length);
  return concat(length, message);
}

/** The messages so far. WebCrypto cannot hash piece by piece, so they are kept: five of at most 4 096 bytes. */
export class Transcript {
  readonly #bytes: Bytes;

  constructor(bytes: Bytes = new Uint8Array(0)) {
    this.#bytes = bytes;
  }

  /** The transcript that a retry leaves: only the hash of the first hello. */
  static async withRetry(firstHello: Bytes, retry: Bytes): Promise<Transcript> {
    const standIn = concat(Uint8Array.of(FIRST_HELLO_HASH), await sha256(firstHello));
    return new Transcript(concat(entry(standIn), entry(retry)));
  }

  /** The transcript with one more message. */
  with(message: Bytes): Transcript {
    return new Transcript(concat(this.#bytes, entry(message)));
  }

  hash(): Promise<Bytes> {
    return sha256(this.#bytes);
  }

  /** `T` of keys.md. */
  get bytes(): Bytes {
    return this.#bytes;
  }
}
