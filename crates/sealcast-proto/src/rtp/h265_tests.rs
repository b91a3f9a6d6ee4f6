//! Packets of H.265 as cameras send them, and the access units that come out.

use super::h265::H265;
use super::tests::{Row, Sent, annex_b, check, fragments, packet, run, unit};
use super::{Depacketizer, Format};

const VPS: &[u8] = &[0x40, 0x01, 0x0c, 0x01, 0xff];
const SPS: &[u8] = &[0x42, 0x01, 0x01, 0x01, 0x60];
const PPS: &[u8] = &[0x44, 0x01, 0xc1, 0x72];
const SEI: &[u8] = &[0x4e, 0x01, 0x05, 0xaa, 0x80];
const SUFFIX_SEI: &[u8] = &[0x50, 0x01, 0x05, 0xaa, 0x80];
const AUD: &[u8] = &[0x46, 0x01, 0x50];
const IDR: &[u8] = &[0x26, 0x01, 0xaf, 0x11, 0x31, 0x51];
const IDR_2: &[u8] = &[0x26, 0x01, 0x2f, 0x12, 0x32];
const P: &[u8] = &[0x02, 0x01, 0xd0, 0x11, 0x31];
const P_2: &[u8] = &[0x02, 0x01, 0x50, 0x12, 0x32];
/// A slice of a second layer.
const LAYER: &[u8] = &[0x02, 0x09, 0xd0, 0x13];

fn rows(parameters: &str, rows: Vec<Row>) {
    let format = Format {
        parameters: parameters.to_owned(),
        ..Format::default()
    };
    for row in rows {
        let mut depacketizer = H265::new(&format);
        check(&row, run!(depacketizer, row.packets));
    }
}

/// An aggregation packet; `numbers` stand before the units.
fn aggregate(units: &[&[u8]], numbers: &[&[u8]]) -> Vec<u8> {
    let mut payload = vec![0x60, 0x01];
    for (at, unit) in units.iter().enumerate() {
        payload.extend_from_slice(numbers.get(at).copied().unwrap_or_default());
        payload.extend_from_slice(&(unit.len() as u16).to_be_bytes());
        payload.extend_from_slice(unit);
    }
    payload
}

fn fu(unit: &[u8], size: usize, number: &[u8]) -> Vec<Vec<u8>> {
    fragments(&unit[2..], size, |start, end| {
        let head = [
            unit[0] & 0x81 | 49 << 1,
            unit[1],
            u8::from(start) << 7 | u8::from(end) << 6 | unit[0] >> 1,
        ];
        [&head[..], if start { number } else { &[] }].concat()
    })
}

fn picture(time: u32, payloads: &[Vec<u8>]) -> Vec<Sent> {
    let last = payloads.len() - 1;
    let sent = payloads.iter().enumerate();
    sent.map(|(at, payload)| packet(time, at == last, payload)).collect()
}

#[test]
fn units_alone_together_and_in_fragments_become_access_units() {
    let all: [&[u8]; 8] = [AUD, VPS, SPS, PPS, SEI, IDR, IDR_2, SUFFIX_SEI];
    let whole = annex_b(&all);
    let all_of_it = || [unit(1, &all)];
    rows(
        "",
        vec![
            Row::new("single units", picture(1, &all.map(<[u8]>::to_vec)), all_of_it()),
            Row::new("an aggregate", [packet(1, true, &aggregate(&all, &[]))], all_of_it()),
            Row::new(
                "fragments behind an aggregate",
                [
                    vec![aggregate(&[VPS, SPS, PPS], &[])],
                    fu(IDR, 1, &[]),
                    fu(IDR_2, 2, &[]),
                ]
                .concat()
                .chunks(99)
                .flat_map(|all| picture(1, all))
                .collect::<Vec<_>>(),
                [unit(1, &[VPS, SPS, PPS, IDR, IDR_2])],
            ),
            Row::new("start codes in a payload", [packet(1, true, &whole)], all_of_it()),
            Row::new(
                "start codes in fragments",
                picture(1, &fu(&whole[4..], 3, &[])),
                all_of_it(),
            ),
            Row::new(
                "a slice of another layer belongs to the picture before",
                [packet(1, false, IDR), packet(1, true, LAYER), packet(2, true, P)],
                [unit(1, &[IDR, LAYER]), unit(2, &[P])],
            ),
        ],
    );
}

