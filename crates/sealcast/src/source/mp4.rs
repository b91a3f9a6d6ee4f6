//! Reads H.264 and Motion JPEG from MP4 files, plain or fragmented, frame by frame.
//!
//! `shiguredo_mp4` parses the boxes. Its demuxers are not used, because they need every fragment in memory and refuse
//! fragments with absolute offsets, which ffmpeg writes.

use std::collections::VecDeque;
use std::io::{Read, Seek, SeekFrom};
use std::num::NonZeroU32;

use bytes::{BufMut, Bytes, BytesMut};

use super::coded::{CodedFrame, MAX_FRAME_BYTES, MediaError, Result, ticks};
use super::h264::{START_CODE, Stream, too_large};
use super::mjpeg::image_size;
use super::mp4_boxes::{BoxAt, read_box_at};
use super::mp4_fragments::{Defaults, fragment_samples};
use super::mp4_track::{Entry, Movie, SampleAt, Track, read_movie};
use crate::media::{Codec, FrameRate, StreamInfo};

/// Maximum size of the index (`moov`) in bytes; that of a day of video takes some 50 MB.
const MAX_INDEX_BYTES: u64 = 128 << 20;

/// Maximum size of a fragment's index (`moof`) in bytes.
const MAX_FRAGMENT_INDEX_BYTES: u64 = 4 << 20;

/// Maximum of boxes skipped before the index or the next fragment.
const MAX_BOXES_IN_A_ROW: usize = 4096;

/// Number of initial samples searched for the first one shown: more than a decoder may reorder.
const REORDER_LIMIT: usize = 32;

/// Reads frames from an MP4 file.
pub struct Mp4Reader<R> {
    input: R,
    length: u64,
    track: Track,
    defaults: Option<Defaults>,
    /// Number of the next sample in the index, from 1.
    next_sample: u32,
    /// Position of the next box after the index, for fragments.
    at: u64,
    after_index: u64,
    fragment: VecDeque<SampleAt>,
    /// Start time of the next fragment, used if the fragment does not state one.
    fragment_time: u64,
    first_decoded: u64,
    first_shown: i128,
    stream: Stream,
    size: (u16, u16),
    rate: Option<FrameRate>,
    description: Option<usize>,
    started: bool,
    ahead: Option<CodedFrame>,
}

impl<R: Read + Seek> Mp4Reader<R> {
    /// Reads the index and the first keyframe. `rate` overrides the announced rate, but not the frames' times.
    ///
    /// # Errors
    /// It is not an MP4 file, or it holds no video that sealcast carries.
    pub fn open(mut input: R, rate: Option<FrameRate>) -> Result<Self> {
        let length = input.seek(SeekFrom::End(0))?;
        let (index, after_index) = find_index(&mut input, length)?;
        let Movie { track, defaults } = read_movie(&index)?;
        let mut reader = Self {
            input,
            length,
            rate,
            track,
            defaults,
            next_sample: 1,
            at: after_index,
            after_index,
            fragment: VecDeque::new(),
            fragment_time: 0,
            first_decoded: 0,
            first_shown: 0,
            stream: Stream::default(),
            size: (0, 0),
            description: None,
            started: false,
            ahead: None,
        };
        reader.find_beginning()?;
        let first = reader
            .read()?
            .ok_or(MediaError::Empty("its video track has no keyframe"))?;
        if matches!(reader.track.entries.first(), Some(Entry::Jpeg)) {
            reader.size = image_size(&first.data)?;
        }
        reader.rate = reader.rate.or(reader.track.rate);
        reader.ahead = Some(first);
        Ok(reader)
    }

    /// Description of the stream.
    pub fn info(&self) -> StreamInfo {
        let info = self.stream.info(self.rate);
        match self.track.entries.first() {
            Some(Entry::Jpeg) => {
                let (width, height) = self.size;
                StreamInfo {
                    codec: Codec::Mjpeg,
                    width,
                    height,
                    ..info
                }
            }
            _ => info,
        }
    }

    /// Rewinds to the first frame.
    pub fn rewind(&mut self) {
        (self.next_sample, self.at, self.fragment_time) = (1, self.after_index, 0);
        (self.started, self.ahead, self.description) = (false, None, None);
        self.fragment.clear();
    }

    /// Returns the next frame, in decode order.
    ///
    /// # Errors
    /// Reading fails, or the file is truncated or contradicts itself.
    pub fn next_frame(&mut self) -> Result<Option<CodedFrame>> {
        match self.ahead.take() {
            Some(frame) => Ok(Some(frame)),
            None => self.read(),
        }
    }

