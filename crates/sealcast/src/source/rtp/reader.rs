//! The packets of a camera's tracks, put together into frames.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::Bytes;
use sealcast_proto::rtp::{
    Depacketizer, ReceiveCounts, Receiver, RtpPacket, Side, SoundClock, SoundDepacketizer, Unit, Way, nanos,
};
use sealcast_proto::rtsp::{Channel, Track as RtspTrack, TrackSet};

use super::super::Strangers;
use super::super::coded::{MAX_FRAME_BYTES, MediaError};
use super::super::mjpeg::image_size;
use super::super::predicted::Predicted;
use super::choice::{Choice, Picture};
use super::facts::Facts;
use crate::media::{Codec, FrameRate, SoundInfo, StreamInfo, Track};

/// Time for which frames wait for the answer to PLAY, and most bytes of them that do.
const ANSWER_PATIENCE: Duration = Duration::from_millis(500);
const MAX_READY: usize = 1 << 20;

/// A received frame.
#[derive(Debug)]
pub(in crate::source) struct Arrived {
    /// Medium of the frame.
    pub(in crate::source) track: Track,
    pub(in crate::source) keyframe: bool,
    /// True if packets before it were lost.
    pub(in crate::source) lost: bool,
    /// Time on the clock of the picture's stream, in nanoseconds.
    pub(in crate::source) stamp: i64,
    /// Time when its last packet arrived.
    pub(in crate::source) captured: Instant,
    pub(in crate::source) data: Bytes,
}

/// The track of the picture: its packets in order and once, and what they are put together to.
struct PictureReader {
    track: RtspTrack,
    payload_type: u8,
    receiver: Receiver,
    depacketizer: Depacketizer,
    clock_rate: u32,
    /// The source of the last packet.
    source: Option<u32>,
}

/// The track of the sound, as that of the picture.
struct SoundReader {
    track: RtspTrack,
    payload_type: u8,
    receiver: Receiver,
    depacketizer: SoundDepacketizer,
    source: Option<u32>,
}

/// Packets that came since the last picture, of which the reason for its absence is told.
#[derive(Clone, Copy, Default)]
struct Seen {
    pictures: u64,
    sound: u64,
    reports: u64,
}

/// The picture of a camera and its sound.
pub(in crate::source) struct Streams {
    picture: PictureReader,
    codec: Codec,
    rate: Option<FrameRate>,
    /// Of any codec but Motion JPEG.
    stream: Predicted,
    size: (u16, u16),
    sound: Option<SoundReader>,
    clock: SoundClock,
    /// Frames that are complete.
    ready: VecDeque<Arrived>,
    /// Stamp of the first picture of its source.
    origin: Option<i128>,
    /// True if the previous picture was incomplete.
    spoilt: bool,
    /// The losses before the next picture were counted.
    told: bool,
    /// Pictures since the first one that came damaged, and were not counted yet.
    damaged: u64,
    /// Fault of packets since the last good picture.
    complaint: Option<String>,
    seen: Seen,
    facts: Facts,
    /// Packets of sources that alternate with those that count, not taken yet.
    foreign: u64,
    /// Nobody asked for the packets: another source is another sender, whose pictures build on none before.
    unasked: bool,
    /// True once a packet came.
    heard: bool,
}

impl Streams {
    /// Of these tracks.
    pub(in crate::source) fn new(choice: Choice) -> Self {
        let Choice { picture, sound, .. } = choice;
        let Picture {
            track,
            codec,
            payload_type,
            clock_rate,
            depacketizer,
            rate,
        } = picture;
        let mut stream = Predicted::of(codec);
        for set in depacketizer.parameter_sets() {
            // An error in one is reported with the first picture.
            let _ = stream.learn(set);
        }
        Self {
            clock: SoundClock::new(clock_rate, sound.as_ref().map_or(1, |sound| sound.clock_rate)),
            picture: PictureReader {
                track,
                payload_type,
                receiver: Receiver::new(&[payload_type], Way::Stream),
                depacketizer,
                clock_rate,
                source: None,
            },
            codec,
            rate,
            stream,
            size: (0, 0),
            sound: sound.map(|sound| SoundReader {
                track: sound.track,
                payload_type: sound.payload_type,
                receiver: Receiver::new(&[sound.payload_type], Way::Stream),
                depacketizer: sound.depacketizer,
                source: None,
            }),
            ready: VecDeque::new(),
            origin: None,
            spoilt: false,
            told: false,
            damaged: 0,
            complaint: None,
            seen: Seen::default(),
            facts: Facts::default(),
            foreign: 0,
            unasked: false,
            heard: false,
        }
    }

