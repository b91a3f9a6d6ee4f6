//! Packets of H.264 as cameras send them, and the access units that come out.

use super::h264::H264;
use super::tests::{Row, Sent, annex_b, check, fragments, packet, run, unit};
use super::{Format, MAX_PICTURE, MAX_PIECES};

const AUD: &[u8] = &[0x09, 0xf0];
const SPS: &[u8] = &[0x67, 0x42, 0xc0, 0x1e, 0xda, 0x05, 0x07, 0xe4];
/// Its frames may be coded as two fields.
const FIELD_SPS: &[u8] = &[0x67, 0x42, 0xc0, 0x1e, 0xda, 0x05, 0x04, 0x12];
const PPS: &[u8] = &[0x68, 0xce, 0x3c, 0x80];
const PPS_2: &[u8] = &[0x68, 0x5e, 0x3c, 0x80];
const SEI: &[u8] = &[0x06, 0x05, 0x01, 0xaa, 0x80];
const FILLER: &[u8] = &[0x0c, 0xff, 0x80];
/// The first slice of a picture, and others.
const IDR: &[u8] = &[0x65, 0x88, 0x84, 0x21, 0xa0, 0x55, 0x31];
const IDR_2: &[u8] = &[0x65, 0x04, 0x84, 0x22, 0xa0];
const P: &[u8] = &[0x41, 0x9a, 0x11, 0x31];
const P_2: &[u8] = &[0x41, 0x04, 0x12, 0x32];
const P_3: &[u8] = &[0x41, 0x02, 0x13, 0x33];
const Q: &[u8] = &[0x41, 0x9a, 0x21, 0x41];

fn depacketizer() -> H264 {
    H264::new(&Format::default())
}

fn rows(rows: Vec<Row>) {
    for row in rows {
        let mut depacketizer = depacketizer();
        check(&row, run!(depacketizer, row.packets));
    }
}

fn stap(units: &[&[u8]]) -> Vec<u8> {
    let mut payload = vec![0x78];
    for unit in units {
        payload.extend_from_slice(&(unit.len() as u16).to_be_bytes());
        payload.extend_from_slice(unit);
    }
    payload
}

/// FU-A with so many bytes each.
fn fu(unit: &[u8], size: usize) -> Vec<Vec<u8>> {
    let indicator = unit[0] & 0xe0 | 28;
    fragments(&unit[1..], size, |start, end| {
        vec![indicator, u8::from(start) << 7 | u8::from(end) << 6 | unit[0] & 0x1f]
    })
}

/// One packet for each payload, the marker on the last.
fn picture(time: u32, payloads: &[Vec<u8>]) -> Vec<Sent> {
    let last = payloads.len() - 1;
    let sent = payloads.iter().enumerate();
    sent.map(|(at, payload)| packet(time, at == last, payload)).collect()
}

fn stripped(mut fragment: Vec<u8>, bits: u8) -> Vec<u8> {
    fragment[1] &= !bits;
    fragment
}

#[test]
fn units_alone_together_and_in_fragments_become_access_units() {
    let key = [SPS, PPS, IDR];
    rows(vec![
        Row::new(
            "single units",
            [
                packet(1, false, SPS),
                packet(1, false, PPS),
                packet(1, true, IDR),
                packet(2, true, P),
            ],
            [unit(1, &key), unit(2, &[P])],
        ),
        Row::new("STAP-A", [packet(1, true, &stap(&key))], [unit(1, &key)]),
        Row::new(
            "STAP-B",
            [packet(1, true, &[&[0x79, 0, 5], &stap(&key)[1..]].concat())],
            [unit(1, &key)],
        ),
        Row::new(
            "FU-A behind a STAP-A",
            [vec![packet(1, false, &stap(&[SPS, PPS]))], picture(1, &fu(IDR, 2))].concat(),
            [unit(1, &key)],
        ),
        Row::new("FU-A with start and end", picture(1, &fu(IDR, 99)), [unit(1, &[IDR])]),
        Row::new(
            "several slices, fragmented each",
            picture(1, &[fu(IDR, 2), fu(IDR_2, 2)].concat()),
            [unit(1, &[IDR, IDR_2])],
        ),
        Row::new(
            "all kinds stay in place and in order",
            picture(1, &[AUD, SPS, PPS, PPS_2, SEI, IDR, FILLER].map(<[u8]>::to_vec)),
            [unit(1, &[AUD, SPS, PPS, PPS_2, SEI, IDR, FILLER])],
        ),
        Row::new(
            "empty payloads, also with a marker",
            [
                packet(1, true, &[]),
                packet(1, false, IDR),
                packet(9, true, &[]),
                packet(1, true, IDR_2),
            ],
            [unit(1, &[IDR, IDR_2])],
        ),
        Row::new(
            "empty units in an aggregate",
            [packet(1, true, &stap(&[&[], IDR, &[]]))],
            [unit(1, &[IDR])],
        ),
    ]);
}

