//! Packets of Motion JPEG as cameras send them, and the images that come out.

use super::Jpeg;
use super::jpeg_quantization::TableStore;
use super::tests::{Row, Sent, check, packet, run};
use super::{HUFFMAN_TABLES, MAX_PICTURE, Unit};

const SCAN: &[u8] = &[0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77];
const END: &[u8] = &[0xff, 0xd9];
/// The header of a frame of 2592 by 1944 pixels.
const LARGE_FRAME: &[u8] = &[
    0xff, 0xc0, 0, 17, 8, 0x07, 0x98, 0x0a, 0x20, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1,
];

/// Statements of a picture's packets about it.
#[derive(Clone, Copy)]
struct Say {
    kind: u8,
    q: u8,
    blocks: (u8, u8),
    restart: Option<u16>,
}

const PLAIN: Say = Say {
    kind: 1,
    q: 60,
    blocks: (40, 30),
    restart: None,
};

fn part(say: Say, offset: usize, tables: &[u8], scan: &[u8]) -> Vec<u8> {
    let [_, o0, o1, o2] = (offset as u32).to_be_bytes();
    let mut payload = vec![0, o0, o1, o2, say.kind, say.q, say.blocks.0, say.blocks.1];
    if let Some(interval) = say.restart {
        payload.extend_from_slice(&interval.to_be_bytes());
        payload.extend_from_slice(&[0xff, 0xff]);
    }
    payload.extend_from_slice(tables);
    payload.extend_from_slice(scan);
    payload
}

/// A picture in two packets.
fn picture(time: u32, say: Say, tables: &[u8]) -> Vec<Sent> {
    vec![
        packet(time, false, &part(say, 0, tables, &SCAN[..4])),
        packet(time, true, &part(say, 4, &[], &SCAN[4..])),
    ]
}

/// The header of tables in a packet.
fn in_band(precision: u8, tables: &[u8]) -> Vec<u8> {
    [&[0, precision][..], &(tables.len() as u16).to_be_bytes(), tables].concat()
}

fn segment(code: u8, content: &[u8]) -> Vec<u8> {
    [&[0xff, code][..], &(content.len() as u16 + 2).to_be_bytes(), content].concat()
}

/// An image with these tables of one byte each, and the number of the table of each component.
fn image(size: (u16, u16), tables: &[&[u8]], of: [u8; 3], restart: Option<u16>, scan: &[u8]) -> Vec<u8> {
    let mut image = vec![0xff, 0xd8];
    for (number, table) in (0..).zip(tables) {
        image.extend(segment(0xdb, &[&[number], *table].concat()));
    }
    if let Some(interval) = restart {
        image.extend(segment(0xdd, &interval.to_be_bytes()));
    }
    let size = [size.1.to_be_bytes(), size.0.to_be_bytes()].concat();
    let components = [3, 1, 0x22, of[0], 2, 0x11, of[1], 3, 0x11, of[2]];
    image.extend(segment(0xc0, &[&[8], &size[..], &components].concat()));
    image.extend_from_slice(HUFFMAN_TABLES);
    image.extend(segment(0xda, &[3, 1, 0, 2, 0x11, 3, 0x11, 0, 63, 0]));
    [&image, scan, END].concat()
}

fn unit(timestamp: u32, data: Vec<u8>) -> Unit {
    Unit {
        timestamp,
        lost: false,
        data,
    }
}

/// The standard tables at a quality of 60.
fn standard() -> [Vec<u8>; 2] {
    let (tables, _) = TableStore::default().of_picture(60, &[]).expect("tables");
    let mut segments = Vec::new();
    tables.write(&mut segments);
    [segments[5..69].to_vec(), segments[74..138].to_vec()]
}

fn plain() -> Vec<u8> {
    let [luma, colour] = standard();
    image((320, 240), &[&luma, &colour], [0, 1, 1], None, SCAN)
}

