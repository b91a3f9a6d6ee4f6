//! Creates fragmented MP4 in memory, piece by piece: after each written piece the file plays.

use std::num::NonZeroU32;
use std::time::Duration;

use sealcast_proto::unit::nal_units;
use shiguredo_mp4::boxes::TrunSample;

use super::file_mp4_boxes::{PICTURE, Run, Track, fragment, free, header, mark, sample};
use super::file_mp4_clock::{DecodeClock, TIMESCALE, Times};
use super::file_mp4_entry::{Description, describe, reordering, with_lengths};
use super::file_mp4_sound::SoundTrack;
use crate::media::{Codec, Orientation, ReceivedFrame, SoundInfo, StreamInfo};

/// Maximum duration of a fragment, so that a killed process loses less than a second.
const FRAGMENT_TICKS: u64 = TIMESCALE as u64 * 9 / 10;

/// Maximum size of a fragment in bytes, whatever its duration.
const FRAGMENT_BYTES: usize = 32 << 20;

/// Maximum of bytes of sound that wait for a picture to end the fragment.
const SOUND_BYTES: usize = 256 << 10;

/// Bytes kept free behind a header without sound, for the track of sound that begins later. It takes about 500, and
/// the codec's parameters at most 268.
const ROOM: usize = 1024;

type Result<T> = std::result::Result<T, String>;

/// A frame whose duration is not known yet.
#[derive(Debug)]
struct Held {
    times: Times,
    keyframe: bool,
    data: Vec<u8>,
}

/// Converts frames to the bytes of an MP4 file.
pub(crate) struct Fragmenter {
    info: StreamInfo,
    description: Option<Description>,
    /// Time of the beginning since 1970, in UTC.
    created: Duration,
    /// True until the header has been written, together with the first fragment.
    header_due: bool,
    /// True if the header that was written is no longer true.
    header_old: bool,
    /// True if the beginning of what is written can be written again.
    rewritable: bool,
    /// Bytes at the beginning of the file that belong to the header, if a track of sound may come into it.
    room: usize,
    /// True once parameter sets came that the header does not have. From then on all are in the pictures.
    sets_changed: bool,
    first_shown: Option<Duration>,
    clock: DecodeClock,
    held: Option<Held>,
    samples: Vec<TrunSample>,
    payload: Vec<u8>,
    /// Decoding time of the held picture, and of the first one of the fragment.
    ticks: u64,
    fragment_ticks: u64,
    fragments: u32,
    sound: Option<SoundTrack>,
    /// Media time at which the file begins, once its header is written.
    begins: Option<Duration>,
    /// The track of sound in the header, once it has one.
    described_sound: Option<Track>,
    /// Note on the pictures. It stands behind the header.
    mark: Option<&'static str>,
    orientation: Orientation,
}

/// Outcome for sound that a file is told of.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SoundPlace {
    /// It gets a track.
    Track,
    /// The header is written already, without a track of sound, and cannot be written again.
    TooLate,
    /// The header describes another kind of sound.
    Changed,
}

/// Bytes to write now.
#[derive(Debug)]
pub(crate) struct Piece {
    /// To be written first, over the beginning of the file: the header, which says something else now.
    pub(crate) header: Option<Vec<u8>>,
    /// To be appended.
    pub(crate) fragment: Vec<u8>,
}

impl Fragmenter {
    /// The beginning of the file is written again for what comes late, if it is `rewritable`.
    pub(crate) fn new(info: StreamInfo, rewritable: bool) -> Self {
        let rate = info.rate;
        let nominal = u64::from(TIMESCALE) * u64::from(rate.denominator) / u64::from(rate.numerator.max(1));
        Self {
            info,
            description: None,
            created: Duration::ZERO,
            header_due: true,
            header_old: false,
            rewritable,
            room: 0,
            sets_changed: false,
            first_shown: None,
            clock: DecodeClock::new(nominal),
            held: None,
            samples: Vec::new(),
            payload: Vec::new(),
            ticks: 0,
            fragment_ticks: 0,
            fragments: 0,
            sound: None,
            begins: None,
            described_sound: None,
            mark: None,
            orientation: Orientation::default(),
        }
    }