    /// The tracks to set up.
    pub(in crate::source) fn tracks(&self) -> TrackSet {
        let mut tracks = TrackSet::default();
        tracks.insert(self.picture.track);
        if let Some(sound) = &self.sound {
            tracks.insert(sound.track);
        }
        tracks
    }

    /// The packets of a track come in datagrams, which overtake one another.
    pub(in crate::source) fn over_datagrams(&mut self, track: RtspTrack) {
        if self.picture.track == track {
            self.picture.receiver = Receiver::new(&[self.picture.payload_type], Way::Datagrams);
        } else if let Some(sound) = self.sound.as_mut().filter(|sound| sound.track == track) {
            sound.receiver = Receiver::new(&[sound.payload_type], Way::Datagrams);
        }
    }

    /// The packets of all tracks come in datagrams, without being asked for.
    pub(in crate::source) fn unasked(&mut self) {
        self.unasked = true;
        self.tracks().iter().for_each(|track| self.over_datagrams(track));
    }

    /// The camera says with which timestamp a track begins.
    pub(in crate::source) fn announced(&mut self, track: RtspTrack, timestamp: u32) {
        if self.picture.track == track {
            self.clock.announced(Side::Picture, timestamp);
        } else if self.sound.as_ref().is_some_and(|sound| sound.track == track) {
            self.clock.announced(Side::Sound, timestamp);
        }
    }

    /// True if there is sound.
    pub(in crate::source) fn has_sound(&self) -> bool {
        self.sound.is_some()
    }

    /// True if a track is that of the sound.
    pub(in crate::source) fn is_sound(&self, track: RtspTrack) -> bool {
        self.sound.as_ref().is_some_and(|sound| sound.track == track)
    }

    /// Goes on without sound.
    pub(in crate::source) fn keep_sound_away(&mut self) {
        self.sound = None;
    }

    /// Description of the sound, if there is some.
    pub(in crate::source) fn sound(&self) -> Option<SoundInfo> {
        self.sound.as_ref().map(|sound| sound.depacketizer.info().clone())
    }

    /// Description of the picture.
    pub(in crate::source) fn info(&self) -> StreamInfo {
        let info = self.stream.info(self.rate);
        match self.codec {
            Codec::H264 | Codec::H265 | Codec::Av1 => info,
            Codec::Mjpeg => StreamInfo {
                codec: Codec::Mjpeg,
                width: self.size.0,
                height: self.size.1,
                ..info
            },
        }
    }

    /// Takes a packet that came at this instant of a session which began at that one.
    pub(in crate::source) fn take(&mut self, channel: Channel, packet: Bytes, began: Instant, came: Instant) {
        self.heard = true;
        let now = came.saturating_duration_since(began);
        let of_sound = self.sound.as_ref().is_some_and(|sound| sound.track == channel.track);
        if channel.track != self.picture.track && !of_sound {
            return;
        }
        if channel.rtcp {
            self.seen.reports += 1;
            self.facts.reports += 1;
            let source = self.sound.as_ref().filter(|_| of_sound).map(|sound| sound.source);
            match source {
                Some(source) => self.clock.reported(Side::Sound, &packet, source),
                None => self.clock.reported(Side::Picture, &packet, self.picture.source),
            }
        } else if of_sound {
            self.seen.sound += 1;
            self.facts.sound += 1;
            if let Some(sound) = &mut self.sound {
                sound.receiver.push(now, packet);
            }
            self.read_sound(now, came);
        } else {
            self.seen.pictures += 1;
            self.facts.packets += 1;
            self.facts.bytes += packet.len() as u64;
            self.picture.receiver.push(now, packet);
            self.read_picture(now, came);
        }
    }

