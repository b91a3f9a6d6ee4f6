use super::*;

fn image(side: u16, shade: u8) -> Vec<u8> {
    let mut out = Vec::new();
    let encoder = jpeg_encoder::Encoder::new(&mut out, 60);
    let pixels = vec![shade; usize::from(side) * usize::from(side)];
    encoder
        .encode(&pixels, side, side, jpeg_encoder::ColorType::Luma)
        .expect("a picture");
    out
}

/// An image with a complete smaller image in its application segment, like a camera's thumbnail.
fn with_thumbnail() -> Vec<u8> {
    let (inner, outer) = (image(8, 7), image(16, 200));
    let length = u16::try_from(inner.len() + 2).expect("small").to_be_bytes();
    [&outer[..2], &[0xff, 0xe1], &length, &inner, &outer[2..]].concat()
}

#[test]
fn images_are_cut_apart_however_the_stream_is_chopped() {
    let images = vec![image(16, 1), with_thumbnail(), image(24, 90)];
    let stream = images.concat();
    assert_eq!(split_images(&stream).expect("images"), images);
    for size in [1, 2, 3, 17] {
        let mut splitter = Splitter::default();
        let mut found = Vec::new();
        for piece in stream.chunks(size) {
            splitter.push(piece);
            while let Some(image) = splitter.next_image().expect("an image") {
                found.push(image);
            }
        }
        assert_eq!(found, images, "in pieces of {size}");
    }
}

#[test]
fn what_lies_between_images_is_dropped() {
    let (first, second) = (image(16, 1), image(16, 2));
    let stream = [
        &first[..],
        b"\r\n--frame\r\nContent-Type: image/jpeg\r\n\r\n",
        &second,
        &[0; 9],
    ]
    .concat();
    assert_eq!(split_images(&stream).expect("images"), [first, second]);
}

#[test]
fn the_size_is_that_of_the_image_and_not_of_its_thumbnail() {
    assert_eq!(image_size(&with_thumbnail()).expect("a size"), (16, 16));
    assert!(image_size(&[0xff, 0xd8, 0xff, 0xd9]).is_err());
    assert!(image_size(b"nothing").is_err());
}

#[test]
fn a_broken_image_is_refused() {
    let good = image(16, 1);
    for (what, bytes) in [
        ("another image inside", [&good[..20], &good].concat()),
        (
            "a segment of length 0",
            [&good[..2], &[0xff, 0xe0, 0, 0][..], &[1; 9]].concat(),
        ),
        ("no marker", [&good[..2], &[7; 40][..]].concat()),
    ] {
        assert!(matches!(split_images(&bytes), Err(MediaError::Damaged(_))), "{what}");
    }
    let cut = JpegReader::open(&good[..good.len() - 1], None);
    assert!(matches!(cut, Err(MediaError::Truncated(_))));
}

#[test]
fn an_image_that_never_ends_is_refused() {
    let mut endless = image(16, 1);
    endless.truncate(endless.len() - 2);
    endless.resize(MAX_FRAME_BYTES + 100, 3);
    assert!(matches!(split_images(&endless), Err(MediaError::Damaged(_))));
}
