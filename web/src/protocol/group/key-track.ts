// What a camera puts on a relay's track of keys (relay.md, section 3).

import { type Bytes } from "../bytes.ts";
import { controlBytes } from "../wire/control.ts";

/** Sheets on the track at most: who comes late goes by the newest, if pictures stand still for so long. */
const MAX_LISTED = 64;

/** A sheet on the track. */
interface Listed {
  readonly epoch: bigint;
  readonly object: Bytes;
}

/**
 * The newest group of objects on the track of keys: the terms, and the sheets from the one on under
 * which the group of pictures that is under way began. Who comes late needs that one to open it from its beginning. All
 * sheets are full, so each begins a group of objects.
 */
export class KeyTrack {
  #number: bigint;
  readonly #terms: Bytes;
  #sheets: readonly Listed[] = [];

  /**
   * A track without sheets.
   * @param number above that of any group that was ever on it
   * @param terms those of the run
   */
  constructor(number: bigint, terms: Bytes) {
    this.#number = number;
    this.#terms = controlBytes({ type: "group-terms", terms });
  }

  /** Takes the full sheet of a newly announced epoch. `oldest`: that of the group of pictures under way. */
  push(epoch: bigint, sheet: Bytes, oldest: bigint): void {
    const sheets = [...this.#sheets, { epoch, object: controlBytes({ type: "key-sheet", sheet }) }];
    const needed = sheets.findLastIndex((one) => one.epoch <= oldest);
    this.#sheets = sheets.slice(Math.max(0, needed)).slice(-MAX_LISTED);
    this.#number += 1n;
  }

  /** The number of the newest group of objects. */
  get number(): bigint {
    return this.#number;
  }

  /** True until the first sheet: nobody can open anything. */
  get wantsFull(): boolean {
    return this.#sheets.length === 0;
  }

  /** The objects of the newest group. */
  get objects(): readonly Bytes[] {
    return [this.#terms, ...this.#sheets.map(({ object }) => object)];
  }
}