    /// When packets that wait for one before them are given up waiting.
    pub(in crate::source) fn due(&self, began: Instant) -> Option<Instant> {
        let sound = self.sound.as_ref().and_then(|sound| sound.receiver.deadline());
        let due = [self.picture.receiver.deadline(), sound].into_iter().flatten().min()?;
        began.checked_add(due)
    }

    /// Goes on with packets that have waited long enough.
    pub(in crate::source) fn settle(&mut self, began: Instant, now: Instant) {
        let since = now.saturating_duration_since(began);
        self.read_picture(since, now);
        self.read_sound(since, now);
    }

    /// The next frame that is complete.
    pub(in crate::source) fn next(&mut self) -> Option<Arrived> {
        self.ready.pop_front()
    }

    /// When frames that wait go on without an answer to PLAY: those of many bytes at once.
    pub(in crate::source) fn due_without_answer(&self) -> Option<Instant> {
        let first = self.ready.front()?.captured;
        let bytes: usize = self.ready.iter().map(|frame| frame.data.len()).sum();
        Some(if bytes > MAX_READY {
            first
        } else {
            first + ANSWER_PATIENCE
        })
    }

    /// Facts so far.
    pub(in crate::source) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Number of pictures that came damaged since the last call.
    pub(in crate::source) fn take_damaged(&mut self) -> u64 {
        self.facts.damaged += self.damaged;
        std::mem::take(&mut self.damaged)
    }

    /// Fault of packets since the last good picture.
    pub(in crate::source) fn complaint(&self) -> Option<&str> {
        self.complaint.as_deref()
    }

    /// Packets of other sources since the last call.
    pub(in crate::source) fn take_strangers(&mut self) -> Strangers {
        Strangers {
            source: std::mem::take(&mut self.foreign),
            ..Strangers::default()
        }
    }

    /// Reason why no picture came of late, in words that follow the camera's name; `unheard` if nothing came at all.
    pub(in crate::source) fn silence(&self, unheard: &'static str) -> String {
        let why = match (self.complaint(), self.seen, self.heard) {
            (Some(complaint), ..) => complaint,
            (None, Seen { pictures: 1.., .. }, _) => "packets of its picture come, and no whole picture",
            (None, Seen { sound: 1.., .. }, _) if self.facts.pictures > 0 => "its pictures stopped before its sound",
            (None, Seen { sound: 1.., .. }, _) => "it sends sound, and no pictures",
            (None, Seen { reports: 1.., .. }, _) => "it sends reports, and no pictures",
            (None, _, true) => "it sends nothing any more",
            (None, _, false) => unheard,
        };
        why.to_owned()
    }

    fn read_picture(&mut self, now: Duration, came: Instant) {
        while let Some(ordered) = self.picture.receiver.poll(now) {
            let Some(packet) = RtpPacket::parse(&ordered.packet) else {
                continue;
            };
            if self
                .picture
                .source
                .replace(packet.source)
                .is_some_and(|before| before != packet.source)
            {
                self.clock.restart(Side::Picture);
                self.facts.sources += 1;
                // Its stamps have nothing to do with those before.
                self.origin = None;
                self.spoilt |= self.unasked;
            }
            self.picture.depacketizer.push(&packet, ordered.lost > 0);
            while let Some(unit) = self.picture.depacketizer.poll() {
                self.pictured(unit, now, came);
            }
            let damage = self.picture.depacketizer.take_damage();
            if let Some(reason) = damage.reason {
                self.complaint = Some(format!("its stream {reason}"));
            }
            self.damaged += damage.units * u64::from(self.origin.is_some());
            self.told |= damage.units > 0;
        }
        if let Some((stays, other)) = self.picture.receiver.take_alternating() {
            tracing::warn!(
                stays,
                other,
                "packets of two sources alternate in the picture: those of the first are taken"
            );
        }
        let counts = self.picture.receiver.take_counts();
        self.foreign += counts.foreign_sources;
        self.facts.passed_over.add(counts);
        let complaint = match counts {
            ReceiveCounts { foreign_types: 1.., .. } => Some("its packets have another payload type than it described"),
            ReceiveCounts { malformed: 1.., .. } => Some("it sends what is no RTP"),
            ReceiveCounts {
                foreign_sources: 1.., ..
            } => Some("packets of two sources alternate"),
            _ => None,
        };
        if let Some(complaint) = complaint {
            self.complaint = Some(complaint.to_owned());
        }
    }