    /// The same, which says behind its header what must be known of the pictures.
    pub(crate) fn marked(mut self, mark: Option<&'static str>) -> Self {
        self.mark = mark;
        self
    }

    /// True once the first picture came.
    pub(crate) fn has_begun(&self) -> bool {
        self.first_shown.is_some()
    }

    /// The recording begins at this time since 1970, in UTC. For the header, so before the first picture.
    pub(crate) fn created(&mut self, at: Duration) {
        self.created = at;
    }

    /// The picture is turned so before it is shown. False if the header is written, and cannot be written again.
    pub(crate) fn orient(&mut self, orientation: Orientation) -> bool {
        self.header_old |= orientation != self.orientation && !self.header_due;
        self.orientation = orientation;
        self.header_due || self.rewritable
    }

    /// True if the frame comes with parameter sets that the header does not have, once it has some.
    pub(crate) fn would_change(&self, frame: &ReceivedFrame) -> bool {
        let description = self.description.as_ref();
        description.is_some_and(|description| description.others(self.info.codec, &frame.data).next().is_some())
    }

    /// There is sound of this kind.
    pub(crate) fn start_sound(&mut self, info: &SoundInfo) -> Result<SoundPlace> {
        if self.sound.as_ref().is_some_and(|sound| sound.is_of(info)) {
            return Ok(SoundPlace::Track);
        }
        let described = self.described_sound.is_some();
        if self.header_due || (self.room > 0 && !described) {
            self.sound = Some(SoundTrack::new(info.clone())?);
            return Ok(SoundPlace::Track);
        }
        // What follows is not of the kind that the header describes.
        self.sound = None;
        Ok(if described {
            SoundPlace::Changed
        } else {
            SoundPlace::TooLate
        })
    }

    /// Takes the next packet of sound; returns the bytes to write now.
    pub(crate) fn push_sound(&mut self, packet: &ReceivedFrame) -> Result<Option<Piece>> {
        let begins = self.begins;
        let Some(sound) = &mut self.sound else { return Ok(None) };
        if begins.is_some_and(|begins| packet.media_time < begins) && sound.first().is_none() {
            // It was made before the file begins.
            return Ok(None);
        }
        sound.push(packet);
        if !self.header_due && sound.bytes() > SOUND_BYTES {
            return self.cut().map(Some);
        }
        Ok(None)
    }

    /// Takes the next frame; returns the bytes to write now.
    pub(crate) fn push(&mut self, frame: &ReceivedFrame) -> Result<Option<Piece>> {
        if self.description.is_none() {
            if !frame.keyframe {
                // Frames before the first keyframe cannot be decoded.
                return Ok(None);
            }
            let description = describe(&self.info, &frame.data)?;
            self.clock.deepen(description.reorder);
            self.description = Some(description);
        }
        let data = self.sample_data(&frame.data);
        let first = *self.first_shown.get_or_insert(frame.media_time);
        // Pictures shown before the first keyframe cannot be decoded; time in the file begins with the keyframe.
        let times = self.clock.place(to_ticks(frame.media_time.saturating_sub(first)));
        let next = Held {
            times,
            keyframe: frame.keyframe,
            data,
        };
        let Some(previous) = self.held.replace(next) else {
            self.fragment_ticks = times.decoded;
            return Ok(None);
        };
        self.add(&previous, times.decoded);
        let full = times.decoded - self.fragment_ticks + self.clock.interval() > FRAGMENT_TICKS
            || self.payload.len() > FRAGMENT_BYTES;
        // The first one waits: sound that is described after the first picture has a track, too.
        if full || (frame.keyframe && !self.header_due) {
            self.cut().map(Some)
        } else {
            Ok(None)
        }
    }

