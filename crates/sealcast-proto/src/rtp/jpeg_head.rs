//! The headers of a JPEG image that came without them (RFC 2435, appendix B), or with some of them in ONVIF's header
//! extension (ONVIF Streaming Specification, "JPEG over RTP").

use super::jpeg_quantization::Quantization;
use super::jpeg_tables::HUFFMAN_TABLES;
use crate::unit::{JpegPart, JpegWalker};

/// Profile of the header extension that has segments of JPEG.
const SEGMENTS: u16 = 0xffd8;
/// Profiles of the one of recordings, the former may stand behind the latter's twelve bytes.
const REPLAY: [u16; 2] = [0xabac, 0xabad];
const REPLAY_LENGTH: usize = 12;

const QUANTIZATION: u8 = 0xdb;
const HUFFMAN: u8 = 0xc4;
const RESTART: u8 = 0xdd;
const SCAN: u8 = 0xda;
/// Frames that are baseline, and those that differ in wider tables.
const BASELINE: u8 = 0xc0;
const EXTENDED: u8 = 0xc1;

/// The headers of an image.
#[derive(Debug, Default)]
pub(super) struct ImageHead<'a> {
    /// Segments that came with the picture; they take precedence.
    came: Vec<&'a [u8]>,
    scan: Option<&'a [u8]>,
    tables: Quantization,
    restart: Option<u16>,
    frame: Option<Vec<u8>>,
}

impl<'a> ImageHead<'a> {
    /// Parts of the head in a packet's header extension.
    pub(super) fn of_extension(extension: Option<(u16, &'a [u8])>) -> Self {
        let mut head = Self::default();
        let Some(segments) = extension.and_then(|(profile, content)| segments(profile, content)) else {
            return head;
        };
        let mut walker = JpegWalker::default();
        let mut at = 0;
        while let Ok(Some(JpegPart::Begin | JpegPart::Segment)) = walker.next(segments) {
            let segment = &segments[at..walker.at()];
            at = walker.at();
            // Fill bytes may stand before it.
            let fill = segment.iter().take_while(|byte| **byte == 0xff).count();
            let segment = &segment[fill.saturating_sub(1)..];
            match segment.get(1) {
                Some(&(QUANTIZATION | HUFFMAN | RESTART | BASELINE | EXTENDED)) => head.came.push(segment),
                Some(&SCAN) => head.scan = Some(segment),
                // It is not needed to decode the image.
                _ => {}
            }
        }
        head
    }

    /// True if it has quantization tables that came with the picture.
    pub(super) fn has_tables(&self) -> bool {
        self.has(&[QUANTIZATION])
    }

    /// True if it has a frame's header that came with the picture.
    pub(super) fn has_frame(&self) -> bool {
        self.has(&[BASELINE, EXTENDED])
    }

    /// Sets the quantization tables that the packet's Q means.
    pub(super) fn set_tables(&mut self, tables: Quantization) {
        self.tables = tables;
    }

    /// Sets the restart interval, if there is one.
    pub(super) fn set_restart(&mut self, restart: Option<u16>) {
        self.restart = restart;
    }

    /// Makes the header of a frame with these tables. `halved` is true if colours have half the height, too.
    pub(super) fn set_frame(&mut self, width: u16, height: u16, halved: bool, tables: &Quantization) {
        let code = if tables.is_wide() { EXTENDED } else { BASELINE };
        let luma = if halved { 0x22 } else { 0x21 };
        let table = |component: usize| match tables.count() {
            0 => 1,
            count => component.min(count - 1) as u8,
        };
        let mut frame = vec![0xff, code, 0, 17, 8];
        frame.extend_from_slice(&height.to_be_bytes());
        frame.extend_from_slice(&width.to_be_bytes());
        frame.extend_from_slice(&[3, 1, luma, 0, 2, 0x11, table(1), 3, 0x11, table(2)]);
        self.frame = Some(frame);
    }

    /// Writes them all.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[0xff, 0xd8]);
        self.tables.write(out);
        for segment in &self.came {
            out.extend_from_slice(segment);
        }
        if let Some(interval) = self.restart.filter(|_| !self.has(&[RESTART])) {
            out.extend_from_slice(&[0xff, RESTART, 0, 4]);
            out.extend_from_slice(&interval.to_be_bytes());
        }
        out.extend_from_slice(self.frame.as_deref().unwrap_or_default());
        if !self.has(&[HUFFMAN]) {
            out.extend_from_slice(HUFFMAN_TABLES);
        }
        match self.scan {
            Some(scan) => out.extend_from_slice(scan),
            None => out.extend_from_slice(&self.made_scan()),
        }
    }

    fn has(&self, codes: &[u8]) -> bool {
        self.came.iter().any(|segment| codes.contains(&segment[1]))
    }

    /// The header of the scan, of the components that the frame has.
    fn made_scan(&self) -> Vec<u8> {
        let came = self
            .came
            .iter()
            .copied()
            .find(|segment| matches!(segment[1], BASELINE | EXTENDED));
        let frame = came.or(self.frame.as_deref()).unwrap_or_default();
        let components = frame.get(10..).unwrap_or_default().chunks_exact(3).take(4);
        let count = components.len() as u8;
        let mut scan = vec![0xff, SCAN, 0, 6 + 2 * count, count];
        for (number, component) in components.enumerate() {
            scan.extend_from_slice(&[component[0], if number == 0 { 0x00 } else { 0x11 }]);
        }
        scan.extend_from_slice(&[0, 63, 0]);
        scan
    }
}

/// The segments of JPEG in a header extension.
fn segments(profile: u16, content: &[u8]) -> Option<&[u8]> {
    if profile == SEGMENTS {
        return Some(content);
    }
    let behind = content.get(REPLAY_LENGTH..).filter(|_| REPLAY.contains(&profile))?;
    let (&[p0, p1, l0, l1], segments) = behind.split_first_chunk()?;
    (u16::from_be_bytes([p0, p1]) == SEGMENTS).then_some(())?;
    let length = 4 * usize::from(u16::from_be_bytes([l0, l1]));
    Some(&segments[..length.min(segments.len())])
}
