//! Creates fragmented MP4 in memory, piece by piece: after each written piece the file plays.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::Duration;

use shiguredo_mp4::TrackKind;
use shiguredo_mp4::mux::{Fmp4SegmentMuxer, MuxError, Sample};

use super::file_mp4_entry::{Description, describe};
use super::file_mp4_sound::SoundTrack;
use crate::media::{Codec, ReceivedFrame, SoundInfo, StreamInfo};
use crate::source::h264::nal_units;

/// Ticks per second, a multiple of every usual frame rate.
const TIMESCALE: u32 = 90_000;

/// Maximum duration of a fragment, so that a killed process loses less than a second.
const FRAGMENT_TICKS: u64 = TIMESCALE as u64 * 9 / 10;

/// Maximum size of a fragment in bytes, whatever its duration.
const FRAGMENT_BYTES: usize = 32 << 20;

/// Maximum of bytes of sound that wait for a picture to end the fragment.
const SOUND_BYTES: usize = 256 << 10;

/// Bytes kept free behind a header without sound, for the track of sound that begins later. It takes about 500, and
/// the codec's parameters at most 268.
const ROOM: usize = 1024;

/// Size and type of a box without content.
const BOX_HEADER: usize = 8;
/// The type of the box that says in words what must be known of the pictures. Players skip it.
const MARK: [u8; 16] = *b"sealcast remarks";

type Result<T> = std::result::Result<T, String>;

/// A frame whose duration is not known yet.
#[derive(Debug)]
struct Held {
    shift: i64,
    keyframe: bool,
    data: Vec<u8>,
}

/// Converts frames to the bytes of an MP4 file.
pub(crate) struct Fragmenter {
    info: StreamInfo,
    muxer: Fmp4SegmentMuxer,
    description: Option<Description>,
    /// True until the header has been written, together with the first fragment.
    header_due: bool,
    /// True if the beginning of what is written can be written again.
    rewritable: bool,
    /// Bytes at the beginning of the file that belong to the header, if it can be written again.
    room: usize,
    first_shown: Option<Duration>,
    clock: DecodeClock,
    held: Option<Held>,
    samples: Vec<Sample>,
    payload: Vec<u8>,
    ticks: u64,
    last_duration: u32,
    sound: Option<SoundTrack>,
    /// Media time at which the file begins, once its header is written.
    begins: Option<Duration>,
    /// True once the muxer knows when the track of sound begins.
    sound_placed: bool,
    /// True once the header has a track of sound.
    sound_described: bool,
    /// Note on the pictures. It stands behind the header.
    mark: Option<&'static str>,
}

/// What becomes of sound that a file is told of.
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
    /// To be written first, over the beginning of the file: the header, which has another track now.
    pub(crate) header: Option<Vec<u8>>,
    /// To be appended.
    pub(crate) fragment: Vec<u8>,
}

impl Fragmenter {
    /// The beginning of the file is written again for sound that begins late, if it is `rewritable`.
    pub(crate) fn new(info: StreamInfo, rewritable: bool) -> Self {
        let rate = info.rate;
        let nominal = u64::from(TIMESCALE) * u64::from(rate.denominator) / u64::from(rate.numerator.max(1));
        Self {
            info,
            muxer: Fmp4SegmentMuxer::new().unwrap_or_else(|_| unreachable!("default options are valid")),
            description: None,
            header_due: true,
            rewritable,
            room: 0,
            first_shown: None,
            clock: DecodeClock::default(),
            held: None,
            samples: Vec::new(),
            payload: Vec::new(),
            ticks: 0,
            last_duration: u32::try_from(nominal).unwrap_or(TIMESCALE).max(1),
            sound: None,
            begins: None,
            sound_placed: false,
            sound_described: false,
            mark: None,
        }
    }

    /// The same, which says behind its header what must be known of the pictures.
    pub(crate) fn marked(mut self, mark: Option<&'static str>) -> Self {
        self.mark = mark;
        self
    }