    /// The frame as MP4 holds it. H.264 and H.265 have lengths in place of start codes.
    ///
    /// Parameter sets that the header has are left out until others come, as the names `avc1` and `hvc1` promise. From
    /// then on none is: the same set may be needed again after another one of its number.
    fn sample_data(&mut self, frame: &[u8]) -> Vec<u8> {
        let codec = self.info.codec;
        let Some(description) = self
            .description
            .as_ref()
            .filter(|_| matches!(codec, Codec::H264 | Codec::H265))
        else {
            return frame.to_vec();
        };
        for set in description.others(codec, frame) {
            self.header_old |= !std::mem::replace(&mut self.sets_changed, true);
            if let Some(depth) = reordering(codec, set) {
                self.clock.deepen(depth);
            }
        }
        let kept = nal_units(frame).filter(|nal| self.sets_changed || !description.has(nal));
        with_lengths(kept, frame.len())
    }

    /// Returns the last fragment.
    pub(crate) fn finish(&mut self) -> Result<Option<Piece>> {
        if let Some(last) = self.held.take() {
            self.add(&last, self.clock.end());
        }
        if let Some(sound) = &mut self.sound {
            sound.finish();
        }
        let no_sound = self.header_due || self.sound.as_ref().is_none_or(|sound| sound.bytes() == 0);
        if self.samples.is_empty() && no_sound {
            Ok(None)
        } else {
            self.cut().map(Some)
        }
    }

    /// Appends a frame that lasts until this decoding time.
    fn add(&mut self, frame: &Held, until: u64) {
        let Times { decoded, shown } = frame.times;
        let offset = i64::try_from(i128::from(shown) - i128::from(decoded)).unwrap_or(0);
        self.samples.push(sample(
            until.saturating_sub(decoded),
            frame.data.len(),
            frame.keyframe,
            offset,
        ));
        self.payload.extend_from_slice(&frame.data);
        self.ticks = until;
    }

    fn cut(&mut self) -> Result<Piece> {
        let shown = self.first_shown.unwrap_or_default();
        let heard = self.sound.as_ref().and_then(SoundTrack::first);
        let begins = *self.begins.get_or_insert(heard.map_or(shown, |heard| heard.min(shown)));
        let mut runs = Vec::new();
        if !self.samples.is_empty() {
            runs.push(Run {
                track: PICTURE,
                from: to_ticks(shown - begins) + self.fragment_ticks,
                samples: std::mem::take(&mut self.samples),
                bytes: self.payload.len(),
            });
        }
        let mut payload = std::mem::take(&mut self.payload);
        if let Some(sound) = &mut self.sound {
            let (run, mut bytes) = sound.take(heard.unwrap_or(begins).saturating_sub(begins));
            if !run.samples.is_empty() {
                runs.push(run);
                payload.append(&mut bytes);
            }
        }
        self.fragment_ticks = self.ticks;
        self.fragments += 1;
        if let Some(sound) = self.sound.as_ref().filter(|_| self.header_due || heard.is_some())
            && self.described_sound.is_none()
        {
            self.described_sound = Some(sound.track());
            self.header_old = true;
        }
        let mut piece = fragment(self.fragments, runs).map_err(|e| e.to_string())?;
        piece.append(&mut payload);
        let rewritten = std::mem::take(&mut self.header_old);
        if std::mem::take(&mut self.header_due) {
            piece.splice(..0, self.first_header()?);
            return Ok(Piece {
                header: None,
                fragment: piece,
            });
        }
        let header = match rewritten && self.rewritable {
            true => Some(self.header()?),
            false => None,
        };
        Ok(Piece {
            header,
            fragment: piece,
        })
    }

    /// The header at the beginning, with room behind it for the track of sound that it lacks.
    fn first_header(&mut self) -> Result<Vec<u8>> {
        let mut header = self.header()?;
        if self.described_sound.is_none() && self.rewritable {
            self.room = header.len() + ROOM;
            header = self.header()?;
        }
        if let Some(words) = self.mark {
            header.extend(mark(words));
        }
        Ok(header)
    }

    /// The header. Behind it an empty box fills its room, if it has some.
    fn header(&self) -> Result<Vec<u8>> {
        let description = self.description.as_ref().ok_or("it has no picture")?;
        let picture = Track {
            number: PICTURE,
            entry: match self.sets_changed {
                true => description.in_band()?,
                false => description.entry.clone(),
            },
            timescale: NonZeroU32::new(TIMESCALE).unwrap_or(NonZeroU32::MIN),
            size: Some(description.size),
            orientation: self.orientation,
        };
        let tracks = [picture]
            .into_iter()
            .chain(self.described_sound.clone())
            .collect::<Vec<_>>();
        let mut header = header(&tracks, self.created).map_err(|e| e.to_string())?;
        if self.room > 0 {
            let room = self.room.checked_sub(header.len()).and_then(free);
            header.extend(room.ok_or("the description of its sound is too long")?);
        }
        Ok(header)
    }
}

