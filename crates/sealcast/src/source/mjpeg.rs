//! Splits concatenated JPEG images by their markers, incrementally and with bounded memory.

use std::io::{ErrorKind, Read};

use bytes::{Buf, Bytes, BytesMut};
use sealcast_proto::unit::{JpegPart, JpegWalker};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;

use super::coded::{ASSUMED_RATE, CodedFrame, MAX_FRAME_BYTES, MediaError, Result, at_rate};
use super::h264::too_large;
use crate::media::{Codec, FrameRate, StreamInfo, Track};

/// Bytes read from a file at once.
const CHUNK_BYTES: usize = 64 << 10;

/// The marker that begins an image.
const START_OF_IMAGE: [u8; 2] = [0xff, 0xd8];

/// Splits a byte stream into JPEG images, whatever pieces it arrives in. Bytes between images (padding, multipart
/// boundaries) are dropped.
#[derive(Debug, Default)]
pub struct Splitter {
    buffer: BytesMut,
    /// The walk over the image at the start of the buffer, once one has begun.
    walker: Option<JpegWalker>,
    skipped: usize,
}

impl Splitter {
    /// Appends received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// True if an image has begun and not ended.
    pub fn is_inside(&self) -> bool {
        self.walker.is_some()
    }

    /// Returns the next complete image, or `None` until more bytes have arrived.
    ///
    /// # Errors
    /// The data is not an image, or an image grows beyond [`MAX_FRAME_BYTES`].
    pub fn next_image(&mut self) -> Result<Option<Bytes>> {
        if self.walker.is_none() && !self.skip_to_image()? {
            return Ok(None);
        }
        let walker = self.walker.get_or_insert_default();
        loop {
            let begun = walker.at() > 0;
            let part = walker.next(&self.buffer);
            match part.map_err(|error| MediaError::Damaged(error.to_string()))? {
                None if self.buffer.len() > MAX_FRAME_BYTES => return Err(too_large(self.buffer.len())),
                None => return Ok(None),
                Some(JpegPart::Begin) if begun => {
                    return Err(MediaError::Damaged("a JPEG image begins inside another".into()));
                }
                Some(JpegPart::Begin | JpegPart::Segment | JpegPart::Scan) => {}
                Some(JpegPart::End) if walker.at() > MAX_FRAME_BYTES => return Err(too_large(walker.at())),
                Some(JpegPart::End) => {
                    let image = self.buffer.split_to(walker.at()).freeze();
                    self.walker = None;
                    return Ok(Some(image));
                }
            }
        }
    }

    /// Drops the bytes before the next image; returns true if one begins.
    fn skip_to_image(&mut self) -> Result<bool> {
        let begin = self.buffer.windows(2).position(|pair| pair == START_OF_IMAGE);
        // The last byte may be the first half of the marker.
        let drop = begin.unwrap_or(self.buffer.len().saturating_sub(1));
        self.buffer.advance(drop);
        self.skipped += drop;
        if self.skipped > MAX_FRAME_BYTES {
            return Err(MediaError::Damaged("no JPEG image begins where one should".into()));
        }
        if begin.is_some() {
            self.skipped = 0;
        }
        Ok(begin.is_some())
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
                    track: Track::Picture,
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
