//! Reads H.264, H.265, AV1, Motion JPEG, and the sound beside them from MP4 files, plain or fragmented, frame by frame.
//!
//! `shiguredo_mp4` parses the boxes. Its demuxers are not used, because they need every fragment in memory and refuse
//! fragments with absolute offsets, which ffmpeg writes.

use std::io::{Read, Seek, SeekFrom};
use std::time::Duration;

use bytes::Bytes;

use super::coded::{CodedFrame, MAX_FRAME_BYTES, MediaError, Result, ticks};
use super::entry::Entry;
use super::mjpeg::image_size;
use super::mp4_boxes::read_box_at;
use super::mp4_cursor::{Cursor, MAX_BOXES_IN_A_ROW, read_sample, read_whole};
use super::mp4_track::{Movie, SampleAt, read_movie};
use super::predicted::Predicted;
use super::sound::MAX_SOUND_BYTES;
use crate::media::{Codec, FrameRate, Orientation, SoundInfo, StreamInfo, Track};

/// Maximum size of the index (`moov`) in bytes; that of a day of video takes some 50 MB.
const MAX_INDEX_BYTES: u64 = 128 << 20;

/// Number of initial samples searched for the first one shown: more than a decoder may reorder.
const REORDER_LIMIT: usize = 32;

/// The sound of a file.
struct Sound {
    cursor: Cursor,
    info: SoundInfo,
    ahead: Option<CodedFrame>,
    /// True if the rest of it cannot be read, until the file is played again.
    broken: bool,
    /// It was said that it breaks off.
    told: bool,
}

