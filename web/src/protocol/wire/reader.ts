// Reads the fields of a message (protocol.md, conventions: big-endian, nothing left over).

import { type Bytes } from "../bytes.ts";
import { malformed } from "../error.ts";

/** Reads fields from the front of some bytes. Every method throws `malformed` where too few are left. */
export class Reader {
  readonly #bytes: Bytes;
  readonly #view: DataView<ArrayBuffer>;
  #at = 0;

  constructor(bytes: Bytes) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Number of bytes read so far. */
  get at(): number {
    return this.#at;
  }

  /** Number of bytes that are left. */
  get left(): number {
    return this.#bytes.length - this.#at;
  }

  #take(length: number): number {
    if (length > this.left) {
      throw malformed();
    }
    const at = this.#at;
    this.#at += length;
    return at;
  }

  u8(): number {
    return this.#view.getUint8(this.#take(1));
  }

  u16(): number {
    return this.#view.getUint16(this.#take(2));
  }

  u32(): number {
    return this.#view.getUint32(this.#take(4));
  }

  u64(): bigint {
    return this.#view.getBigUint64(this.#take(8));
  }

  /** The next `length` bytes, as a view. */
  bytes(length: number): Bytes {
    const at = this.#take(length);
    return this.#bytes.subarray(at, at + length);
  }

  /** Bytes after their count in a u8. */
  bytes8(): Bytes {
    return this.bytes(this.u8());
  }

  /** Bytes after their count in a u16. */
  bytes16(): Bytes {
    return this.bytes(this.u16());
  }

  /** All bytes that are left, as a view. */
  rest(): Bytes {
    return this.bytes(this.left);
  }

  /** Throws `malformed` if bytes are left over. */
  finish(): void {
    if (this.left > 0) {
      throw malformed();
    }
  }
}
