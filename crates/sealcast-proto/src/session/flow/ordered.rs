//! What arrived in packets and is in order now, and what a group needs to know of it.

use crate::sign::Hash;
use crate::unit::Assembled;

/// What is known of a record of a group.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    /// The full number of the epoch that opened it.
    pub(crate) epoch: u64,
    /// The hash of the record as it was sealed, where frames are signed.
    pub(crate) hash: Option<Hash>,
}

/// What is known of the records of a frame or a description, in their order. Nothing in a session without a group.
#[derive(Default)]
pub(crate) struct Marks {
    pub(crate) epoch: u64,
    pub(crate) hashes: Vec<Hash>,
}

/// What is delivered, in the order in which it was sealed.
pub(crate) enum Ordered {
    Media(Assembled, Marks),
    /// A frame's proof, and the epoch of its record.
    Proof(Vec<u8>, u64),
}
