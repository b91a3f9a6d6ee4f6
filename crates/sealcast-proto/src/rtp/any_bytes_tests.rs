//! Packets of any content: units stay bounded and of their form, and a whole picture comes out afterwards.

use super::tests::{Sent, packet, run};
use super::{Depacketizer, Format, MAX_PICTURE, MAX_PIECES};
use crate::unit::find_start_code;

const SEQUENCES: u64 = 3000;

type Kind = (&'static str, &'static [u8], &'static [&'static [u8]]);

/// Each kind, a whole picture of it, and bytes that payloads are likely to begin with.
const KINDS: [Kind; 3] = [
    (
        "h264",
        &[0x65, 0x88, 1],
        &[
            &[0x65, 0x88],
            &[0x65, 0x08],
            &[0x41, 0x9a],
            &[0x41, 0x1a],
            &[0x67],
            &[0x06],
            &[0x0b],
            &[0x78, 0, 3, 0x65, 0x88, 1, 0, 2, 0x68, 1],
            &[0x79],
            &[0x7c, 0x85, 0x88],
            &[0x7c, 0x85, 0, 0, 1, 0x65, 0x88],
            &[0x7c, 0x05],
            &[0x7c, 0x45],
            &[0x7c, 0x87],
            &[0x7c, 0x46],
            &[0xfc, 0x85],
            &[0xe5, 0x88],
        ],
    ),
    (
        "h265",
        &[0x26, 0x01, 0xaf, 1],
        &[
            &[0x26, 0x01, 0xaf],
            &[0x26, 0x01, 0x2f],
            &[0x02, 0x01, 0xd0],
            &[0x42, 0x01],
            &[0x4e, 0x01],
            &[0x50, 0x01],
            &[0x60, 0x01, 0, 4, 0x26, 0x01, 0xaf, 1],
            &[0x62, 0x01, 0x93, 0xaf],
            &[0x62, 0x01, 0x13],
            &[0x62, 0x01, 0x53],
            &[0x62, 0x01, 0xa1],
        ],
    ),
    (
        "jpeg",
        &[0, 0, 0, 0, 1, 50, 8, 8, 1],
        &[
            &[0, 0, 0, 0, 1, 50, 8, 8],
            &[0, 0, 0, 0, 1, 200, 8, 8, 0, 0, 0, 64],
            &[0, 0, 0, 0, 65, 0, 0, 8, 0, 9, 0, 0],
            &[0, 0, 0, 9, 1, 50, 8, 8],
        ],
    ),
];

fn check(encoding: &str, data: &[u8]) {
    assert!(data.len() <= MAX_PICTURE);
    if encoding == "jpeg" {
        assert!(data.starts_with(&[0xff, 0xd8]) && data.ends_with(&[0xff, 0xd9]));
        return;
    }
    assert!(data.starts_with(&[0, 0, 0, 1]));
    let starts = std::iter::successors(find_start_code(data, 0), |at| find_start_code(data, at + 3));
    let count = starts.inspect(|at| assert_eq!(data[at - 1], 0)).count();
    assert!((1..=MAX_PIECES).contains(&count));
}

fn draw(state: &mut u64, end: usize) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state % end as u64) as usize
}

fn any_packet(state: &mut u64, time: &mut u32, heads: &[&[u8]]) -> Sent {
    *time += u32::from(draw(state, 4) == 0);
    let mut payload = heads[draw(state, heads.len())].to_vec();
    for _ in 0..draw(state, 4) {
        payload.extend_from_slice([&[0, 0, 1][..], &[7, 9], &[0, 0], &[0xff, 0xd9]][draw(state, 4)]);
        payload.extend_from_slice(heads[draw(state, heads.len())]);
    }
    if draw(state, 8) == 0 {
        payload.truncate(draw(state, payload.len() + 1));
    }
    if draw(state, 50) == 0 {
        payload.resize(payload.len() + 60_000, 5);
    }
    let mut sent = packet(*time, draw(state, 3) == 0, &payload);
    sent.lost = draw(state, 10) == 0;
    if draw(state, 10) == 0 {
        sent.extension = Some((0xffd8, heads[draw(state, heads.len())].to_vec()));
    }
    sent
}

#[test]
fn whatever_comes_units_are_bounded_and_a_whole_picture_follows() {
    for (seed, (encoding, whole, heads)) in (1..=SEQUENCES).flat_map(|seed| KINDS.map(|kind| (seed, kind))) {
        let format = Format {
            encoding: encoding.to_owned(),
            ..Format::default()
        };
        let mut depacketizer = Depacketizer::of(&format, None).expect("a known encoding");
        let (mut state, mut time) = (seed, 0);
        for _ in 0..10 {
            let packets: Vec<Sent> = (0..6).map(|_| any_packet(&mut state, &mut time, heads)).collect();
            let (units, damage) = run!(depacketizer, packets);
            units.iter().for_each(|unit| check(encoding, &unit.data));
            assert_eq!(damage.units > 0, damage.reason.is_some(), "{encoding} with seed {seed}");
        }
        let after: Vec<Sent> = (1..=4).map(|later| packet(time + later, true, whole)).collect();
        let (units, _) = run!(depacketizer, after);
        // Where markers are not to be trusted, the last one waits for the next.
        let last = units.last().expect("a picture").timestamp - time;
        assert!(last >= 3, "{encoding} with seed {seed}: {last}");
    }
}
