// The camera's half: it collects challenges, and folds them into a root for the next frame (signatures.md, section 6).

import { type Bytes } from "../bytes.ts";
import { misuse } from "../error.ts";
import { MerkleTree } from "../sign/merkle.ts";
import { MAX_CHALLENGERS, answerBytes, challengeLeaf, nameOf } from "./answer.ts";

/** A challenge with its leaf, which is hashed when it comes, and not when a frame waits for the root. */
interface Waiting {
  readonly challenge: Bytes;
  readonly leaf: Bytes;
}

/** Challenges that one frame answers. */
export interface Batch {
  /** The root for the next frame's statement. */
  readonly root: Bytes;
  /** The answers, each for the viewer with this slot. To be sent once the frame is signed. */
  readonly answers: readonly { readonly slot: number; readonly answer: Bytes }[];
}

/** Keeps the newest challenge of each viewer until a frame answers it. The caller numbers viewers: their *slots*. */
export class Challenges {
  readonly #slots: number;
  readonly #waiting = new Map<number, Waiting>();
  /** The slot whose turn it is. */
  #next = 0;

  /** Room for viewers with slots below `slots`, at most `MAX_CHALLENGERS`. */
  constructor(slots: number) {
    this.#slots = Math.min(slots, MAX_CHALLENGERS);
  }

  /** Takes a viewer's challenge. An earlier one of the same viewer that still waits is forgotten. */
  async put(slot: number, challenge: Bytes): Promise<void> {
    if (!Number.isInteger(slot) || slot < 0 || slot >= this.#slots) {
      throw misuse("the slot is not one of this camera's viewers");
    }
    const own = challenge.slice();
    this.#waiting.set(slot, { challenge: own, leaf: await challengeLeaf(own) });
  }

  /** Forgets the challenge of a viewer that left. */
  remove(slot: number): void {
    this.#waiting.delete(slot);
  }

  /**
   * Folds up to `atMost` waiting challenges for the next frame, beginning with the slot after the last folded one, so
   * that each has its turn. `undefined` if there are none.
   */
  async fold(atMost: number): Promise<Batch | undefined> {
    const slots = [...this.#waiting.keys()].sort((a, b) => a - b);
    const turn = [...slots.filter((slot) => slot >= this.#next), ...slots.filter((slot) => slot < this.#next)];
    const taken = turn.slice(0, atMost).flatMap((slot) => {
      const waiting = this.#waiting.get(slot);
      return waiting === undefined ? [] : [{ slot, ...waiting }];
    });
    const last = taken.at(-1);
    if (last === undefined) {
      return undefined;
    }
    for (const { slot } of taken) {
      this.#waiting.delete(slot);
    }
    this.#next = last.slot + 1;
    const tree = await MerkleTree.over(taken.map(({ leaf }) => leaf));
    const answers = taken.map(({ slot, challenge }, index) => ({
      slot, answer: answerBytes({ name: nameOf(challenge), count: taken.length, index, path: tree.path(index) }),
    }));
    return { root: tree.root, answers };
  }
}