    /// There is sound of this kind.
    pub(crate) fn start_sound(&mut self, info: &SoundInfo) -> Result<SoundPlace> {
        if self.sound.as_ref().is_some_and(|sound| sound.is_of(info)) {
            return Ok(SoundPlace::Track);
        }
        let described = self.sound_described;
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
        let description = match &self.description {
            Some(description) => description,
            None => {
                if !frame.keyframe {
                    // Frames before the first keyframe cannot be decoded.
                    return Ok(None);
                }
                let description = describe(&self.info, &frame.data)?;
                self.clock = DecodeClock::new(description.reorder, self.last_duration.into());
                self.description.insert(description)
            }
        };
        let data = match self.info.codec {
            Codec::H264 | Codec::H265 => with_lengths(&frame.data, &description.sets),
            Codec::Mjpeg | Codec::Av1 => frame.data.to_vec(),
        };
        let first = *self.first_shown.get_or_insert(frame.media_time);
        // Pictures shown before the first keyframe cannot be decoded; time in the file begins with the keyframe.
        let shown = to_ticks(frame.media_time.saturating_sub(first));
        let decoded = self.clock.decoded(shown);
        let shift = i64::try_from(i128::from(shown) - i128::from(decoded)).unwrap_or(0);
        let next = Held {
            shift,
            keyframe: frame.keyframe,
            data,
        };
        let Some(previous) = self.held.replace(next) else {
            return Ok(None);
        };
        self.add(
            previous,
            u32::try_from(decoded.saturating_sub(self.ticks)).unwrap_or(u32::MAX),
        );
        let begun = self
            .samples
            .iter()
            .map(|sample| u64::from(sample.duration))
            .sum::<u64>();
        let full = begun + u64::from(self.last_duration) > FRAGMENT_TICKS || self.payload.len() > FRAGMENT_BYTES;
        // The first one waits: sound that is described after the first picture has a track, too.
        if full || (frame.keyframe && !self.header_due) {
            self.cut().map(Some)
        } else {
            Ok(None)
        }
    }

