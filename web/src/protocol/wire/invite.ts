// Invites (keys.md, section 1): 16 secret bytes that admit an unknown peer.

import { type Bytes, wipe } from "../bytes.ts";
import { misuse } from "../error.ts";
import { decodeBase32, encodeBase32 } from "./base32.ts";

/** Bytes of an invite. */
export const INVITE_LEN = 16;

/** A secret. It has no text of its own, so that none gets into a log by accident. */
export class Invite {
  readonly #bytes: Bytes;

  /** @param random 16 random bytes, which are copied */
  constructor(random: Bytes) {
    if (random.length !== INVITE_LEN) {
      throw misuse("an invite has 16 bytes");
    }
    this.#bytes = random.slice();
  }

  /** The invite that these 26 characters stand for, or `undefined`. */
  static parse(text: string): Invite | undefined {
    const bytes = decodeBase32(text, INVITE_LEN);
    return bytes && new Invite(bytes);
  }

  /** The 26 characters, which are secret: for a ticket only. */
  reveal(): string {
    return encodeBase32(this.#bytes);
  }

  /** A copy of the 16 bytes, which are secret; wipe it after use. */
  revealBytes(): Bytes {
    return this.#bytes.slice();
  }

  /** Overwrites the bytes: the invite is useless afterwards. */
  wipe(): void {
    wipe(this.#bytes);
  }

  toString(): string {
    return "(an invite)";
  }

  toJSON(): string {
    return this.toString();
  }
}
