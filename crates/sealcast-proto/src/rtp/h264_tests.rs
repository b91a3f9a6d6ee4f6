use super::*;
use crate::rtp::{MAX_FRAME, MAX_PIECES};

/// A packet: timestamp, marker, payload, and whether packets before it are missing.
type Came = (u32, bool, Vec<u8>, bool);

const SPS: &[u8] = &[0x67, 1, 2, 3];
const PPS: &[u8] = &[0x68, 4, 5];
/// The first slice of a keyframe, and of another picture; and slices that are not the first.
const IDR: &[u8] = &[0x65, 0x88, 7, 7, 7];
const SLICE: &[u8] = &[0x41, 0x9a, 8, 8];
const IDR_2: &[u8] = &[0x65, 0x28, 7, 7, 9];
const SLICE_2: &[u8] = &[0x41, 0x2a, 8, 9];

fn came(timestamp: u32, marker: bool, payload: &[u8]) -> Came {
    (timestamp, marker, payload.to_vec(), false)
}

/// What comes out: timestamp, lost, data.
fn put_together(packets: &[Came]) -> (Vec<(u32, bool, Vec<u8>)>, Damage) {
    let mut h264 = H264::new(&Format::default());
    let mut out = Vec::new();
    for (timestamp, marker, payload, lost) in packets {
        let packet = RtpPacket {
            payload_type: 96,
            marker: *marker,
            sequence: 0,
            timestamp: *timestamp,
            source: 1,
            extension: None,
            payload,
        };
        h264.push(&packet, *lost);
        out.extend(std::iter::from_fn(|| h264.poll()).map(|unit| (unit.timestamp, unit.lost, unit.data)));
    }
    (out, h264.take_damage())
}

fn annex_b(units: &[&[u8]]) -> Vec<u8> {
    units.iter().flat_map(|unit| [&[0, 0, 0, 1], *unit].concat()).collect()
}

fn stap(units: &[&[u8]]) -> Vec<u8> {
    let length = |unit: &[u8]| u16::try_from(unit.len()).expect("short").to_be_bytes();
    let units = units.iter().flat_map(|unit| [&length(unit)[..], *unit].concat());
    [0x78].into_iter().chain(units).collect()
}

/// Fragments of a unit with so many bytes each, and the start and end bits.
fn fragments(unit: &[u8], bytes: usize) -> Vec<Vec<u8>> {
    let (header, body) = unit.split_first().expect("a unit");
    let parts: Vec<&[u8]> = body.chunks(bytes).collect();
    let last = parts.len() - 1;
    let bits = |at: usize| if at == 0 { 0x80 } else { 0 } | if at == last { 0x40 } else { 0 };
    let begin = |at: usize| vec![header & 0xe0 | 28, bits(at) | header & 0x1f];
    parts
        .iter()
        .enumerate()
        .map(|(at, part)| [&begin(at), *part].concat())
        .collect()
}

#[test]
fn pictures_come_out_at_their_last_packet_however_they_were_cut() {
    let whole = annex_b(&[SPS, PPS, IDR, IDR_2]);
    let [first, second] = <[Vec<u8>; 2]>::try_from(fragments(IDR, 2)).expect("two fragments");
    let one = fragments(IDR, 100).remove(0);
    let zeros = |unit: &[u8]| [&[0, 0, 0, 1], unit].concat();
    let cases: [(&str, Vec<Came>); 6] = [
        (
            "single units",
            [SPS, PPS, IDR, IDR_2]
                .iter()
                .enumerate()
                .map(|(at, unit)| came(9, at == 3, unit))
                .collect(),
        ),
        ("an aggregate", vec![came(9, true, &stap(&[SPS, PPS, IDR, IDR_2]))]),
        (
            "fragments",
            vec![
                came(9, false, &stap(&[SPS, PPS])),
                came(9, false, &first),
                came(9, false, &second),
                came(9, true, IDR_2),
            ],
        ),
        (
            "a fragment that is all of its unit, and empty packets",
            vec![
                came(9, false, &stap(&[SPS, PPS])),
                came(9, false, &[]),
                came(9, false, &one),
                came(9, true, IDR_2),
            ],
        ),
        (
            "start codes before units",
            [SPS, PPS, IDR, IDR_2]
                .iter()
                .enumerate()
                .map(|(at, unit)| came(9, at == 3, &zeros(unit)))
                .collect(),
        ),
        (
            "all units as one",
            vec![came(9, true, &[SPS, &annex_b(&[PPS, IDR, IDR_2])].concat())],
        ),
    ];
    for (name, packets) in cases {
        let (out, damage) = put_together(&packets);
        assert_eq!(out, [(9, false, whole.clone())], "{name}");
        assert_eq!(damage, Damage::default(), "{name}");
    }
}

