//! Cuts a frame into units, each of which is sealed at once.

use std::fmt;
use std::str::FromStr;

use super::draw::Draw;
use super::info::{Codec, StreamInfo};
use super::jpeg_split::Splitter;
use super::planner::{Planner, Unsplit};
use super::preamble::Layout;
use super::select::{MIN_CLEAR, PlannedRange};
use crate::wire::{Level, Selection};

/// Length of the shortest chunk in bytes: one AES block. Shorter ones would be little more than header and tag.
const MIN_CHUNK: u16 = 16;

/// Zig-zag index of the last coefficient of an image that level 2 encrypts: DC alone.
const DC: u8 = 0;
/// The same for level 3: DC and the five lowest AC coefficients, those of the first two diagonals.
const LOW_AC: u8 = 5;

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

impl Room {
    const UNLIMITED: Self = Self {
        first: usize::MAX,
        others: usize::MAX,
    };
}

/// A unit of a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Its bytes.
    pub data: &'a [u8],
    /// Number of zeros after them, which hide how long the frame is.
    pub zeros: usize,
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
    planner: Planner,
    splitter: Splitter,
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
            planner: Planner::default(),
            splitter: Splitter::default(),
            plan: Vec::new(),
        }
    }

    /// Takes the parameter sets in a stream's description, by which level 3 parses its slices.
    pub fn describe(&mut self, stream: u32, info: &StreamInfo) {
        self.planner.describe(stream, info);
    }

    /// The slices and images that a level encrypted whole because they could not be split; `None` if there were none.
    pub fn unsplit(&self) -> Option<Unsplit> {
        self.planner.unsplit()
    }

    /// Returns the units of a frame of a stream in order; an empty frame has one empty unit. Without a `codec` no
    /// headers can be found. Images are laid out anew at levels 2 and 3, so that their first coefficients are in units
    /// of their own. Allocates only while its buffers grow to the size that the stream's frames need.
    pub fn cut<'a>(
        &'a mut self,
        selection: Selection,
        stream: u32,
        codec: Option<Codec>,
        keyframe: bool,
        data: &'a [u8],
    ) -> Pieces<'a> {
        let Self {
            unit,
            draw,
            planner,
            splitter,
            plan,
        } = self;
        let last = match (selection, codec) {
            (Selection::Level(Level::IntraBegin), Some(Codec::Mjpeg)) => Some(DC),
            (Selection::Level(Level::Intra), Some(Codec::Mjpeg)) => Some(LOW_AC),
            _ => None,
        };
        let mut pieces = Pieces {
            unit: *unit,
            draw,
            rate: None,
            plan: &[],
            layout: Layout::Source,
            data,
            at: 0,
            room: Room::UNLIMITED,
            done: false,
        };
        match last.map(|last| splitter.split(data, last)) {
            Some(Ok(split)) if split.data.len() - split.first >= MIN_CLEAR => {
                (pieces.layout, pieces.data) = (Layout::SplitScan, split.data);
                plan.clear();
                plan.extend([(split.first, true), (split.data.len(), false)].map(PlannedRange::from));
            }
            other => {
                if let Some(Err(reason)) = other {
                    planner.note_unsplit(reason);
                }
                planner.plan(selection, stream, codec, keyframe, data, plan);
            }
        }
        if let Selection::Rate(rate) = selection {
            if *unit == Unit::Frame {
                // The unit is the frame, however many records it is sent in.
                let encrypt = pieces.draw.happens(rate.get());
                plan.iter_mut().for_each(|range| range.encrypt = encrypt);
            } else {
                pieces.rate = Some(rate.get());
            }
        }
        pieces.plan = plan;
        pieces
    }
}

/// Zeros for padding, as often as needed.
static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