    /// Returns the last fragment.
    pub(crate) fn finish(&mut self) -> Result<Option<Piece>> {
        if let Some(last) = self.held.take() {
            self.add(last, self.last_duration);
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

    fn add(&mut self, frame: Held, duration: u32) {
        let entry = self.description.as_ref().map(|description| description.entry.clone());
        self.samples.push(Sample {
            track_kind: TrackKind::Video,
            sample_entry: entry.filter(|_| self.header_due && self.samples.is_empty()),
            keyframe: frame.keyframe,
            timescale: NonZeroU32::new(TIMESCALE).unwrap_or(NonZeroU32::MIN),
            duration,
            composition_time_offset: Some(frame.shift).filter(|_| self.clock.reorders()),
            data_offset: self.payload.len() as u64,
            data_size: frame.data.len(),
        });
        self.payload.extend_from_slice(&frame.data);
        self.ticks += u64::from(duration);
        self.last_duration = duration;
    }

    fn cut(&mut self) -> Result<Piece> {
        let told = |e: MuxError| e.to_string();
        self.place_tracks().map_err(told)?;
        if let Some(sound) = &mut self.sound {
            let (samples, mut payload) = sound.take(self.payload.len());
            self.samples.extend(samples);
            self.payload.append(&mut payload);
        }
        let mut fragment = self.muxer.create_media_segment_metadata(&self.samples).map_err(told)?;
        fragment.append(&mut self.payload);
        self.samples.clear();
        let has_sound = self.sound.is_some();
        let header = match self.header_due {
            true => {
                let header = self.first_header(has_sound)?;
                fragment.splice(..0, header);
                None
            }
            false if self.sound_placed && !self.sound_described => {
                self.sound_described = true;
                Some(self.padded_header()?)
            }
            false => None,
        };
        Ok(Piece { header, fragment })
    }

    /// The header at the beginning, with room behind it for the track of sound that it lacks.
    fn first_header(&mut self, has_sound: bool) -> Result<Vec<u8>> {
        self.header_due = false;
        self.sound_described = has_sound;
        let mut header = self.muxer.init_segment_bytes().map_err(|e| e.to_string())?;
        if !has_sound && self.rewritable {
            self.room = header.len() + ROOM;
            header = self.padded_header()?;
        }
        if let Some(mark) = self.mark {
            let length = BOX_HEADER + MARK.len() + mark.len();
            header.extend_from_slice(&u32::try_from(length).unwrap_or(0).to_be_bytes());
            header.extend_from_slice(b"uuid");
            header.extend_from_slice(&MARK);
            header.extend_from_slice(mark.as_bytes());
        }
        Ok(header)
    }

    /// The header with an empty box behind it that fills its room.
    fn padded_header(&self) -> Result<Vec<u8>> {
        let mut header = self.muxer.init_segment_bytes().map_err(|e| e.to_string())?;
        let free = self.room.checked_sub(header.len()).filter(|free| *free >= BOX_HEADER);
        let free = free.ok_or("the description of its sound is too long")?;
        header.extend_from_slice(&u32::try_from(free).unwrap_or(0).to_be_bytes());
        header.extend_from_slice(b"free");
        header.resize(self.room, 0);
        Ok(header)
    }

    /// Lets the muxer know both tracks, and that one begins later than the other. It has no setting for that; an empty
    /// sample at the beginning, which is not written to the file, moves what follows.
    fn place_tracks(&mut self) -> std::result::Result<(), MuxError> {
        let shown = self.first_shown.unwrap_or_default();
        let heard = self.sound.as_ref().and_then(SoundTrack::first);
        let begins = *self.begins.get_or_insert(heard.map_or(shown, |heard| heard.min(shown)));
        let mut delays = Vec::new();
        let picture_first = self.sound.is_some() || shown > begins;
        if self.header_due && picture_first {
            delays.extend(self.samples.first().map(|first| Sample {
                duration: u32::try_from(to_ticks(shown - begins)).unwrap_or(u32::MAX),
                data_size: 0,
                ..first.clone()
            }));
        }
        if let Some(sound) = self.sound.as_ref().filter(|_| !self.sound_placed)
            && (self.header_due || heard.is_some())
        {
            let later = heard.map_or(Duration::ZERO, |heard| heard.saturating_sub(begins));
            delays.push(sound.delay(sound.to_ticks(later)));
            self.sound_placed = heard.is_some();
        }
        // Each track by itself, or the muxer would take their payloads for one.
        delays
            .into_iter()
            .try_for_each(|delay| self.muxer.create_media_segment_metadata(&[delay]).map(drop))
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

/// Replaces start codes by lengths, as MP4 requires, and drops parameter sets that are equal to those in the header.
/// Different ones stay: players need them to follow a change of size.
fn with_lengths(unit: &[u8], sets: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(unit.len() + 16);
    for nal in nal_units(unit).filter(|nal| !sets.iter().any(|set| set == nal)) {
        out.extend_from_slice(&u32::try_from(nal.len()).unwrap_or(0).to_be_bytes());
        out.extend_from_slice(nal);
    }
    out
}

/// Computes decoding times, which MP4 requires and frames do not carry: the presentation times in ascending order.
/// With reordered pictures (B-frames), a frame's decoding time is the smallest of the last few presentation times.
#[derive(Debug, Default)]
struct DecodeClock {
    window: VecDeque<u64>,
    depth: usize,
    lead: u64,
    last: Option<u64>,
}

impl DecodeClock {
    fn new(depth: usize, frame: u64) -> Self {
        // The window starts with imaginary frames before the first one; `lead` keeps their times from being negative.
        let lead = depth as u64 * frame;
        Self {
            window: (0..depth as u64).map(|n| n * frame).collect(),
            depth,
            lead,
            last: None,
        }
    }

    fn reorders(&self) -> bool {
        self.depth > 0
    }

    fn decoded(&mut self, shown: u64) -> u64 {
        self.window.push_back(shown.saturating_add(self.lead));
        let smallest = self
            .window
            .iter()
            .enumerate()
            .min_by_key(|(_, time)| **time)
            .map(|(at, _)| at);
        let smallest = smallest.and_then(|at| self.window.remove(at)).unwrap_or(shown);
        let decoded = self.last.map_or(smallest, |last| smallest.max(last + 1));
        self.last = Some(decoded);
        decoded
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

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
    fn decoding_times_rise_and_stay_below_the_window() {
        // I P B B: presented in the order 0 3 1 2.
        let mut clock = DecodeClock::new(2, 10);
        let decoded = [0, 30, 10, 20, 60, 40, 50].map(|shown| clock.decoded(shown));
        assert_eq!(decoded, [0, 10, 20, 30, 40, 50, 60]);
        let mut clock = DecodeClock::new(0, 10);
        assert_eq!(
            [0, 10, 17, 17, 5].map(|shown| clock.decoded(shown)),
            [0, 10, 17, 18, 19]
        );
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
