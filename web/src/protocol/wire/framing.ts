// Messages on a byte stream, each after its length as u32 (protocol.md, section 1).

import { type Bytes } from "../bytes.ts";
import { ProtocolError, misuse } from "../error.ts";

/** Longest record, header and tag included: 8 MiB. */
export const MAX_RECORD = 8_388_608;
/** The same at a publisher, which receives control messages only. */
export const MAX_CONTROL_RECORD = 16_384;
/** Longest message before the session is established. */
export const MAX_HANDSHAKE_MESSAGE = 4_096;
/** Bytes of the length before each message. */
export const LENGTH_PREFIX = 4;

/** The length that goes before a message on a byte stream, as a chunk of its own, so that nothing is copied. */
export function lengthPrefix(message: Uint8Array): Bytes {
  if (message.length === 0 || message.length > MAX_RECORD) {
    throw misuse("a message has 1 to MAX_RECORD bytes");
  }
  const prefix = new Uint8Array(LENGTH_PREFIX);
  new DataView(prefix.buffer).setUint32(0, message.length);
  return prefix;
}

/** Smallest buffer in which an incomplete message is put together. */
const MIN_BUFFER = 65_536;

/**
 * Takes messages out of a byte stream that arrives in pieces of any size. A message that lies within one piece is
 * handed out as a view of it; one that spans pieces is put together in a buffer. That grows with what has arrived, not
 * with what a length claims, and holds at most one message and one piece if `next` is called as it says.
 */
export class MessageReader {
  #held: Bytes = new Uint8Array(0);
  #from = 0;
  #to = 0;
  /** False while `#held` is the caller's piece. */
  #own = false;

  /** Bytes that are held and belong to an incomplete message, or to messages not yet taken. */
  get waiting(): number {
    return this.#to - this.#from;
  }

  /**
   * Bytes that the message lacks that has begun, negative if there are more than it has; `undefined` while its length
   * is not known.
   */
  get missing(): number | undefined {
    const length = this.#length();
    return length === undefined ? undefined : LENGTH_PREFIX + length - this.waiting;
  }

  #length(): number | undefined {
    if (this.waiting < LENGTH_PREFIX) {
      return undefined;
    }
    return new DataView(this.#held.buffer, this.#held.byteOffset + this.#from, LENGTH_PREFIX).getUint32(0);
  }

  /** Forgets all that is held. */
  drop(): void {
    this.#from = this.#to;
  }

  /** Adds bytes that arrived; the caller leaves them as they are until the messages in them are handled. */
  push(piece: Bytes): void {
    const waiting = this.waiting;
    if (waiting === 0) {
      [this.#held, this.#from, this.#to, this.#own] = [piece, 0, piece.length, false];
      return;
    }
    this.#makeRoom(waiting, piece.length);
    this.#held.set(piece, this.#to);
    this.#to += piece.length;
  }

  #makeRoom(waiting: number, more: number): void {
    if (this.#own && this.#to + more <= this.#held.length) {
      return;
    }
    const fits = this.#own && waiting + more <= this.#held.length;
    // Doubling keeps the copies of a long message in proportion to its length.
    const target = fits ? this.#held : new Uint8Array(Math.max(MIN_BUFFER, 2 * waiting + more));
    target.set(this.#held.subarray(this.#from, this.#to));
    [this.#held, this.#from, this.#to, this.#own] = [target, 0, waiting, true];
  }

  /**
   * The next whole message, as a view without its length, or `undefined` until more bytes have arrived. It is valid
   * until the next call of `push`. Call this until it returns `undefined` after each `push`.
   *
   * @param limit the longest message allowed now: it changes when the session is established, so pass it at each call
   * @throws ProtocolError `framing` for a length of zero or above `limit`: the connection must end
   */
  next(limit: number): Bytes | undefined {
    const length = this.#length();
    if (length === undefined) {
      return undefined;
    }
    if (length === 0 || length > limit) {
      throw new ProtocolError("framing");
    }
    const start = this.#from + LENGTH_PREFIX;
    if (start + length > this.#to) {
      return undefined;
    }
    this.#from = start + length;
    return this.#held.subarray(start, start + length);
  }
}