#[test]
fn a_whole_access_unit_within_one_fragmented_unit_is_one_picture() {
    let unit = [SPS, &annex_b(&[PPS, IDR])].concat();
    let packets: Vec<Came> = fragments(&unit, 4).iter().map(|part| came(1, false, part)).collect();
    let (out, _) = put_together(&[packets, vec![came(2, true, SLICE)]].concat());
    assert_eq!(
        out,
        [(1, false, annex_b(&[SPS, PPS, IDR])), (2, false, annex_b(&[SLICE]))]
    );
}

#[test]
fn pictures_end_rightly_whatever_markers_and_timestamps_say() {
    let (key, other) = (annex_b(&[SPS, PPS, IDR]), annex_b(&[SLICE]));
    let cases: [(&str, Vec<Came>, Vec<(u32, bool, Vec<u8>)>); 5] = [
        (
            "no markers",
            vec![
                came(1, false, &stap(&[SPS, PPS])),
                came(1, false, IDR),
                came(2, false, SLICE),
                came(3, false, SLICE),
            ],
            vec![(1, false, key.clone()), (2, false, other.clone())],
        ),
        (
            "markers on parameter sets",
            vec![
                came(1, true, SPS),
                came(1, true, PPS),
                came(1, true, IDR),
                came(2, true, SLICE),
            ],
            vec![(1, false, key.clone()), (2, false, other.clone())],
        ),
        (
            "parameter sets with the timestamp of the picture before",
            vec![
                came(1, true, SLICE),
                came(1, true, SPS),
                came(1, true, PPS),
                came(2, true, IDR),
            ],
            vec![(1, false, other.clone()), (2, false, key.clone())],
        ),
        (
            "equal timestamps",
            vec![
                came(1, true, &stap(&[SPS, PPS, IDR])),
                came(1, true, SLICE),
                came(1, true, SLICE),
            ],
            vec![(1, false, key), (1, false, other.clone()), (1, false, other.clone())],
        ),
        (
            "both fields of a picture under one timestamp",
            vec![
                came(1, false, SLICE),
                came(1, true, SLICE),
                came(2, false, SLICE),
                came(2, true, SLICE),
            ],
            vec![
                (1, false, annex_b(&[SLICE, SLICE])),
                (2, false, annex_b(&[SLICE, SLICE])),
            ],
        ),
    ];
    for (name, packets, expected) in cases {
        assert_eq!(put_together(&packets).0, expected, "{name}");
    }
}

#[test]
fn a_camera_that_marks_every_slice_gives_whole_pictures_after_its_first() {
    let picture = |at: u32| vec![came(at, true, SLICE), came(at, true, SLICE_2), came(at, true, SLICE_2)];
    let (out, _) = put_together(&(1..5).flat_map(picture).collect::<Vec<_>>());
    let whole = annex_b(&[SLICE, SLICE_2, SLICE_2]);
    assert_eq!(out[2..], [(2, false, whole.clone()), (3, false, whole)], "{out:?}");
}

