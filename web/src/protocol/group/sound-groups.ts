// Which packets of a group's sound have their description before them (groups.md, section 10).

import { type Bytes, equal } from "../bytes.ts";

/** Packets after which the description stands again, where no group of pictures begins before: some five seconds. */
const DESCRIBED_EVERY = 256;

/** Counts packets of sound. Those with a description begin a group on the relay's track of sound. */
export class SoundGroups {
  #described: Bytes | undefined;
  /** The group of pictures in which the last packet was made, and its index there. */
  #last: { readonly group: bigint; readonly index: number } | undefined;
  #next: bigint;

  /** @param first the number of the first packets that begin with a description */
  constructor(first: bigint) {
    this.#next = first;
  }

  /** Counts a packet in this group of pictures. Returns true if this description stands before it. */
  count(group: bigint, description: Bytes): boolean {
    const index = this.#last?.group === group ? this.#last.index + 1 : 0;
    this.#last = { group, index };
    const begins = index % DESCRIBED_EVERY === 0 || this.#described === undefined ||
      !equal(this.#described, description);
    if (begins) {
      this.#described = description;
      this.#next += 1n;
    }
    return begins;
  }

  /** The number of the packets since the last description. */
  get number(): bigint {
    return this.#next - 1n;
  }
}