#[test]
fn start_codes_in_payloads_divide_units() {
    let whole = annex_b(&[SPS, PPS, IDR]);
    let short = [&[0, 0, 1], SPS, &[0, 0, 1], PPS, &[0, 0, 1], IDR].concat();
    let units = || [unit(1, &[SPS, PPS, IDR])];
    rows(vec![
        Row::new(
            "a start code before",
            [packet(1, true, &annex_b(&[IDR]))],
            [unit(1, &[IDR])],
        ),
        Row::new("an access unit as a payload", [packet(1, true, &whole)], units()),
        Row::new("with short start codes", [packet(1, true, &short)], units()),
        Row::new("behind the first header", [packet(1, true, &whole[4..])], units()),
        Row::new("in an aggregate", [packet(1, true, &stap(&[&whole]))], units()),
        Row::new(
            "with zeros behind",
            [packet(1, true, &[&whole[..], &[0; 5]].concat())],
            units(),
        ),
        Row::new(
            "in FU-A behind the first header",
            picture(1, &fu(&whole[4..], 3)),
            units(),
        ),
        Row::new("in FU-A of short ones", picture(1, &fu(&short[3..], 1)), units()),
        Row::new(
            "in FU-A, whole, behind a made header",
            picture(1, &fu(&[&[0x65], &whole[..]].concat(), 5)),
            units(),
        ),
        Row::new(
            "two pictures in FU-A",
            picture(1, &fu(&annex_b(&[SPS, PPS, IDR, IDR_2, P, P_2])[4..], 4)),
            [unit(1, &[SPS, PPS, IDR, IDR_2]), unit(1, &[P, P_2])],
        ),
    ]);
}

#[test]
fn fragments_without_end_are_ended_by_what_follows() {
    let open: Vec<_> = fu(IDR, 2)
        .into_iter()
        .map(|fragment| stripped(fragment, 0x40))
        .collect();
    let then = |packets: Vec<Sent>| [picture(1, &open), packets].concat();
    let unmarked = |packets: Vec<Sent>| {
        let mut all = then(packets);
        all[open.len() - 1].marker = false;
        all
    };
    rows(vec![
        Row::new("by the marker", then(vec![]), [unit(1, &[IDR])]),
        Row::new(
            "by the timestamp",
            unmarked(vec![packet(2, true, P)]),
            [unit(1, &[IDR]), unit(2, &[P])],
        ),
        Row::new(
            "by another start",
            unmarked(picture(1, &fu(IDR_2, 2))),
            [unit(1, &[IDR, IDR_2])],
        ),
        Row::new(
            "by another unit",
            unmarked(vec![packet(1, true, IDR_2)]),
            [unit(1, &[IDR, IDR_2])],
        ),
        Row::new(
            "by the marker behind an access unit with start codes",
            picture(1, &[stripped(fu(&annex_b(&[SPS, PPS, IDR])[4..], 99).remove(0), 0x40)]),
            [unit(1, &[SPS, PPS, IDR])],
        ),
        Row::new(
            "in each picture, the first of a single fragment",
            [
                picture(1, &[stripped(fu(IDR, 99).remove(0), 0x40)]),
                picture(2, &[stripped(fu(P, 99).remove(0), 0x40)]),
            ]
            .concat(),
            [unit(1, &[IDR]), unit(2, &[P])],
        ),
    ]);
}

