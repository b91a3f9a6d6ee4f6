//! Frames that a source lost.

use std::ops::AddAssign;

/// Frames that a source lost before anything could be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Frames that the camera's driver dropped, mostly because this program or the machine was too slow.
    pub dropped: u64,
    /// Frames that came damaged, and were left out.
    pub damaged: u64,
    /// Frames that came whole, and were left out because they build on one that was lost.
    pub left_out: u64,
}

impl Lost {
    /// All of them.
    pub fn count(self) -> u64 {
        self.dropped + self.damaged + self.left_out
    }
}

impl AddAssign for Lost {
    fn add_assign(&mut self, more: Self) {
        self.dropped += more.dropped;
        self.damaged += more.damaged;
        self.left_out += more.left_out;
    }
}
