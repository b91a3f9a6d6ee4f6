//! Progress of a viewer in a group: what a relay gives it later is not older.

/// Beginning of a group of pictures, or of one of packets of sound: the number of the epoch of its first frame, and its
/// own. Both only grow, also when the camera begins anew (groups.md §1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupStart {
    /// Number of the epoch.
    pub epoch: u64,
    /// Its number; 0 if the camera has never signed frames, so that nobody knows it.
    pub group: u64,
}

impl GroupStart {
    /// True if this begins no earlier than `floor`.
    pub(super) fn reaches(self, floor: Self) -> bool {
        self.epoch >= floor.epoch && self.group >= floor.group
    }
}

/// The newest groups of which a viewer had the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Of the stream of pictures.
    pub picture: Option<GroupStart>,
    /// Of the sound beside it.
    pub sound: Option<GroupStart>,
}

impl Seen {
    /// The newer one of both, for each stream.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            picture: self.picture.max(other.picture),
            sound: self.sound.max(other.sound),
        }
    }
}