fn rows(size: Option<(u16, u16)>, rows: Vec<Row>) {
    for row in rows {
        let mut depacketizer = Jpeg::new(size);
        check(&row, run!(depacketizer, row.packets));
    }
}

#[test]
fn tables_are_made_or_come_in_the_packet() {
    let table = |value: u8| vec![value; 64];
    let tables = |count: u8| (1..=count).flat_map(table).collect::<Vec<_>>();
    let say = |q| Say { q, ..PLAIN };
    let two = image((320, 240), &[&table(1), &table(2)], [0, 1, 1], None, SCAN);
    let one = image((320, 240), &[&table(1)], [0, 0, 0], None, SCAN);
    let three = image((320, 240), &[&table(1), &table(2), &table(3)], [0, 1, 2], None, SCAN);
    let wide: Vec<u8> = [1, 2].iter().flat_map(|value| [0, *value].repeat(64)).collect();
    let mixed = [[0, 1].repeat(64), table(2)].concat();
    rows(
        None,
        vec![
            Row::new("made", picture(1, PLAIN, &[]), [unit(1, plain())]),
            Row::new(
                "two",
                picture(1, say(255), &in_band(0, &tables(2))),
                [unit(1, two.clone())],
            ),
            Row::new("one", picture(1, say(255), &in_band(0, &tables(1))), [unit(1, one)]),
            Row::new("three", picture(1, say(255), &in_band(0, &tables(3))), [unit(1, three)]),
            Row::new(
                "of two bytes a value",
                picture(1, say(200), &in_band(3, &wide)),
                [unit(1, two.clone())],
            ),
            Row::new(
                "of two and of one",
                picture(1, say(200), &in_band(1, &mixed)),
                [unit(1, two.clone())],
            ),
            Row::new(
                "kept for their Q",
                [
                    picture(1, say(130), &in_band(0, &tables(2))),
                    picture(2, say(131), &in_band(0, &tables(3))),
                    picture(3, say(130), &in_band(0, &[])),
                ]
                .concat(),
                [
                    unit(1, two.clone()),
                    unit(
                        2,
                        image((320, 240), &[&table(1), &table(2), &table(3)], [0, 1, 2], None, SCAN),
                    ),
                    unit(3, two),
                ],
            ),
        ],
    );
}

#[test]
fn what_is_no_picture_is_left_out_and_counted() {
    let say = |kind, q| Say { kind, q, ..PLAIN };
    let row = |name: &str, packets: Vec<Sent>, reason| {
        let packets = [packets, picture(9, PLAIN, &[])].concat();
        Row::new(name, packets, [unit(9, plain()).lost()]).damaged(1, reason)
    };
    let reserved = "has pictures with a reserved value of Q";
    let cut = "has quantization tables that are cut short";
    let none = "has pictures without quantization tables";
    rows(
        None,
        vec![
            row("Q 0", picture(1, say(1, 0), &[]), reserved),
            row("Q 100", picture(1, say(1, 100), &[]), reserved),
            row("Q 127", picture(1, say(1, 127), &[]), reserved),
            row("no tables yet", picture(1, say(1, 128), &in_band(0, &[])), none),
            row("Q 255 without tables", picture(1, say(1, 255), &in_band(0, &[])), none),
            row("half a table", picture(1, say(1, 255), &in_band(0, &[1; 32])), cut),
            row(
                "a table and a half",
                picture(1, say(1, 255), &in_band(0, &[1; 96])),
                cut,
            ),
            row("tables that are not there", picture(1, say(1, 255), &[0, 0, 9, 9]), cut),
            row("type 2", picture(1, say(2, 60), &[]), "has JPEG of an unknown type"),
            row("type 128", picture(1, say(128, 60), &[]), "has JPEG of an unknown type"),
            row(
                "a short header",
                vec![packet(1, true, &[0; 7])],
                "has packets without a header of JPEG",
            ),
            row(
                "no data",
                vec![packet(1, true, &part(PLAIN, 0, &[], &[]))],
                "has pictures without data",
            ),
            row(
                "no size",
                picture(
                    1,
                    Say {
                        blocks: (0, 30),
                        ..PLAIN
                    },
                    &[],
                ),
                "has pictures above 2040 pixels whose size neither they nor its description tell",
            ),
        ],
    );
}

