//! Puts sealed records together into frames by their headers, for who has no key (archive.md §8).

use crate::sign::FrameProof;
use crate::unit::{SOUND_STREAM, UNIT_HEADER_LEN};
use crate::wire::{Accept, HEADER_LEN, Header, Kind, LENGTH_PREFIX, Malformed, MessageLength, TAG_LEN, message_length};

/// Most bytes of the records of one frame: a frame of 16 MiB in the shortest records that a publisher makes of it has
/// less than five times that length.
const MAX_GATHERED: usize = 80 << 20;

/// The records of a frame as they came, of which none was opened: those of the description before it, its own, and its
/// proof. Or those of a description alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gathered {
    /// True if it says that it can be decoded without earlier frames.
    pub keyframe: bool,
    /// True if a unit header begins the payload of each record.
    pub units: bool,
    /// The camera's wall clock when it sealed the frame's first record, ns since 1970.
    pub sealed_at: u64,
    /// The records in their order.
    pub records: Vec<Vec<u8>>,
    /// Number of those that are of the description.
    described: usize,
}

impl Gathered {
    /// The description before the frame by itself, if it has one.
    pub fn description(&self) -> Option<Self> {
        (self.described > 0).then(|| Self {
            records: self.records[..self.described].to_vec(),
            ..self.clone()
        })
    }

    /// True if it is a description without a frame.
    pub fn describes_only(&self) -> bool {
        self.described == self.records.len()
    }

    /// True if it is a packet of sound, or the description of such.
    pub fn is_sound(&self) -> bool {
        let first = self.records.first().and_then(|record| header(record).ok());
        first.is_some_and(|header| header.stream == SOUND_STREAM)
    }

    /// The low 16 bits of the epochs of its records.
    pub fn epochs(&self) -> impl Iterator<Item = u16> {
        self.records
            .iter()
            .filter_map(|record| header(record).ok())
            .map(|header| header.epoch)
    }

    /// The full numbers of its epoch and of the frame, as its proof states them: no two frames of a stream have the
    /// same, and later ones have higher ones. `None` if it has no proof.
    pub fn place(&self) -> Option<(u64, u64)> {
        let record = self.records.last()?;
        let flags = header(record).ok()?.flags;
        let head = HEADER_LEN + if flags.unit() { UNIT_HEADER_LEN } else { 0 };
        let proof = record
            .get(head..record.len().checked_sub(TAG_LEN)?)
            .filter(|_| flags.proof())?;
        let proof = FrameProof::parse(proof).ok()?;
        Some((proof.epoch, proof.frame))
    }

    /// Number of bytes of its records.
    pub fn bytes(&self) -> usize {
        self.records.iter().map(Vec::len).sum()
    }
}

/// Gathers the records of a group's frames. What headers say is believed: a key that opens the records will tell.
#[derive(Debug)]
pub struct Gather {
    /// True if a proof follows each frame.
    proofs: bool,
    next: Gathered,
    bytes: usize,
    /// The last record of the frame has come.
    whole: bool,
}

impl Gather {
    /// Nothing has come. `proofs` if each frame is followed by the record with its proof.
    pub fn new(proofs: bool) -> Self {
        Self {
            proofs,
            next: Gathered::default(),
            bytes: 0,
            whole: false,
        }
    }

    /// Takes the next record. Returns the frame that it completes. What does not belong to a frame is left out.
    ///
    /// # Errors
    /// [`Malformed`]: it is no media record of a group.
    pub fn take(&mut self, record: Vec<u8>) -> Result<Option<Gathered>, Malformed> {
        let header = header(&record)?;
        let flags = header.flags;
        if flags.proof() {
            return Ok(if self.whole { self.finish(record) } else { None });
        }
        let begins = flags.first() && self.next.records.len() > self.next.described;
        if self.whole || begins || self.bytes + record.len() > MAX_GATHERED {
            self.clear();
        }
        let inside = self.next.records.len() > self.next.described;
        if flags.codec_config() {
            self.next.described += 1;
        } else if flags.first() {
            (self.next.keyframe, self.next.sealed_at) = (flags.keyframe(), header.timestamp);
        } else if !inside {
            // Its beginning is missing.
            return Ok(None);
        }
        self.next.units = flags.unit();
        self.whole = flags.last() && !flags.codec_config();
        if self.whole && !self.proofs {
            return Ok(self.finish(record));
        }
        self.bytes += record.len();
        self.next.records.push(record);
        Ok(None)
    }

    /// Takes the records of a whole frame, each behind its length, as they come where media may be lost.
    ///
    /// # Errors
    /// [`Malformed`]: they are no media records of a group.
    pub fn take_framed(&mut self, mut bytes: &[u8]) -> Result<Option<Gathered>, Malformed> {
        let mut gathered = None;
        while !bytes.is_empty() {
            let length = message_length(bytes, MessageLength::Record)?.ok_or(Malformed)?;
            let (record, rest) = bytes[LENGTH_PREFIX..].split_at_checked(length).ok_or(Malformed)?;
            gathered = self.take(record.to_vec())?.or(gathered);
            bytes = rest;
        }
        Ok(gathered)
    }

    fn finish(&mut self, record: Vec<u8>) -> Option<Gathered> {
        self.next.records.push(record);
        let gathered = std::mem::take(&mut self.next);
        self.clear();
        Some(gathered)
    }

    fn clear(&mut self) {
        self.next = Gathered::default();
        (self.bytes, self.whole) = (0, false);
    }
}

fn header(record: &[u8]) -> Result<Header, Malformed> {
    let header = Header::parse(record, Accept::Signed { clear: true }).map_err(|_| Malformed)?;
    let of_media = header.kind == Kind::Media && !header.flags.repair();
    of_media.then_some(header).ok_or(Malformed)
}
