//! Why a record was refused, and how often.

use crate::wire::BadForm;

/// Why a record was refused. Refusing changes nothing but a counter (protocol.md §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refusal {
    /// It does not have the form of a record. On a byte stream, framing is lost.
    #[error("malformed")]
    Malformed,
    /// Its payload is not encrypted.
    #[error("cleartext")]
    Cleartext,
    /// It belongs to an epoch this end has no key for.
    #[error("unknown-epoch")]
    UnknownEpoch,
    /// Its number was opened before, or is too old to tell.
    #[error("replay")]
    Replay,
    /// Its tag does not fit: altered, or sealed under another key.
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
    /// All reasons, in the order in which records are checked for them.
    pub const ALL: [Self; 5] = [
        Self::Malformed,
        Self::Cleartext,
        Self::UnknownEpoch,
        Self::Replay,
        Self::Tag,
    ];
}

/// Refused records, counted by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RefusalCounts([u64; Refusal::ALL.len()]);

impl RefusalCounts {
    pub(crate) fn count(&mut self, reason: Refusal) {
        let slot = &mut self.0[reason as usize];
        *slot = slot.saturating_add(1);
    }

    /// How many records were refused for `reason`.
    pub fn of(&self, reason: Refusal) -> u64 {
        self.0[reason as usize]
    }

    /// How many were refused in all.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}
