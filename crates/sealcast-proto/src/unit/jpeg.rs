//! JPEG images (ITU-T T.81, annex B): markers with their segments, and entropy-coded data.

/// Start of image.
const SOI: u8 = 0xD8;
/// End of image.
const EOI: u8 = 0xD9;
/// Start of scan: entropy-coded data follows its segment.
const SOS: u8 = 0xDA;
/// Restart markers, which stand in entropy-coded data.
const RST0: u8 = 0xD0;
const RST7: u8 = 0xD7;
/// Temporary private use: a marker without a segment.
const TEM: u8 = 0x01;

/// A part of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JpegPart {
    /// The marker that begins an image.
    Begin,
    /// A marker, with its segment if it has one.
    Segment,
    /// Entropy-coded data, with its restart markers.
    Scan,
    /// The marker that ends an image.
    End,
}

/// The data is not a JPEG image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotJpeg {
    /// There is another byte in the place of a marker.
    #[error("a JPEG marker was expected, not the byte {0:#04x}")]
    NoMarker(u8),
    /// The length of a segment does not even cover itself.
    #[error("a JPEG segment is shorter than its length")]
    Length,
}

/// Walks over the parts of an image, which may arrive in pieces. It follows the lengths of segments, so a thumbnail in
/// a segment does not end the image.
#[derive(Clone, Copy, Debug, Default)]
pub struct JpegWalker {
    at: usize,
    in_scan: bool,
}

impl JpegWalker {
    /// Position up to which the data was walked over: the end of the last part, or a place inside the next one.
    pub fn at(&self) -> usize {
        self.at
    }

    /// True if that position is inside entropy-coded data or at its end.
    pub fn is_in_scan(&self) -> bool {
        self.in_scan
    }

    /// The length of the image that `data` begins with, from its first marker to its last; `None` if it does not begin
    /// with one whole image.
    pub fn image(data: &[u8]) -> Option<usize> {
        let mut walker = Self::default();
        if walker.next(data) != Ok(Some(JpegPart::Begin)) {
            return None;
        }
        loop {
            match walker.next(data) {
                Ok(Some(JpegPart::End)) => return Some(walker.at()),
                Ok(Some(JpegPart::Segment | JpegPart::Scan)) => {}
                Ok(Some(JpegPart::Begin) | None) | Err(_) => return None,
            }
        }
    }

    /// Walks over the next part of an image that begins with `data`. Returns `None` if `data` ends before the part
    /// does; the walk goes on with the next call, for which `data` has grown.
    ///
    /// # Errors
    /// It is not a JPEG image.
    pub fn next(&mut self, data: &[u8]) -> Result<Option<JpegPart>, NotJpeg> {
        if self.in_scan {
            return Ok(self.walk_scan(data));
        }
        match data.get(self.at) {
            None => return Ok(None),
            Some(0xFF) => {}
            Some(&byte) => return Err(NotJpeg::NoMarker(byte)),
        }
        // A marker may have fill bytes before it.
        while data.get(self.at + 1) == Some(&0xFF) {
            self.at += 1;
        }
        let Some(&code) = data.get(self.at + 1) else {
            return Ok(None);
        };
        let (part, length) = match code {
            0x00 => return Err(NotJpeg::NoMarker(code)),
            SOI => (JpegPart::Begin, 0),
            EOI => (JpegPart::End, 0),
            TEM | RST0..=RST7 => (JpegPart::Segment, 0),
            _ => match data.get(self.at + 2..self.at + 4) {
                Some(&[0, 0 | 1]) => return Err(NotJpeg::Length),
                Some(&[high, low]) => (JpegPart::Segment, usize::from(u16::from_be_bytes([high, low]))),
                _ => return Ok(None),
            },
        };
        let end = self.at + 2 + length;
        if end > data.len() {
            return Ok(None);
        }
        self.at = end;
        self.in_scan = code == SOS;
        Ok(Some(part))
    }

    /// Walks over entropy-coded data, up to the next marker that is not a restart marker.
    fn walk_scan(&mut self, data: &[u8]) -> Option<JpegPart> {
        loop {
            let rest = data.get(self.at..)?;
            let marker = rest.iter().position(|&byte| byte == 0xFF);
            self.at += marker.unwrap_or(rest.len());
            let fill = data[self.at..].iter().take_while(|&&byte| byte == 0xFF).count();
            match data.get(self.at + fill) {
                None => return None,
                Some(0x00 | RST0..=RST7) => self.at += fill + 1,
                Some(_) => {
                    self.in_scan = false;
                    return Some(JpegPart::Scan);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts of an image and where each ends.
    fn parts(data: &[u8]) -> Result<Vec<(JpegPart, usize)>, NotJpeg> {
        let mut walker = JpegWalker::default();
        let mut parts = Vec::new();
        while let Some(part) = walker.next(data)? {
            parts.push((part, walker.at()));
        }
        Ok(parts)
    }

    const IMAGE: &[u8] = &[
        0xFF, 0xD8, 0xFF, 0xE1, 0, 6, 0xFF, 0xD8, 0xFF, 0xD9, 0xFF, 0x01, 0xFF, 0xFF, 0xDA, 0, 3, 9, 1, 0xFF, 0, 2,
        0xFF, 0xD3, 3, 0xFF, 0xFF, 0xD4, 4, 0xFF, 0xFF, 0xC4, 0, 2, 0xFF, 0xDA, 0, 2, 5, 0xFF, 0xD9, 7,
    ];

    #[test]
    fn an_image_is_walked_over_part_by_part_however_it_arrives() {
        use JpegPart::{Begin, End, Scan, Segment};
        let expected = [
            (Begin, 2),
            (Segment, 10),
            (Segment, 12),
            (Segment, 18),
            (Scan, 29),
            (Segment, 34),
            (Segment, 38),
            (Scan, 39),
            (End, 41),
        ];
        assert_eq!(parts(&IMAGE[..41]), Ok(expected.to_vec()));
        let (mut walker, mut found) = (JpegWalker::default(), Vec::new());
        for length in 0..=41 {
            while let Some(part) = walker.next(&IMAGE[..length]).expect("an image") {
                found.push((part, walker.at()));
            }
            assert!(walker.at() <= length);
        }
        assert_eq!(found, expected);
    }

    #[test]
    fn one_whole_image_is_found_at_the_beginning_and_nothing_else() {
        assert_eq!(JpegWalker::image(&IMAGE[..41]), Some(41));
        assert_eq!(JpegWalker::image(IMAGE), Some(41), "what follows is no part of it");
        for length in 0..41 {
            assert_eq!(JpegWalker::image(&IMAGE[..length]), None, "{length} bytes");
        }
        assert_eq!(JpegWalker::image(&[IMAGE[..2].to_vec(), IMAGE.to_vec()].concat()), None);
        assert_eq!(JpegWalker::image(b"<html>"), None);
    }

    #[test]
    fn data_that_is_no_image_is_told() {
        assert_eq!(parts(IMAGE), Err(NotJpeg::NoMarker(7)));
        assert_eq!(parts(&[0xFF, 0xD8, 0xFF, 0]), Err(NotJpeg::NoMarker(0)));
        for length in [0, 1] {
            assert_eq!(parts(&[0xFF, 0xD8, 0xFF, 0xE0, 0, length]), Err(NotJpeg::Length));
        }
    }
}
