use super::*;

fn nal(kind: u8, first: u8, fill: usize) -> Vec<u8> {
    [&[0, 0, 0, 1, kind, first][..], &vec![0xab; fill]].concat()
}

/// Output of an encoder with two slices per picture and everything optional.
fn pictures() -> Vec<Vec<u8>> {
    let head = [
        nal(0x09, 0xf0, 0),
        nal(0x67, 0x42, 9),
        nal(0x68, 0xce, 2),
        nal(0x06, 0x05, 20),
    ]
    .concat();
    vec![
        [head, nal(0x65, 0x88, 5000), nal(0x65, 0x10, 5000)].concat(),
        [nal(0x09, 0xf0, 0), nal(0x41, 0x9a, 700), nal(0x41, 0x20, 700)].concat(),
        [nal(0x06, 0x01, 4), nal(0x41, 0x9a, 300), nal(0x41, 0x20, 1)].concat(),
        [nal(0x01, 0x9a, 300), nal(0x01, 0x20, 1)].concat(),
        [nal(0x41, 0x9a, 3), nal(0x0c, 0xff, 90)].concat(),
        [nal(0x67, 0x42, 9), nal(0x68, 0xce, 2), nal(0x65, 0x88, 70)].concat(),
    ]
}

#[test]
fn access_units_are_cut_where_they_begin() {
    assert_eq!(split_access_units(&pictures().concat()).expect("units"), pictures());
}

#[test]
fn it_does_not_matter_how_the_stream_is_chopped() {
    let stream = pictures().concat();
    for size in [1, 2, 3, 4, 5, 7, 64, 1000, 4099] {
        let mut splitter = Splitter::default();
        let mut units = Vec::new();
        for piece in stream.chunks(size) {
            splitter.push(piece);
            while let Some(unit) = splitter.next_unit().expect("a unit") {
                units.push(unit);
            }
        }
        units.extend(splitter.finish());
        assert_eq!(units, pictures(), "in pieces of {size}");
    }
}

#[test]
fn short_start_codes_do_as_well() {
    let stream = pictures().concat().windows(5).fold(Vec::new(), |mut out, window| {
        // All zeros before a short start code are removed.
        if window[..4] != [0, 0, 0, 1] {
            out.push(window[0]);
        }
        out
    });
    assert_eq!(split_access_units(&stream).expect("units").len(), pictures().len());
}

#[test]
fn what_is_no_picture_is_no_unit() {
    assert!(split_access_units(&[]).expect("nothing").is_empty());
    assert!(split_access_units(&[0; 100]).expect("nothing").is_empty());
    assert!(split_access_units(&[7; 100]).expect("nothing").is_empty());
    assert!(
        split_access_units(&[nal(0x67, 0x42, 9), nal(0x68, 0xce, 2)].concat())
            .expect("nothing")
            .is_empty()
    );
}

#[test]
fn a_unit_that_never_ends_is_refused() {
    let endless = nal(0x65, 0x88, MAX_FRAME_BYTES + 1);
    assert!(matches!(split_access_units(&endless), Err(MediaError::Damaged(_))));
}

#[test]
fn a_stream_without_keyframe_holds_no_frames() {
    let stream = [nal(0x41, 0x9a, 30), nal(0x41, 0x9a, 30)].concat();
    assert!(matches!(
        AnnexBReader::open(&stream[..], None),
        Err(MediaError::Empty(_))
    ));
}
