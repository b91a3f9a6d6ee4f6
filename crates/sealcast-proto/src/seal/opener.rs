//! The opening half of a key, and the types of bytes before and after.

use std::fmt;

use super::nonce::BASE_LEN;
use super::{Nonce, PacketKey, Refusal, ReplayWindow};
use crate::wire::{Accept, HEADER_LEN, Header, TAG_LEN, check};

/// Failed openings after which a key is not used any more (keys.md §6).
const INTEGRITY_LIMIT: u64 = 1 << 36;

/// A record as it came from the network: its form was checked, nothing else.
pub struct Sealed<'a> {
    bytes: &'a mut [u8],
}

impl<'a> Sealed<'a> {
    /// Check the form of a record. `accept` says whether one in clear may come now.
    ///
    /// # Errors
    /// [`Refusal::Malformed`] or [`Refusal::Cleartext`].
    pub fn parse(bytes: &'a mut [u8], accept: Accept) -> Result<Self, Refusal> {
        check(bytes, accept)?;
        Ok(Self { bytes })
    }

    /// The header as the network gave it: not to be believed before the record was opened.
    pub fn unverified_header(&self) -> Header {
        header_of(self.bytes)
    }
}

/// A record whose tag was verified. Only [`Opener::open`] makes one.
pub struct Opened<'a> {
    /// Header and payload.
    record: &'a [u8],
    follows_gap: bool,
    newest: bool,
}

impl fmt::Debug for Opened<'_> {
    /// What it says is nobody's business but the peers': only its length is shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Opened");
        shown.field("header", &self.header());
        shown.field("payload", &self.payload().len());
        shown.finish_non_exhaustive()
    }
}

impl<'a> Opened<'a> {
    /// The authenticated header.
    #[inline]
    pub fn header(&self) -> Header {
        header_of(self.record)
    }

    /// The payload in clear.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        &self.record[HEADER_LEN..]
    }

    /// Whether records that were sealed before this one under the same key have not been opened. On a byte stream they
    /// never will be: they were refused, or removed on the way.
    pub fn follows_gap(&self) -> bool {
        self.follows_gap
    }

    /// Whether it has a higher number than any opened before it under its key.
    pub fn newest(&self) -> bool {
        self.newest
    }

    /// A record, header and payload, as if it had been opened.
    #[cfg(test)]
    pub(crate) fn made_up(record: &'a [u8], follows_gap: bool) -> Self {
        Self {
            record,
            follows_gap,
            newest: true,
        }
    }
}

/// The header of a record whose form was checked. It is read where it is needed: a copy would cost more than the
/// whole replay window.
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
}

impl Opener {
    pub(crate) fn new(key: Box<dyn PacketKey>, base: [u8; BASE_LEN]) -> Self {
        Self {
            key,
            base,
            window: ReplayWindow::default(),
            failures: 0,
        }
    }

    /// Verify a record, and decrypt it in place if it is encrypted: it says so itself, and is opened as what it says,
    /// so that a flag altered on the way spoils the tag.
    ///
    /// # Errors
    /// [`Refusal::Replay`], asked first, or [`Refusal::Tag`]; neither moves the window.
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
            follows_gap,
            newest,
        })
    }

    /// Whether so many records failed that forging one is no longer out of the question: the session must end.
    pub fn integrity_spent(&self) -> bool {
        self.failures >= INTEGRITY_LIMIT
    }
}