/// Reads frames from an MP4 file.
pub struct Mp4Reader<R> {
    input: R,
    length: u64,
    picture: Cursor,
    sound: Option<Sound>,
    left_out: Vec<String>,
    first_decoded: u64,
    first_shown: i128,
    /// Time from the file's first frame, of picture or sound, to the first picture.
    picture_begins: Duration,
    /// When the file's first frame is shown, in nanoseconds on the movie's timeline.
    begins: i128,
    stream: Predicted,
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
        let Movie {
            picture,
            sound,
            left_out,
        } = read_movie(&index)?;
        let stream = Predicted::of(match picture.0.entries.first() {
            Some(Entry::Hevc { .. }) => Codec::H265,
            Some(Entry::Av1 { .. }) => Codec::Av1,
            _ => Codec::H264,
        });
        let sound = sound.map(|(track, defaults, info)| Sound {
            cursor: Cursor::new((track, defaults), after_index),
            info,
            ahead: None,
            broken: false,
            told: false,
        });
        let mut reader = Self {
            input,
            length,
            rate,
            picture: Cursor::new(picture, after_index),
            sound,
            left_out,
            first_decoded: 0,
            first_shown: 0,
            picture_begins: Duration::ZERO,
            begins: 0,
            stream,
            size: (0, 0),
            description: None,
            started: false,
            ahead: None,
        };
        reader.find_beginning()?;
        let first = reader
            .read()?
            .ok_or(MediaError::Empty("its video track has no keyframe"))?;
        if matches!(reader.picture.track.entries.first(), Some(Entry::Jpeg)) {
            reader.size = image_size(&first.data)?;
        }
        reader.rate = reader.rate.or(reader.picture.track.rate);
        reader.ahead = Some(first);
        Ok(reader)
    }

    /// Description of the stream.
    pub fn info(&self) -> StreamInfo {
        let info = self.stream.info(self.rate);
        match self.picture.track.entries.first() {
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

    /// Orientation of the picture.
    pub fn orientation(&self) -> Orientation {
        self.picture.track.orientation
    }

    /// Rewinds to the first frame.
    pub fn rewind(&mut self) {
        self.picture.rewind();
        (self.started, self.ahead, self.description) = (false, None, None);
        if let Some(sound) = &mut self.sound {
            sound.cursor.rewind();
            (sound.ahead, sound.broken) = (None, false);
        }
    }

    /// Description of the sound, if there is some that sealcast carries.
    pub fn sound(&self) -> Option<SoundInfo> {
        self.sound.as_ref().map(|sound| sound.info.clone())
    }

    /// Sound that is left out, and why.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Returns the next frame, of picture or sound, in the order in which they are due.
    ///
    /// # Errors
    /// Reading fails, or the file is truncated or contradicts itself.
    pub fn next_frame(&mut self) -> Result<Option<CodedFrame>> {
        if self.ahead.is_none() {
            self.ahead = self.read()?;
        }
        self.read_sound();
        let sound = self.sound.as_mut().map(|sound| &mut sound.ahead);
        let due = |frame: &Option<CodedFrame>| frame.as_ref().map(|frame| frame.decoded);
        let ahead = match (due(&self.ahead), sound) {
            (Some(picture), Some(sound)) if due(sound).is_some_and(|sound| sound < picture) => sound,
            (None, Some(sound)) => sound,
            _ => &mut self.ahead,
        };
        Ok(ahead.take())
    }

    /// Reads the next packet of sound. If that fails, the picture goes on without it.
    fn read_sound(&mut self) {
        let wanted = |sound: &&mut Sound| sound.ahead.is_none() && !sound.broken;
        let Some(sound) = self.sound.as_mut().filter(wanted) else {
            return;
        };
        match sound.read(&mut self.input, self.length, self.begins) {
            Ok(ahead) => sound.ahead = ahead,
            Err(error) => {
                sound.broken = true;
                if !std::mem::replace(&mut sound.told, true) {
                    tracing::warn!(%error, "the sound of the file breaks off, and the picture goes on: the file");
                }
            }
        }
    }

    /// Finds the first decoding time and the first presentation time, which may belong to different frames.
    fn find_beginning(&mut self) -> Result<()> {
        let first = self.picture.first(&mut self.input, self.length, REORDER_LIMIT)?;
        self.first_decoded = first.first().map_or(0, |sample| sample.decoded);
        let Some(shown) = first.iter().min_by_key(|sample| sample.shown()) else {
            return Ok(());
        };
        self.first_shown = shown.shown();
        let Some(sound) = &mut self.sound else { return Ok(()) };
        let Ok(heard) = sound.cursor.first(&mut self.input, self.length, 1) else {
            return Ok(());
        };
        let picture = self.picture.track.presented(shown);
        let sound = heard
            .first()
            .map_or(picture, |first| sound.cursor.track.presented(first));
        self.begins = picture.min(sound);
        self.picture_begins = nanos(picture - self.begins);
        Ok(())
    }

    fn read(&mut self) -> Result<Option<CodedFrame>> {
        while let Some(sample) = self.picture.next(&mut self.input, self.length)? {
            let (data, keyframe) = self.load(&sample)?;
            if data.is_empty() || !(self.started || keyframe) {
                continue;
            }
            self.started = true;
            let ticks = |count| ticks(count, self.picture.track.timescale.get(), 1);
            let presented = u64::try_from(sample.shown() - self.first_shown).unwrap_or(0);
            return Ok(Some(CodedFrame {
                track: Track::Picture,
                keyframe,
                presented: self.picture_begins + ticks(presented),
                decoded: self.picture_begins + ticks(sample.decoded.saturating_sub(self.first_decoded)),
                duration: ticks(u64::from(sample.duration)),
                data,
            }));
        }
        Ok(None)
    }

    /// Reads a sample; returns the frame to deliver, and true if it is a keyframe.
    fn load(&mut self, sample: &SampleAt) -> Result<(Bytes, bool)> {
        let data = read_sample(&mut self.input, self.length, sample, MAX_FRAME_BYTES)?;
        let entry = self.picture.track.entries.get(sample.description).ok_or_else(|| {
            let number = sample.description + 1;
            MediaError::Damaged(format!("it has no sample description {number}"))
        })?;
        if self.description.replace(sample.description) != Some(sample.description) {
            entry.learn(&mut self.stream)?;
        }
        entry.frame(&mut self.stream, data, sample.sync)
    }
}

impl<R> std::fmt::Debug for Mp4Reader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mp4Reader")
            .field("track", &self.picture.track.id)
            .finish_non_exhaustive()
    }
}

impl Sound {
    /// Reads the next packet of a file of `length` bytes whose first frame is shown at `begins`.
    fn read<R: Read + Seek>(&mut self, input: &mut R, length: u64, begins: i128) -> Result<Option<CodedFrame>> {
        while let Some(sample) = self.cursor.next(input, length)? {
            if sample.description != 0 {
                return Err(MediaError::Unsupported("sound that changes its form".into()));
            }
            if sample.size == 0 {
                continue;
            }
            let presented = nanos(self.cursor.track.presented(&sample) - begins);
            return Ok(Some(CodedFrame {
                track: Track::Sound,
                keyframe: true,
                presented,
                decoded: presented,
                duration: ticks(u64::from(sample.duration), self.cursor.track.timescale.get(), 1),
                data: read_sample(input, length, &sample, MAX_SOUND_BYTES)?.into(),
            }));
        }
        Ok(None)
    }
}

fn nanos(nanos: i128) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
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