    /// Finds the first decoding time and the first presentation time, which may belong to different frames.
    fn find_beginning(&mut self) -> Result<()> {
        let mut first = Vec::new();
        while first.len() < REORDER_LIMIT {
            match self.sample() {
                Ok(Some(sample)) => first.push(sample),
                Ok(None) => break,
                Err(e) if first.is_empty() => return Err(e),
                // Reading will reach this error again, and report it then.
                Err(_) => break,
            }
        }
        self.first_decoded = first.first().map_or(0, |sample| sample.decoded);
        self.first_shown = first.iter().map(SampleAt::shown).min().unwrap_or(0);
        self.rewind();
        Ok(())
    }

    fn read(&mut self) -> Result<Option<CodedFrame>> {
        while let Some(sample) = self.sample()? {
            let (data, keyframe) = self.load(&sample)?;
            if data.is_empty() || !(self.started || keyframe) {
                continue;
            }
            self.started = true;
            let ticks = |count| ticks(count, self.track.timescale.get(), 1);
            let presented = u64::try_from(sample.shown() - self.first_shown).unwrap_or(0);
            return Ok(Some(CodedFrame {
                keyframe,
                presented: ticks(presented),
                decoded: ticks(sample.decoded.saturating_sub(self.first_decoded)),
                duration: ticks(u64::from(sample.duration)),
                data,
            }));
        }
        Ok(None)
    }

    /// Position of the next sample, first from the index, then from the fragments.
    fn sample(&mut self) -> Result<Option<SampleAt>> {
        if let Some(sample) = NonZeroU32::new(self.next_sample).and_then(|number| self.track.sample(number)) {
            self.next_sample = self.next_sample.saturating_add(1);
            self.fragment_time = sample.decoded.saturating_add(u64::from(sample.duration));
            return Ok(Some(sample));
        }
        for _ in 0..MAX_BOXES_IN_A_ROW {
            if let Some(sample) = self.fragment.pop_front() {
                return Ok(Some(sample));
            }
            let Some(defaults) = &self.defaults else {
                return Ok(None);
            };
            let Some(found) = read_box_at(&mut self.input, self.at, self.length)? else {
                return Ok(None);
            };
            if &found.kind == b"moof" {
                let body = read_whole(&mut self.input, &found, self.length, MAX_FRAGMENT_INDEX_BYTES)?;
                self.fragment = fragment_samples(&body, found.at, self.track.id, defaults, &mut self.fragment_time)?;
            }
            self.at = found.end;
        }
        Err(MediaError::Damaged(format!(
            "no fragment among {MAX_BOXES_IN_A_ROW} boxes before byte {}",
            self.at
        )))
    }

    /// Reads a sample; returns the frame to deliver, and true if it is a keyframe.
    fn load(&mut self, sample: &SampleAt) -> Result<(Bytes, bool)> {
        let end = sample.offset.saturating_add(u64::from(sample.size));
        if end > self.length {
            return Err(MediaError::Truncated(format!(
                "the frame at byte {} ends at byte {end}, the file at byte {}",
                sample.offset, self.length
            )));
        }
        let size = usize::try_from(sample.size).unwrap_or(usize::MAX);
        if size > MAX_FRAME_BYTES {
            return Err(too_large(size));
        }
        let mut data = vec![0; size];
        self.input.seek(SeekFrom::Start(sample.offset))?;
        self.input.read_exact(&mut data)?;
        match self.track.entries.get(sample.description) {
            Some(Entry::Jpeg) => Ok((data.into(), true)),
            Some(Entry::Avc { length_bytes, sets }) => {
                if self.description != Some(sample.description) {
                    self.description = Some(sample.description);
                    sets.iter().try_for_each(|nal| self.stream.learn(nal))?;
                }
                let (data, keyframe) = self.stream.finish(to_annex_b(&data, *length_bytes)?, sample.sync)?;
                Ok((data, keyframe && self.stream.is_decodable()))
            }
            Some(Entry::Other(name)) => Err(MediaError::Unsupported(name.clone())),
            None => Err(MediaError::Damaged(format!(
                "it has no sample description {}",
                sample.description + 1
            ))),
        }
    }
}

impl<R> std::fmt::Debug for Mp4Reader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mp4Reader")
            .field("track", &self.track.id)
            .field("next_sample", &self.next_sample)
            .finish()
    }
}