#[test]
fn fragments_without_beginning_leave_their_unit_out() {
    let tail = |unit: &[u8]| fu(unit, 2).split_off(1);
    rows(vec![
        Row::new(
            "of a slice: its picture",
            [
                vec![packet(1, true, IDR)],
                picture(2, &tail(P)),
                vec![packet(3, true, Q)],
            ]
            .concat(),
            [unit(1, &[IDR]), unit(3, &[Q]).lost()],
        )
        .damaged(1, "has fragments without a beginning"),
        Row::new(
            "of what is no slice: the unit alone",
            [
                vec![packet(1, true, IDR)],
                picture(2, &[tail(SEI), vec![P.to_vec()]].concat()),
            ]
            .concat(),
            [unit(1, &[IDR]), unit(2, &[P]).lost()],
        )
        .damaged(1, "has fragments without a beginning"),
    ]);
}

#[test]
fn markers_at_other_places_leave_pictures_whole() {
    let each = |time: u32, units: &[&[u8]]| units.iter().map(|unit| packet(time, true, unit)).collect::<Vec<_>>();
    rows(vec![
        Row::new(
            "on each unit",
            [each(1, &[SPS, PPS, IDR]), each(2, &[P]), each(3, &[SPS, PPS, IDR])].concat(),
            [unit(1, &[SPS, PPS, IDR]), unit(2, &[P]), unit(3, &[SPS, PPS, IDR])],
        ),
        Row::new(
            "on each unit of pictures with three slices",
            [
                each(1, &[SPS, PPS, IDR, IDR_2]),
                each(2, &[P, P_2, P_3]),
                each(3, &[Q, P_2, P_3]),
                each(4, &[P]),
            ]
            .concat(),
            [
                unit(1, &[SPS, PPS, IDR, IDR_2]),
                unit(2, &[P, P_2, P_3]),
                unit(3, &[Q, P_2, P_3]),
            ],
        ),
        Row::new(
            "on each fragment",
            fu(IDR, 2)
                .iter()
                .chain(&fu(IDR_2, 2))
                .map(|payload| packet(1, true, payload))
                .chain(each(2, &[P]))
                .collect::<Vec<_>>(),
            [unit(1, &[IDR, IDR_2])],
        ),
        Row::new(
            "on each slice from the second picture on: the parts of that one come apart, later ones whole",
            [
                each(1, &[IDR]),
                each(2, &[P, P_2]),
                each(3, &[Q, P_2, P_3]),
                each(4, &[P]),
            ]
            .concat(),
            [unit(1, &[IDR]), unit(2, &[P]), unit(2, &[P_2]), unit(3, &[Q, P_2, P_3])],
        ),
    ]);
}

#[test]
fn markers_that_are_missing_or_elsewhere_leave_pictures_whole() {
    let each = |time: u32, units: &[&[u8]]| units.iter().map(|unit| packet(time, true, unit)).collect::<Vec<_>>();
    let never = |time: u32, units: &[&[u8]]| units.iter().map(|unit| packet(time, false, unit)).collect::<Vec<_>>();
    rows(vec![
        Row::new(
            "never",
            [never(1, &[SPS, PPS, IDR]), never(2, &[P, P_2]), never(3, &[Q])].concat(),
            [unit(1, &[SPS, PPS, IDR]), unit(2, &[P, P_2])],
        ),
        Row::new(
            "on sets at the timestamp of the frame before",
            [
                vec![packet(1, true, P)],
                each(1, &[SPS]),
                never(2, &[PPS]),
                each(2, &[IDR]),
                each(3, &[Q]),
            ]
            .concat(),
            [unit(1, &[P]), unit(2, &[SPS, PPS, IDR]), unit(3, &[Q])],
        ),
        Row::new(
            "on SEI behind the slices",
            [
                never(1, &[IDR, SEI]),
                vec![packet(1, true, FILLER)],
                vec![packet(2, true, P)],
            ]
            .concat(),
            [unit(1, &[IDR]), unit(2, &[SEI, FILLER, P])],
        ),
    ]);
}