impl<'a> Piece<'a> {
    /// Parts that are sealed for this piece: `before`, its bytes, and its zeros.
    pub(crate) fn parts(&self, before: &[&'a [u8]]) -> Vec<&'a [u8]> {
        let mut parts = [before, &[self.data]].concat();
        let mut zeros = self.zeros;
        while zeros > 0 {
            let some = &ZEROS[..zeros.min(ZEROS.len())];
            zeros -= some.len();
            parts.push(some);
        }
        parts
    }
}

/// The units of a frame that is followed by `padding` zeros and encrypted as a whole. As much of it fits a unit as
/// there is `room`.
pub(crate) fn cut_padded(data: &[u8], padding: usize, unit: Unit, room: Room) -> impl Iterator<Item = Piece<'_>> {
    let total = data.len() + padding;
    let (mut at, mut done) = (0, false);
    std::iter::from_fn(move || {
        if done {
            return None;
        }
        let first = at == 0;
        let room = if first { room.first } else { room.others }.max(1);
        let most = match unit {
            Unit::Chunk(bytes) => room.min(bytes.into()),
            Unit::Frame | Unit::Packet => room,
        };
        let end = total.min(at + most);
        let of_data = &data[at.min(data.len())..end.min(data.len())];
        let piece = Piece {
            data: of_data,
            zeros: end - at - of_data.len(),
            encrypt: true,
            first,
            last: end == total,
        };
        at = end;
        done = piece.last;
        Some(piece)
    })
}

/// The units of one frame, from [`Cutter::cut`].
pub struct Pieces<'a> {
    unit: Unit,
    draw: &'a mut Draw,
    /// Thousandths of the units to encrypt, if the units are drawn one by one.
    rate: Option<u16>,
    /// Ranges of the plan that are still ahead.
    plan: &'a [PlannedRange],
    layout: Layout,
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
        let mut end = self.data.len().min(self.at.saturating_add(most));
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
            zeros: 0,
            encrypt,
            first,
            last: self.done,
        })
    }
}

impl Pieces<'_> {
    /// Layout of the frame's bytes.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Number of bytes in all units.
    pub fn bytes(&self) -> usize {
        self.data.len()
    }

    /// The same units, cut so that they fit records with this room. Before the first is taken.
    pub fn in_room(mut self, room: Room) -> Self {
        self.room = room;
        self
    }

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
mod tests {
    use super::*;
    use crate::unit::Permille;

    const ROOM: Room = Room {
        first: 1000,
        others: 1040,
    };
    const WIDE: Room = Room {
        first: 8 << 20,
        others: 8 << 20,
    };

    /// Lengths of the units of a frame; those in clear are negative.
    fn lengths(unit: Unit, selection: Selection, data: &[u8], room: Room) -> Vec<i64> {
        let mut cutter = Cutter::new(unit, 1);
        let pieces: Vec<_> = cutter
            .cut(selection, 1, Some(Codec::H264), false, data)
            .in_room(room)
            .collect();
        let together: Vec<u8> = pieces.iter().flat_map(|piece| piece.data).copied().collect();
        assert!(together == data, "the units are the frame");
        for (number, piece) in pieces.iter().enumerate() {
            assert_eq!((piece.first, piece.last), (number == 0, number + 1 == pieces.len()));
        }
        let signed = |piece: &Piece<'_>| piece.data.len() as i64 * if piece.encrypt { 1 } else { -1 };
        pieces.iter().map(signed).collect()
    }

    /// Two slices, each with 69 bytes of headers followed by 936 bytes of data.
    fn slices() -> Vec<u8> {
        let slice = [&[0, 0, 0, 1, 0x61][..], &[0xAB; 1000]].concat();
        slice.repeat(2)
    }

    #[test]
    fn what_is_typed_is_what_is_shown() {
        for text in ["frame", "packet", "chunk:16", "chunk:128", "chunk:65535"] {
            assert_eq!(text.parse::<Unit>().expect(text).to_string(), text);
        }
        for text in [
            "",
            "Frame",
            "chunk",
            "chunk:",
            "chunk:15",
            "chunk:65536",
            "chunk:+16",
            "chunk: 16",
            "packet:1200",
        ] {
            assert_eq!(text.parse::<Unit>(), Err(NoUnit), "{text}");
        }
    }

    #[test]
    fn a_frame_is_cut_where_encryption_begins_and_ends_and_where_there_is_no_room() {
        let data = slices();
        assert_eq!(lengths(Unit::Frame, Selection::All, &data, WIDE), [2010]);
        assert_eq!(lengths(Unit::Frame, Selection::None, &data, WIDE), [-2010]);
        assert_eq!(
            lengths(Unit::Frame, Selection::Headers, &data, WIDE),
            [69, -936, 69, -936]
        );
        assert_eq!(lengths(Unit::Frame, Selection::All, &data, ROOM), [1000, 1010]);
        let small = Room { first: 60, others: 500 };
        assert_eq!(
            lengths(Unit::Frame, Selection::Headers, &data, small),
            [60, 9, -500, -436, 69, -500, -436]
        );
    }

