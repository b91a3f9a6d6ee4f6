use std::io::Cursor;

use super::*;
use crate::media::Codec;

fn images(count: u8) -> Vec<Vec<u8>> {
    let image = |shade| {
        let mut out = Vec::new();
        let encoder = jpeg_encoder::Encoder::new(&mut out, 60);
        encoder
            .encode(&[shade; 256], 16, 16, jpeg_encoder::ColorType::Luma)
            .expect("a picture");
        out
    };
    (0..count).map(image).collect()
}

#[test]
fn images_that_are_piped_in_come_out_one_by_one() {
    let mut source = StdinSource::from_reader(Cursor::new(images(5).concat()), None).expect("a stream");
    let info = source.info();
    assert_eq!((info.codec, info.width, info.height), (Codec::Mjpeg, 16, 16));
    for image in images(5) {
        let frame = source.next().expect("a frame").expect("no end");
        assert_eq!((frame.keyframe, &frame.data[..]), (true, &image[..]));
    }
    assert!(source.next().expect("the end").is_none());
    assert!(!source.waits_for_viewers());
}

#[test]
fn nothing_and_nonsense_are_told_apart() {
    let told = |bytes: &'static [u8]| {
        StdinSource::from_reader(bytes, None)
            .expect_err("no stream")
            .to_string()
    };
    assert!(told(b"").contains("standard input holds no frames"), "{}", told(b""));
    assert!(told(b"hello world, this is text").contains("no format known"));
    assert!(told(b"\0\0\0\x1cftypisom\0\0\0\0").contains("needs seeking"));
}