#[test]
fn a_picture_with_a_hole_is_left_out() {
    let whole = picture(1, PLAIN, &[]);
    let (first, second) = (whole[0].clone(), whole[1].clone());
    let next = || picture(2, PLAIN, &[]);
    let row = |name: &str, packets: Vec<Sent>| {
        Row::new(name, [packets, next()].concat(), [unit(2, plain()).lost()]).damaged(1, "lacks packets")
    };
    let gap = packet(1, true, &part(PLAIN, 5, &[], &SCAN[5..]));
    let mut late = next();
    late[0].lost = true;
    rows(
        None,
        vec![
            row("a hole by its offset", vec![first.clone(), gap]),
            Row::new(
                "its end, by the marker that it lacks",
                [whole.clone(), vec![first.clone()], next()].concat(),
                [unit(1, plain()), unit(2, plain()).lost()],
            )
            .damaged(1, "lacks packets"),
            row(
                "the same part twice",
                vec![first.clone(), packet(1, false, &second.payload), second.clone()],
            ),
            row("its first part", vec![second.clone().after_loss()]),
            Row::new(
                "its last part",
                [vec![first.clone()], late.clone()].concat(),
                [unit(2, plain()).lost()],
            )
            .damaged(1, "lacks packets"),
            Row::new(
                "nothing of it",
                [whole.clone(), late].concat(),
                [unit(1, plain()), unit(2, plain()).lost()],
            ),
        ],
    );
}

#[test]
fn a_picture_ends_without_its_marker() {
    let unmarked = |time| {
        let mut packets = picture(time, PLAIN, &[]);
        packets[1].marker = false;
        packets
    };
    let ended = |time| packet(time, true, &part(PLAIN, 0, &[], &[SCAN, END].concat()));
    rows(
        None,
        vec![
            Row::new(
                "by the timestamp",
                [unmarked(1), picture(2, PLAIN, &[])].concat(),
                [unit(1, plain()), unit(2, plain())],
            ),
            Row::new(
                "by the offset",
                [unmarked(1), picture(1, PLAIN, &[])].concat(),
                [unit(1, plain()), unit(1, plain())],
            ),
            Row::new("an end of its own", [ended(1)], [unit(1, plain())]),
            Row::new(
                "an end of its own, and the marker lost",
                [
                    Sent {
                        marker: false,
                        ..ended(1)
                    },
                    ended(2).after_loss(),
                ],
                [unit(1, plain()).lost(), unit(2, plain())],
            ),
            Row::new(
                "empty packets",
                [
                    packet(1, false, &[]),
                    packet(1, true, &part(PLAIN, 0, &[], SCAN)),
                    packet(3, true, &[]),
                ],
                [unit(1, plain())],
            ),
        ],
    );
}

#[test]
fn restart_intervals_and_the_type_stand_in_the_headers() {
    let [luma, colour] = standard();
    let say = |kind, restart| Say { kind, restart, ..PLAIN };
    let with = |restart| image((320, 240), &[&luma, &colour], [0, 1, 1], restart, SCAN);
    let mut half = plain();
    let sampling = half.iter().position(|byte| *byte == 0x22).expect("a frame");
    half[sampling] = 0x21;
    rows(
        None,
        vec![
            Row::new("type 65", picture(1, say(65, Some(4)), &[]), [unit(1, with(Some(4)))]),
            Row::new(
                "an interval of 0",
                picture(1, say(65, Some(0)), &[]),
                [unit(1, with(None))],
            ),
            Row::new("type 0", picture(1, say(0, None), &[]), [unit(1, half)]),
        ],
    );
}

