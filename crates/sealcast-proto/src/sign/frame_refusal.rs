//! Reasons why frames are refused, and their counters (signatures.md §4).

/// Reason why a frame was refused. A refusal changes nothing but a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum FrameRefusal {
    /// It has no proof, or no signature in it.
    #[error("unsigned")]
    Unsigned,
    /// Its proof does not have the form of one.
    #[error("malformed")]
    Malformed,
    /// Its records are of another stream.
    #[error("stream")]
    Stream,
    /// Its proof is for another epoch than that of its records, or for one that is over.
    #[error("epoch")]
    Epoch,
    /// Its proof is for another number of records: some were added or removed.
    #[error("records")]
    Records,
    /// Its proof is for other records: some were altered or reordered.
    #[error("digest")]
    Digest,
    /// Its number is not higher than that of the frame before: it was replayed or reordered.
    #[error("order")]
    Order,
    /// It belongs to another group of pictures than the last verified keyframe: spliced, or that keyframe was lost.
    #[error("group")]
    Group,
    /// Its signature is not the camera's.
    #[error("signature")]
    Signature,
}

impl FrameRefusal {
    /// All reasons, in the order of the checks.
    pub const ALL: [Self; 9] = [
        Self::Unsigned,
        Self::Malformed,
        Self::Stream,
        Self::Epoch,
        Self::Records,
        Self::Digest,
        Self::Order,
        Self::Group,
        Self::Signature,
    ];
}

/// Counters of refused frames, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameRefusalCounts([u64; FrameRefusal::ALL.len()]);

impl FrameRefusalCounts {
    pub(super) fn count(&mut self, reason: FrameRefusal) {
        let slot = &mut self.0[reason as usize];
        *slot = slot.saturating_add(1);
    }

    /// Returns the number of frames refused for `reason`.
    pub fn of(&self, reason: FrameRefusal) -> u64 {
        self.0[reason as usize]
    }

    /// Adds those of another stream.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count = count.saturating_add(more);
        }
        self
    }

    /// Returns the number of refused frames.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}
