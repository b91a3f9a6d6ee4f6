//! The bodies of blocks (archive.md §3).

use crate::sign::Hash;
use crate::wire::{Accept, HEADER_LEN, Header, MAX_RECORD, Malformed, Reader, TAG_LEN, put_bytes16};

/// Length of an archive's name in bytes.
pub const ARCHIVE_ID_LEN: usize = 16;

/// Maximum length in bytes of the file that holds a segment's key, encrypted for the recipients.
pub const MAX_KEY_FILE: usize = 60_000;

/// Version of the format.
const VERSION: u8 = 1;

/// Shortest record.
const MIN_RECORD: usize = HEADER_LEN + TAG_LEN;

/// Contents of a segment's first block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The archive's name: random bytes.
    pub archive: [u8; ARCHIVE_ID_LEN],
    /// Number of the segment in the archive, from 1, without gaps.
    pub number: u64,
    /// Number of the oldest segment that the archive had when this one began. Earlier ones were removed for their age
    /// or for room.
    pub oldest: u64,
    /// The link of the last whole block of the segment before; zeros for the first.
    pub previous: Hash,
    /// When the segment began, by the writer's clock, ns since 1970.
    pub began: u64,
    /// The segment's key, encrypted for the recipients: an age file (age-encryption.org/v1).
    pub key_file: Vec<u8>,
}

impl Head {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        out.extend_from_slice(&self.archive);
        out.extend_from_slice(&self.number.to_be_bytes());
        out.extend_from_slice(&self.oldest.to_be_bytes());
        out.extend_from_slice(&self.previous);
        out.extend_from_slice(&self.began.to_be_bytes());
        put_bytes16(&mut out, &self.key_file);
        out
    }

    pub(super) fn parse(body: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        if reader.u8()? != VERSION {
            return Err(Malformed);
        }
        let head = Self {
            archive: reader.array()?,
            number: reader.u64()?,
            oldest: reader.u64()?,
            previous: reader.array()?,
            began: reader.u64()?,
            key_file: reader.bytes16()?.to_vec(),
        };
        reader.finish()?;
        let fits = head.number >= 1 && (1..=head.number).contains(&head.oldest) && head.key_file.len() <= MAX_KEY_FILE;
        if fits { Ok(head) } else { Err(Malformed) }
    }
}

const KEYFRAME: u8 = 0x01;
const UNITS: u8 = 0x02;

/// A frame and its records: those of the description before it, its own, and its proof. Or those of a description
/// alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameBlock<'a> {
    /// True if it can be decoded without earlier frames.
    pub keyframe: bool,
    /// True if a unit header begins the payload of each record.
    pub units: bool,
    /// The instant that the source stamped, by the writer's clock, ns since 1970.
    pub time: u64,
    /// To within how many nanoseconds that is known; `u64::MAX` if the camera's clock was not known yet, and `time` is
    /// that of its arrival.
    pub uncertainty: u64,
    records: &'a [u8],
}

impl<'a> FrameBlock<'a> {
    pub(super) fn write<'r>(
        out: &mut Vec<u8>,
        (keyframe, units): (bool, bool),
        records: impl Iterator<Item = &'r [u8]>,
        (time, uncertainty): (u64, u64),
    ) {
        out.push(u8::from(keyframe) * KEYFRAME + u8::from(units) * UNITS);
        out.extend_from_slice(&time.to_be_bytes());
        out.extend_from_slice(&uncertainty.to_be_bytes());
        for record in records {
            let length = u32::try_from(record.len()).expect("records are at most MAX_RECORD");
            out.extend_from_slice(&length.to_be_bytes());
            out.extend_from_slice(record);
        }
    }

    pub(super) fn parse(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let flags = reader.u8()?;
        if flags & !(KEYFRAME | UNITS) != 0 {
            return Err(Malformed);
        }
        let frame = Self {
            keyframe: flags & KEYFRAME != 0,
            units: flags & UNITS != 0,
            time: reader.u64()?,
            uncertainty: reader.u64()?,
            records: reader.rest(),
        };
        let mut records = Reader::new(frame.records);
        let mut left = frame.records.len();
        if left == 0 {
            return Err(Malformed);
        }
        while left > 0 {
            left -= 4 + next_record(&mut records)?.len();
        }
        Ok(frame)
    }

    /// The stream of the frame, as its last record says, which is not verified yet.
    pub fn stream(&self) -> Option<u32> {
        let header = Header::parse(self.records().last()?, Accept::Signed { clear: true });
        header.ok().map(|header| header.stream)
    }

    /// Its records, as they came.
    pub fn records(&self) -> impl Iterator<Item = &'a [u8]> {
        let mut reader = Reader::new(self.records);
        std::iter::from_fn(move || next_record(&mut reader).ok())
    }
}

fn next_record<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], Malformed> {
    let length = reader.u32()? as usize;
    if !(MIN_RECORD..=MAX_RECORD).contains(&length) {
        return Err(Malformed);
    }
    reader.bytes(length)
}

/// Reason why a segment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndCause {
    /// It was long enough.
    Full = 1,
    /// The stream's keys or its description are others from here on: another session, or another camera.
    Changed = 2,
    /// The viewer stopped.
    Stopped = 3,
}

impl EndCause {
    /// In words, after "ended because".
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Full => "it was long enough",
            Self::Changed => "another session began",
            Self::Stopped => "the recording stopped",
        }
    }
}

/// Contents of the last block of a segment that was completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Reason why it ended.
    pub cause: EndCause,
    /// Number of its frames.
    pub frames: u64,
    /// Time of the first frame, as in [`FrameBlock::time`].
    pub first: u64,
    /// Time of the last frame.
    pub last: u64,
}

impl End {
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut out = vec![self.cause as u8];
        for number in [self.frames, self.first, self.last] {
            out.extend_from_slice(&number.to_be_bytes());
        }
        out
    }

    pub(super) fn parse(body: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let cause = reader.u8()?;
        let causes = [EndCause::Full, EndCause::Changed, EndCause::Stopped];
        let end = Self {
            cause: causes
                .into_iter()
                .find(|known| *known as u8 == cause)
                .ok_or(Malformed)?,
            frames: reader.u64()?,
            first: reader.u64()?,
            last: reader.u64()?,
        };
        reader.finish()?;
        Ok(end)
    }
}
