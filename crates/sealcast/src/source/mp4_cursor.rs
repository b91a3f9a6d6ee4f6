//! The samples of one track of an MP4 file, one after the other: first those of the index, then those of the fragments.

use std::collections::VecDeque;
use std::io::{Read, Seek, SeekFrom};
use std::num::NonZeroU32;

use super::coded::{MediaError, Result};
use super::h264::too_large;
use super::mp4_boxes::{BoxAt, read_box_at};
use super::mp4_fragments::{Defaults, fragment_samples};
use super::mp4_track::{SampleAt, Track};

/// Maximum size of a fragment's index (`moof`) in bytes.
const MAX_FRAGMENT_INDEX_BYTES: u64 = 4 << 20;

/// Maximum of boxes skipped before the index or the next fragment.
pub(super) const MAX_BOXES_IN_A_ROW: usize = 4096;

/// Place at which a track is being read.
pub(super) struct Cursor {
    pub(super) track: Track,
    defaults: Option<Defaults>,
    /// Number of the next sample in the index, from 1.
    next_sample: u32,
    /// Position of the next box after the index, for fragments.
    at: u64,
    after_index: u64,
    fragment: VecDeque<SampleAt>,
    /// Start time of the next fragment, used if the fragment does not state one.
    fragment_time: u64,
}

impl Cursor {
    /// The beginning of a track; the boxes after the index begin at `after_index`.
    pub(super) fn new((track, defaults): (Track, Option<Defaults>), after_index: u64) -> Self {
        Self {
            track,
            defaults,
            next_sample: 1,
            at: after_index,
            after_index,
            fragment: VecDeque::new(),
            fragment_time: 0,
        }
    }

    /// Goes back to the first sample.
    pub(super) fn rewind(&mut self) {
        (self.next_sample, self.at, self.fragment_time) = (1, self.after_index, 0);
        self.fragment.clear();
    }

    /// The first samples, `most` of them, after which it is at the beginning again.
    ///
    /// # Errors
    /// Not even one can be read.
    pub(super) fn first<R: Read + Seek>(&mut self, input: &mut R, length: u64, most: usize) -> Result<Vec<SampleAt>> {
        let mut first = Vec::new();
        while first.len() < most {
            match self.next(input, length) {
                Ok(Some(sample)) => first.push(sample),
                Ok(None) => break,
                Err(e) if first.is_empty() => return Err(e),
                // Reading will reach this error again, and report it then.
                Err(_) => break,
            }
        }
        self.rewind();
        Ok(first)
    }

    /// Position of the next sample, first from the index, then from the fragments of a file of `length` bytes.
    ///
    /// # Errors
    /// The file is truncated or contradicts itself.
    pub(super) fn next<R: Read + Seek>(&mut self, input: &mut R, length: u64) -> Result<Option<SampleAt>> {
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
            let Some(found) = read_box_at(input, self.at, length)? else {
                return Ok(None);
            };
            if &found.kind == b"moof" {
                let body = read_whole(input, &found, length, MAX_FRAGMENT_INDEX_BYTES)?;
                self.fragment = fragment_samples(&body, found.at, self.track.id, defaults, &mut self.fragment_time)?;
            }
            self.at = found.end;
        }
        Err(MediaError::Damaged(format!(
            "no fragment among {MAX_BOXES_IN_A_ROW} boxes before byte {}",
            self.at
        )))
    }
}

/// Reads the bytes of a sample of at most `most` bytes from a file of `length` bytes.
pub(super) fn read_sample<R: Read + Seek>(
    input: &mut R,
    length: u64,
    sample: &SampleAt,
    most: usize,
) -> Result<Vec<u8>> {
    let end = sample.offset.saturating_add(u64::from(sample.size));
    if end > length {
        return Err(MediaError::Truncated(format!(
            "the frame at byte {} ends at byte {end}, the file at byte {length}",
            sample.offset
        )));
    }
    let size = usize::try_from(sample.size).unwrap_or(usize::MAX);
    if size > most {
        return Err(too_large(size));
    }
    let mut data = vec![0; size];
    input.seek(SeekFrom::Start(sample.offset))?;
    input.read_exact(&mut data)?;
    Ok(data)
}

/// Reads a whole box, if it has at most `limit` bytes.
pub(super) fn read_whole<R: Read + Seek>(input: &mut R, found: &BoxAt, length: u64, limit: u64) -> Result<Vec<u8>> {
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
