//! The leader's tree: who sits where, and the secrets of all inner nodes (groups.md §2 and §3).

use std::collections::{BTreeMap, BTreeSet};

use super::MemberKey;
use super::node::{MAX_MEMBERS, Node};
use super::pending::MemberId;
use super::secret::{Group, NodeSecret};
use super::sheet::Wraps;

/// The secrets of one epoch. They move to the next with [`Tree::advance`].
pub(super) struct Tree {
    group: Group,
    epoch: u64,
    /// Keys of the members, by leaf.
    leaves: BTreeMap<Node, MemberKey>,
    seats: BTreeMap<MemberId, Node>,
    /// Indexes of free leaves.
    free: BTreeSet<u32>,
    /// Secrets of the inner nodes that exist.
    inner: BTreeMap<Node, NodeSecret>,
}

/// Changes from one epoch to the next.
pub(super) struct Changes<'a> {
    pub(super) leave: &'a BTreeSet<MemberId>,
    pub(super) join: &'a BTreeMap<MemberId, MemberKey>,
    /// Whether the root is drawn anew even if nobody leaves.
    pub(super) renew: bool,
}

impl Tree {
    pub(super) fn new(group: Group, epoch: u64, seed: &[u8; 32]) -> Self {
        let root = NodeSecret::fresh(seed, &group, epoch, Node::ROOT);
        Self {
            group,
            epoch,
            leaves: BTreeMap::new(),
            seats: BTreeMap::new(),
            free: (0..MAX_MEMBERS as u32).collect(),
            inner: BTreeMap::from([(Node::ROOT, root)]),
        }
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(super) fn group(&self) -> &Group {
        &self.group
    }

    pub(super) fn members(&self) -> usize {
        self.leaves.len()
    }

    pub(super) fn seats(&self, member: MemberId) -> bool {
        self.seats.contains_key(&member)
    }

    pub(super) fn group_secret(&self) -> &NodeSecret {
        &self.inner[&Node::ROOT]
    }

    /// Moves to an epoch, and returns the nodes whose secrets its sheet must carry: none if members reach the epoch by
    /// themselves.
    pub(super) fn advance(&mut self, epoch: u64, changes: &Changes<'_>, seed: &[u8; 32]) -> BTreeSet<Node> {
        for (node, secret) in &mut self.inner {
            *secret = secret.ratcheted(&self.group, *node, self.epoch, epoch);
        }
        self.epoch = epoch;
        let mut renewed = self.unseat(changes.leave);
        if changes.renew {
            renewed.insert(Node::ROOT);
        }
        for node in &renewed {
            self.draw(*node, seed);
        }
        for (member, key) in changes.join {
            self.seat(*member, key, seed);
        }
        renewed
    }

    /// Empties the leaves of members who leave. Returns the nodes above them that still exist.
    fn unseat(&mut self, leave: &BTreeSet<MemberId>) -> BTreeSet<Node> {
        let mut above = BTreeSet::new();
        for member in leave {
            let Some(leaf) = self.seats.remove(member) else {
                continue;
            };
            self.leaves.remove(&leaf);
            self.free.insert(leaf.index());
            above.extend(leaf.above());
        }
        // In ascending order, so that the nodes below were removed before.
        for node in &above {
            if *node != Node::ROOT && !node.children().any(|child| self.exists(child)) {
                self.inner.remove(node);
            }
        }
        above.retain(|node| self.inner.contains_key(node));
        above
    }

    fn seat(&mut self, member: MemberId, key: &MemberKey, seed: &[u8; 32]) {
        let index = self.free.pop_first().expect("the leader admits no more than fit");
        let leaf = Node::leaf(index);
        self.leaves.insert(leaf, key.clone());
        self.seats.insert(member, leaf);
        for node in leaf.above() {
            if !self.inner.contains_key(&node) {
                self.draw(node, seed);
            }
        }
    }

    fn draw(&mut self, node: Node, seed: &[u8; 32]) {
        let fresh = NodeSecret::fresh(seed, &self.group, self.epoch, node);
        self.inner.insert(node, fresh);
    }

    fn exists(&self, node: Node) -> bool {
        if node.is_leaf() {
            self.leaves.contains_key(&node)
        } else {
            self.inner.contains_key(&node)
        }
    }

    /// The wraps of all nodes below the root.
    pub(super) fn all_wraps(&self) -> Wraps {
        let leaves = self.leaves.keys().copied();
        self.wraps(leaves.chain(self.inner.keys().copied()))
    }

    /// The wraps by which members learn the secrets of these nodes.
    pub(super) fn wraps_below(&self, nodes: &BTreeSet<Node>) -> Wraps {
        let children = nodes.iter().flat_map(|node| node.children());
        let mut existing: Vec<Node> = children.filter(|child| self.exists(*child)).collect();
        existing.sort_unstable();
        self.wraps(existing.into_iter())
    }

    /// The wraps from a member's leaf to the root.
    pub(super) fn wraps_of(&self, member: MemberId) -> Option<Wraps> {
        let leaf = *self.seats.get(&member)?;
        Some(self.wraps(std::iter::once(leaf).chain(leaf.above())))
    }

    /// The wraps of existing nodes, in the given order, without the root's, which has none.
    fn wraps(&self, nodes: impl Iterator<Item = Node>) -> Wraps {
        let wrap = |node: Node| {
            let parent = &self.inner[&node.parent()?];
            let secret = self.leaves.get(&node).map(|key| &key.0);
            let key = secret.unwrap_or_else(|| &self.inner[&node]).wrap_key(&self.group);
            Some((node, key.wrap(self.epoch, node, parent)))
        };
        nodes.filter_map(wrap).collect()
    }

    /// The secret of an inner node that exists.
    #[cfg(test)]
    pub(super) fn secret(&self, node: Node) -> Option<&NodeSecret> {
        self.inner.get(&node)
    }

    #[cfg(test)]
    pub(super) fn seat_of(&self, member: MemberId) -> Option<Node> {
        self.seats.get(&member).copied()
    }
}
