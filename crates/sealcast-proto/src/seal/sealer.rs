//! The sealing half of a key: it alone makes nonces, and asks the limits first.

use super::nonce::BASE_LEN;
use super::{Nonce, PacketKey};
use crate::wire::{Flags, HEADER_LEN, Header, Kind, MAX_RECORD, TAG_LEN, append};

/// How much may be sealed under one key. Past it, [`Sealer::seal`] refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SealLimits {
    /// Records; never more than 2³² since the number is the nonce's counter.
    pub records: u64,
    /// 16-byte blocks, a record of `p` payload bytes counting `⌈p/16⌉ + 3`.
    pub blocks: u64,
}

impl SealLimits {
    /// The counter's own bound, and no bound on blocks.
    pub const COUNTER: Self = Self {
        records: 1 << 32,
        blocks: u64::MAX,
    };
}

/// The key has sealed all it may. Nothing was sealed and nothing may be sent in clear instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key has reached its limit")]
pub struct Exhausted;

/// What stands in a record's header besides what the sealer itself puts there.
#[derive(Clone, Copy, Debug)]
pub struct RecordMeta {
    /// The record's flags.
    pub flags: Flags,
    /// Its stream.
    pub stream: u32,
    /// The sender's wall clock in nanoseconds.
    pub timestamp: u64,
}

/// Seals records under one key, each with a number of its own.
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

    /// Go on at a higher number.
    #[cfg(test)]
    pub(in crate::seal) fn skip_to(&mut self, number: u64) {
        assert!(number >= self.sealed, "a number would be used twice");
        self.sealed = number;
    }

    /// Records sealed so far.
    pub fn sealed(&self) -> u64 {
        self.sealed
    }

    /// Seal the record in `record` in place: header room, payload, tag room. The flags say whether the payload is
    /// encrypted; one in clear is authenticated as part of the associated data.
    ///
    /// # Errors
    /// [`Exhausted`] once the limits are reached; `record` is then untouched.
    ///
    /// # Panics
    /// If `record` is shorter than a header and a tag, or longer than [`MAX_RECORD`]: the callers frame. If a control
    /// record is to be in clear: nobody may ask for that.
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

    /// Append a sealed record to `out`, its payload being `parts` one after the other.
    ///
    /// # Errors
    /// [`Exhausted`] once the limits are reached; `out` is then as before.
    ///
    /// # Panics
    /// As [`seal_in_place`](Self::seal_in_place).
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

    /// The next number, after asking the limits. Numbers are never given out twice.
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
