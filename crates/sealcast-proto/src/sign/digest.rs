//! The digest of a frame: a list of hashes of its sealed records (signatures.md §1).

use aws_lc_rs::digest;

use super::merkle::Hash;
use crate::keys::sha256;

/// Maximum number of records of a frame: the longest frame (16 MiB) in the shortest chunks (16 bytes).
pub const MAX_FRAME_RECORDS: u32 = 1 << 20;

/// First byte of what is hashed for a record.
const RECORD: u8 = 0x00;

const LABEL: &[u8] = b"sealcast2 records\0";

/// Hashes a record as it is on the wire: header, payload, tag. A viewer does so before it opens the record in place.
pub fn record_hash(record: &[u8]) -> Hash {
    sha256(&[&[RECORD], record])
}

/// Digest of the records of a frame, for its signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameDigest {
    /// Their number, 1 to [`MAX_FRAME_RECORDS`].
    pub(super) records: u32,
    /// The hash over the hashes of all of them.
    pub(super) digest: Hash,
}

impl FrameDigest {
    /// The digest of records with these hashes, in the order of their numbers. `None` if there are none, or more than
    /// [`MAX_FRAME_RECORDS`].
    pub fn of_hashes<'a>(hashes: impl IntoIterator<Item = &'a Hash>) -> Option<Self> {
        let mut hasher = FrameHasher::new();
        hashes.into_iter().for_each(|hash| hasher.push_hash(hash));
        hasher.finish()
    }

    /// Number of records.
    pub fn records(&self) -> u32 {
        self.records
    }

    /// The hash.
    pub fn digest(&self) -> Hash {
        self.digest
    }
}

/// Makes the digest of a frame, record by record in the order of their numbers.
#[derive(Clone)]
pub struct FrameHasher {
    context: digest::Context,
    records: u32,
}

impl Default for FrameHasher {
    fn default() -> Self {
        Self::new()
    }
}

impl FrameHasher {
    /// No record yet.
    pub fn new() -> Self {
        let mut context = digest::Context::new(&digest::SHA256);
        context.update(LABEL);
        Self { context, records: 0 }
    }

    /// Adds a sealed record.
    pub fn push(&mut self, record: &[u8]) {
        self.push_hash(&record_hash(record));
    }

    /// Adds a record by its hash ([`record_hash`]).
    pub fn push_hash(&mut self, hash: &Hash) {
        self.context.update(hash);
        self.records = self.records.saturating_add(1);
    }

    /// The digest of the frame. `None` if it has no records, or more than [`MAX_FRAME_RECORDS`].
    pub fn finish(mut self) -> Option<FrameDigest> {
        self.context.update(&self.records.to_be_bytes());
        let digest = self.context.finish();
        Some(FrameDigest {
            records: (1..=MAX_FRAME_RECORDS)
                .contains(&self.records)
                .then_some(self.records)?,
            digest: digest.as_ref().try_into().expect("SHA-256 gives 32 bytes"),
        })
    }
}