#[test]
fn the_size_comes_from_the_packets_the_description_or_the_extension() {
    let [luma, colour] = standard();
    let sized = |size| [unit(1, image(size, &[&luma, &colour], [0, 1, 1], None, SCAN))];
    let say = |blocks| Say { blocks, ..PLAIN };
    let row = |blocks, size| Row::new(&format!("{blocks:?}"), picture(1, say(blocks), &[]), sized(size));
    rows(
        Some((2592, 1944)),
        vec![
            row((0, 0), (2592, 1944)),
            row((0, 243), (2592, 1944)),
            // Counted modulo 256.
            row((68, 243), (2592, 1944)),
            // Another size than the described one.
            row((40, 30), (320, 240)),
            row((40, 0), (320, 1944)),
        ],
    );
    rows(
        Some((1366, 770)),
        vec![row((171, 97), (1366, 770)), row((0, 0), (1366, 770))],
    );
    let extended = |profile: u16, content: &[u8]| {
        let mut packets = picture(1, say((0, 0)), &[]);
        packets[0].extension = Some((profile, content.to_vec()));
        packets
    };
    // ONVIF: segments, filled up to four bytes.
    let padded = [LARGE_FRAME, &[0xff]].concat();
    let replay = [&[7; 12], &[0xff, 0xd8, 0, 5][..], &padded].concat();
    let commented = [&[0xff, 0xfe, 0, 4, 1, 2, 0xff], LARGE_FRAME, &[0xff, 0xff]].concat();
    let rows_of = |content: &[u8], profile| Row::new("an extension", extended(profile, content), sized((2592, 1944)));
    rows(
        None,
        vec![
            rows_of(&padded, 0xffd8),
            rows_of(&replay, 0xabac),
            rows_of(&commented, 0xffd8),
        ],
    );
}

#[test]
fn segments_of_the_extension_take_precedence() {
    let tables = segment(0xdb, &[&[0][..], &[7; 64], &[1], &[9; 64]].concat());
    let huffman = segment(0xc4, &[0x00, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5]);
    let interval = segment(0xdd, &[0, 3]);
    let scan = segment(0xda, &[3, 1, 0, 2, 0x11, 3, 0x11, 0, 63, 0]);
    let content = [&tables, LARGE_FRAME, &huffman, &interval].concat();
    let say = Say {
        kind: 65,
        q: 0,
        restart: Some(8),
        ..PLAIN
    };
    let mut packets = picture(1, say, &[]);
    packets[0].extension = Some((0xffd8, content.clone()));
    // The same with headers alone in the first packet.
    let mut apart = packets.clone();
    apart.insert(0, packet(1, false, &part(say, 0, &[], &[])));
    apart[0].extension = apart[1].extension.take();
    let image = [&[0xff, 0xd8], &content[..], &scan, SCAN, END].concat();
    rows(
        None,
        vec![
            Row::new("in the first packet", packets, [unit(1, image.clone())]),
            Row::new("in one of its own", apart, [unit(1, image)]),
        ],
    );
}

#[test]
fn a_picture_of_any_length_is_bounded() {
    let mut depacketizer = Jpeg::new(None);
    let step = 60_000;
    let count = MAX_PICTURE / step + 3;
    let packets: Vec<Sent> = (0..count)
        .map(|at| packet(1, false, &part(PLAIN, (at * step) & 0xff_ffff, &[], &vec![1; step])))
        .collect();
    let (images, _) = run!(depacketizer, packets);
    assert!(images.is_empty());
    let (images, damage) = run!(depacketizer, picture(2, PLAIN, &[]));
    assert_eq!(images, [unit(2, plain()).lost()]);
    assert_eq!(damage.reason, Some("has a picture that is too large"));
    assert!(images[0].data.capacity() < 4096, "the memory of a giant is given back");
}
