//! The opening half of a key, and types for records before and after opening.

use std::fmt;
use std::sync::Arc;

use super::nonce::BASE_LEN;
use super::{MediaKey, Nonce, PacketKey, Refusal, ReplayWindow, SealedRecord};
use crate::unit::{UNIT_HEADER_LEN, UnitHeader};
use crate::wire::{Accept, HEADER_LEN, Header, Malformed, TAG_LEN, check};

/// Number of failed openings after which a key is no longer used (keys.md §6).
const INTEGRITY_LIMIT: u64 = 1 << 36;

/// A record from the network. Its form has been checked, and nothing else.
pub struct Sealed<'a> {
    bytes: &'a mut [u8],
}

impl<'a> Sealed<'a> {
    /// Checks the form of a record. `accept` says whether a record in clear is allowed now.
    ///
    /// # Errors
    /// [`Refusal::Malformed`] or [`Refusal::Cleartext`].
    pub fn parse(bytes: &'a mut [u8], accept: Accept) -> Result<Self, Refusal> {
        check(bytes, accept)?;
        Ok(Self { bytes })
    }

    /// Returns the header as received. Do not trust it before the record has been opened.
    pub fn unverified_header(&self) -> Header {
        header_of(self.bytes)
    }
}

/// A record whose tag has been verified. Only [`Opener::open`] creates one.
pub struct Opened<'a> {
    /// Header and payload.
    record: &'a [u8],
    /// Offset of the payload.
    payload: usize,
    follows_gap: bool,
    newest: bool,
    /// The record as it came, where such are kept.
    sealed: Option<Arc<SealedRecord>>,
}

impl fmt::Debug for Opened<'_> {
    /// Shows only the length of the payload, since the payload is confidential.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Opened");
        shown.field("header", &self.header());
        shown.field("payload", &self.payload().len());
        shown.finish_non_exhaustive()
    }
}

impl<'a> Opened<'a> {
    /// Returns the authenticated header.
    #[inline]
    pub fn header(&self) -> Header {
        header_of(self.record)
    }

    /// Returns the payload in clear.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        &self.record[self.payload..]
    }

    /// Parses the unit header at the beginning of the payload, and takes it away from there.
    ///
    /// # Errors
    /// [`Malformed`] as [`UnitHeader::split`] says.
    pub fn take_unit_header(&mut self) -> Result<UnitHeader, Malformed> {
        let (unit, _) = UnitHeader::split(self.payload(), self.header().flags.repair())?;
        self.payload += UNIT_HEADER_LEN;
        Ok(unit)
    }

    /// Returns true if records that were sealed before this one under the same key have not been opened. On a byte
    /// stream they never will be: they were refused, or removed in transit.
    pub fn follows_gap(&self) -> bool {
        self.follows_gap
    }

    /// Returns true if its number is higher than any opened before under its key.
    pub fn newest(&self) -> bool {
        self.newest
    }

    /// The record as it came, if its opener [keeps](Opener::keep_sealed) such.
    pub(crate) fn sealed(&self) -> Option<Arc<SealedRecord>> {
        self.sealed.clone()
    }

    /// Makes an opened record from a header and payload that were never sealed.
    #[cfg(test)]
    pub(crate) fn made_up(record: &'a [u8], follows_gap: bool) -> Self {
        Self {
            record,
            payload: HEADER_LEN,
            follows_gap,
            newest: true,
            sealed: None,
        }
    }
}

/// Reads the header of a record whose form has been checked. It is read again at each use: carrying a copy costs more
/// time than the whole replay window.
#[inline]
fn header_of(record: &[u8]) -> Header {
    let header = record.first_chunk().expect("records are longer than a header");
    Header::read(header)
}

/// Opens the records sealed under one key.
pub struct Opener {
    key: Box<dyn PacketKey>,
    base: [u8; BASE_LEN],
    window: ReplayWindow,
    failures: u64,
    /// Key as it is kept with sealed records, where those are kept.
    keeps: Option<Arc<MediaKey>>,
}

impl Opener {
    pub(crate) fn new(key: Box<dyn PacketKey>, base: [u8; BASE_LEN]) -> Self {
        Self {
            key,
            base,
            window: ReplayWindow::default(),
            failures: 0,
            keeps: None,
        }
    }

    /// One that has opened nothing yet, with this key.
    pub(crate) fn of(media: &MediaKey) -> Self {
        let (key, base) = media.reveal();
        Self::new((media.suite().make_key)(key), base)
    }

    /// From now on, keeps a copy of each record that it opens, as it came. Repair records are not kept: they are no
    /// part of a frame.
    pub(crate) fn keep_sealed(&mut self, key: MediaKey) {
        self.keeps = Some(Arc::new(key));
    }

    /// Verifies a record, and decrypts it in place if its flags say that it is encrypted. The flags are authenticated,
    /// so a flag that was altered in transit makes the tag fail.
    ///
    /// # Errors
    /// [`Refusal::Replay`], which is checked first, or [`Refusal::Tag`]. The replay window is unchanged then.
    pub fn open<'a>(&mut self, record: Sealed<'a>) -> Result<Opened<'a>, Refusal> {
        let Sealed { bytes } = record;
        let header = header_of(bytes);
        let seq = header.seq;
        if !self.window.accepts(seq) {
            return Err(Refusal::Replay);
        }
        let authenticated = if header.flags.encrypted() {
            HEADER_LEN
        } else {
            bytes.len() - TAG_LEN
        };
        let keeps = self.keeps.as_ref().filter(|_| !header.flags.repair());
        let copy = keeps.map(|key| (Arc::clone(key), bytes.to_vec()));
        let (associated, ciphertext_and_tag) = bytes.split_at_mut(authenticated);
        let nonce = Nonce::new(&self.base, seq);
        if self.key.open(nonce, associated, ciphertext_and_tag).is_err() {
            self.failures += 1;
            return Err(Refusal::Tag);
        }
        let follows_gap = self.window.skips(seq);
        let newest = self.window.is_newest(seq);
        self.window.mark(seq);
        let end = bytes.len() - TAG_LEN;
        let record = &bytes[..end];
        Ok(Opened {
            record,
            payload: HEADER_LEN,
            follows_gap,
            newest,
            sealed: copy.map(|(key, bytes)| Arc::new(SealedRecord { key, bytes })),
        })
    }

    /// Returns true if so many records failed that a forgery is no longer unlikely enough: the session must end.
    pub fn integrity_spent(&self) -> bool {
        self.failures >= INTEGRITY_LIMIT
    }
}
