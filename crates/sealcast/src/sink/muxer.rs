//! Picture and sound with their times in one stream of bytes, for a player behind a pipe.

use std::collections::VecDeque;
use std::time::Duration;

use sealcast_proto::container::matroska::{MatroskaWriter, PictureTrack};
use sealcast_proto::container::ts::{Sounds, TsWriter, ts_ticks};
use sealcast_proto::unit::nal_units;

use super::file_mp4_clock::{DecodeClock, TIMESCALE};
use super::file_mp4_entry::{describe, reordering, with_lengths};
use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Codec, PipeFormat, ReceivedFrame, SoundInfo, StreamInfo};

/// Lead of sound over the first picture at most: what is older is left out.
const SOUND_LEAD: Duration = Duration::from_millis(100);
/// Most packets of sound that wait for the first picture.
const MAX_EARLY: usize = 16;
/// Factor by which pictures that were kept for a viewer that joined are shown faster. They lead to the newest one, and
/// a player that showed each for its time would be late from then on.
const HURRY: u32 = 40;

/// Writes frames in a container.
pub(super) struct Muxer {
    format: PipeFormat,
    info: Option<StreamInfo>,
    sound: Option<SoundInfo>,
    writer: Option<Writer>,
    line: Line,
    /// Sound that came before the first picture.
    early: VecDeque<ReceivedFrame>,
    /// It was said that sound is left out.
    silence_told: bool,
}

/// Writer of a container that was begun.
enum Writer {
    /// With the sound that is described at its beginning.
    Matroska(MatroskaWriter, Option<SoundInfo>),
    MpegTs(TsWriter, DecodeClock),
}

/// Times from the first picture that was written.
#[derive(Default)]
struct Line {
    /// Media time of the first picture, and of the first that was not kept.
    first: Option<Duration>,
    live: Option<Duration>,
    /// The next picture was kept.
    kept: bool,
    /// Time of the first picture, so that sound may be before it.
    lead: Duration,
}

impl Line {
    /// The time of a picture. Of what is shown before the first one it is that of the beginning.
    fn picture(&mut self, at: Duration) -> Duration {
        self.first.get_or_insert(at);
        if !std::mem::take(&mut self.kept) {
            self.live.get_or_insert(at);
        }
        self.place(at).unwrap_or_default()
    }

    /// The time of anything. `None` if it is before the beginning.
    fn place(&self, at: Duration) -> Option<Duration> {
        let first = self.first?;
        let kept = self.live.unwrap_or(Duration::MAX).min(at).saturating_sub(first);
        let live = at.saturating_sub(self.live.unwrap_or(Duration::MAX));
        (self.lead + kept / HURRY + live).checked_sub(first.saturating_sub(at))
    }
}

impl Muxer {
    pub(super) fn new(format: PipeFormat) -> Self {
        Self {
            format,
            info: None,
            sound: None,
            writer: None,
            line: Line::default(),
            early: VecDeque::new(),
            silence_told: false,
        }
    }

    /// The stream begins, or its parameters changed.
    ///
    /// # Errors
    /// The container has no form for it, or cannot go on with it.
    pub(super) fn start(&mut self, info: &StreamInfo) -> Result<()> {
        let title = self.format.title();
        let stream = info.codec.title();
        if self.format == PipeFormat::MpegTs && TsWriter::begin(info.codec).is_none() {
            let what = format!("the stream is {stream}, for which {title} has no form that players agree on");
            return Err(Failure::new(FailureKind::Sink, what, "use '-?format=mkv'"));
        }
        let before = self.info.replace(info.clone());
        if self.writer.is_some() && before.is_some_and(|before| before.codec != info.codec) {
            let what = format!("the stream is {stream} now, and what was begun for the player can hold only one codec");
            return Err(Failure::new(FailureKind::Sink, what, "start the player and this again"));
        }
        Ok(())
    }

    /// There is sound of this kind from here on.
    pub(super) fn start_sound(&mut self, info: &SoundInfo) {
        let why = match (&mut self.writer, self.format) {
            (_, PipeFormat::MpegTs) if Sounds::of(info).is_none() => {
                Some("MPEG-TS has no form for it that players agree on: use '-?format=mkv'")
            }
            (Some(Writer::MpegTs(writer, _)), _) => {
                writer.set_sound(Sounds::of(info));
                None
            }
            (Some(Writer::Matroska(_, described)), _) if described.as_ref() != Some(info) => {
                Some("it is not as described at the beginning: start the player and this again to hear it")
            }
            _ => None,
        };
        self.sound = why.is_none().then(|| info.clone());
        if let Some(why) = why
            && !std::mem::replace(&mut self.silence_told, true)
        {
            let codec = info.codec.name();
            tracing::warn!(codec, "sound is left out: {why}");
        }
    }

