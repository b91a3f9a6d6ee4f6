//! The opening half of a key, and the types of bytes before and after.

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
#[derive(Debug)]
pub struct Opened<'a> {
    header: Header,
    payload: &'a [u8],
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
        self.window.mark(header.seq);
        let payload = &payload_and_tag[..payload_and_tag.len() - TAG_LEN];
        Ok(Opened { header, payload })
    }

    /// Whether so many records failed that forging one is no longer out of the question: the session must end.
    pub fn integrity_spent(&self) -> bool {
        self.failures >= INTEGRITY_LIMIT
    }
}
