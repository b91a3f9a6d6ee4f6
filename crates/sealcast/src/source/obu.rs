//! Splits AV1 byte streams (the low-overhead format, as in `.obu` files) into temporal units, incrementally and with
//! bounded memory.

use std::io::Read;

use bytes::{Bytes, BytesMut};

use super::av1::{Begin, Stream, first_obu};
use super::coded::{ASSUMED_RATE, CodedFrame, MAX_FRAME_BYTES, MediaError, Result, at_rate};
use super::h264::too_large;
use crate::media::{FrameRate, StreamInfo, Track};

/// Bytes read from a file at once.
const CHUNK_BYTES: usize = 64 << 10;

/// Splits a byte stream into temporal units, whatever pieces it arrives in. A unit is complete when the delimiter of
/// the next one comes.
#[derive(Debug, Default)]
pub struct Splitter {
    buffer: BytesMut,
    /// Bytes before this position are whole OBUs of the unit.
    scanned: usize,
}

impl Splitter {
    /// Appends received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next complete temporal unit, or `None` until more bytes have arrived.
    ///
    /// # Errors
    /// The bytes are no OBUs with sizes, or a unit grows beyond [`MAX_FRAME_BYTES`].
    pub fn next_unit(&mut self) -> Result<Option<Bytes>> {
        loop {
            let rest = &self.buffer[self.scanned..];
            // One without a size would go on to the end of all.
            let sized = rest.first().is_none_or(|first| first & 2 != 0);
            match first_obu(rest) {
                Begin::Obu(obu) if sized => {
                    let (length, is_delimiter) = (obu.len(), obu.is_delimiter());
                    if is_delimiter && self.scanned > 0 {
                        let unit = self.buffer.split_to(self.scanned).freeze();
                        self.scanned = 0;
                        return Ok(Some(unit));
                    }
                    self.scanned += length;
                }
                Begin::Cut(end) if sized => {
                    let length = self.scanned.saturating_add(end.unwrap_or(0)).max(self.buffer.len());
                    return match length > MAX_FRAME_BYTES {
                        true => Err(too_large(length)),
                        false => Ok(None),
                    };
                }
                _ => return Err(MediaError::Damaged("what should be an OBU with a size is none".into())),
            }
        }
    }

    /// Returns the last unit at the end of the stream, without an OBU that is cut off.
    pub fn finish(&mut self) -> Option<Bytes> {
        let rest = self.buffer.split_to(self.scanned).freeze();
        self.buffer.clear();
        self.scanned = 0;
        (!rest.is_empty()).then_some(rest)
    }
}

/// Splits a complete byte stream into its temporal units.
///
/// # Errors
/// It is damaged, or a unit is larger than [`MAX_FRAME_BYTES`].
pub fn split_temporal_units(data: &[u8]) -> Result<Vec<Bytes>> {
    let mut splitter = Splitter::default();
    let mut units = Vec::new();
    for chunk in data.chunks(CHUNK_BYTES) {
        splitter.push(chunk);
        while let Some(unit) = splitter.next_unit()? {
            units.push(unit);
        }
    }
    units.extend(splitter.finish());
    Ok(units)
}

/// Reads frames from a byte stream of AV1 at a constant rate.
#[derive(Debug)]
pub struct ObuReader<R> {
    input: R,
    splitter: Splitter,
    stream: Stream,
    rate: Option<FrameRate>,
    ahead: Option<CodedFrame>,
    ended: bool,
    started: bool,
    count: u64,
}

impl<R: Read> ObuReader<R> {
    /// Reads up to the first keyframe, which describes the stream. `rate` overrides the rate that the stream states.
    ///
    /// # Errors
    /// There is no keyframe, or the stream is invalid.
    pub fn open(input: R, rate: Option<FrameRate>) -> Result<Self> {
        let mut reader = Self {
            input,
            splitter: Splitter::default(),
            stream: Stream::default(),
            rate,
            ahead: None,
            ended: false,
            started: false,
            count: 0,
        };
        reader.ahead = reader.read()?;
        if reader.ahead.is_none() {
            return Err(MediaError::Empty("no keyframe with its sequence header was found"));
        }
        Ok(reader)
    }

    /// Description of the stream.
    pub fn info(&self) -> StreamInfo {
        self.stream.info(self.rate)
    }

    /// Returns the input, to read it again.
    pub fn into_input(self) -> R {
        self.input
    }

    /// Returns the next frame.
    ///
    /// # Errors
    /// Reading fails, or the stream is invalid.
    pub fn next_frame(&mut self) -> Result<Option<CodedFrame>> {
        match self.ahead.take() {
            Some(frame) => Ok(Some(frame)),
            None => self.read(),
        }
    }

    fn read(&mut self) -> Result<Option<CodedFrame>> {
        while let Some(unit) = self.read_unit()? {
            let (data, keyframe) = self.stream.finish(unit)?;
            if data.is_empty() || !(self.started || keyframe && self.stream.is_decodable()) {
                continue;
            }
            self.started = true;
            let stated = self.stream.sequence().and_then(|sequence| sequence.rate);
            let rate = self.rate.or(stated).unwrap_or(ASSUMED_RATE);
            let at = at_rate(self.count, rate);
            self.count += 1;
            return Ok(Some(CodedFrame {
                track: Track::Picture,
                keyframe,
                presented: at,
                decoded: at,
                duration: at_rate(1, rate),
                data,
            }));
        }
        Ok(None)
    }

    fn read_unit(&mut self) -> Result<Option<Bytes>> {
        let mut chunk = [0; CHUNK_BYTES];
        loop {
            if let Some(unit) = self.splitter.next_unit()? {
                return Ok(Some(unit));
            }
            if self.ended {
                return Ok(self.splitter.finish());
            }
            match self.input.read(&mut chunk) {
                Ok(0) => self.ended = true,
                Ok(n) => self.splitter.push(&chunk[..n]),
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e.into()),
            }
        }
    }
}
