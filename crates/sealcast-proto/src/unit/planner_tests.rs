//! Which bytes of a frame each selection encrypts.

use super::draw::Draw;
use super::planner::Planner;
use super::select::{MAX_RANGES, MIN_CLEAR, PlannedRange};
use super::{Codec, Selection};

const CODECS: [Codec; 2] = [Codec::H264, Codec::Mjpeg];

fn plan(selection: Selection, codec: Codec, keyframe: bool, data: &[u8]) -> Vec<PlannedRange> {
    let mut out = vec![PlannedRange { end: 7, encrypt: false }];
    Planner::default().plan(selection, 1, Some(codec), keyframe, data, &mut out);
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
