//! Splits concatenated JPEG images by their markers, incrementally and with bounded memory.

use std::io::{ErrorKind, Read};

use bytes::{Buf, Bytes, BytesMut};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;

use super::coded::{ASSUMED_RATE, CodedFrame, MAX_FRAME_BYTES, MediaError, Result, at_rate};
use super::h264::too_large;
use crate::media::{Codec, FrameRate, StreamInfo};

/// Bytes read from a file at once.
const CHUNK_BYTES: usize = 64 << 10;

const SOI: u8 = 0xd8;
const EOI: u8 = 0xd9;
const SOS: u8 = 0xda;

/// State of the splitter within an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// Before an image: everything that is not `ff d8` is skipped.
    #[default]
    Outside,
    /// The next byte must be the `ff` of a marker.
    Marker,
    /// The next byte must be the code of a marker.
    Code,
    /// The next byte is the first one of a segment's length.
    Length { scan: bool },
    /// The next byte is the second one of the length.
    LengthLow { scan: bool, high: u8 },
    /// `left` bytes of a segment remain.
    Segment { scan: bool, left: usize },
    /// In the entropy-coded data.
    Scan,
    /// In the entropy-coded data, after an `ff`.
    ScanMarker,
}

/// Splits a byte stream into JPEG images, whatever pieces it arrives in. It parses the segments, so a thumbnail
/// inside an image does not end it. Bytes between images (padding, multipart boundaries) are dropped.
#[derive(Debug, Default)]
pub struct Splitter {
    buffer: BytesMut,
    scanned: usize,
    place: Place,
    skipped: usize,
}

impl Splitter {
    /// Appends received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// True if an image has begun and not ended.
    pub fn is_inside(&self) -> bool {
        self.place != Place::Outside
    }

    /// Returns the next complete image, or `None` until more bytes have arrived.
    ///
    /// # Errors
    /// The data is not an image, or an image grows beyond [`MAX_FRAME_BYTES`].
    pub fn next_image(&mut self) -> Result<Option<Bytes>> {
        loop {
            if self.place == Place::Outside && !self.skip_to_image()? {
                return Ok(None);
            }
            if self.scanned > MAX_FRAME_BYTES {
                return Err(too_large(self.scanned));
            }
            let Some(&byte) = self.buffer.get(self.scanned) else {
                return Ok(None);
            };
            if self.step(byte)? {
                self.place = Place::Outside;
                let image = self.buffer.split_to(self.scanned).freeze();
                self.scanned = 0;
                return Ok(Some(image));
            }
        }
    }

    /// Drops the bytes before the next image; returns true if one begins.
    fn skip_to_image(&mut self) -> Result<bool> {
        let begin = self.buffer.windows(2).position(|pair| pair == [0xff, SOI]);
        // The last byte may be the first half of the marker.
        let drop = begin.unwrap_or(self.buffer.len().saturating_sub(1));
        self.buffer.advance(drop);
        self.skipped += drop;
        if self.skipped > MAX_FRAME_BYTES {
            return Err(MediaError::Damaged("no JPEG image begins where one should".into()));
        }
        if begin.is_some() {
            (self.place, self.scanned, self.skipped) = (Place::Marker, 2, 0);
        }
        Ok(begin.is_some())
    }

    /// Processes the byte at `scanned`; returns true after the end of the image.
    fn step(&mut self, byte: u8) -> Result<bool> {
        let mut taken = 1;
        self.place = match self.place {
            Place::Outside | Place::Marker if byte == 0xff => Place::Code,
            Place::Outside | Place::Marker => {
                return Err(MediaError::Damaged(format!(
                    "a JPEG marker was expected, not the byte {byte:#04x}"
                )));
            }
            Place::Code => match byte {
                0xff => Place::Code,
                EOI => {
                    self.scanned += 1;
                    return Ok(true);
                }
                // Markers without a segment: TEM and the restart markers.
                0x01 | 0xd0..=0xd7 => Place::Marker,
                0x00 | SOI => return Err(MediaError::Damaged("a JPEG image begins inside another".into())),
                code => Place::Length { scan: code == SOS },
            },
            Place::Length { scan } => Place::LengthLow { scan, high: byte },
            Place::LengthLow { scan, high } => {
                let length = usize::from(u16::from_be_bytes([high, byte]));
                let left = length.checked_sub(2);
                let left =
                    left.ok_or_else(|| MediaError::Damaged("a JPEG segment is shorter than its length".into()))?;
                Self::segment(scan, left)
            }
            Place::Segment { scan, left } => {
                taken = left.min(self.buffer.len() - self.scanned);
                Self::segment(scan, left - taken)
            }
            Place::Scan if byte == 0xff => Place::ScanMarker,
            Place::Scan => {
                let rest = &self.buffer[self.scanned..];
                taken = rest.iter().position(|&byte| byte == 0xff).unwrap_or(rest.len());
                Place::Scan
            }
            Place::ScanMarker => match byte {
                0x00 | 0xd0..=0xd7 => Place::Scan,
                0xff => Place::ScanMarker,
                // Either another segment between two scans of a progressive image, or the end of the image.
                _ => {
                    taken = 0;
                    Place::Code
                }
            },
        };
        self.scanned += taken;
        Ok(false)
    }

