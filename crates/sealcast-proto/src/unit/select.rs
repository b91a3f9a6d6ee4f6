//! Selects the parts of frames that a publisher encrypts (protocol.md §4, Selection). Whatever it leaves in clear is
//! still authenticated.

use std::fmt;
use std::str::FromStr;

use super::codec_headers;
use super::info::Codec;
use crate::wire::{Permille, Selection};

/// Maximum number of ranges of one frame. They are enough for a thousand slices, more than encoders make. Everything
/// after them is encrypted.
const MAX_RANGES: usize = 2048;

/// Minimum length in bytes of a range that is left in clear. A shorter one is not worth a record of its own, whose
/// header and tag are nearly as long, and is encrypted together with the range before it.
const MIN_CLEAR: usize = 64;

/// A range of an access unit. It begins where the one before it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedRange {
    /// Its end: the offset of the first byte after it.
    pub end: usize,
    /// True if it is to be encrypted.
    pub encrypt: bool,
}

impl Selection {
    /// Plans which bytes of one frame are encrypted. Clears `out` and writes the ranges to it, in order and up to the
    /// end of the frame; an empty frame has one empty range. Without a codec no headers can be found, and a selection
    /// by headers encrypts the whole frame. For [`Selection::Rate`] the plan only says that everything may be
    /// encrypted: the [`Cutter`](super::Cutter) draws. Takes time in proportion to the length of the frame, whatever
    /// its content, and allocates only while `out` grows to the size that the stream's frames need, 2048 ranges at
    /// most.
    pub fn plan(self, codec: Option<Codec>, keyframe: bool, data: &[u8], out: &mut Vec<PlannedRange>) {
        out.clear();
        let whole = match self {
            Self::All | Self::Rate(_) => true,
            Self::None => false,
            Self::Keyframes => keyframe,
            Self::HeadersAndKeyframes if keyframe => true,
            Self::Headers | Self::HeadersAndKeyframes => {
                let mut plan = Plan { data, out };
                match codec {
                    Some(Codec::H264) => codec_headers::h264(&mut plan),
                    Some(Codec::Mjpeg) => codec_headers::jpeg(&mut plan),
                    None => {}
                }
                plan.finish();
                return;
            }
        };
        out.push(PlannedRange {
            end: data.len(),
            encrypt: whole,
        });
    }

    /// True if the description of a stream, which holds the parameter sets, is encrypted too.
    pub fn encrypts_description(self) -> bool {
        self != Self::None
    }
}

impl fmt::Display for Selection {
    /// Writes it as a user types it: `all`, `rate:12.5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::None => f.write_str("none"),
            Self::Rate(rate) if rate.get() % 10 == 0 => write!(f, "rate:{}", rate.get() / 10),
            Self::Rate(rate) => write!(f, "rate:{}.{}", rate.get() / 10, rate.get() % 10),
            Self::Keyframes => f.write_str("keyframes"),
            Self::Headers => f.write_str("headers"),
            Self::HeadersAndKeyframes => f.write_str("headers+keyframes"),
        }
    }
}

/// Error: the text is not a selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "what to encrypt is all, none, rate:P with P from 0 to 100 percent and at most one decimal, keyframes, headers or \
     headers+keyframes"
)]
pub struct NoSelection;

impl FromStr for Selection {
    type Err = NoSelection;

    fn from_str(text: &str) -> Result<Self, NoSelection> {
        match text {
            "all" => Ok(Self::All),
            "none" => Ok(Self::None),
            "keyframes" => Ok(Self::Keyframes),
            "headers" => Ok(Self::Headers),
            "headers+keyframes" => Ok(Self::HeadersAndKeyframes),
            _ => {
                let percent = text.strip_prefix("rate:").ok_or(NoSelection)?;
                permille(percent).map(Self::Rate).ok_or(NoSelection)
            }
        }
    }
}

