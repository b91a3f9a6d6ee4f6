use super::*;

const VPS: &[u8] = &[0x40, 1, 1];
const SPS: &[u8] = &[0x42, 1, 2];
const PPS: &[u8] = &[0x44, 1, 3];
/// The first slice segment of a keyframe and of another picture, and a segment that is not the first.
const IDR: &[u8] = &[0x26, 1, 0x80, 7, 7];
const SLICE: &[u8] = &[0x02, 1, 0x80, 8];
const SLICE_2: &[u8] = &[0x02, 1, 0x20, 9];

fn put_together(parameters: &str, packets: &[(u32, bool, Vec<u8>)]) -> (Vec<(u32, Vec<u8>)>, Damage) {
    let format = Format {
        parameters: parameters.to_owned(),
        ..Format::default()
    };
    let mut h265 = H265::new(&format);
    let mut out = Vec::new();
    for (timestamp, marker, payload) in packets {
        let packet = RtpPacket {
            payload_type: 96,
            marker: *marker,
            sequence: 0,
            timestamp: *timestamp,
            source: 1,
            extension: None,
            payload,
        };
        h265.push(&packet, false);
        out.extend(std::iter::from_fn(|| h265.poll()).map(|unit| (unit.timestamp, unit.data)));
    }
    (out, h265.take_damage())
}

fn annex_b(units: &[&[u8]]) -> Vec<u8> {
    units.iter().flat_map(|unit| [&[0, 0, 0, 1], *unit].concat()).collect()
}

/// An aggregate; with decoding order numbers if `numbered`.
fn aggregate(units: &[&[u8]], numbered: bool) -> Vec<u8> {
    let mut out = vec![0x60, 1];
    for (at, unit) in units.iter().enumerate() {
        let number: &[u8] = match (numbered, at) {
            (false, _) => &[],
            (true, 0) => &[0, 5],
            (true, _) => &[0],
        };
        out.extend([number, &u16::try_from(unit.len()).expect("short").to_be_bytes(), unit].concat());
    }
    out
}

fn fragment(bits: u8, number: &[u8], body: &[u8]) -> Vec<u8> {
    [&[0x62, 1, bits | 19], number, body].concat()
}

#[test]
fn pictures_come_out_however_they_were_cut() {
    let key = annex_b(&[VPS, SPS, PPS, IDR]);
    let single = |units: &[&[u8]]| -> Vec<_> {
        let last = units.len() - 1;
        units
            .iter()
            .enumerate()
            .map(|(at, unit)| (9, at == last, unit.to_vec()))
            .collect()
    };
    let numbered = |unit: &[u8]| [&unit[..2], &[0, 1], &unit[2..]].concat();
    let cases: [(&str, &str, Vec<(u32, bool, Vec<u8>)>); 5] = [
        ("single units", "", single(&[VPS, SPS, PPS, IDR])),
        (
            "an aggregate",
            "",
            vec![(9, true, aggregate(&[VPS, SPS, PPS, IDR], false))],
        ),
        (
            "fragments",
            "",
            vec![
                (9, false, aggregate(&[VPS, SPS, PPS], false)),
                (9, false, fragment(0x80, &[], &IDR[2..3])),
                (9, false, fragment(0, &[], &IDR[3..4])),
                (9, true, fragment(0x40, &[], &IDR[4..])),
            ],
        ),
        (
            "numbered units",
            "sprop-max-don-diff=2",
            vec![
                (9, false, aggregate(&[VPS, SPS], true)),
                (9, false, numbered(PPS)),
                (9, false, fragment(0x80, &[0, 7], &IDR[2..3])),
                (9, true, fragment(0x40, &[], &IDR[3..])),
            ],
        ),
        ("parameter sets with markers", "sprop-max-don-diff=0", {
            let mut packets = single(&[VPS, SPS, PPS, IDR]);
            packets.iter_mut().for_each(|packet| packet.1 = true);
            packets
        }),
    ];
    for (name, parameters, packets) in cases {
        let (out, damage) = put_together(parameters, &packets);
        assert_eq!(out, [(9, key.clone())], "{name}");
        assert_eq!(damage, Damage::default(), "{name}");
    }
}

#[test]
fn several_segments_are_one_picture_and_the_next_begins_with_its_first() {
    let packets = [SLICE, SLICE_2, SLICE_2].map(|slice| (1, false, slice.to_vec()));
    let (out, _) = put_together("", &[packets.to_vec(), vec![(2, true, SLICE.to_vec())]].concat());
    assert_eq!(out, [(1, annex_b(&[SLICE, SLICE_2, SLICE_2])), (2, annex_b(&[SLICE]))]);
}

#[test]
fn what_is_not_taken_is_named_and_costs_nothing_else() {
    for (payload, words) in [
        (&[0x64, 1, 2][..], "PACI"),
        (&[0x80 | 0x02, 1, 2], "damaged"),
        (&[0x02, 0, 2], "damaged"),
        (&[0x66, 1, 1], "unknown"),
        (&[0x60, 1, 0, 9, 1], "cut short"),
    ] {
        let (out, damage) = put_together("", &[(1, false, payload.to_vec()), (1, true, SLICE.to_vec())]);
        assert_eq!(out, [(1, annex_b(&[SLICE]))], "{words}");
        assert!(damage.reason.is_some_and(|reason| reason.contains(words)), "{damage:?}");
    }
}

#[test]
fn parameter_sets_come_from_their_three_lists() {
    let format = Format {
        parameters: "sprop-sps=QgEC; sprop-vps=QAEB;sprop-pps=RAED".to_owned(),
        ..Format::default()
    };
    assert_eq!(H265::new(&format).parameter_sets(), [VPS, SPS, PPS]);
}
