//! Nodes of the tree and their numbers (groups.md §2).

/// Number of children of an inner node (RFC 2627 §5.4 leaves it open). With four, a leave costs the fewest wraps.
pub const ARITY: u32 = 1 << ARITY_BITS;
const ARITY_BITS: u32 = 2;

/// Number of levels above the leaves. It is fixed, so that there is no shape to agree on.
pub const DEPTH: usize = 7;

/// Maximum number of members of a group: the leaves of the tree.
pub const MAX_MEMBERS: usize = (ARITY as usize).pow(DEPTH as u32);

const INDEX_BITS: u32 = 24;

/// A node of the tree. Nodes are ordered as their numbers are: leaves first, the root last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Node(u32);

impl Node {
    /// The node that everybody is below. Its secret is the group secret.
    pub(super) const ROOT: Self = Self((DEPTH as u32) << INDEX_BITS);

    /// The leaf with an index below [`MAX_MEMBERS`].
    pub(super) fn leaf(index: u32) -> Self {
        debug_assert!((index as usize) < MAX_MEMBERS);
        Self(index)
    }

    /// The node with this number, unless it is the root or there is none.
    pub(super) fn below_root(number: u32) -> Option<Self> {
        let node = Self(number);
        let width = 1_u32.checked_shl(ARITY_BITS * (DEPTH as u32).checked_sub(node.level())?)?;
        (node != Self::ROOT && node.index() < width).then_some(node)
    }

    pub(super) fn number(self) -> u32 {
        self.0
    }

    /// Level above the leaves: 0 for a leaf, [`DEPTH`] for the root.
    pub(super) fn level(self) -> u32 {
        self.0 >> INDEX_BITS
    }

    pub(super) fn is_leaf(self) -> bool {
        self.level() == 0
    }

    /// Place among the nodes of its level.
    pub(super) fn index(self) -> u32 {
        self.0 & ((1 << INDEX_BITS) - 1)
    }

    /// The node above, or `None` above the root.
    pub(super) fn parent(self) -> Option<Self> {
        (self != Self::ROOT).then(|| Self(((self.level() + 1) << INDEX_BITS) | (self.index() >> ARITY_BITS)))
    }

    /// The nodes above, from the parent to the root.
    pub(super) fn above(self) -> impl Iterator<Item = Self> {
        std::iter::successors(self.parent(), |node| node.parent())
    }

    /// The nodes below an inner node.
    pub(super) fn children(self) -> impl Iterator<Item = Self> {
        let first = ((self.level() - 1) << INDEX_BITS) | (self.index() << ARITY_BITS);
        (first..first + ARITY).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_leaf_is_seven_levels_below_the_root() {
        for index in [0, 1, 4, 255, 256, 16_383] {
            let above: Vec<Node> = Node::leaf(index).above().collect();
            assert_eq!(above.len(), DEPTH);
            assert_eq!(above.last(), Some(&Node::ROOT));
        }
        assert_eq!(Node::ROOT.number(), 0x0700_0000);
    }

    #[test]
    fn children_and_parents_agree() {
        for node in [Node::ROOT, Node(0x0100_0000), Node(0x0300_0005), Node(0x0100_0FFF)] {
            let children: Vec<Node> = node.children().collect();
            assert_eq!(children.len(), ARITY as usize);
            assert!(children.iter().all(|child| child.parent() == Some(node)));
            assert!(children.iter().all(|child| Node::below_root(child.0) == Some(*child)));
        }
    }

    #[test]
    fn a_number_without_a_node_is_none() {
        for number in [
            0x4000,
            0x0100_1000,
            0x0600_0004,
            0x0700_0000,
            0x0700_0001,
            0x0800_0000,
            u32::MAX,
        ] {
            assert_eq!(Node::below_root(number), None, "{number:#x}");
        }
        for number in [0, 0x3FFF, 0x0100_0FFF, 0x0600_0003] {
            assert_eq!(Node::below_root(number).map(Node::number), Some(number));
        }
    }
}