    /// Begins with this picture, if it is a keyframe and that was not done. Returns what stands before it.
    ///
    /// # Errors
    /// It does not describe its stream.
    pub(super) fn begin(&mut self, keyframe: &ReceivedFrame) -> Result<Vec<u8>> {
        let begins = self.writer.is_none() && keyframe.keyframe;
        let Some(info) = self.info.as_ref().filter(|_| begins) else {
            return Ok(Vec::new());
        };
        let unwritable = |why: String| {
            let what = format!("the stream cannot be written as {}: {why}", self.format.title());
            Failure::new(FailureKind::Sink, what, "watch it with another sink, such as window:")
        };
        let description = describe(info, &keyframe.data).map_err(unwritable)?;
        if self.sound.is_some() {
            self.line.lead = SOUND_LEAD;
        }
        let (writer, head) = match self.format {
            PipeFormat::Matroska => {
                let picture = PictureTrack {
                    codec: info.codec,
                    private: &description.private().map_err(unwritable)?,
                    size: description.size,
                };
                let (writer, head) = MatroskaWriter::begin(picture, self.sound.as_ref());
                (Writer::Matroska(writer, self.sound.clone()), head)
            }
            PipeFormat::MpegTs => {
                let mut writer = TsWriter::begin(info.codec).ok_or_else(|| unwritable("its codec".into()))?;
                writer.set_sound(self.sound.as_ref().and_then(Sounds::of));
                let mut clock = DecodeClock::new(interval(info));
                clock.deepen(description.reorder);
                let head = writer.head();
                (Writer::MpegTs(writer, clock), head)
            }
        };
        self.writer = Some(writer);
        Ok(head)
    }

    /// The next picture was kept for a viewer that joined.
    pub(super) fn kept(&mut self) {
        self.line.kept = true;
    }

    /// The bytes of a picture. There are none before the beginning.
    pub(super) fn picture(&mut self, frame: &ReceivedFrame) -> Vec<u8> {
        let mut out = Vec::with_capacity(frame.data.len() + frame.data.len() / 16 + 1024);
        let Some((writer, info)) = self.writer.as_mut().zip(self.info.as_ref()) else {
            return out;
        };
        let at = self.line.picture(frame.media_time);
        match writer {
            Writer::Matroska(writer, _) => match info.codec {
                Codec::H264 | Codec::H265 => {
                    let data = with_lengths(nal_units(&frame.data), frame.data.len());
                    writer.picture(at, frame.keyframe, &data, &mut out);
                }
                Codec::Av1 | Codec::Mjpeg => writer.picture(at, frame.keyframe, &frame.data, &mut out),
            },
            Writer::MpegTs(writer, clock) => {
                if frame.keyframe {
                    let deepest = nal_units(&frame.data)
                        .filter_map(|nal| reordering(info.codec, nal))
                        .max();
                    deepest.into_iter().for_each(|depth| clock.deepen(depth));
                }
                let times = clock.place(ts_ticks(at));
                writer.picture((times.decoded, times.shown), frame.keyframe, &frame.data, &mut out);
            }
        }
        while let Some(packet) = self.early.pop_back() {
            out.extend(self.packet(&packet));
        }
        out
    }

    /// The bytes of a packet of sound. There are none of what is left out.
    pub(super) fn packet(&mut self, packet: &ReceivedFrame) -> Vec<u8> {
        let mut out = Vec::new();
        if self.sound.is_none() {
            return out;
        }
        if self.line.first.is_none() {
            self.early.truncate(MAX_EARLY - 1);
            self.early.push_front(packet.clone());
        }
        let Some((writer, at)) = self.writer.as_mut().zip(self.line.place(packet.media_time)) else {
            return out;
        };
        match writer {
            Writer::Matroska(writer, _) => writer.sound(at, &packet.data, &mut out),
            Writer::MpegTs(writer, _) => {
                writer.sound(ts_ticks(at), &packet.data, &mut out);
            }
        }
        out
    }
}

fn interval(info: &StreamInfo) -> u64 {
    u64::from(TIMESCALE) * u64::from(info.rate.denominator) / u64::from(info.rate.numerator.max(1))
}

impl std::fmt::Debug for Muxer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Muxer")
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn pictures_that_were_kept_hurry_and_what_follows_has_its_time() {
        let mut line = Line {
            lead: millis(100),
            ..Line::default()
        };
        let mut kept = |at| {
            line.kept = true;
            line.picture(millis(at))
        };
        assert_eq!([5000, 5400, 5200].map(&mut kept), [100, 110, 105].map(millis));
        assert_eq!([5440, 5480].map(|at| line.picture(millis(at))), [111, 151].map(millis));
        assert_eq!(line.place(millis(5450)), Some(millis(121)));
        let mut live = Line {
            lead: millis(100),
            ..Line::default()
        };
        assert_eq!(live.place(millis(7000)), None, "there is no picture yet");
        assert_eq!(live.picture(millis(7000)), millis(100));
        assert_eq!(live.place(millis(6950)), Some(millis(50)));
        assert_eq!(live.place(millis(6800)), None);
    }
}
