// Nodes of the tree and their numbers (groups.md, section 2).

/** Levels above the leaves. It is fixed, so that there is no shape to agree on. */
export const DEPTH = 7;
const ARITY_BITS = 2;
/** Children of an inner node. */
const ARITY = 1 << ARITY_BITS;
const INDEX_BITS = 24;
const INDEX_MASK = (1 << INDEX_BITS) - 1;

/** Leaves of the tree: members that a group has at most. */
export const MAX_MEMBERS = ARITY ** DEPTH;
/** The node that everybody is below. Its secret is the group secret. */
export const ROOT = DEPTH << INDEX_BITS;

function level(node: number): number {
  return node >>> INDEX_BITS;
}

/** True for the number of a node that is not the root. Leaves are the numbers below `MAX_MEMBERS`. */
export function isBelowRoot(node: number): boolean {
  return level(node) < DEPTH && (node & INDEX_MASK) < ARITY ** (DEPTH - level(node));
}

export function isLeaf(node: number): boolean {
  return level(node) === 0;
}

/** The node above one that is not the root. */
export function parentOf(node: number): number {
  return ((level(node) + 1) << INDEX_BITS) | ((node & INDEX_MASK) >>> ARITY_BITS);
}

/** The nodes above a leaf, from its parent to the root: as many as `DEPTH`. */
export function above(leaf: number): number[] {
  const nodes: number[] = [];
  for (let node = leaf; node !== ROOT; ) {
    node = parentOf(node);
    nodes.push(node);
  }
  return nodes;
}

/** The nodes below an inner node. */
export function childrenOf(node: number): number[] {
  const first = ((level(node) - 1) << INDEX_BITS) | ((node & INDEX_MASK) << ARITY_BITS);
  return Array.from({ length: ARITY }, (_, at) => first + at);
}
