//! Merkle trees with the shape and the domain separation of RFC 9162, section 2.1.

use aws_lc_rs::digest;

use crate::keys::sha256;

/// A SHA-256 hash.
pub type Hash = [u8; 32];

/// First byte of what is hashed to a leaf, and to a node: no node can be taken for a leaf.
const LEAF: u8 = 0x00;
const NODE: u8 = 0x01;

/// The leaf of an entry, which is given in parts.
pub(crate) fn leaf(label: &[u8], entry: &[u8]) -> Hash {
    sha256(&[&[LEAF], label, entry])
}

/// Most hashes are those of nodes, and one call of the library costs less than four.
fn node(left: &Hash, right: &Hash) -> Hash {
    let mut content = [NODE; 65];
    content[1..33].copy_from_slice(left);
    content[33..].copy_from_slice(right);
    let hash = digest::digest(&digest::SHA256, &content);
    hash.as_ref().try_into().expect("SHA-256 gives 32 bytes")
}

/// A tree with all of its nodes.
pub(crate) struct Tree {
    /// The leaves, then what is above them, and the root alone at the end.
    levels: Vec<Vec<Hash>>,
}

impl Tree {
    /// The tree over `leaves`; `None` if there are none.
    ///
    /// Level by level, the last node without a partner goes up unchanged. This gives the tree of RFC 9162, where the
    /// left side has the largest power of two of leaves.
    pub(crate) fn new(leaves: Vec<Hash>) -> Option<Self> {
        let mut top = (!leaves.is_empty()).then_some(leaves)?;
        let mut levels = Vec::new();
        while top.len() > 1 {
            let next = top
                .chunks(2)
                .map(|pair| match pair {
                    [left, right] => node(left, right),
                    [.., alone] => *alone,
                    [] => [0; 32],
                })
                .collect();
            levels.push(std::mem::replace(&mut top, next));
        }
        levels.push(top);
        Some(Self { levels })
    }

    /// The root.
    pub(crate) fn root(&self) -> Hash {
        self.levels.last().map_or([0; 32], |top| top[0])
    }

    /// The path from leaf `index` to the root: the siblings on the way, from the leaf upwards.
    pub(crate) fn path(&self, index: usize) -> Vec<Hash> {
        let siblings = self.levels.iter().enumerate();
        siblings
            .filter_map(|(height, level)| level.get((index >> height) ^ 1).copied())
            .collect()
    }
}

/// Number of hashes in the path of leaf `index` of `count`.
pub(crate) fn path_length(index: usize, count: usize) -> usize {
    let (mut at, mut width, mut length) = (index, count, 0);
    while width > 1 {
        length += usize::from(at ^ 1 < width);
        (at, width) = (at >> 1, width.div_ceil(2));
    }
    length
}

/// The root to which `path` leads from a leaf; `None` if a path has another length there.
pub(crate) fn root_of_path(leaf: Hash, index: usize, count: usize, path: &[Hash]) -> Option<Hash> {
    if index >= count || path.len() != path_length(index, count) {
        return None;
    }
    let (mut at, mut width, mut hash) = (index, count, leaf);
    let mut siblings = path.iter();
    while width > 1 {
        if at ^ 1 < width {
            let sibling = siblings.next()?;
            hash = if at & 1 == 0 {
                node(&hash, sibling)
            } else {
                node(sibling, &hash)
            };
        }
        (at, width) = (at >> 1, width.div_ceil(2));
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `MTH` of RFC 9162, section 2.1.1, word for word.
    fn mth(leaves: &[Hash]) -> Hash {
        if let [only] = leaves {
            return *only;
        }
        let half = leaves.len().next_power_of_two() / 2;
        node(&mth(&leaves[..half]), &mth(&leaves[half..]))
    }

    #[test]
    fn the_tree_is_that_of_rfc_9162_and_every_path_leads_to_its_root() {
        for count in (1..70).chain([255, 256, 257]) {
            let leaves: Vec<Hash> = (0..count).map(|at: usize| leaf(b"x", &at.to_be_bytes())).collect();
            let tree = Tree::new(leaves.clone()).expect("not empty");
            assert_eq!(tree.root(), mth(&leaves));
            for (index, leaf) in leaves.iter().enumerate() {
                let path = tree.path(index);
                assert_eq!(root_of_path(*leaf, index, count, &path), Some(tree.root()));
                for other in (0..count).filter(|other| *other != index) {
                    assert_ne!(root_of_path(*leaf, other, count, &path), Some(tree.root()));
                }
            }
        }
        assert!(Tree::new(vec![]).is_none());
    }

    #[test]
    fn a_path_of_another_length_leads_nowhere() {
        let leaves: Vec<Hash> = (0..5).map(|at| [at; 32]).collect();
        let tree = Tree::new(leaves.clone()).expect("not empty");
        let path = tree.path(4);
        assert_eq!((path.len(), path_length(4, 5), path_length(3, 5)), (1, 1, 3));
        assert_eq!(root_of_path(leaves[4], 4, 5, &[]), None);
        assert_eq!(root_of_path(leaves[4], 4, 5, &[path[0], path[0]]), None);
        assert_eq!(root_of_path(leaves[4], 5, 5, &path), None);
        assert_eq!(root_of_path(leaves[4], 0, 0, &[]), None);
    }
}