#[test]
fn markers_and_timestamps_at_other_places_leave_pictures_whole() {
    let each = |time: u32, marker: bool, units: &[&[u8]]| {
        units.iter().map(|unit| packet(time, marker, unit)).collect::<Vec<_>>()
    };
    let mut unended = fu(IDR, 2, &[]);
    unended.last_mut().expect("fragments")[2] &= !0x40;
    rows(
        "",
        vec![
            Row::new(
                "the marker on each unit",
                [
                    each(1, true, &[VPS, SPS, PPS, IDR, IDR_2]),
                    each(2, true, &[P, P_2]),
                    each(3, true, &[P]),
                ]
                .concat(),
                [unit(1, &[VPS, SPS, PPS, IDR, IDR_2]), unit(2, &[P, P_2])],
            ),
            Row::new(
                "no marker",
                [
                    each(1, false, &[IDR, IDR_2]),
                    each(2, false, &[P, P_2]),
                    each(3, false, &[P]),
                ]
                .concat(),
                [unit(1, &[IDR, IDR_2]), unit(2, &[P, P_2])],
            ),
            Row::new(
                "one timestamp",
                each(1, false, &[IDR, IDR_2, SUFFIX_SEI, SEI, P, P_2, P]),
                [unit(1, &[IDR, IDR_2, SUFFIX_SEI]), unit(1, &[SEI, P, P_2])],
            ),
            Row::new("no end bit", picture(1, &unended), [unit(1, &[IDR])]),
        ],
    );
}

#[test]
fn decoding_order_numbers_are_left_out_where_the_description_says_so() {
    let numbered = "sprop-max-don-diff=1";
    let all = [VPS, SPS, PPS, IDR];
    let numbers: [&[u8]; 4] = [&[0, 7], &[0], &[0], &[0]];
    let single = [&P[..2], &[0, 8], &P[2..]].concat();
    rows(
        numbered,
        vec![
            Row::new(
                "an aggregate",
                [packet(1, true, &aggregate(&all, &numbers))],
                [unit(1, &all)],
            ),
            Row::new("fragments", picture(1, &fu(IDR, 2, &[0, 7])), [unit(1, &[IDR])]),
            Row::new("a single unit", [packet(1, true, &single)], [unit(1, &[P])]),
        ],
    );
    rows(
        "sprop-max-don-diff=0",
        vec![Row::new(
            "none",
            [packet(1, true, &aggregate(&all, &[]))],
            [unit(1, &all)],
        )],
    );
}

#[test]
fn what_cannot_be_taken_is_skipped_and_counted() {
    let around = |payload: &[u8]| [packet(1, true, IDR), packet(2, false, payload), packet(2, true, P)];
    let row = |name: &str, payload: &[u8], reason: &'static str| {
        Row::new(name, around(payload), [unit(1, &[IDR]), unit(2, &[P])]).damaged(1, reason)
    };
    rows(
        "",
        vec![
            row(
                "PACI",
                &[0x64, 0x01, 0, 0, 2, 1],
                "has PACI packets, which are not taken",
            ),
            row("type 63", &[0x7e, 0x01, 2], "has units of a reserved type"),
            row("one byte", &[0x02], "has units that are cut short"),
            row(
                "a fragment without header",
                &[0x62, 0x01],
                "has fragments that are cut short",
            ),
            row(
                "an aggregate cut short",
                &[0x60, 0x01, 0, 9, 1],
                "has aggregates that are cut short",
            ),
            row(
                "SEI marked as damaged",
                &[0xce, 0x01, 5],
                "has units that are marked as damaged",
            ),
            Row::new(
                "a lost fragment",
                [
                    vec![packet(1, true, IDR)],
                    picture(2, &fu(P, 1, &[])[1..]),
                    vec![packet(3, true, P)],
                ]
                .concat(),
                [unit(1, &[IDR]), unit(3, &[P]).lost()],
            )
            .damaged(1, "has fragments without a beginning"),
        ],
    );
}

#[test]
fn both_names_of_the_encoding_are_known() {
    for encoding in ["h265", "hevc"] {
        let format = Format {
            encoding: encoding.to_owned(),
            parameters: "sprop-vps=QAEMAf8=;sprop-pps=RAHBcg==;sprop-sps=QgEBAWA=".to_owned(),
            ..Format::default()
        };
        let depacketizer = Depacketizer::of(&format, None).expect(encoding);
        assert_eq!(depacketizer.parameter_sets(), [VPS, SPS, PPS]);
    }
    assert!(Depacketizer::of(&Format::default(), None).is_none());
}
