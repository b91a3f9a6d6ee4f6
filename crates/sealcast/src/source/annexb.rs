//! Splits H.264 and H.265 byte streams (Annex B) into access units, incrementally and with bounded memory.

use std::io::Read;

use bytes::{Bytes, BytesMut};
use sealcast_proto::unit::find_start_code;

use super::coded::{ASSUMED_RATE, CodedFrame, MAX_FRAME_BYTES, MediaError, Result, at_rate};
use super::h264::{nal_type, start_code_begin, too_large};
use super::h265;
use super::predicted::Predicted;
use crate::media::{Codec, FrameRate, StreamInfo, Track};

/// Bytes read from a file at once.
const CHUNK_BYTES: usize = 64 << 10;

/// Splits a byte stream into access units, whatever pieces it arrives in. A unit is complete when the next one
/// begins, as in every parser of such streams; a field of an interlaced picture counts as a unit.
#[derive(Debug, Default)]
pub struct Splitter {
    buffer: BytesMut,
    /// Bytes before this position have been searched.
    scanned: usize,
    has_slice: bool,
    /// True for H.265.
    h265: bool,
}

/// Role of a NAL unit for the access unit that it follows.
struct Role {
    is_slice: bool,
    /// It begins a new one, if that has a slice.
    begins: bool,
}

impl Role {
    /// Of a unit of H.264 by its header and the byte after it; `None` if they are not there yet.
    fn of_h264(unit: &[u8]) -> Option<Self> {
        let [header, first] = *unit.first_chunk()?;
        let kind = header & 0x1f;
        let is_slice = (nal_type::SLICE..=nal_type::IDR).contains(&kind);
        // first_mb_in_slice is ue(v): a leading 1 bit means 0, so the slice is the first of its picture.
        let begins = (is_slice && !matches!(kind, 3 | 4) && first & 0x80 != 0) || opens_a_unit(kind);
        Some(Self { is_slice, begins })
    }

    /// Of a unit of H.265 by its header of two bytes and the byte after it.
    fn of_h265(unit: &[u8]) -> Option<Self> {
        let [.., first] = *unit.first_chunk::<3>()?;
        // Units of other layers belong to the picture before them.
        let kind = h265::kind(unit);
        let is_slice = kind.is_some_and(|kind| kind < h265::nal_type::SLICES_END);
        // The first bit of a segment says whether it is the first of its picture.
        let begins = (is_slice && first & 0x80 != 0) || kind.is_some_and(h265::opens_a_unit);
        Some(Self { is_slice, begins })
    }
}

impl Splitter {
    /// Splits a stream of H.265; the default is H.264.
    pub fn h265() -> Self {
        Self {
            h265: true,
            ..Self::default()
        }
    }

    /// Appends received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next complete access unit, or `None` until more bytes have arrived.
    ///
    /// # Errors
    /// A unit grows beyond [`MAX_FRAME_BYTES`].
    pub fn next_unit(&mut self) -> Result<Option<Bytes>> {
        while let Some(at) = find_start_code(&self.buffer, self.scanned) {
            // The NAL header and the byte after it decide whether a new access unit begins here.
            let unit = &self.buffer[at + 3..];
            let role = if self.h265 {
                Role::of_h265(unit)
            } else {
                Role::of_h264(unit)
            };
            let Some(Role { is_slice, begins }) = role else {
                self.scanned = at;
                return self.undecided();
            };
            self.scanned = at + 3;
            if begins && self.has_slice {
                let boundary = start_code_begin(&self.buffer, at);
                self.has_slice = is_slice;
                self.scanned -= boundary;
                return Ok(Some(self.buffer.split_to(boundary).freeze()));
            }
            self.has_slice |= is_slice;
        }
        // The last three bytes may begin a start code, and the byte before them may belong to it.
        self.scanned = self.scanned.max(self.buffer.len().saturating_sub(3));
        self.undecided()
    }

    fn undecided(&self) -> Result<Option<Bytes>> {
        if self.buffer.len() > MAX_FRAME_BYTES {
            Err(too_large(self.buffer.len()))
        } else {
            Ok(None)
        }
    }

