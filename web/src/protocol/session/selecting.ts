// Agreement on what is encrypted, while the session runs (protocol.md, section 4, "Selection").

import { ProtocolError } from "../error.ts";
import { type Control } from "../wire/control.ts";
import { ENCRYPT_ALL, type Selection, sameSelection } from "../wire/selection.ts";

/** Milliseconds after which an unacknowledged selection is sent again. */
const SELECTION_PATIENCE = 500;
/** Milliseconds for which a viewer still accepts records in clear after it acknowledged that all is encrypted again. */
const CLEAR_WINDOW = 5_000;
/** Highest number of a selection. */
const MAX_NUMBER = 0xffff;

/** The publisher's half: nothing is in clear before the viewer has acknowledged it. */
export class Selecting {
  #number = 0;
  #inForce: Selection = ENCRYPT_ALL;
  #pending: { readonly selection: Selection; said: number } | undefined;

  /** The selection that frames are sealed by now. */
  get inForce(): Selection {
    return this.#inForce;
  }

  /** The selection that the program wants, in force or not. */
  get wanted(): Selection {
    return this.#pending?.selection ?? this.#inForce;
  }

  /** Begins a change: all is encrypted from here on. Returns the message to send, or none once numbers are used up. */
  begin(now: number, selection: Selection): Control | undefined {
    this.#inForce = ENCRYPT_ALL;
    this.#pending = undefined;
    if (this.#number === MAX_NUMBER) {
      return undefined;
    }
    this.#number += 1;
    this.#pending = { selection, said: now };
    return { type: "selection", number: this.#number, selection };
  }

  /** The message, if it must be sent again now. */
  repeat(now: number): Control | undefined {
    if (this.#pending === undefined || now < this.deadline) {
      return undefined;
    }
    this.#pending.said = now;
    return { type: "selection", number: this.#number, selection: this.#pending.selection };
  }

  /** Processes an acknowledgement; one of an older selection is ignored. Returns the selection if that is a change. */
  acknowledged(number: number): Selection | undefined {
    if (this.#pending === undefined || number !== this.#number) {
      return undefined;
    }
    const { selection } = this.#pending;
    const news = !sameSelection(selection, this.#inForce);
    [this.#inForce, this.#pending] = [selection, undefined];
    return news ? selection : undefined;
  }

  get deadline(): number {
    return this.#pending === undefined ? Infinity : this.#pending.said + SELECTION_PATIENCE;
  }
}

/** The viewer's half: when records in clear may come. */
export class Following {
  #number = 0;
  #selection: Selection = ENCRYPT_ALL;
  #clearUntil = -Infinity;

  /** The newest selection that the publisher announced. */
  get selection(): Selection {
    return this.#selection;
  }

  acceptsClear(now: number): boolean {
    return this.#selection.mode !== "all" || now < this.#clearUntil;
  }

  /**
   * Processes an announcement. Returns whether to acknowledge it, and whether it is a change.
   * @throws ProtocolError `protocol-error` for another selection under the same number
   */
  told(now: number, number: number, selection: Selection): { acknowledge: boolean; news: boolean } {
    const news = !sameSelection(selection, this.#selection);
    if (number <= this.#number) {
      const repeated = number === this.#number;
      if (repeated && news) {
        throw new ProtocolError("protocol-error");
      }
      return { acknowledge: repeated, news: false };
    }
    if (selection.mode === "all" && this.#selection.mode !== "all") {
      this.#clearUntil = now + CLEAR_WINDOW;
    }
    [this.#number, this.#selection] = [number, selection];
    return { acknowledge: true, news };
  }
}
