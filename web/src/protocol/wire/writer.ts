// Writes the fields of a message, big-endian.

import { type Bytes } from "../bytes.ts";
import { misuse } from "../error.ts";

const INITIAL = 64;

/** Collects the fields of a message. It holds messages that this end makes, so nothing that a peer sends bounds it. */
export class Writer {
  #bytes: Bytes = new Uint8Array(INITIAL);
  #view = new DataView(this.#bytes.buffer);
  #at = 0;

  #room(length: number): number {
    const at = this.#at;
    this.#at += length;
    if (this.#at > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(this.#at, 2 * this.#bytes.length));
      grown.set(this.#bytes.subarray(0, at));
      this.#bytes = grown;
      this.#view = new DataView(grown.buffer);
    }
    return at;
  }

  u8(value: number): this {
    const at = this.#room(1);
    this.#view.setUint8(at, value);
    return this;
  }

  u16(value: number): this {
    const at = this.#room(2);
    this.#view.setUint16(at, value);
    return this;
  }

  u32(value: number): this {
    const at = this.#room(4);
    this.#view.setUint32(at, value);
    return this;
  }

  u64(value: bigint): this {
    const at = this.#room(8);
    this.#view.setBigUint64(at, value);
    return this;
  }

  bytes(value: Uint8Array): this {
    const at = this.#room(value.length);
    this.#bytes.set(value, at);
    return this;
  }

  /** Bytes after their count in a u8. */
  bytes8(value: Uint8Array): this {
    return this.u8(count(value, 0xff)).bytes(value);
  }

  /** Bytes after their count in a u16. */
  bytes16(value: Uint8Array): this {
    return this.u16(count(value, 0xffff)).bytes(value);
  }

  /** The message, as a view of exactly its length. */
  done(): Bytes {
    return this.#bytes.subarray(0, this.#at);
  }
}

function count(value: Uint8Array, most: number): number {
  if (value.length > most) {
    throw misuse(`a field has at most ${most} bytes`);
  }
  return value.length;
}