#[test]
fn a_picture_leaves_with_its_marked_packet() {
    let mut depacketizer = depacketizer();
    for time in 1..4 {
        let packets = picture(time, &[vec![SPS.to_vec(), PPS.to_vec()], fu(IDR, 2)].concat());
        let (out, damage) = run!(depacketizer, packets);
        assert_eq!((out.len(), damage.units), (1, 0), "picture {time}");
    }
    // A camera whose markers turned out to be right is believed again.
    let packets = [packet(4, true, SPS), packet(4, true, IDR), packet(5, true, P)];
    assert_eq!(run!(depacketizer, packets).0.len(), 2);
}

#[test]
fn pictures_of_one_timestamp_are_told_apart_by_their_slices() {
    let units: [&[u8]; 9] = [AUD, SPS, PPS, IDR, IDR_2, P, P_2, SEI, Q];
    let sent = units.map(|unit| packet(7, false, unit));
    let field = |units: &[&[u8]]| units.iter().map(|unit| packet(7, false, unit)).collect::<Vec<_>>();
    rows(vec![
        Row::new(
            "without markers",
            [&sent[..], &[packet(7, false, P)]].concat(),
            [unit(7, &units[..5]), unit(7, &units[5..7]), unit(7, &units[7..])],
        ),
        Row::new(
            "with markers",
            [
                packet(7, true, IDR),
                packet(7, false, P),
                packet(7, true, P_2),
                packet(7, true, Q),
            ],
            [unit(7, &[IDR]), unit(7, &[P, P_2]), unit(7, &[Q])],
        ),
        Row::new(
            "two fields are one",
            [
                field(&[FIELD_SPS, PPS, IDR, SEI, P]),
                vec![packet(8, false, P), packet(8, true, Q)],
            ]
            .concat(),
            [unit(7, &[FIELD_SPS, PPS, IDR, SEI, P]), unit(8, &[P, Q])],
        ),
        Row::new(
            "four fields are two",
            [field(&[FIELD_SPS, PPS, IDR, P, SEI, P, Q]), vec![packet(8, true, P)]].concat(),
            [unit(7, &[FIELD_SPS, PPS, IDR, P]), unit(7, &[SEI, P, Q]), unit(8, &[P])],
        ),
        Row::new(
            "what stands between slices divides no picture",
            [packet(7, false, IDR), packet(7, false, SEI), packet(7, true, IDR_2)],
            [unit(7, &[IDR, SEI, IDR_2])],
        ),
    ]);
}

#[test]
fn a_picture_that_lacks_packets_is_left_out() {
    let lacks = "lacks packets";
    let two = |time: u32| [packet(time, false, P), packet(time, true, P_2)];
    let [first, second] = two(2);
    rows(vec![
        Row::new(
            "its first",
            [packet(1, true, IDR), second.clone().after_loss(), packet(3, true, Q)],
            [unit(1, &[IDR]), unit(3, &[Q]).lost()],
        )
        .damaged(1, lacks),
        Row::new(
            "its last",
            [packet(1, true, IDR), first.clone(), packet(3, true, Q).after_loss()],
            [unit(1, &[IDR]), unit(3, &[Q]).lost()],
        )
        .damaged(1, lacks),
        Row::new(
            "one in a fragmented slice",
            [
                picture(1, &fu(IDR, 2)[..2])[..1].to_vec(),
                vec![packet(1, true, &fu(IDR, 2)[2]).after_loss(), packet(2, true, P)],
            ]
            .concat(),
            [unit(2, &[P]).lost()],
        )
        .damaged(1, lacks),
        Row::new(
            "one of what is no slice: the unit alone",
            [
                packet(1, false, &fu(SEI, 2)[0]),
                packet(1, false, SPS).after_loss(),
                packet(1, true, IDR),
            ],
            [unit(1, &[SPS, IDR]).lost()],
        ),
        Row::new(
            "all of one: those around it stay",
            [
                packet(1, true, IDR),
                packet(3, true, Q).after_loss(),
                packet(4, true, P),
            ],
            [unit(1, &[IDR]), unit(3, &[Q]).lost(), unit(4, &[P])],
        ),
        Row::new(
            "behind what stands before the next one: it was whole",
            [
                packet(1, false, IDR),
                packet(1, false, SEI),
                packet(2, true, P).after_loss(),
            ],
            [unit(1, &[IDR]), unit(2, &[SEI, P]).lost()],
        ),
        Row::new(
            "at the beginning of the stream",
            [packet(1, true, P_2), packet(2, true, IDR)],
            [unit(2, &[IDR]).lost()],
        )
        .damaged(1, lacks),
    ]);
}

