//! Frames as far as they are known: which bytes are in clear, and how many are not.

use std::ops::Range;
use std::time::Duration;

use sealcast_proto::unit::{MAX_FRAME, PREAMBLE_LEN, Preamble, StreamInfo, UNIT_HEADER_LEN, UnitHeader};

use super::wiretap::{Carriage, SeenMedia};

/// Most parts of one frame that are kept. A frame of 16 MiB in packets has fewer.
pub const MAX_PARTS: usize = 1 << 16;

/// A run of a frame's bytes that travelled in one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Offset of its first byte in the frame.
    pub offset: usize,
    /// Number of its bytes.
    pub length: usize,
    /// The bytes, if they were in clear.
    pub clear: Option<Vec<u8>>,
}

impl Part {
    /// Its place in the frame.
    pub fn range(&self) -> Range<usize> {
        self.offset..self.offset + self.length
    }
}

/// A frame as an observer sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartialFrame {
    /// The frame's number: as its preamble says, if that was in clear, else counted from the frame before.
    pub number: u64,
    /// True if the number was read and not counted.
    pub number_read: bool,
    /// True if it can be decoded without earlier frames; the header says so.
    pub keyframe: bool,
    /// When its last record passed.
    pub at: Duration,
    /// Its parts in order, without gaps.
    pub parts: Vec<Part>,
}

impl PartialFrame {
    /// Length of the frame in bytes.
    pub fn length(&self) -> usize {
        self.parts.last().map_or(0, |part| part.range().end)
    }

    /// Number of its bytes that are known.
    pub fn known(&self) -> usize {
        let clear = self.parts.iter().filter(|part| part.clear.is_some());
        clear.map(|part| part.length).sum()
    }

    /// True if all of it is known.
    pub fn is_whole(&self) -> bool {
        self.parts.iter().all(|part| part.clear.is_some())
    }

    /// The frame, with the bytes that are not known filled in: `fill` gets their place, and writes to it.
    pub fn filled(&self, mut fill: impl FnMut(Range<usize>, &mut [u8])) -> Vec<u8> {
        let mut bytes = vec![0; self.length()];
        for part in &self.parts {
            let place = &mut bytes[part.range()];
            match &part.clear {
                Some(clear) => place.copy_from_slice(clear),
                None => fill(part.range(), place),
            }
        }
        bytes
    }

    /// Runs of known bytes, as long as they are without a gap, each with its offset.
    pub fn runs(&self) -> Vec<(usize, Vec<u8>)> {
        let mut runs: Vec<(usize, Vec<u8>)> = Vec::new();
        for part in &self.parts {
            let Some(clear) = &part.clear else { continue };
            match runs.last_mut() {
                Some((offset, run)) if *offset + run.len() == part.offset => run.extend_from_slice(clear),
                _ => runs.push((part.offset, clear.clone())),
            }
        }
        runs
    }
}

/// Description or frame that a record completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gathered {
    /// A description of the stream that was in clear.
    Info(StreamInfo),
    /// A frame.
    Frame(PartialFrame),
}

/// Puts the records of one stream together. They are expected in the order in which they were sent: a record with a
/// number that was passed already, such as a second copy, is left out.
#[derive(Debug)]
pub struct FrameGatherer {
    carriage: Carriage,
    stream: Option<u32>,
    /// Epoch and number of the newest record.
    newest: Option<(u16, u32)>,
    next_number: u64,
    /// The frame whose first record was seen, and not its last.
    open: Option<PartialFrame>,
}

impl FrameGatherer {
    /// A gatherer of the first stream that it sees.
    pub fn new(carriage: Carriage) -> Self {
        Self {
            carriage,
            stream: None,
            newest: None,
            next_number: 0,
            open: None,
        }
    }

    /// Takes a record, and returns what it completed.
    pub fn take(&mut self, at: Duration, record: &SeenMedia) -> Option<Gathered> {
        let header = record.header;
        if *self.stream.get_or_insert(header.stream) != header.stream || !self.is_new(header.epoch, header.seq) {
            return None;
        }
        let flags = header.flags;
        if flags.repair() {
            return None;
        }
        let (mut length, mut clear) = (record.payload, record.clear.as_deref());
        if self.carriage == Carriage::Datagrams {
            length = length.checked_sub(UNIT_HEADER_LEN)?;
            clear = match clear {
                Some(clear) => Some(UnitHeader::split(clear, false).ok()?.1),
                None => None,
            };
        }
        if flags.codec_config() {
            return StreamInfo::parse(clear?).ok().map(Gathered::Info);
        }
        if flags.first() {
            let (read, rest) = preamble(length, clear)?;
            (length, clear) = rest;
            self.open = Some(PartialFrame {
                number: read.unwrap_or(self.next_number),
                number_read: read.is_some(),
                keyframe: flags.keyframe(),
                at,
                parts: Vec::new(),
            });
        }
        self.append(at, length, clear.map(<[u8]>::to_vec))?;
        if !flags.last() {
            return None;
        }
        let frame = self.open.take()?;
        self.next_number = frame.number.wrapping_add(1);
        Some(Gathered::Frame(frame))
    }

    /// True if the record is newer than all before it. Epochs are compared modulo 2¹⁶.
    fn is_new(&mut self, epoch: u16, seq: u32) -> bool {
        let is_new = self
            .newest
            .is_none_or(|(newest, last)| match epoch.wrapping_sub(newest) {
                0 => seq > last,
                later => later < 1 << 15,
            });
        if is_new {
            self.newest = Some((epoch, seq));
        }
        is_new
    }

    /// Appends a part to the open frame. A frame that grows beyond what the protocol allows is dropped.
    fn append(&mut self, at: Duration, length: usize, clear: Option<Vec<u8>>) -> Option<()> {
        let frame = self.open.as_mut()?;
        let offset = frame.length();
        if offset + length > MAX_FRAME || frame.parts.len() == MAX_PARTS {
            self.open = None;
            return None;
        }
        frame.at = at;
        frame.parts.push(Part { offset, length, clear });
        Some(())
    }
}

/// The frame's number if it can be read, and what follows the preamble: its length, and its bytes if they are in
/// clear.
type Rest<'a> = (Option<u64>, (usize, Option<&'a [u8]>));

fn preamble(length: usize, clear: Option<&[u8]>) -> Option<Rest<'_>> {
    let length = length.checked_sub(PREAMBLE_LEN)?;
    Some(match clear {
        Some(clear) => {
            let (preamble, rest) = Preamble::split(clear).ok()?;
            (Some(preamble.frame), (length, Some(rest)))
        }
        None => (None, (length, None)),
    })
}