    #[test]
    fn packets_and_chunks_keep_their_size_and_are_encrypted_if_any_byte_is_to_be() {
        let data = slices();
        assert_eq!(lengths(Unit::Packet, Selection::Headers, &data, ROOM), [1000, 1010]);
        let chunks = lengths(Unit::Chunk(128), Selection::Headers, &data, ROOM);
        // The headers are bytes 0 to 69 and 1005 to 1074.
        let expected = (0..16).map(|chunk| {
            let (from, to) = (chunk * 128, (chunk * 128 + 128).min(2010));
            let header = from < 69 || (from < 1074 && to > 1005);
            (to - from) * if header { 1 } else { -1 }
        });
        assert_eq!(chunks, expected.collect::<Vec<i64>>());
        assert_eq!(lengths(Unit::Chunk(2000), Selection::None, &data, ROOM), [-1000, -1010]);
    }

    #[test]
    fn an_empty_frame_has_one_empty_unit() {
        for unit in [Unit::Frame, Unit::Packet, Unit::Chunk(16)] {
            let mut cutter = Cutter::new(unit, 1);
            for (selection, encrypt) in [
                (Selection::All, true),
                (Selection::None, false),
                (Selection::Headers, true),
            ] {
                let pieces: Vec<_> = cutter
                    .cut(selection, 1, Some(Codec::Mjpeg), true, &[])
                    .in_room(ROOM)
                    .collect();
                assert_eq!(pieces.len(), 1);
                assert!(pieces[0].data.is_empty() && pieces[0].first && pieces[0].last && pieces[0].encrypt == encrypt);
            }
        }
    }

    #[test]
    fn no_room_at_all_does_not_stop_the_cutter() {
        let none = Room { first: 0, others: 0 };
        for unit in [Unit::Frame, Unit::Packet, Unit::Chunk(16)] {
            assert_eq!(lengths(unit, Selection::None, &[1, 2, 3], none), [-1, -1, -1]);
        }
        assert_eq!(lengths(Unit::Chunk(0), Selection::All, &[1; 40], WIDE), [16, 16, 8]);
    }

    #[test]
    fn units_are_drawn_one_by_one_and_the_same_seed_draws_the_same() {
        let rate = Selection::Rate(Permille::new(250).expect("a share"));
        let data = vec![1; 128 * 4000];
        let draw = |seed| -> Vec<bool> {
            let mut cutter = Cutter::new(Unit::Chunk(128), seed);
            let pieces = cutter.cut(rate, 1, Some(Codec::Mjpeg), true, &data).in_room(WIDE);
            pieces.map(|piece| piece.encrypt).collect()
        };
        let (first, other) = (draw(1), draw(2));
        assert_eq!((first.len(), &first), (4000, &draw(1)));
        assert_ne!(first, other);
        for drawn in [first, other] {
            let encrypted = drawn.iter().filter(|encrypt| **encrypt).count();
            // Four standard deviations are 110.
            assert!(encrypted.abs_diff(1000) <= 110, "{encrypted}");
        }
    }

    #[test]
    fn a_frame_as_a_unit_is_drawn_once_in_however_many_records_it_travels() {
        let rate = Selection::Rate(Permille::new(500).expect("a share"));
        let mut cutter = Cutter::new(Unit::Frame, 3);
        let mut drawn = [0_i32, 0];
        for _ in 0..1000 {
            let pieces: Vec<bool> = cutter
                .cut(rate, 1, Some(Codec::H264), false, &[7; 5000])
                .in_room(ROOM)
                .map(|piece| piece.encrypt)
                .collect();
            assert_eq!(pieces.len(), 5);
            assert!(pieces.iter().all(|encrypt| *encrypt == pieces[0]), "{pieces:?}");
            drawn[usize::from(pieces[0])] += 1;
        }
        // Four standard deviations are 63.
        assert!(drawn[1].abs_diff(500) <= 63, "{drawn:?}");
    }
}
