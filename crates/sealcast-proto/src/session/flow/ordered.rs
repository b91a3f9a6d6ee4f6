//! Records that arrived in packets and are in order now, and what a group needs to know of them.

use std::sync::Arc;

use crate::seal::SealedRecord;
use crate::sign::Hash;
use crate::unit::Assembled;

/// Facts about a record, of a group or where records are kept as they came.
#[derive(Clone)]
pub(crate) struct Mark {
    /// The full number of the epoch that opened it.
    pub(crate) epoch: u64,
    /// The hash of the record as it was sealed, where frames are signed.
    pub(crate) hash: Option<Hash>,
    /// The record as it came, where such are kept.
    pub(crate) sealed: Option<Arc<SealedRecord>>,
}

impl Mark {
    /// The mark of a record of no group: none unless it is kept.
    pub(crate) fn of_kept(sealed: Option<Arc<SealedRecord>>) -> Option<Self> {
        sealed.map(|sealed| Self {
            epoch: sealed.key.epoch(),
            hash: None,
            sealed: Some(sealed),
        })
    }
}

/// Facts about the records of a frame or a description, in their order.
#[derive(Default)]
pub(crate) struct Marks {
    /// Their stream; 0 for a loss.
    pub(crate) stream: u32,
    pub(crate) epoch: u64,
    pub(crate) hashes: Vec<Hash>,
    pub(crate) sealed: Vec<Arc<SealedRecord>>,
}

/// Media that is delivered, in the order in which it was sealed.
pub(crate) enum Ordered {
    Media(Assembled, Marks),
    /// A frame's proof, and what is known of its record.
    Proof(Vec<u8>, Marks),
    /// Records are missing that may be of either stream, where there is sound beside the picture.
    Missing,
}
