//! Blocks of records that were sealed for all members, and the datagrams that they fill.

use std::ops::Range;

use crate::wire::{CONNECTION_LEN, LENGTH_PREFIX};

/// A block of records as they were sealed, and the symbols that repair them.
pub struct SealedBlock {
    /// The number of its first record.
    pub(crate) first: u64,
    /// Its source records, each behind its length, in the bytes of its frame.
    pub(crate) sources: Range<usize>,
    /// Length of all of them but the last, with the length before it.
    pub(crate) size: usize,
    pub(crate) count: usize,
    /// Its repair records, equally long, each behind its length.
    pub(crate) repairs: Vec<u8>,
    pub(crate) repair_size: usize,
    pub(crate) repair_count: usize,
}

impl SealedBlock {
    /// Its records as datagrams that begin with `tag`, in two runs: source and repair records.
    pub(super) fn datagrams(&self, frame: &[u8], tag: u32) -> [DatagramRun; 2] {
        [
            DatagramRun::of(&frame[self.sources.clone()], self.size, tag),
            DatagramRun::of(&self.repairs, self.repair_size, tag),
        ]
    }
}

/// Datagrams back to back: each `size` bytes long, the last perhaps shorter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatagramRun {
    /// The datagrams.
    pub bytes: Vec<u8>,
    /// Length of all but the last, at least 1.
    pub size: usize,
}

impl DatagramRun {
    /// Records of `size` bytes, each behind its length, as datagrams that begin with `tag`.
    fn of(records: &[u8], size: usize, tag: u32) -> Self {
        let mut bytes = Vec::with_capacity(records.len() + records.len() / size.max(1) * CONNECTION_LEN);
        for record in records.chunks(size.max(1)) {
            bytes.extend_from_slice(&tag.to_be_bytes());
            bytes.extend_from_slice(&record[LENGTH_PREFIX..]);
        }
        let size = CONNECTION_LEN + size.saturating_sub(LENGTH_PREFIX);
        Self { bytes, size }
    }
}