#[test]
fn what_cannot_be_taken_is_skipped_and_counted() {
    let around = |payload: &[u8]| [packet(1, true, IDR), packet(2, false, payload), packet(2, true, P)];
    let both = || [unit(1, &[IDR]), unit(2, &[P])];
    let row =
        |name: &str, payload: &[u8], reason: &'static str| Row::new(name, around(payload), both()).damaged(1, reason);
    let interleaved = "has interleaved units (MTAP or FU-B), which are not taken";
    let reserved = "has units of a reserved type";
    rows(vec![
        row("MTAP16", &[0x7a, 0, 0, 0, 1, 0, 0, 0, 0x41], interleaved),
        row("MTAP24", &[0x7b, 0, 0, 0, 1, 0, 0, 0, 0, 0x41], interleaved),
        row("FU-B", &[0x7d, 0x81, 0, 1, 0x9a], interleaved),
        row("type 0", &[0x60, 1, 2], reserved),
        row("type 31", &[0x7f, 1, 2], reserved),
        row("an aggregate in an aggregate", &stap(&[&stap(&[P])]), reserved),
        row("fragments of an aggregate", &[0x7c, 0x98, 1, 2], reserved),
        row(
            "an aggregate cut short",
            &[0x78, 0, 9, 0x06],
            "has aggregates that are cut short",
        ),
        row("a fragment without header", &[0x7c], "has fragments that are cut short"),
        row(
            "SEI marked as damaged",
            &[0x86, 5, 1, 0],
            "has units that are marked as damaged",
        ),
        Row::new("an aggregate without units", around(&[0x78, 0]), both()),
        Row::new(
            "a slice marked as damaged",
            [
                packet(1, true, IDR),
                packet(2, false, P),
                packet(2, true, &[0xc1, 0x04, 1]),
                packet(3, true, Q),
            ],
            [unit(1, &[IDR]), unit(3, &[Q]).lost()],
        )
        .damaged(1, "has units that are marked as damaged"),
    ]);
}

#[test]
fn a_picture_of_any_length_is_bounded() {
    let large = || {
        let mut packets = vec![packet(1, false, &[0x7c, 0x85, 0x88])];
        packets.extend((0..300).map(|_| packet(1, false, &[&[0x7c, 0x05], &[0x55; 60_000][..]].concat())));
        packets
    };
    let many = |unit: &[u8]| vec![packet(1, false, unit); MAX_PIECES + 1];
    let end = |packets: Vec<Sent>| [packets, vec![packet(1, true, P_2), packet(2, true, IDR)]].concat();
    rows(vec![
        Row::new("too large", end(large()), [unit(2, &[IDR]).lost()]).damaged(1, "has a picture that is too large"),
        Row::new(
            "too many slices",
            end([vec![packet(1, false, IDR)], many(IDR_2)].concat()),
            [unit(2, &[IDR]).lost()],
        )
        .damaged(1, "has a picture of too many parts"),
        Row::new(
            "too much before a picture: the picture stays, and what came last before it",
            [many(SEI), vec![packet(1, true, IDR)]].concat(),
            [unit(1, &[SEI, IDR]).lost()],
        )
        .damaged(1, "has a picture of too many parts"),
    ]);
    let mut depacketizer = depacketizer();
    let (out, _) = run!(depacketizer, large()[..MAX_PICTURE / 60_000].to_vec());
    assert!(out.is_empty());
    let (out, _) = run!(depacketizer, [packet(2, true, P), packet(3, true, Q)]);
    assert!(out[0].data.len() > MAX_PICTURE - 200_000);
    assert!(out[2].data.capacity() < 100_000, "the memory of a giant is given back");
}

#[test]
fn parameter_sets_of_the_description_are_kept_as_bytes() {
    let format = Format {
        parameters: "packetization-mode=1;sprop-parameter-sets=Z0LAHtoFB+Q=,aM48gA==".to_owned(),
        ..Format::default()
    };
    assert_eq!(H264::new(&format).parameter_sets(), [SPS, PPS]);
}
