// The leader's tree: who sits where, and the secrets of all inner nodes (groups.md, sections 2 and 3).

import { type Bytes } from "../bytes.ts";
import { misuse } from "../error.ts";
import { ROOT, above, childrenOf, isLeaf, parentOf } from "./node.ts";
import { type Pending } from "./pending.ts";
import { type Group, NodeSecret } from "./secret.ts";

/** The secrets of one epoch. They move to the next with `advance`. One call at a time: the caller awaits each. */
export class Tree {
  readonly group: Group;
  #epoch: bigint;
  /** Keys of the members, by leaf. */
  readonly #leaves = new Map<number, NodeSecret>();
  /** Leaves by the program's name for a member. */
  readonly #seats = new Map<number, number>();
  /** Secrets of the inner nodes that exist. */
  readonly #inner = new Map<number, NodeSecret>();

  private constructor(group: Group, epoch: bigint, root: NodeSecret) {
    this.group = group;
    this.#epoch = epoch;
    this.#inner.set(ROOT, root);
  }

  /** A tree without members, of 32 fresh random bytes. */
  static async create(group: Group, epoch: bigint, seed: Bytes): Promise<Tree> {
    return new Tree(group, epoch, await NodeSecret.fresh(seed, group, epoch, ROOT));
  }

  get epoch(): bigint {
    return this.#epoch;
  }

  get members(): number {
    return this.#leaves.size;
  }

  seats(member: number): boolean {
    return this.#seats.has(member);
  }

  /** The root's secret. */
  get groupSecret(): NodeSecret {
    return this.#secret(ROOT);
  }

  #secret(node: number): NodeSecret {
    const secret = isLeaf(node) ? this.#leaves.get(node) : this.#inner.get(node);
    if (secret === undefined) {
      throw misuse("a node of the group's tree does not exist");
    }
    return secret;
  }

  /**
   * Moves to an epoch, and returns the nodes whose secrets its sheet must carry: none if members reach the epoch by
   * themselves.
   */
  async advance(
    epoch: bigint, { leave, join, renew }: Pick<Pending, "leave" | "join" | "renew">, seed: Bytes,
  ): Promise<ReadonlySet<number>> {
    for (const [node, secret] of this.#inner) {
      this.#inner.set(node, await secret.ratcheted(this.group, node, this.#epoch, epoch));
      secret.wipe();
    }
    this.#epoch = epoch;
    const renewed = this.#unseat(leave);
    if (renew) {
      renewed.add(ROOT);
    }
    for (const node of renewed) {
      await this.#draw(node, seed);
    }
    // In ascending order, which vectors and both programs agree on.
    for (const [member, key] of [...join].sort(([a], [b]) => a - b)) {
      await this.#seat(member, key, seed);
    }
    return renewed;
  }

  /** Empties the leaves of members who leave. Returns the nodes above them that still exist. */
  #unseat(leave: ReadonlySet<number>): Set<number> {
    const emptied = new Set<number>();
    for (const member of leave) {
      const leaf = this.#seats.get(member);
      if (leaf !== undefined) {
        this.#seats.delete(member);
        this.#leaves.get(leaf)?.wipe();
        this.#leaves.delete(leaf);
        above(leaf).forEach((node) => emptied.add(node));
      }
    }
    // In ascending order, so that the nodes below were removed before.
    for (const node of [...emptied].sort((a, b) => a - b)) {
      if (node !== ROOT && !childrenOf(node).some((child) => this.#exists(child))) {
        this.#inner.get(node)?.wipe();
        this.#inner.delete(node);
        emptied.delete(node);
      }
    }
    return emptied;
  }

  async #seat(member: number, key: NodeSecret, seed: Bytes): Promise<void> {
    let leaf = 0;
    while (this.#leaves.has(leaf)) {
      leaf += 1;
    }
    this.#leaves.set(leaf, key);
    this.#seats.set(member, leaf);
    for (const node of above(leaf)) {
      if (!this.#inner.has(node)) {
        await this.#draw(node, seed);
      }
    }
  }

  async #draw(node: number, seed: Bytes): Promise<void> {
    this.#inner.get(node)?.wipe();
    this.#inner.set(node, await NodeSecret.fresh(seed, this.group, this.#epoch, node));
  }

  #exists(node: number): boolean {
    return isLeaf(node) ? this.#leaves.has(node) : this.#inner.has(node);
  }

  /** The wraps of all nodes below the root. */
  allWraps(): Promise<ReadonlyMap<number, Bytes>> {
    return this.#wraps([...this.#leaves.keys(), ...this.#inner.keys()]);
  }

  /** The wraps from a member's leaf to the root; `undefined` if it has none. */
  async wrapsOf(member: number): Promise<ReadonlyMap<number, Bytes> | undefined> {
    const leaf = this.#seats.get(member);
    return leaf === undefined ? undefined : this.#wraps([leaf, ...above(leaf)]);
  }

  /** The wraps of existing nodes in ascending order, without the root's, which has none. */
  async #wraps(nodes: readonly number[]): Promise<ReadonlyMap<number, Bytes>> {
    const wraps = new Map<number, Bytes>();
    for (const node of nodes.filter((one) => one !== ROOT).sort((a, b) => a - b)) {
      const key = await this.#secret(node).wrapKey(this.group);
      wraps.set(node, await this.#secret(parentOf(node)).wrappedFor(key, this.#epoch, node));
    }
    return wraps;
  }

  /** Overwrites all secrets. */
  wipe(): void {
    for (const secret of [...this.#leaves.values(), ...this.#inner.values()]) {
      secret.wipe();
    }
  }
}
