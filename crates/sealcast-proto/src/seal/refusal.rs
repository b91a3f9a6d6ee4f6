//! Reasons why records are refused, and their counters.

use crate::wire::BadForm;

/// Reason why a record was refused. A refusal changes nothing but a counter (protocol.md §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refusal {
    /// It does not have the form of a record. On a byte stream this means that framing is lost.
    #[error("malformed")]
    Malformed,
    /// Its payload is not encrypted.
    #[error("cleartext")]
    Cleartext,
    /// It came by itself after the peer began to send cells (protocol.md §10).
    #[error("outside-cell")]
    OutsideCell,
    /// It belongs to an epoch this end has no key for.
    #[error("unknown-epoch")]
    UnknownEpoch,
    /// Its number was opened before, or is too old for the replay window.
    #[error("replay")]
    Replay,
    /// Its tag is wrong: it was altered, or sealed under another key.
    #[error("tag")]
    Tag,
}

impl From<BadForm> for Refusal {
    fn from(form: BadForm) -> Self {
        match form {
            BadForm::Malformed => Self::Malformed,
            BadForm::Cleartext => Self::Cleartext,
        }
    }
}

impl Refusal {
    /// All reasons, in the order of the checks.
    pub const ALL: [Self; 6] = [
        Self::Malformed,
        Self::Cleartext,
        Self::OutsideCell,
        Self::UnknownEpoch,
        Self::Replay,
        Self::Tag,
    ];
}

/// Counters of refused records, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RefusalCounts([u64; Refusal::ALL.len()]);

impl RefusalCounts {
    pub(crate) fn count(&mut self, reason: Refusal) {
        let slot = &mut self.0[reason as usize];
        *slot = slot.saturating_add(1);
    }

    /// Returns the number of records refused for `reason`.
    pub fn of(&self, reason: Refusal) -> u64 {
        self.0[reason as usize]
    }

    /// Returns the number of refused records.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}