/// Parses a percentage with at most one decimal, without sign, space or exponent.
fn permille(percent: &str) -> Option<Permille> {
    let (whole, tenth) = percent.split_once('.').unwrap_or((percent, "0"));
    let digits = |text: &str, most: usize| {
        let fits = (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        fits.then(|| text.parse::<u16>().ok()).flatten()
    };
    Permille::new(digits(whole, 3)? * 10 + digits(tenth, 1)?)
}

/// A plan in the making, range by range.
pub(super) struct Plan<'a> {
    pub(super) data: &'a [u8],
    out: &'a mut Vec<PlannedRange>,
}

impl Plan<'_> {
    /// Encrypts up to `end`.
    pub(super) fn encrypt_to(&mut self, end: usize) {
        self.extend(end, true);
    }

    /// Leaves the bytes before `end` in clear, if they are enough and there is room for another range.
    pub(super) fn clear_to(&mut self, end: usize) {
        let from = self.out.last().map_or(0, |range| range.end);
        // The last place is kept for the range that encrypts the rest.
        let worth_it = end.saturating_sub(from) >= MIN_CLEAR && self.out.len() < MAX_RANGES - 1;
        self.extend(end, !worth_it);
    }

    fn extend(&mut self, end: usize, encrypt: bool) {
        let end = end.min(self.data.len());
        match self.out.last_mut() {
            Some(last) if last.end >= end => {}
            Some(last) if last.encrypt == encrypt => last.end = end,
            _ => self.out.push(PlannedRange { end, encrypt }),
        }
    }

    /// Encrypts the rest.
    fn finish(mut self) {
        let end = self.data.len();
        if self.out.is_empty() {
            self.out.push(PlannedRange { end, encrypt: true });
        }
        self.encrypt_to(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::draw::Draw;

    const CODECS: [Codec; 2] = [Codec::H264, Codec::Mjpeg];

    fn plan(selection: Selection, codec: Codec, keyframe: bool, data: &[u8]) -> Vec<PlannedRange> {
        let mut out = vec![PlannedRange { end: 7, encrypt: false }];
        selection.plan(Some(codec), keyframe, data, &mut out);
        let mut end = 0;
        for (number, range) in out.iter().enumerate() {
            assert!(range.end > end || number == 0, "ranges are in order and not empty");
            end = range.end;
        }
        assert_eq!(end, data.len(), "the plan covers the frame");
        assert!(out.len() <= MAX_RANGES);
        out
    }

    /// Lengths of the planned ranges; those in clear are negative.
    fn lengths(selection: Selection, codec: Codec, data: &[u8]) -> Vec<i64> {
        let mut from = 0;
        let mut signed = Vec::new();
        for range in plan(selection, codec, false, data) {
            let length = (range.end - from) as i64;
            signed.push(if range.encrypt { length } else { -length });
            from = range.end;
        }
        signed
    }

    /// A NAL unit of this type with `length` bytes after the first. They contain no start code.
    fn nal(code: &[u8], kind: u8, length: usize) -> Vec<u8> {
        let mut unit = [code, &[0x60 | kind]].concat();
        unit.extend((0..length).map(|byte| 0x80 | byte as u8));
        unit
    }

    const LONG: &[u8] = &[0, 0, 0, 1];
    const SHORT: &[u8] = &[0, 0, 1];

    #[test]
    fn what_is_typed_is_what_is_shown() {
        for text in [
            "all",
            "none",
            "rate:0",
            "rate:25",
            "rate:12.5",
            "rate:0.1",
            "rate:100",
            "keyframes",
            "headers",
            "headers+keyframes",
        ] {
            let selection: Selection = text.parse().expect(text);
            assert_eq!(selection.to_string(), text);
            let (mode, permille) = selection.to_wire();
            assert_eq!(Selection::from_wire(mode, permille), Some(selection));
        }
        assert_eq!("rate:7.0".parse().ok(), Permille::new(70).map(Selection::Rate));
        for text in [
            "",
            "All",
            "rate",
            "rate:",
            "rate:-1",
            "rate:+5",
            "rate:100.1",
            "rate:101",
            "rate:1000",
            "rate:12.55",
            "rate:.5",
            "rate:5.",
            "rate: 5",
            "rate:5e1",
            "rate:99999999999",
            "keyframes+headers",
            "headers,keyframes",
            " all",
        ] {
            assert_eq!(text.parse::<Selection>(), Err(NoSelection), "{text}");
        }
    }

    #[test]
    fn a_message_that_means_no_selection_is_none() {
        for (mode, permille) in [
            (0, 1),
            (1, 1),
            (2, 1001),
            (2, 65_535),
            (3, 5),
            (4, 1000),
            (5, 1),
            (6, 0),
            (255, 0),
        ] {
            assert_eq!(Selection::from_wire(mode, permille), None, "{mode} {permille}");
        }
    }

    #[test]
    fn whole_frames_are_encrypted_or_not() {
        let data = nal(LONG, 1, 500);
        for codec in CODECS {
            for (selection, of_keyframe, of_other) in [
                (Selection::All, true, true),
                (Selection::None, false, false),
                (Selection::Keyframes, true, false),
            ] {
                for (keyframe, encrypt) in [(true, of_keyframe), (false, of_other)] {
                    let whole = PlannedRange {
                        end: data.len(),
                        encrypt,
                    };
                    assert_eq!(
                        plan(selection, codec, keyframe, &data),
                        [whole],
                        "{selection} {keyframe}"
                    );
                }
            }
            let whole = PlannedRange {
                end: data.len(),
                encrypt: true,
            };
            assert_eq!(plan(Selection::HeadersAndKeyframes, codec, true, &data), [whole]);
        }
    }

    #[test]
    fn of_h264_only_slice_data_stays_in_clear() {
        let parameters = [
            nal(LONG, 9, 2),
            nal(LONG, 7, 200),
            nal(LONG, 8, 100),
            nal(SHORT, 6, 300),
        ]
        .concat();
        let frame = [
            &parameters[..],
            &nal(LONG, 5, 1000),
            &nal(SHORT, 1, 500),
            &nal(LONG, 1, 40),
            &nal(LONG, 12, 99),
        ]
        .concat();
        let head = |code: &[u8]| (code.len() + 1 + 64) as i64;
        let expected = [
            parameters.len() as i64 + head(LONG),
            -(1000 - 64),
            head(SHORT),
            -(500 - 64),
            // A slice that is shorter than the longest slice header, and a unit of another type.
            (4 + 1 + 40) + (4 + 1 + 99),
        ];
        for selection in [Selection::Headers, Selection::HeadersAndKeyframes] {
            assert_eq!(lengths(selection, Codec::H264, &frame), expected, "{selection}");
        }
    }

    #[test]
    fn every_kind_of_nal_unit_but_slices_is_encrypted_whole() {
        for kind in 0..32 {
            let slice = matches!(kind, 1..=5 | 19..=21);
            let parts = lengths(Selection::Headers, Codec::H264, &nal(SHORT, kind, 400)).len();
            assert_eq!(parts, if slice { 2 } else { 1 }, "type {kind}");
        }
    }

    #[test]
    fn what_stands_before_the_first_start_code_is_encrypted() {
        let frame = [vec![0xAA; 300], nal(SHORT, 1, 300)].concat();
        assert_eq!(
            lengths(Selection::Headers, Codec::H264, &frame),
            [300 + 4 + 64, -(300 - 64)]
        );
        assert_eq!(lengths(Selection::Headers, Codec::H264, &[0xAA; 300]), [300]);
    }

    /// A segment with this marker.
    fn segment(marker: u8, length: u16) -> Vec<u8> {
        let mut segment = vec![0xFF, marker];
        segment.extend_from_slice(&length.to_be_bytes());
        // Markers inside a segment do not count.
        segment.extend((2..length).map(|byte| if byte % 2 == 0 { 0xFF } else { 0xD9 }));
        segment
    }

    #[test]
    fn of_jpeg_only_entropy_coded_data_stays_in_clear() {
        let mut scan = vec![0x55; 500];
        scan.extend_from_slice(&[0xFF, 0x00, 0xFF, 0xD0, 7, 0xFF, 0xD7]);
        let image = [
            vec![0xFF, 0xD8],
            segment(0xE0, 16),
            segment(0xDB, 67),
            segment(0xDA, 12),
            scan.clone(),
            vec![0xFF, 0xFF],
            segment(0xC4, 31),
            segment(0xDA, 8),
            scan.clone(),
            vec![0xFF, 0xD9],
            vec![9; 100],
        ]
        .concat();
        let expected = [
            2 + 18 + 69 + 14,
            -(scan.len() as i64),
            2 + 33 + 10,
            -(scan.len() as i64),
            2 + 100,
        ];
        assert_eq!(lengths(Selection::Headers, Codec::Mjpeg, &image), expected);
    }

    #[test]
    fn an_image_that_makes_no_sense_is_encrypted() {
        for image in [
            vec![],
            vec![0xFF],
            vec![0x55; 300],
            [vec![0xFF, 0xD8], vec![0x55; 300]].concat(),
            [vec![0xFF, 0xD8, 0xFF, 0xE0, 0, 0], vec![0x55; 300]].concat(),
            // A segment that claims to extend past the end, and one that is truncated.
            vec![0xFF, 0xD8, 0xFF, 0xE0, 0xFF, 0xFF, 1, 2, 3],
            vec![0xFF, 0xD8, 0xFF, 0xDA, 0xFF, 0xFF, 1, 2, 3],
            vec![0xFF, 0xD8, 0xFF, 0xDA, 0],
            vec![0xFF; 1000],
        ] {
            let ranges = plan(Selection::Headers, Codec::Mjpeg, false, &image);
            assert!(ranges.len() == 1 && ranges[0].encrypt, "{image:?}");
        }
    }

    #[test]
    fn more_slices_than_there_is_room_for_are_encrypted() {
        let slice = nal(SHORT, 1, 64 + MIN_CLEAR);
        let frame = slice.repeat(5000);
        let ranges = plan(Selection::Headers, Codec::H264, false, &frame);
        assert_eq!(ranges.len(), MAX_RANGES - 1);
        assert!(
            ranges
                .last()
                .is_some_and(|rest| rest.encrypt && rest.end == frame.len())
        );
        let scan = [segment(0xDA, 8), vec![0x55; MIN_CLEAR]].concat().repeat(5000);
        let ranges = plan(Selection::Headers, Codec::Mjpeg, false, &scan);
        assert!(ranges.len() < MAX_RANGES && ranges.last().is_some_and(|rest| rest.encrypt));
    }

    #[test]
    fn a_stretch_too_short_for_a_record_of_its_own_is_encrypted() {
        let (short, long) = (nal(SHORT, 1, 64 + MIN_CLEAR - 1), nal(SHORT, 1, 64 + MIN_CLEAR));
        assert_eq!(lengths(Selection::Headers, Codec::H264, &short).len(), 1);
        assert_eq!(lengths(Selection::Headers, Codec::H264, &long).len(), 2);
    }

    #[test]
    fn any_bytes_are_planned_to_their_end() {
        // Mostly bytes that have a meaning.
        let words: [u8; 12] = [0, 0, 0, 1, 1, 0xFF, 0xFF, 0xDA, 0xD8, 0xC4, 0x65, 0x7F];
        for seed in 0..2000 {
            let mut draw = Draw::new(seed);
            let length = (seed * 7 % 3000) as usize;
            let mut byte = || {
                let picked = (0..12).find(|_| draw.happens(120)).unwrap_or(11);
                words[picked]
            };
            let data: Vec<u8> = (0..length).map(|_| byte()).collect();
            for codec in CODECS {
                plan(Selection::Headers, codec, false, &data);
            }
        }
        for byte in [0, 1, 0xFF, 0xD8] {
            for codec in CODECS {
                plan(Selection::Headers, codec, false, &vec![byte; 1 << 20]);
            }
        }
    }
}
