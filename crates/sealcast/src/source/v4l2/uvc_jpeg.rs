//! JPEG images as cheap cameras send them: without Huffman tables, padded, or cut off.

use bytes::{BufMut, Bytes, BytesMut};
use sealcast_proto::rtp::HUFFMAN_TABLES;
use sealcast_proto::unit::{JpegPart, JpegWalker};

use crate::source::MAX_FRAME_BYTES;
use crate::source::mjpeg::image_size;

/// Markers (ITU-T T.81, table B.1).
const DHT: u8 = 0xC4;
const SOS: u8 = 0xDA;

/// The whole image in a buffer, and its width and height. Bytes after its end are left out; if it has no Huffman tables
/// it gets the standard ones, which cameras mean then (UVC 1.5, Motion-JPEG payload). `None` if there is no whole
/// image.
pub(in crate::source) fn whole_image(buffer: &[u8]) -> Option<(Bytes, (u16, u16))> {
    let mut walker = JpegWalker::default();
    if walker.next(buffer) != Ok(Some(JpegPart::Begin)) {
        return None;
    }
    let (mut has_tables, mut first_scan) = (false, None);
    let length = loop {
        let begin = walker.at();
        match walker.next(buffer) {
            Ok(Some(JpegPart::End)) => break walker.at(),
            Ok(Some(JpegPart::Segment)) => match marker(&buffer[begin..walker.at()]) {
                DHT => has_tables = true,
                SOS if first_scan.is_none() => first_scan = Some(begin),
                _ => {}
            },
            Ok(Some(JpegPart::Scan)) => {}
            Ok(Some(JpegPart::Begin) | None) | Err(_) => return None,
        }
    };
    let scan = first_scan?;
    let image = if has_tables {
        Bytes::copy_from_slice(&buffer[..length])
    } else {
        let mut image = BytesMut::with_capacity(length + HUFFMAN_TABLES.len());
        image.put_slice(&buffer[..scan]);
        image.put_slice(HUFFMAN_TABLES);
        image.put_slice(&buffer[scan..length]);
        image.freeze()
    };
    let size = image_size(&image).ok()?;
    (image.len() <= MAX_FRAME_BYTES).then_some((image, size))
}

/// The marker that a segment begins with. It may have fill bytes before it.
fn marker(segment: &[u8]) -> u8 {
    segment.iter().copied().find(|byte| *byte != 0xFF).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::jpeg;
    use crate::media::Picture;

    /// An image of the encoder, which has the standard tables, each in a segment of its own.
    fn image() -> Vec<u8> {
        let mut picture = Picture::black(64, 32);
        for (at, y) in picture.y.iter_mut().enumerate() {
            *y = (16 + at * 37 % 200) as u8;
        }
        for (at, u) in picture.u.iter_mut().enumerate() {
            *u = (30 + at * 11 % 190) as u8;
        }
        jpeg::encode(&picture, 80).expect("an image")
    }

    /// The same image as cameras send it.
    fn without_tables() -> Vec<u8> {
        let image = image();
        let mut walker = JpegWalker::default();
        let mut out = Vec::new();
        let mut removed = 0;
        while walker.at() < image.len() {
            let begin = walker.at();
            walker.next(&image).expect("it is an image").expect("it is whole");
            let part = &image[begin..walker.at()];
            if part[..2] == [0xFF, DHT] {
                removed += 1;
            } else {
                out.extend_from_slice(part);
            }
        }
        assert!(removed > 0);
        out
    }

    #[test]
    fn an_image_without_huffman_tables_gets_the_standard_ones() {
        let bare = without_tables();
        assert!(jpeg::decode(&bare).is_err(), "a decoder needs the tables");
        let (whole, size) = whole_image(&bare).expect("an image");
        assert_eq!(size, (64, 32));
        let (got, meant) = (jpeg::decode(&whole), jpeg::decode(&image()));
        assert_eq!(got.expect("it decodes"), meant.expect("it decodes"));
        assert_eq!(whole_image(&whole).expect("an image").0, whole);
    }

    #[test]
    fn an_image_with_tables_is_left_alone_but_for_what_follows_it() {
        let image = image();
        for padding in [0, 1, 500] {
            let padded = [&image[..], &vec![0; padding]].concat();
            assert_eq!(whole_image(&padded).expect("an image").0, image);
        }
    }

    #[test]
    fn what_is_no_whole_image_is_refused() {
        let image = image();
        for cut in [0, 1, 2, 20, image.len() / 2, image.len() - 1] {
            assert_eq!(whole_image(&image[..cut]), None, "{cut} bytes");
        }
        assert_eq!(whole_image(&[0; 100]), None);
        assert_eq!(whole_image(&[0xFF, 0xD8, 0xFF, 0xD9]), None);
        assert_eq!(whole_image(&[&[0], &image[..]].concat()), None);
        // A second image where the first is not over: the camera lost the end.
        let torn = [&image[..4], &image[..]].concat();
        assert_eq!(whole_image(&torn), None);
    }
}
