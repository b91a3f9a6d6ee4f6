//! Cuts a frame into units, each of which is sealed at once.

use std::fmt;
use std::str::FromStr;

use super::draw::Draw;
use super::info::Codec;
use super::select::PlannedRange;
use crate::wire::Selection;

/// Length of the shortest chunk in bytes: one AES block. Shorter ones would be little more than header and tag.
const MIN_CHUNK: u16 = 16;

/// The unit that is sealed at once. It is encrypted as a whole or not at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Unit {
    /// A frame, or each of the ranges into which a selection divides it. It is cut further only where a record cannot
    /// be that long.
    #[default]
    Frame,
    /// As much as fits a packet. It is encrypted if any byte in it is selected.
    Packet,
    /// This many bytes of the frame, 16 to 65535; the last unit of a frame may be shorter. It is encrypted if any byte
    /// in it is selected.
    Chunk(u16),
}

impl fmt::Display for Unit {
    /// Writes it as a user types it: `frame`, `chunk:128`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Frame => f.write_str("frame"),
            Self::Packet => f.write_str("packet"),
            Self::Chunk(bytes) => write!(f, "chunk:{bytes}"),
        }
    }
}

/// Error: the text is not a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a unit is frame, packet, or chunk:N with N from 16 to 65535 bytes")]
pub struct NoUnit;

impl FromStr for Unit {
    type Err = NoUnit;

    fn from_str(text: &str) -> Result<Self, NoUnit> {
        match text {
            "frame" => Ok(Self::Frame),
            "packet" => Ok(Self::Packet),
            _ => {
                let bytes = text.strip_prefix("chunk:").ok_or(NoUnit)?;
                let plain = bytes.bytes().all(|byte| byte.is_ascii_digit());
                let bytes = bytes.parse().ok().filter(|bytes| plain && *bytes >= MIN_CHUNK);
                bytes.map(Self::Chunk).ok_or(NoUnit)
            }
        }
    }
}

/// Number of frame bytes that fit one record. 0 counts as 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// In the frame's first record, which also carries the preamble.
    pub first: usize,
    /// In every other record.
    pub others: usize,
}

/// A unit of a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Its bytes.
    pub data: &'a [u8],
    /// True if it is to be encrypted.
    pub encrypt: bool,
    /// True if it is the first of its frame.
    pub first: bool,
    /// True if it is the last of its frame.
    pub last: bool,
}

/// Cuts the frames of one session into units, and draws the encrypted ones at random if the selection asks for it.
#[derive(Clone, Default)]
pub struct Cutter {
    unit: Unit,
    draw: Draw,
    plan: Vec<PlannedRange>,
}

impl Cutter {
    /// A cutter for this unit. `seed` determines the draws of [`Selection::Rate`]. A chunk below 16 bytes counts as 16.
    pub fn new(unit: Unit, seed: u64) -> Self {
        let unit = match unit {
            Unit::Chunk(bytes) => Unit::Chunk(bytes.max(MIN_CHUNK)),
            other => other,
        };
        Self {
            unit,
            draw: Draw::new(seed),
            plan: Vec::new(),
        }
    }

    /// Returns the units of a frame in order; an empty frame has one empty unit. Without a `codec` no headers can be
    /// found. Allocates no more than [`Selection::plan`] does.
    pub fn cut<'a>(
        &'a mut self,
        selection: Selection,
        codec: Option<Codec>,
        keyframe: bool,
        data: &'a [u8],
        room: Room,
    ) -> Pieces<'a> {
        selection.plan(codec, keyframe, data, &mut self.plan);
        let rate = match (selection, self.unit) {
            (Selection::Rate(rate), Unit::Frame) => {
                // The unit is the frame, however many records it is sent in.
                let encrypt = self.draw.happens(rate.get());
                self.plan.iter_mut().for_each(|range| range.encrypt = encrypt);
                None
            }
            (Selection::Rate(rate), _) => Some(rate.get()),
            _ => None,
        };
        Pieces {
            unit: self.unit,
            draw: &mut self.draw,
            rate,
            plan: &self.plan,
            data,
            at: 0,
            room,
            done: false,
        }
    }
}

/// The units of one frame, from [`Cutter::cut`].
pub struct Pieces<'a> {
    unit: Unit,
    draw: &'a mut Draw,
    /// Thousandths of the units to encrypt, if the units are drawn one by one.
    rate: Option<u16>,
    /// Ranges of the plan that are still ahead.
    plan: &'a [PlannedRange],
    data: &'a [u8],
    at: usize,
    room: Room,
    done: bool,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        if self.done {
            return None;
        }
        let first = self.at == 0;
        let room = if first { self.room.first } else { self.room.others }.max(1);
        let most = match self.unit {
            Unit::Chunk(bytes) => room.min(bytes.into()),
            Unit::Frame | Unit::Packet => room,
        };
        let mut end = self.data.len().min(self.at + most);
        if self.unit == Unit::Frame {
            end = end.min(self.plan.first().map_or(end, |range| range.end));
        }
        let planned = self.take_plan(end);
        let encrypt = match self.rate {
            Some(permille) => self.draw.happens(permille),
            None => planned,
        };
        let data = &self.data[self.at..end];
        self.at = end;
        self.done = end == self.data.len();
        Some(Piece {
            data,
            encrypt,
            first,
            last: self.done,
        })
    }
}

impl Pieces<'_> {
    /// True if anything up to `end` is to be encrypted. Removes the ranges that end there or before from the plan.
    fn take_plan(&mut self, end: usize) -> bool {
        let mut encrypt = false;
        while let Some((range, rest)) = self.plan.split_first() {
            encrypt |= range.encrypt;
            if range.end > end {
                break;
            }
            self.plan = rest;
            if range.end == end {
                break;
            }
        }
        encrypt
    }
}

#[cfg(test)]
#[path = "cut_tests.rs"]
mod tests;
