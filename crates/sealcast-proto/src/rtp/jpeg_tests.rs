use super::*;

fn header(offset: u32, kind: u8, q: u8, size: [u8; 2]) -> Vec<u8> {
    let [_, offset @ ..] = offset.to_be_bytes();
    [&[0], &offset[..], &[kind, q], &size].concat()
}

struct Came {
    timestamp: u32,
    marker: bool,
    payload: Vec<u8>,
    lost: bool,
}

fn came(timestamp: u32, marker: bool, payload: &[&[u8]]) -> Came {
    Came {
        timestamp,
        marker,
        payload: payload.concat(),
        lost: false,
    }
}

fn put_together(size: Option<(u16, u16)>, extension: Option<(u16, &[u8])>, packets: &[Came]) -> (Vec<Unit>, Damage) {
    let mut jpeg = Jpeg::new(size);
    let mut out = Vec::new();
    for came in packets {
        let packet = RtpPacket {
            payload_type: 26,
            marker: came.marker,
            sequence: 0,
            timestamp: came.timestamp,
            source: 1,
            extension,
            payload: &came.payload,
        };
        jpeg.push(&packet, came.lost);
        out.extend(std::iter::from_fn(|| jpeg.poll()));
    }
    (out, jpeg.take_damage())
}

/// Content of the first segment with this marker.
fn segment(image: &[u8], marker: u8) -> &[u8] {
    let at = image
        .windows(2)
        .position(|bytes| bytes == [0xff, marker])
        .expect("the segment");
    let length = usize::from(u16::from_be_bytes([image[at + 2], image[at + 3]]));
    &image[at + 4..at + 2 + length]
}

#[test]
fn parts_of_a_picture_become_an_image_with_headers() {
    let (first, second) = (header(0, 1, 50, [8, 6]), header(3, 1, 50, [8, 6]));
    let packets = [
        came(7, false, &[&first, &[1, 2, 3]]),
        came(7, true, &[&second, &[4, 5]]),
    ];
    let (out, damage) = put_together(None, None, &packets);
    assert_eq!((out.len(), damage), (1, Damage::default()));
    let image = &out[0].data;
    assert!(image.starts_with(&[0xff, 0xd8]) && image.ends_with(&[1, 2, 3, 4, 5, 0xff, 0xd9]));
    let frame = segment(image, 0xc0);
    assert_eq!(frame, [8, 0, 48, 0, 64, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1]);
    assert_eq!(
        segment(image, 0xdb)[..4],
        [0, 16, 11, 12],
        "quality 50 is the standard's table"
    );
}

#[test]
fn tables_in_a_packet_stay_for_their_quality_unless_that_is_255() {
    let with = |q: u8, tables: &[u8], timestamp: u32| {
        let length = u16::try_from(tables.len()).expect("short").to_be_bytes();
        came(
            timestamp,
            true,
            &[&header(0, 0, q, [1, 1]), &[0, 0], &length, tables, &[9]],
        )
    };
    let table = [3; 64];
    let (out, _) = put_together(
        None,
        None,
        &[with(200, &table, 1), with(200, &[], 2), with(200, &[7; 192], 3)],
    );
    assert_eq!(segment(&out[1].data, 0xdb)[1..], table, "kept");
    assert_eq!(
        segment(&out[0].data, 0xc0)[6..],
        [1, 0x21, 0, 2, 0x11, 0, 3, 0x11, 0],
        "one table for all"
    );
    assert_eq!(segment(&out[2].data, 0xc0)[11], 1, "of three tables two are used");
    let (out, damage) = put_together(None, None, &[with(255, &table, 1), with(255, &[], 2)]);
    assert_eq!((out.len(), damage.units), (1, 1));
}

#[test]
fn restart_intervals_have_their_segment() {
    let packet = came(1, true, &[&header(0, 65, 10, [1, 1]), &[0, 4, 0xff, 0xff], &[9]]);
    let (out, _) = put_together(None, None, &[packet]);
    assert_eq!(segment(&out[0].data, 0xdd), [0, 4]);
}

#[test]
fn the_size_of_large_pictures_comes_from_elsewhere() {
    let packets = || [came(1, true, &[&header(0, 1, 50, [0, 0]), &[9]])];
    let (out, _) = put_together(Some((2592, 1944)), None, &packets());
    assert_eq!(segment(&out[0].data, 0xc0)[1..5], [7, 152, 10, 32]);
    let extension = [0xff, 0xd8, 0xff, 0xc0, 0, 17, 8, 4, 56, 7, 128, 3];
    let (out, _) = put_together(None, Some((ONVIF_EXTENSION, &extension)), &packets());
    assert_eq!(segment(&out[0].data, 0xc0)[1..5], [4, 56, 7, 128]);
    let (out, damage) = put_together(None, None, &packets());
    assert!(out.is_empty() && damage.reason.is_some_and(|reason| reason.contains("size")));
}

#[test]
fn a_picture_that_lacks_a_part_is_left_out_and_the_next_says_so() {
    let part = |offset: u32| header(offset, 1, 50, [1, 1]);
    let whole = |at: u32| came(at, true, &[&part(0), &[1]]);
    let cases = [
        (
            "the middle",
            vec![came(1, false, &[&part(0), &[1]]), came(1, true, &[&part(2), &[3]])],
        ),
        ("the begin", vec![came(1, true, &[&part(2), &[3]])]),
        ("the end", vec![came(1, false, &[&part(0), &[1]])]),
        ("the header", vec![came(1, true, &[&[1, 2]])]),
        (
            "a known quality",
            vec![came(1, true, &[&header(0, 1, 0, [1, 1]), &[1]])],
        ),
        ("a known type", vec![came(1, true, &[&header(0, 5, 50, [1, 1]), &[1]])]),
    ];
    for (name, mut packets) in cases {
        packets.extend([whole(2), whole(3)]);
        let (out, damage) = put_together(None, None, &packets);
        let told: Vec<(u32, bool)> = out.iter().map(|unit| (unit.timestamp, unit.lost)).collect();
        assert_eq!((told, damage.units), (vec![(2, true), (3, false)], 1), "{name}");
    }
}

#[test]
fn no_picture_grows_without_bound() {
    let mut jpeg = Jpeg::new(None);
    for at in 0..600_u32 {
        let payload = [&header(at * 60_000, 1, 50, [1, 1])[..], &[1; 60_000]].concat();
        let packet = RtpPacket {
            payload_type: 26,
            marker: false,
            sequence: 0,
            timestamp: 1,
            source: 1,
            extension: None,
            payload: &payload,
        };
        jpeg.push(&packet, false);
        assert!(jpeg.data.capacity() <= MAX_FRAME, "{at}");
    }
}
