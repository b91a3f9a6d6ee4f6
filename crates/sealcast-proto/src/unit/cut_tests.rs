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
    let pieces: Vec<_> = cutter.cut(selection, Some(Codec::H264), false, data, room).collect();
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
            let pieces: Vec<_> = cutter.cut(selection, Some(Codec::Mjpeg), true, &[], ROOM).collect();
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
        let pieces = cutter.cut(rate, Some(Codec::Mjpeg), true, &data, WIDE);
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
            .cut(rate, Some(Codec::H264), false, &[7; 5000], ROOM)
            .map(|piece| piece.encrypt)
            .collect();
        assert_eq!(pieces.len(), 5);
        assert!(pieces.iter().all(|encrypt| *encrypt == pieces[0]), "{pieces:?}");
        drawn[usize::from(pieces[0])] += 1;
    }
    // Four standard deviations are 63.
    assert!(drawn[1].abs_diff(500) <= 63, "{drawn:?}");
}
