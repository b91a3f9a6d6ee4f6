// Verifies and opens records under one key (protocol.md, section 2).

import { type Bytes } from "../bytes.ts";
import { aesOpen } from "../crypto/primitives.ts";
import { type Refusal } from "../error.ts";
import { Flag, HEADER_LEN, type Header, TAG_LEN } from "../wire/header.ts";
import { nonceOf } from "./nonce.ts";
import { ReplayWindow } from "./replay.ts";

/** Failed openings under one key after which a session ends. */
export const INTEGRITY_LIMIT = 2 ** 36;

/** A record that was verified. Only such a payload becomes part of a frame. */
export interface Opened {
  readonly header: Header;
  /** What was encrypted is in a buffer of its own; what came in clear is a view of the message that arrived. */
  readonly payload: Bytes;
  /** True if numbers before this one and after all that were opened are missing. */
  readonly followsGap: boolean;
}

/** Opens one record at a time: the caller awaits each before the next. */
export class Opener {
  readonly #key: CryptoKey;
  readonly #base: Bytes;
  readonly #window = new ReplayWindow();
  #failures = 0;

  constructor(key: CryptoKey, base: Bytes) {
    this.#key = key;
    this.#base = base;
  }

  /** True once so many records were not authentic that the key may not be used any more. */
  get integritySpent(): boolean {
    return this.#failures >= INTEGRITY_LIMIT;
  }

  /** Opens the record that `header` was parsed from, or says why it is refused, which changes nothing but a counter. */
  async open(header: Header, record: Bytes): Promise<Opened | Refusal> {
    if (!this.#window.accepts(header.seq)) {
      return "replay";
    }
    const encrypted = (header.flags & Flag.Encrypted) !== 0;
    const end = record.length - TAG_LEN;
    const from = encrypted ? HEADER_LEN : end;
    const nonce = nonceOf(this.#base, header.seq);
    const plaintext = await aesOpen(this.#key, nonce, record.subarray(0, from), record.subarray(from));
    // The window is asked again, because another copy may have been opened in the meantime.
    if (plaintext === undefined) {
      this.#failures += 1;
      return "tag";
    }
    if (!this.#window.accepts(header.seq)) {
      return "replay";
    }
    const followsGap = this.#window.skips(header.seq);
    this.#window.mark(header.seq);
    return { header, payload: encrypted ? plaintext : record.subarray(HEADER_LEN, end), followsGap };
  }
}