    fn pictured(&mut self, unit: Unit, now: Duration, came: Instant) {
        let first = self.origin.is_none();
        let lost = unit.lost || std::mem::take(&mut self.spoilt);
        let stamp = nanos(self.clock.picture(unit.timestamp, now), self.picture.clock_rate);
        self.origin.get_or_insert(stamp);
        match self.finished(unit.data.into()) {
            Ok((data, _)) if data.is_empty() => {}
            Ok((data, keyframe)) => {
                // It is not known of how many pictures the packets before it were.
                let untold = !std::mem::take(&mut self.told) && self.codec != Codec::Mjpeg;
                self.damaged += u64::from(lost && untold && !first);
                (self.complaint, self.seen) = (None, Seen::default());
                self.facts.picture(came, saturated(stamp), keyframe, data.len());
                self.ready.push_back(Arrived {
                    track: Track::Picture,
                    keyframe,
                    lost,
                    stamp: saturated(stamp),
                    captured: came,
                    data,
                });
            }
            Err(error) => {
                (self.spoilt, self.told) = (true, true);
                self.damaged += 1;
                self.complaint = Some(format!("its stream {error}"));
            }
        }
    }

    /// The frame of a unit, and true if a viewer can begin with it.
    fn finished(&mut self, data: Bytes) -> Result<(Bytes, bool), MediaError> {
        if self.codec != Codec::Mjpeg {
            let (data, keyframe) = self.stream.finish(data, false)?;
            return Ok((data, keyframe && self.stream.is_decodable()));
        }
        if data.len() > MAX_FRAME_BYTES {
            let what = format!("a picture of {} bytes is larger than {MAX_FRAME_BYTES}", data.len());
            return Err(MediaError::Damaged(what));
        }
        self.size = image_size(&data)?;
        Ok((data, true))
    }

    fn read_sound(&mut self, now: Duration, came: Instant) {
        let Some(sound) = &mut self.sound else { return };
        while let Some(ordered) = sound.receiver.poll(now) {
            let Some(packet) = RtpPacket::parse(&ordered.packet) else {
                continue;
            };
            if sound
                .source
                .replace(packet.source)
                .is_some_and(|before| before != packet.source)
            {
                self.clock.restart(Side::Sound);
            }
            sound.depacketizer.push(&packet, ordered.lost > 0);
            while let Some(unit) = sound.depacketizer.poll() {
                // Sound that was made before the first picture has no time.
                let stamp = self.clock.sound(unit.timestamp, now);
                let Some(stamp) = stamp.filter(|stamp| self.origin.is_some_and(|origin| origin <= *stamp)) else {
                    continue;
                };
                self.ready.push_back(Arrived {
                    track: Track::Sound,
                    keyframe: true,
                    lost: false,
                    stamp: saturated(stamp),
                    captured: came,
                    data: unit.data.into(),
                });
            }
        }
        let counts = sound.receiver.take_counts();
        self.foreign += counts.foreign_sources;
        self.facts.passed_over.add(counts);
        sound.depacketizer.take_damage();
    }
}

fn saturated(stamp: i128) -> i64 {
    i64::try_from(stamp).unwrap_or(if stamp < 0 { i64::MIN } else { i64::MAX })
}