/// Reads the box `moov`; also returns the position of the next box.
fn find_index<R: Read + Seek>(input: &mut R, length: u64) -> Result<(Vec<u8>, u64)> {
    let mut at = 0;
    for _ in 0..MAX_BOXES_IN_A_ROW {
        let Some(found) = read_box_at(input, at, length)? else {
            break;
        };
        if &found.kind == b"moov" {
            return Ok((read_whole(input, &found, length, MAX_INDEX_BYTES)?, found.end));
        }
        if found.end > length {
            let kind = String::from_utf8_lossy(&found.kind).escape_default().to_string();
            return Err(MediaError::Truncated(format!(
                "inside its box {kind}, before its index (moov)"
            )));
        }
        at = found.end;
    }
    Err(MediaError::Truncated(
        "it has no index (moov), as when its recording was cut off".into(),
    ))
}

fn read_whole<R: Read + Seek>(input: &mut R, found: &BoxAt, length: u64, limit: u64) -> Result<Vec<u8>> {
    let size = found.end - found.at;
    let kind = String::from_utf8_lossy(&found.kind).into_owned();
    if found.end > length {
        return Err(MediaError::Truncated(format!(
            "inside its box {kind} at byte {}",
            found.at
        )));
    }
    if size > limit {
        return Err(MediaError::Damaged(format!("its box {kind} would have {size} bytes")));
    }
    let mut data = vec![0; usize::try_from(size).unwrap_or(0)];
    input.seek(SeekFrom::Start(found.at))?;
    input.read_exact(&mut data)?;
    Ok(data)
}

/// Replaces the lengths before NAL units with start codes.
fn to_annex_b(sample: &[u8], length_bytes: usize) -> Result<Bytes> {
    let mut out = BytesMut::with_capacity(sample.len() + 64);
    let mut rest = sample;
    while !rest.is_empty() {
        let cut = || MediaError::Damaged("a NAL unit is longer than its frame".into());
        let (length, tail) = rest.split_at_checked(length_bytes).ok_or_else(cut)?;
        let length = length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        let (nal, tail) = tail.split_at_checked(length).ok_or_else(cut)?;
        rest = tail;
        if !nal.is_empty() {
            out.put_slice(&START_CODE);
            out.put_slice(nal);
        }
    }
    Ok(out.freeze())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn boxed(kind: &[u8; 4], body: &[u8]) -> Vec<u8> {
        let size = u32::try_from(body.len() + 8).expect("small").to_be_bytes();
        [&size[..], kind, body].concat()
    }

    fn refusal(file: Vec<u8>) -> MediaError {
        Mp4Reader::open(Cursor::new(file), None).expect_err("this is no film")
    }

    #[test]
    fn lengths_become_start_codes() {
        let sample = [&[0, 0, 0, 2, 0x65, 1][..], &[0, 0, 0, 0], &[0, 0, 0, 1, 0x41]].concat();
        let expected = [0, 0, 0, 1, 0x65, 1, 0, 0, 0, 1, 0x41];
        assert_eq!(to_annex_b(&sample, 4).expect("a frame"), expected[..]);
        assert_eq!(to_annex_b(&[2, 0x65, 1, 1, 0x41], 1).expect("a frame"), expected[..]);
        assert!(to_annex_b(&[0, 0, 0, 3, 0x65, 1], 4).is_err());
        assert!(to_annex_b(&[0, 0], 4).is_err());
    }

    #[test]
    fn an_index_that_is_missing_or_cut_is_told() {
        let head = boxed(b"ftyp", b"isomiso2");
        let cut = refusal([&head[..], &boxed(b"mdat", &[1; 50])].concat());
        assert!(
            matches!(&cut, MediaError::Truncated(why) if why.contains("no index")),
            "{cut}"
        );
        let movie = boxed(b"moov", &[0; 60]);
        assert!(matches!(
            refusal([&head[..], &movie[..40]].concat()),
            MediaError::Truncated(_)
        ));
        assert!(matches!(
            refusal([&head[..], &[0; 40]].concat()),
            MediaError::Truncated(_)
        ));
        assert!(matches!(
            refusal([&head[..], &boxed(b"moov", &[])].concat()),
            MediaError::Empty(_)
        ));
    }

    #[test]
    fn a_box_that_claims_too_much_is_refused_before_memory_is_taken() {
        let head = boxed(b"ftyp", b"isomiso2");
        let huge = [&head[..], &[0, 0, 0, 1], b"moov", &(1u64 << 60).to_be_bytes()].concat();
        assert!(matches!(refusal(huge), MediaError::Truncated(_)));
        let small = [&head[..], &[0, 0, 0, 3], b"moov", &[0; 20]].concat();
        assert!(matches!(refusal(small), MediaError::Damaged(_)));
    }

    #[test]
    fn endless_boxes_before_the_index_are_given_up() {
        let file = [boxed(b"ftyp", b"isom"), boxed(b"free", &[]).repeat(MAX_BOXES_IN_A_ROW)].concat();
        assert!(matches!(refusal(file), MediaError::Truncated(_)));
    }
}
