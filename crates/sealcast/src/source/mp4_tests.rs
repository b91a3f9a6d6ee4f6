use std::io::Cursor;

use super::*;

fn boxed(kind: &[u8; 4], body: &[u8]) -> Vec<u8> {
    let size = u32::try_from(body.len() + 8).expect("small").to_be_bytes();
    [&size[..], kind, body].concat()
}

fn refusal(file: Vec<u8>) -> MediaError {
    Mp4Reader::open(Cursor::new(file), None).expect_err("this is no film")
}

#[test]
fn lengths_become_start_codes() {
    let sample = [&[0, 0, 0, 2, 0x65, 1][..], &[0, 0, 0, 0], &[0, 0, 0, 1, 0x41]].concat();
    let expected = [0, 0, 0, 1, 0x65, 1, 0, 0, 0, 1, 0x41];
    assert_eq!(to_annex_b(&sample, 4).expect("a frame"), expected[..]);
    assert_eq!(to_annex_b(&[2, 0x65, 1, 1, 0x41], 1).expect("a frame"), expected[..]);
    assert!(to_annex_b(&[0, 0, 0, 3, 0x65, 1], 4).is_err());
    assert!(to_annex_b(&[0, 0], 4).is_err());
}

#[test]
fn an_index_that_is_missing_or_cut_is_told() {
    let head = boxed(b"ftyp", b"isomiso2");
    let cut = refusal([&head[..], &boxed(b"mdat", &[1; 50])].concat());
    assert!(
        matches!(&cut, MediaError::Truncated(why) if why.contains("no index")),
        "{cut}"
    );
    let movie = boxed(b"moov", &[0; 60]);
    assert!(matches!(
        refusal([&head[..], &movie[..40]].concat()),
        MediaError::Truncated(_)
    ));
    assert!(matches!(
        refusal([&head[..], &[0; 40]].concat()),
        MediaError::Truncated(_)
    ));
    assert!(matches!(
        refusal([&head[..], &boxed(b"moov", &[])].concat()),
        MediaError::Empty(_)
    ));
}

#[test]
fn a_box_that_claims_too_much_is_refused_before_memory_is_taken() {
    let head = boxed(b"ftyp", b"isomiso2");
    let huge = [&head[..], &[0, 0, 0, 1], b"moov", &(1u64 << 60).to_be_bytes()].concat();
    assert!(matches!(refusal(huge), MediaError::Truncated(_)));
    let small = [&head[..], &[0, 0, 0, 3], b"moov", &[0; 20]].concat();
    assert!(matches!(refusal(small), MediaError::Damaged(_)));
}

#[test]
fn endless_boxes_before_the_index_are_given_up() {
    let file = [boxed(b"ftyp", b"isom"), boxed(b"free", &[]).repeat(MAX_BOXES_IN_A_ROW)].concat();
    assert!(matches!(refusal(file), MediaError::Truncated(_)));
}
