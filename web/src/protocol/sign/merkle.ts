// Merkle trees with the shape and the domain separation of RFC 9162, section 2.1.

import { type Bytes, ascii, concat } from "../bytes.ts";
import { HASH_LEN, sha256 } from "../crypto/primitives.ts";

/** First byte of what is hashed to a leaf, and to a node: no node can be taken for a leaf. */
const LEAF = Uint8Array.of(0);
const NODE = Uint8Array.of(1);

/** The leaf of an entry. The label is without the zero that ends it. */
export function leafOf(label: string, entry: Bytes): Promise<Bytes> {
  return sha256(concat(LEAF, ascii(`${label}\0`), entry));
}

function nodeOf(left: Bytes, right: Bytes): Promise<Bytes> {
  return sha256(concat(NODE, left, right));
}

/** All levels over leaves, of which there is at least one. The last of a level without a partner goes up unchanged. */
async function levelsOf(leaves: readonly Bytes[]): Promise<(readonly Bytes[])[]> {
  const levels: (readonly Bytes[])[] = [leaves];
  for (let level = leaves; level.length > 1; levels.push(level)) {
    const below = level;
    const pairs = Array.from({ length: Math.ceil(below.length / 2) }, (_, at) => below.slice(2 * at, 2 * at + 2));
    level = await Promise.all(pairs.map(async ([left = new Uint8Array(HASH_LEN), right]) =>
      right === undefined ? left : nodeOf(left, right)));
  }
  return levels;
}

/** The root over leaves, of which there is at least one. */
export async function rootOf(leaves: readonly Bytes[]): Promise<Bytes> {
  return (await MerkleTree.over(leaves)).root;
}

/** A tree of which each leaf can be proved. */
export class MerkleTree {
  readonly #levels: readonly (readonly Bytes[])[];

  private constructor(levels: readonly (readonly Bytes[])[]) {
    this.#levels = levels;
  }

  /** The tree over leaves, of which there is at least one. */
  static async over(leaves: readonly Bytes[]): Promise<MerkleTree> {
    return new MerkleTree(await levelsOf(leaves));
  }

  get root(): Bytes {
    return this.#levels.at(-1)?.[0] ?? new Uint8Array(HASH_LEN);
  }

  /** The path from the leaf at this place to the root. */
  path(index: number): Bytes[] {
    return this.#levels.flatMap((level, up) => level[(index >>> up) ^ 1] ?? []);
  }
}

/** Whether the node at a place has a sibling, on each level from the leaves up. */
function siblings(index: number, count: number): boolean[] {
  const found: boolean[] = [];
  for (let [at, width] = [index, count]; width > 1; [at, width] = [at >>> 1, Math.ceil(width / 2)]) {
    found.push((at ^ 1) < width);
  }
  return found;
}

/** Hashes in the path of leaf `index` of `count`. */
export function pathLength(index: number, count: number): number {
  return siblings(index, count).filter(Boolean).length;
}

/** The root to which a path leads from a leaf; the path has the length that the place requires. */
export async function rootOfPath(leaf: Bytes, index: number, count: number, path: readonly Bytes[]): Promise<Bytes> {
  let [hash, at, used] = [leaf, index, 0];
  for (const paired of siblings(index, count)) {
    const sibling = paired ? path[used] : undefined;
    if (sibling !== undefined) {
      hash = await ((at & 1) === 0 ? nodeOf(hash, sibling) : nodeOf(sibling, hash));
      used += 1;
    }
    at >>>= 1;
  }
  return hash;
}