    fn segment(scan: bool, left: usize) -> Place {
        match (left, scan) {
            (0, true) => Place::Scan,
            (0, false) => Place::Marker,
            _ => Place::Segment { scan, left },
        }
    }
}

/// Returns the width and height of a JPEG image.
///
/// # Errors
/// It is not a JPEG image.
pub fn image_size(image: &[u8]) -> Result<(u16, u16)> {
    let mut decoder = JpegDecoder::new(ZCursor::new(image));
    let damaged = |why: String| MediaError::Damaged(format!("a JPEG image has no valid header: {why}"));
    decoder.decode_headers().map_err(|e| damaged(e.to_string()))?;
    let info = decoder.info().ok_or_else(|| damaged("no frame header".into()))?;
    Ok((info.width, info.height))
}

/// Splits concatenated JPEG images.
///
/// # Errors
/// The data is not an image, or an image is larger than [`MAX_FRAME_BYTES`].
pub fn split_images(data: &[u8]) -> Result<Vec<Bytes>> {
    let mut splitter = Splitter::default();
    let mut images = Vec::new();
    for chunk in data.chunks(CHUNK_BYTES) {
        splitter.push(chunk);
        while let Some(image) = splitter.next_image()? {
            images.push(image);
        }
    }
    Ok(images)
}

/// Reads frames from concatenated JPEG images at a constant rate.
#[derive(Debug)]
pub struct JpegReader<R> {
    input: R,
    splitter: Splitter,
    size: (u16, u16),
    rate: FrameRate,
    ahead: Option<CodedFrame>,
    count: u64,
}

impl<R: Read> JpegReader<R> {
    /// Reads the first image. `rate` is the playback rate, by default 25 frames per second.
    ///
    /// # Errors
    /// There is no image.
    pub fn open(input: R, rate: Option<FrameRate>) -> Result<Self> {
        let rate = rate.unwrap_or(ASSUMED_RATE);
        let mut reader = Self {
            input,
            splitter: Splitter::default(),
            size: (0, 0),
            rate,
            ahead: None,
            count: 0,
        };
        let first = reader.read()?.ok_or(MediaError::Empty("no JPEG image was found"))?;
        reader.size = image_size(&first.data)?;
        reader.ahead = Some(first);
        Ok(reader)
    }

    /// Description of the stream.
    pub fn info(&self) -> StreamInfo {
        let (width, height) = self.size;
        StreamInfo {
            codec: Codec::Mjpeg,
            width,
            height,
            rate: self.rate,
            parameters: Vec::new(),
        }
    }

    /// Returns the input, to read it again.
    pub fn into_input(self) -> R {
        self.input
    }

    /// Returns the next frame.
    ///
    /// # Errors
    /// Reading fails, or the data is not an image.
    pub fn next_frame(&mut self) -> Result<Option<CodedFrame>> {
        match self.ahead.take() {
            Some(frame) => Ok(Some(frame)),
            None => self.read(),
        }
    }

    fn read(&mut self) -> Result<Option<CodedFrame>> {
        let mut chunk = [0; CHUNK_BYTES];
        loop {
            if let Some(data) = self.splitter.next_image()? {
                let at = at_rate(self.count, self.rate);
                self.count += 1;
                let duration = at_rate(1, self.rate);
                return Ok(Some(CodedFrame {
                    keyframe: true,
                    presented: at,
                    decoded: at,
                    duration,
                    data,
                }));
            }
            match self.input.read(&mut chunk) {
                Ok(0) if self.splitter.is_inside() => {
                    return Err(MediaError::Truncated("the last JPEG image has no end".into()));
                }
                Ok(0) => return Ok(None),
                Ok(n) => self.splitter.push(&chunk[..n]),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e.into()),
            }
        }
    }
}

#[cfg(test)]
#[path = "mjpeg_tests.rs"]
mod tests;
