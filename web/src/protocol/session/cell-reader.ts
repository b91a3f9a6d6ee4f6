// Takes records out of the peer's cells on a byte stream (protocol.md, section 10).

import { type Bytes } from "../bytes.ts";
import { malformed } from "../error.ts";
import { parseCell } from "../wire/cell.ts";
import { MessageReader } from "../wire/framing.ts";

/** The records in the cells of one peer. */
export class CellReader {
  readonly #messages = new MessageReader();
  #broken = 0;

  /** Records that could not be put together because a cell is missing. */
  get broken(): number {
    return this.#broken;
  }

  /**
   * Adds the payload of an opened cell; take its records with `next` before the next call.
   * @throws ProtocolError `malformed`: the peer's fault, since the cell is authentic
   */
  push(payload: Bytes): void {
    const { inner, first } = parseCell(payload);
    const at = first ?? inner.length;
    const continues = this.#messages.waiting > 0;
    this.#messages.push(inner.subarray(0, at));
    if (!this.#isWhole(continues, at, first === undefined)) {
      // A cell before it is missing: the record that it interrupted is lost, and the next begins where this cell says.
      this.#messages.drop();
      this.#broken += 1;
    }
    this.#messages.push(inner.subarray(at));
  }

  /** True if what came before the first record in a cell is the rest of the record before it, or a part of that. */
  #isWhole(continues: boolean, added: number, noneBegins: boolean): boolean {
    if (!continues) {
      return added === 0;
    }
    const { missing } = this.#messages;
    return missing === 0 || (noneBegins && (missing === undefined || missing > 0));
  }

  /** The next whole record. @throws ProtocolError `malformed` for a length that cannot be: the peer's fault again */
  next(limit: number): Bytes | undefined {
    try {
      return this.#messages.next(limit);
    } catch {
      throw malformed();
    }
  }
}