    /// Returns the rest at the end of the stream if it contains a picture.
    pub fn finish(&mut self) -> Option<Bytes> {
        // Parameter sets alone are no picture, nor is a slice cut off after its first byte.
        let rest = self.buffer.split().freeze();
        self.scanned = 0;
        std::mem::take(&mut self.has_slice).then_some(rest)
    }
}

/// True if a unit of this type, following a slice, belongs to the next picture (ITU-T H.264, 7.4.1.2.3).
fn opens_a_unit(kind: u8) -> bool {
    matches!(
        kind,
        nal_type::SEI | nal_type::SPS | nal_type::PPS | nal_type::AUD | 14..=18
    )
}

/// Splits a complete byte stream into its access units.
///
/// # Errors
/// A unit is larger than [`MAX_FRAME_BYTES`].
pub fn split_access_units(data: &[u8]) -> Result<Vec<Bytes>> {
    split_with(Splitter::default(), data)
}

/// As [`split_access_units`], of H.265.
///
/// # Errors
/// A unit is larger than [`MAX_FRAME_BYTES`].
pub fn split_h265_units(data: &[u8]) -> Result<Vec<Bytes>> {
    split_with(Splitter::h265(), data)
}

fn split_with(mut splitter: Splitter, data: &[u8]) -> Result<Vec<Bytes>> {
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

/// Reads frames from an Annex B byte stream at a constant rate.
#[derive(Debug)]
pub struct AnnexBReader<R> {
    input: R,
    splitter: Splitter,
    stream: Predicted,
    rate: Option<FrameRate>,
    ahead: Option<CodedFrame>,
    ended: bool,
    started: bool,
    count: u64,
}

impl<R: Read> AnnexBReader<R> {
    /// Reads H.264 up to the first keyframe, which describes the stream. `rate` overrides the rate that the stream
    /// states.
    ///
    /// # Errors
    /// There is no keyframe, or the stream is invalid.
    pub fn open(input: R, rate: Option<FrameRate>) -> Result<Self> {
        Self::open_as(Codec::H264, input, rate)
    }

    /// As [`open`](Self::open), of H.265.
    ///
    /// # Errors
    /// There is no keyframe, or the stream is invalid.
    pub fn open_h265(input: R, rate: Option<FrameRate>) -> Result<Self> {
        Self::open_as(Codec::H265, input, rate)
    }

    fn open_as(codec: Codec, input: R, rate: Option<FrameRate>) -> Result<Self> {
        let mut reader = Self {
            input,
            splitter: if codec == Codec::H265 {
                Splitter::h265()
            } else {
                Splitter::default()
            },
            stream: Predicted::of(codec),
            rate,
            ahead: None,
            ended: false,
            started: false,
            count: 0,
        };
        reader.ahead = reader.read()?;
        if reader.ahead.is_none() {
            return Err(MediaError::Empty("no keyframe with its parameter sets was found"));
        }
        Ok(reader)
    }

    /// Description of the stream.
    pub fn info(&self) -> StreamInfo {
        self.stream.info(self.rate)
    }

    /// Reads another input of the same codec, or the same input again: `renew` gets the one that was read.
    ///
    /// # Errors
    /// As [`open`](Self::open), and those of `renew`.
    pub fn reopened(self, rate: Option<FrameRate>, renew: impl FnOnce(R) -> Result<R>) -> Result<Self> {
        Self::open_as(self.stream.codec(), renew(self.input)?, rate)
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
            let (data, keyframe) = self.stream.finish(unit, false)?;
            if !(self.started || keyframe && self.stream.is_decodable()) {
                continue;
            }
            self.started = true;
            let rate = self.rate.or(self.stream.rate()).unwrap_or(ASSUMED_RATE);
            let at = at_rate(self.count, rate);
            self.count += 1;
            let duration = at_rate(1, rate);
            // A byte stream carries no timestamps; decode order is the best approximation.
            return Ok(Some(CodedFrame {
                track: Track::Picture,
                keyframe,
                presented: at,
                decoded: at,
                duration,
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

#[cfg(test)]
mod tests {
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
}
