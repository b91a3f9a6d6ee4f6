//! Frames that were sealed for all members, or why one was not.

use super::sealed_block::{DatagramRun, SealedBlock};
use crate::live::Batch;
use crate::seal::Exhausted;
use crate::session::SealedRecords;
use crate::sign::{SignError, UnsignedPart};

/// A frame as all members get it.
pub struct SealedFrame {
    /// Its records, each behind its length as on a byte stream (protocol.md §1): a description before a keyframe, the
    /// frame, and its proof.
    pub bytes: Vec<u8>,
    /// The blocks of these records, where they fit packets; else none.
    pub blocks: Vec<SealedBlock>,
    /// True for a packet of the sound beside the picture.
    pub sound: bool,
    /// True if it begins a group of pictures; of sound, if its description is before it.
    pub keyframe: bool,
    /// Number of its group of pictures; of sound, of those that begin with a description.
    pub group: u64,
    /// Number of records.
    pub records: SealedRecords,
}

impl SealedFrame {
    /// All its records for a multicast group (groups.md §12), whose datagrams begin with `tag`. None where the frame
    /// was not sealed for packets.
    pub fn datagrams(&self, tag: u32) -> impl Iterator<Item = DatagramRun> {
        let runs = self
            .blocks
            .iter()
            .flat_map(move |block| block.datagrams(&self.bytes, tag));
        runs.filter(|run| !run.bytes.is_empty())
    }
}

/// Result of sealing a frame.
pub struct Sealing {
    /// The frame.
    pub frame: SealedFrame,
    /// Answers to challenges, to be sent after the frame.
    pub answers: Option<Batch>,
    /// A part of the stream that is complete, and waits for the signature of groups of pictures.
    pub part: Option<UnsignedPart>,
}

/// Reason why a frame was not sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GroupSealError {
    /// The epoch's key has reached its limit: the stream must end.
    #[error("the group's key has reached its limit")]
    Exhausted,
    /// The frame is longer than 16 MiB, or its description is not valid.
    #[error("the frame is longer than 16 MiB, or its description is not valid")]
    Misuse,
    /// It cannot be signed.
    #[error(transparent)]
    Sign(#[from] SignError),
}

impl From<Exhausted> for GroupSealError {
    fn from(_: Exhausted) -> Self {
        Self::Exhausted
    }
}
