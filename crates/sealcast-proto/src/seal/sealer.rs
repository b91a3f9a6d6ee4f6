//! The sealing half of a key. Only it assigns nonces, after checking the limits.

use super::nonce::BASE_LEN;
use super::{Nonce, PacketKey};
use crate::wire::{Flags, HEADER_LEN, Header, Kind, LENGTH_PREFIX, MAX_RECORD, TAG_LEN, append};

/// Limits on the use of one key. Beyond them [`Sealer::seal`] fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SealLimits {
    /// Maximum number of records; at most 2³², since a record's number is the nonce's counter.
    pub records: u64,
    /// Maximum number of 16-byte blocks; a record with `p` payload bytes counts as `⌈p/16⌉ + 3`.
    pub blocks: u64,
}

impl SealLimits {
    /// Only the limit of the counter, and none on blocks.
    pub const COUNTER: Self = Self {
        records: 1 << 32,
        blocks: u64::MAX,
    };

    /// The limits of a key for cells. Cells are sent whether anything happens or not, so a stricter limit on records
    /// does not hold for them: it would end the session before the next epoch could be agreed on.
    pub(crate) fn of_cells(self) -> Self {
        Self {
            records: Self::COUNTER.records,
            ..self
        }
    }
}

/// The key has reached a limit. Nothing was sealed, and nothing may be sent in clear instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key has reached its limit")]
pub struct Exhausted;

/// The fields of a record's header that the sealer does not set itself.
#[derive(Clone, Copy, Debug)]
pub struct RecordMeta {
    /// The record's flags.
    pub flags: Flags,
    /// The stream.
    pub stream: u32,
    /// The sender's wall clock in nanoseconds.
    pub timestamp: u64,
}

/// Seals records under one key, and numbers them.
pub struct Sealer {
    key: Box<dyn PacketKey>,
    base: [u8; BASE_LEN],
    kind: Kind,
    epoch: u16,
    sealed: u64,
    blocks: u64,
    limits: SealLimits,
}

impl Sealer {
    pub(crate) fn new(
        key: Box<dyn PacketKey>,
        base: [u8; BASE_LEN],
        kind: Kind,
        epoch: u16,
        limits: SealLimits,
    ) -> Self {
        let limits = SealLimits {
            records: limits.records.min(SealLimits::COUNTER.records),
            ..limits
        };
        Self {
            key,
            base,
            kind,
            epoch,
            sealed: 0,
            blocks: 0,
            limits,
        }
    }

    /// Skips to a higher number.
    #[cfg(test)]
    pub(in crate::seal) fn skip_to(&mut self, number: u64) {
        assert!(number >= self.sealed, "a number would be used twice");
        self.sealed = number;
    }

    /// Returns the number of records sealed so far.
    pub fn sealed(&self) -> u64 {
        self.sealed
    }

    /// Seals a record in place. `record` is room for the header, the payload, and room for the tag. The flags say
    /// whether the payload is encrypted; a payload in clear is authenticated as associated data.
    ///
    /// # Errors
    /// [`Exhausted`] if a limit is reached; `record` is unchanged then.
    ///
    /// # Panics
    /// If `record` is shorter than a header and a tag, or longer than [`MAX_RECORD`]: callers size it. If a control
    /// record would be in clear, which no caller may request.
    pub fn seal_in_place(&mut self, meta: RecordMeta, record: &mut [u8]) -> Result<(), Exhausted> {
        assert!(
            record.len() <= MAX_RECORD,
            "callers split what is longer than MAX_RECORD"
        );
        assert!(
            meta.flags.encrypted() || self.kind == Kind::Media,
            "only media is ever in clear"
        );
        let record_payload = record.len().saturating_sub(HEADER_LEN + TAG_LEN);
        let (associated_and_payload, tag) = record
            .split_last_chunk_mut::<TAG_LEN>()
            .expect("callers leave room for the tag");
        let header = associated_and_payload
            .first_chunk_mut::<HEADER_LEN>()
            .expect("callers leave room for the header");
        let counter = self.take_number(record_payload)?;
        *header = Header {
            kind: self.kind,
            flags: meta.flags,
            epoch: self.epoch,
            stream: meta.stream,
            seq: counter,
            timestamp: meta.timestamp,
        }
        .to_bytes();
        let encrypted_from = if meta.flags.encrypted() {
            HEADER_LEN
        } else {
            associated_and_payload.len()
        };
        let (associated, payload) = associated_and_payload.split_at_mut(encrypted_from);
        *tag = self.key.seal(Nonce::new(&self.base, counter), associated, payload);
        Ok(())
    }

    /// Appends a sealed record to `out`. Its payload is the concatenation of `parts`.
    ///
    /// # Errors
    /// [`Exhausted`] if a limit is reached; `out` is unchanged then.
    ///
    /// # Panics
    /// Like [`seal_in_place`](Self::seal_in_place).
    pub fn seal(&mut self, meta: RecordMeta, parts: &[&[u8]], out: &mut Vec<u8>) -> Result<(), Exhausted> {
        let start = out.len();
        let payload: usize = parts.iter().map(|part| part.len()).sum();
        out.reserve(HEADER_LEN + payload + TAG_LEN);
        out.extend_from_slice(&[0; HEADER_LEN]);
        for part in parts {
            append(out, part);
        }
        out.extend_from_slice(&[0; TAG_LEN]);
        let sealed = self.seal_in_place(meta, &mut out[start..]);
        if sealed.is_err() {
            out.truncate(start);
        }
        sealed
    }

    /// Appends a sealed record behind its length, as a byte stream carries it (protocol.md §1). Otherwise like
    /// [`seal`](Self::seal).
    ///
    /// # Errors
    /// [`Exhausted`] if a limit is reached; `out` is unchanged then.
    pub(crate) fn seal_framed(
        &mut self,
        meta: RecordMeta,
        parts: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Result<(), Exhausted> {
        let start = out.len();
        out.extend_from_slice(&[0; LENGTH_PREFIX]);
        if let Err(exhausted) = self.seal(meta, parts, out) {
            out.truncate(start);
            return Err(exhausted);
        }
        let length = (out.len() - start - LENGTH_PREFIX) as u32;
        out[start..start + LENGTH_PREFIX].copy_from_slice(&length.to_be_bytes());
        Ok(())
    }

    /// Returns the next number if the limits allow it. No number is returned twice.
    fn take_number(&mut self, payload: usize) -> Result<u32, Exhausted> {
        let blocks = self.blocks + (payload as u64).div_ceil(16) + 3;
        if self.sealed >= self.limits.records || blocks > self.limits.blocks {
            return Err(Exhausted);
        }
        let number = u32::try_from(self.sealed).map_err(|_| Exhausted)?;
        self.sealed += 1;
        self.blocks = blocks;
        Ok(number)
    }
}