impl std::fmt::Debug for Fragmenter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fragmenter")
            .field("samples", &self.samples.len())
            .field("ticks", &self.ticks)
            .finish()
    }
}

fn to_ticks(time: Duration) -> u64 {
    // Round: frame times are fractions of a second, truncated to nanoseconds.
    let ticks = (time.as_nanos() * u128::from(TIMESCALE) + 500_000_000) / 1_000_000_000;
    u64::try_from(ticks).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::file_mp4_boxes::BOX_HEADER;
    use super::*;
    use crate::media::FrameRate;

    fn jpegs() -> StreamInfo {
        let rate = FrameRate {
            numerator: 25,
            denominator: 1,
        };
        StreamInfo {
            codec: Codec::Mjpeg,
            width: 16,
            height: 16,
            rate,
            parameters: Vec::new(),
        }
    }

    fn frame(number: u64, millis: u64) -> ReceivedFrame {
        ReceivedFrame {
            number,
            keyframe: true,
            media_time: Duration::from_millis(millis),
            opened: Instant::now(),
            data: vec![number as u8; 100].into(),
        }
    }

    #[test]
    fn ticks_are_rounded() {
        assert_eq!(to_ticks(Duration::from_millis(40)), 3600);
        assert_eq!(to_ticks(Duration::from_nanos(33_366_666)), 3003);
    }

    #[test]
    fn every_keyframe_ends_a_fragment_but_the_first_which_waits_for_sound_and_comes_with_the_header() {
        let mut mp4 = Fragmenter::new(jpegs(), false);
        let fragment = |piece: Option<Piece>| piece.map(|piece| piece.fragment);
        let mut push = |number: u64| fragment(mp4.push(&frame(number, 5000 + 40 * number)).expect("fine"));
        let begun = (0..50).find_map(|number| push(number).map(|fragment| (number, fragment)));
        let (number, first) = begun.expect("a fragment");
        assert!(number > 20, "{number} pictures of 40 ms");
        assert_eq!(&first[4..8], b"ftyp");
        let second = push(number + 1).expect("a fragment");
        assert_eq!(&second[4..8], b"moof");
        assert!(second.ends_with(&[number as u8; 100]));
        let last = fragment(mp4.finish().expect("fine")).expect("a fragment");
        assert!(last.ends_with(&[number as u8 + 1; 100]));
        assert!(mp4.finish().expect("fine").is_none());
    }

    #[test]
    fn what_must_be_known_of_the_pictures_stands_behind_the_header() {
        for (rewritable, before) in [(false, &["ftyp", "moov"][..]), (true, &["ftyp", "moov", "free"])] {
            let mut mp4 = Fragmenter::new(jpegs(), rewritable).marked(Some("they may be old"));
            let pieces = (0..60).filter_map(|number| mp4.push(&frame(number, 40 * number)).expect("fine"));
            let file = pieces.flat_map(|piece| piece.fragment).collect::<Vec<_>>();
            let (mut rest, mut kinds) = (&file[..], Vec::new());
            while let Some(length) = rest.first_chunk().map(|length| u32::from_be_bytes(*length) as usize) {
                let (this, more) = rest.split_at(length);
                let kind = String::from_utf8_lossy(&this[4..BOX_HEADER]).into_owned();
                assert_eq!(kind == "uuid", this.ends_with(b"they may be old"));
                (rest, kinds) = (more, [kinds, vec![kind]].concat());
            }
            let begins = [before, &["uuid", "moof", "mdat"]].concat();
            assert_eq!(kinds[..begins.len()], begins, "{rewritable}");
        }
    }

    #[test]
    fn nothing_in_is_nothing_out() {
        assert!(Fragmenter::new(jpegs(), true).finish().expect("fine").is_none());
    }
}