#[test]
fn what_lacks_packets_is_left_out_and_the_next_picture_says_so() {
    let parts = fragments(IDR, 1);
    let lost = |mut came: Came| {
        came.3 = true;
        came
    };
    let cases: [(&str, Vec<Came>); 4] = [
        (
            "the middle of a unit",
            vec![came(1, false, &parts[0]), lost(came(1, true, &parts[3]))],
        ),
        (
            "the begin of a unit",
            vec![lost(came(1, false, &parts[1])), came(1, true, &parts[3])],
        ),
        ("the first slice", vec![lost(came(1, true, IDR_2))]),
        (
            "a begin that never was",
            vec![came(1, false, &parts[1]), came(1, true, &parts[3])],
        ),
    ];
    for (name, mut packets) in cases {
        packets.extend([came(2, true, SLICE), came(3, true, SLICE)]);
        let (out, damage) = put_together(&packets);
        assert_eq!(
            out,
            [(2, true, annex_b(&[SLICE])), (3, false, annex_b(&[SLICE]))],
            "{name}"
        );
        assert_eq!(damage.units, 1, "{name}");
    }
    // The end bit alone is no loss: the marker, the next unit or the next picture ends it.
    let without_end: Vec<Vec<u8>> = parts
        .iter()
        .map(|part| [&[part[0], part[1] & 0xbf], &part[2..]].concat())
        .collect();
    let packets: Vec<Came> = without_end.iter().map(|part| came(1, false, part)).collect();
    let (out, damage) = put_together(&[packets, vec![came(2, true, SLICE)]].concat());
    assert_eq!(out, [(1, false, annex_b(&[IDR])), (2, false, annex_b(&[SLICE]))]);
    assert_eq!(damage.units, 0);
}

#[test]
fn what_is_not_taken_is_named_and_costs_nothing_else() {
    for (payload, words) in [
        (&[0x7a, 1, 2][..], "MTAP"),
        (&[0x7d, 0x85, 2], "FU-B"),
        (&[0xe5, 0x88, 2], "marked as damaged"),
        (&[0x78, 0, 9, 1], "cut short"),
        (&[0x7f, 1], "reserved"),
    ] {
        let (out, damage) = put_together(&[came(1, false, payload), came(1, true, SLICE)]);
        assert_eq!(out, [(1, false, annex_b(&[SLICE]))], "{words}");
        assert!(damage.reason.is_some_and(|reason| reason.contains(words)), "{damage:?}");
    }
}

#[test]
fn no_picture_grows_without_bound() {
    let many: Vec<Came> = (0..2 * MAX_PIECES).map(|_| came(1, false, SLICE_2)).collect();
    let (out, damage) = put_together(&[many, vec![came(2, true, SLICE)]].concat());
    assert_eq!((out.len(), damage.units), (1, 1));
    let mut h264 = H264::new(&Format::default());
    let part = [&[0x7c, 0x05][..], &[1; 60_000]].concat();
    let first = [&[0x7c, 0x85][..], &[1; 60_000]].concat();
    for at in 0..1000 {
        let payload = if at == 0 { &first } else { &part };
        let packet = RtpPacket {
            payload_type: 96,
            marker: false,
            sequence: 0,
            timestamp: 1,
            source: 1,
            extension: None,
            payload,
        };
        h264.push(&packet, false);
        assert!(h264.units.held() <= MAX_FRAME, "{at}");
    }
}

#[test]
fn parameter_sets_of_a_description_are_taken_as_far_as_they_can_be_read() {
    let sets = |value: &str| {
        let format = Format {
            parameters: format!("packetization-mode=1;sprop-parameter-sets={value}"),
            ..Format::default()
        };
        H264::new(&format).parameter_sets().to_vec()
    };
    assert_eq!(sets("ZwECAw==,aAQF"), [SPS.to_vec(), PPS.to_vec()]);
    assert_eq!(sets("ZwECAw,aAQF"), [SPS.to_vec(), PPS.to_vec()], "without padding");
    assert_eq!(
        sets("AAAAAWcBAgM=,AAABaAQF"),
        [SPS.to_vec(), PPS.to_vec()],
        "with start codes"
    );
    assert_eq!(sets("!!!,aAQF"), [PPS.to_vec()]);
    assert!(sets("").is_empty() && sets(",,").is_empty());
}
