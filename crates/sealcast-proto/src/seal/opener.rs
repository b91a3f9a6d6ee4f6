//! The opening half of a key, and the types of bytes before and after.

use std::fmt;

use super::nonce::BASE_LEN;
use super::{Nonce, PacketKey, Refusal, ReplayWindow};
use crate::wire::{HEADER_LEN, Header, TAG_LEN};

/// Failed openings after which a key is not used any more (keys.md §6).
const INTEGRITY_LIMIT: u64 = 1 << 36;

/// A record as it came from the network: its form was checked, nothing else.
pub struct Sealed<'a> {
    header: Header,
    bytes: &'a mut [u8],
}

impl<'a> Sealed<'a> {
    /// Check the form of a record.
    ///
    /// # Errors
    /// [`Refusal::Malformed`] or [`Refusal::Cleartext`].
    pub fn parse(bytes: &'a mut [u8]) -> Result<Self, Refusal> {
        let header = Header::parse(bytes)?;
        Ok(Self { header, bytes })
    }

    /// The header as the network gave it: not to be believed before the record was opened.
    pub fn unverified_header(&self) -> Header {
        self.header
    }
}

/// A record whose tag was verified. Only [`Opener::open`] makes one.
pub struct Opened<'a> {
    header: Header,
    payload: &'a [u8],
    follows_gap: bool,
}

impl fmt::Debug for Opened<'_> {
    /// What it says is nobody's business but the peers': only its length is shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Opened");
        shown
            .field("header", &self.header)
            .field("payload", &self.payload.len());
        shown.finish_non_exhaustive()
    }
}

impl<'a> Opened<'a> {
    /// The authenticated header.
    pub fn header(&self) -> Header {
        self.header
    }

    /// The payload in clear.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Whether records that were sealed before this one under the same key have not been opened. On a byte stream they
    /// never will be: they were refused, or removed on the way.
    pub fn follows_gap(&self) -> bool {
        self.follows_gap
    }

    /// A record as if it had been opened.
    #[cfg(test)]
    pub(crate) fn made_up(header: Header, payload: &'a [u8], follows_gap: bool) -> Self {
        Self {
            header,
            payload,
            follows_gap,
        }
    }
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

    /// Verify and decrypt a record in place.
    ///
    /// # Errors
    /// [`Refusal::Replay`], asked first, or [`Refusal::Tag`]; neither moves the window.
    pub fn open<'a>(&mut self, record: Sealed<'a>) -> Result<Opened<'a>, Refusal> {
        let Sealed { header, bytes } = record;
        if !self.window.accepts(header.seq) {
            return Err(Refusal::Replay);
        }
        let (head, payload_and_tag) = bytes.split_at_mut(HEADER_LEN);
        if self
            .key
            .open(Nonce::new(&self.base, header.seq), head, payload_and_tag)
            .is_err()
        {
            self.failures += 1;
            return Err(Refusal::Tag);
        }
        let follows_gap = self.window.skips(header.seq);
        self.window.mark(header.seq);
        let payload = &payload_and_tag[..payload_and_tag.len() - TAG_LEN];
        Ok(Opened {
            header,
            payload,
            follows_gap,
        })
    }

    /// Whether so many records failed that forging one is no longer out of the question: the session must end.
    pub fn integrity_spent(&self) -> bool {
        self.failures >= INTEGRITY_LIMIT
    }
}
