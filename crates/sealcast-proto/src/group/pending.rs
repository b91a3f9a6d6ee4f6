//! Changes of a group that wait to be announced.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::node::MAX_MEMBERS;
use super::secret::MemberKey;

/// The program's name for a member. It is not on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemberId(pub u64);

/// Reason why the leader did not do what the program asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeaderError {
    /// The group has [`MAX_MEMBERS`] members.
    #[error("the group is full")]
    Full,
    /// There is a member of this name.
    #[error("there is such a member already")]
    Known,
    /// There is no member of this name.
    #[error("there is no such member")]
    Unknown,
    /// The reserved epoch numbers are used up: the program has to reserve more (groups.md §1).
    #[error("the reserved epoch numbers are used up")]
    NoNumbers,
}

/// Changes that wait. The number of those who join is bounded by [`MAX_MEMBERS`], of those who leave by the members.
#[derive(Default)]
pub(super) struct Pending {
    pub(super) join: BTreeMap<MemberId, MemberKey>,
    pub(super) leave: BTreeSet<MemberId>,
    pub(super) renew: bool,
    /// When the first of them was asked for.
    since: Option<Duration>,
}

impl Pending {
    pub(super) fn since(&self) -> Option<Duration> {
        self.since
    }

    /// Notes a join. `seated` says whether the member has a leaf now, `members` how many have one.
    pub(super) fn admit(
        &mut self,
        now: Duration,
        member: MemberId,
        key: MemberKey,
        seated: bool,
        members: usize,
    ) -> Result<(), LeaderError> {
        if self.join.contains_key(&member) || (seated && !self.leave.contains(&member)) {
            return Err(LeaderError::Known);
        }
        if members - self.leave.len() + self.join.len() >= MAX_MEMBERS {
            return Err(LeaderError::Full);
        }
        self.join.insert(member, key);
        self.since.get_or_insert(now);
        Ok(())
    }

    /// Notes a leave, or takes a join back.
    pub(super) fn remove(&mut self, now: Duration, member: MemberId, seated: bool) -> Result<(), LeaderError> {
        let taken_back = self.join.remove(&member).is_some();
        let leaves = seated && self.leave.insert(member);
        if !taken_back && !leaves {
            return Err(LeaderError::Unknown);
        }
        if self.join.is_empty() && self.leave.is_empty() && !self.renew {
            self.since = None;
        } else {
            self.since.get_or_insert(now);
        }
        Ok(())
    }

    pub(super) fn rekey(&mut self, now: Duration) {
        self.renew = true;
        self.since.get_or_insert(now);
    }
}
