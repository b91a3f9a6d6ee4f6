//! The receiving side of a viewer: puts the frames of its session into the sink's queue.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use sealcast_proto::clock::ClockEstimate;
use sealcast_proto::group_media::Seen;
use sealcast_proto::live::LivenessState;
use sealcast_proto::seal::{Refusal, SealedFrame};
use sealcast_proto::session::InboundCounts;
use sealcast_proto::sign::{FrameRefusal, ProofState};
use sealcast_proto::unit::{Assembled, AssembledFrame, SOUND_STREAM, SoundInfo, StreamInfo};

use super::camera_notice::CameraNotice;
use super::group_proofs::GroupProofs;
use super::passage::FrameTimeline;
use super::picture_age::PictureAge;
use super::stamp_check::StampCheck;
use crate::keys::seen_groups::SeenGroups;
use crate::media::{Orientation, ReceivedFrame, Track};
use crate::meter::labels::{Direction, DropCause};
use crate::meter::stage::Stage;
use crate::meter::telling::Telling;
use crate::run::media::VIDEO;
use crate::run::media::queue::{FrameQueue, Queued};
use crate::run::session::connection::Listener;
use crate::run::session::observe::Observation;
use crate::sink::{OnAge, OnAway};

/// Minimum time between two keyframe requests.
const REQUEST_INTERVAL: Duration = Duration::from_millis(250);

/// A frame on its way to the sink, and its timeline.
pub(crate) struct Delivered {
    /// The number of the session that it came in.
    pub(crate) session: u64,
    pub(crate) track: Track,
    pub(crate) info: Arc<StreamInfo>,
    /// Description of the sound, once there is some.
    pub(crate) sound: Option<Arc<SoundInfo>>,
    /// Orientation of the picture.
    pub(crate) orientation: Orientation,
    pub(crate) frame: ReceivedFrame,
    pub(crate) timeline: FrameTimeline,
    /// Its records as they came, where such are kept.
    pub(crate) sealed: SealedFrame,
}

impl Queued for Delivered {
    fn keyframe(&self) -> bool {
        self.frame.keyframe
    }

    fn size(&self) -> usize {
        self.frame.data.len()
            + self
                .sealed
                .records
                .iter()
                .map(|record| record.bytes.len())
                .sum::<usize>()
    }

    fn kept(&self) -> bool {
        self.timeline.preamble.kept
    }

    fn sound(&self) -> bool {
        self.track == Track::Sound
    }

    fn media_time(&self) -> Duration {
        self.frame.media_time
    }
}

/// The listener of a viewer's session.
pub(crate) struct Receiver {
    observation: Arc<Observation>,
    queue: Arc<FrameQueue<Delivered>>,
    in_order: bool,
    /// The number of the session, among those of this viewer.
    session: u64,
    /// Frames that came.
    frames: u64,
    info: Option<Arc<StreamInfo>>,
    sound: Option<Arc<SoundInfo>>,
    orientation: Orientation,
    /// The picture's last description: sound goes on while the picture waits for a new one.
    shown: Option<Arc<StreamInfo>>,
    /// False if the user wants none of the sound.
    wants_sound: bool,
    clock: Option<ClockEstimate>,
    stamps: StampCheck,
    /// A frame was dropped because the stream's description is missing; the frames that depend on it cannot be shown
    /// either.
    undescribed: bool,
    last_request: Option<Instant>,
    wants_keyframe: bool,
    /// Media counters of the session at the last update of the metrics.
    counted: InboundCounts,
    age: PictureAge,
    camera: CameraNotice,
    /// Takes what an archive keeps beside frames.
    proofs: Arc<GroupProofs>,
    /// Takes how far this end has come in the camera's group.
    seen: Arc<SeenGroups>,
    /// Frames refused since the camera did not sign them.
    forged: Telling,
    /// Records refused since they do not open.
    refused: Telling,
}

impl Receiver {
    /// The receiver of a session, or of relays. `in_order` if media arrives as it was sealed, so that what is missing
    /// was removed on the way.
    pub(crate) fn new(in_order: bool, observation: Arc<Observation>, queue: Arc<FrameQueue<Delivered>>) -> Self {
        Self {
            observation,
            queue,
            in_order,
            session: 0,
            frames: 0,
            info: None,
            sound: None,
            orientation: Orientation::default(),
            shown: None,
            wants_sound: true,
            clock: None,
            stamps: StampCheck::default(),
            undescribed: false,
            last_request: None,
            wants_keyframe: false,
            counted: InboundCounts::default(),
            age: PictureAge::default(),
            camera: CameraNotice::shown_by(None),
            proofs: Arc::new(GroupProofs::new(false)),
            seen: SeenGroups::nowhere(),
            forged: Telling::default(),
            refused: Telling::default(),
        }
    }

    /// The same, for the session of this number.
    pub(crate) fn numbered(mut self, session: u64) -> Self {
        self.session = session;
        self
    }

    /// The same, for a sink that shows how old the picture can be.
    pub(crate) fn with_age(mut self, shows: Option<OnAge>) -> Self {
        self.age = PictureAge::shown_by(shows);
        self
    }

    /// The same, for a sink that shows that the camera is off.
    pub(crate) fn with_away(mut self, shows: Option<OnAway>) -> Self {
        self.camera = CameraNotice::shown_by(shows);
        self
    }

    /// The same, for pictures that are shown before the camera has answered.
    pub(crate) fn without_session(mut self, without: bool) -> Self {
        if without {
            self.age.without_session();
        }
        self
    }

    /// The same, which hands on sound or not.
    pub(crate) fn with_sound(mut self, wanted: bool) -> Self {
        self.wants_sound = wanted;
        self
    }

    /// The same, which hands on signatures of groups of pictures.
    pub(crate) fn keeping(mut self, proofs: Arc<GroupProofs>) -> Self {
        self.proofs = proofs;
        self
    }

    /// The same, which notes how far it has come in the camera's group.
    pub(crate) fn noting(mut self, seen: Arc<SeenGroups>) -> Self {
        self.seen = seen;
        self
    }

    /// Notes how far this end has come in the camera's group, if it is a member.
    pub(crate) fn note_seen(&self, seen: Option<Seen>) {
        if let Some(seen) = seen {
            self.seen.note(seen);
        }
    }

    /// Hands on what the camera said and was verified, if an archive keeps that.
    pub(crate) fn keep_proof(&self, message: &[u8]) {
        self.proofs.said(message);
    }

    /// Add the media received since the last call to the metrics.
    pub(crate) fn count(&mut self, counts: Option<InboundCounts>) {
        if let Some(counts) = counts {
            self.observation.metrics.media_came(&mut self.counted, counts);
        }
    }

    /// Notes how old the picture can be, and how far the signatures of groups of pictures have come.
    pub(crate) fn note_age(&mut self, age: Option<LivenessState>, proofs: Option<ProofState>) {
        let metrics = &self.observation.metrics;
        self.age.note_proofs(proofs.unwrap_or_default(), metrics);
        self.age.note(age, metrics);
    }

    /// Pictures are turned so from here on, before they are shown.
    pub(crate) fn orient(&mut self, orientation: Orientation) {
        self.orientation = orientation;
    }

    /// The publisher said whether its camera is on, since when, and why.
    pub(crate) fn camera_told(&mut self, on: bool, since: u64, why: &str) {
        self.camera.told(on, since, why, &self.observation.metrics);
    }

    /// Number of frames that came.
    pub(crate) fn frames(&self) -> u64 {
        self.frames
    }

    /// True if a keyframe should be requested now; at most once every 250 ms.
    pub(crate) fn take_keyframe_request(&mut self) -> bool {
        let due = self.last_request.is_none_or(|last| last.elapsed() >= REQUEST_INTERVAL);
        let ask = self.wants_keyframe && due;
        if ask {
            self.wants_keyframe = false;
            self.last_request = Some(Instant::now());
        }
        ask
    }

    /// A packet of sound. What of it is lost is counted, and nothing is requested.
    fn sound(&mut self, frame: AssembledFrame, arrived: Instant) {
        let metrics = &self.observation.metrics;
        metrics.record_sound(Direction::In);
        metrics.sound_dropped(frame.skipped);
        let (Some(info), Some(sound)) = (&self.shown, &self.sound) else {
            metrics.sound_dropped(1);
            return;
        };
        if !self.wants_sound {
            return;
        }
        let dropped = self.queue.push_sound(Delivered {
            session: self.session,
            track: Track::Sound,
            info: Arc::clone(info),
            sound: Some(Arc::clone(sound)),
            orientation: self.orientation,
            timeline: FrameTimeline {
                preamble: frame.preamble,
                sealed_at: frame.sealed_at,
                arrived,
                released: arrived,
                clock: self.clock,
            },
            frame: ReceivedFrame {
                number: frame.preamble.frame,
                keyframe: true,
                media_time: Duration::from_nanos(frame.preamble.media_time),
                opened: Instant::now(),
                data: Bytes::from(frame.data),
            },
            sealed: frame.sealed,
        });
        metrics.sound_dropped(u64::from(dropped));
    }

    fn frame(&mut self, frame: AssembledFrame, arrived: Instant) {
        match frame.stream {
            VIDEO => {}
            SOUND_STREAM => return self.sound(frame, arrived),
            _ => return,
        }
        self.frames += 1;
        self.camera.pictured(frame.preamble.captured, &self.observation.metrics);
        self.undescribed &= !frame.keyframe;
        let Some(info) = self.info.as_ref().filter(|_| !self.undescribed) else {
            // The description was lost with other data; it is sent again with the next keyframe.
            self.undescribed = true;
            self.observation.metrics.record_dropped(DropCause::Gap, 1);
            self.wants_keyframe = true;
            return;
        };
        let opened = Instant::now();
        // Its last record may have arrived before that of an earlier frame, for which it had to wait.
        let last = self.observation.clock.instant(frame.arrived);
        let last = last.map_or(arrived, |last| last.min(arrived));
        let metrics = &self.observation.metrics;
        metrics.record_stage(Stage::Reassembly, arrived - last);
        metrics.record_stage(Stage::Open, opened - arrived);
        metrics.record_frame(Direction::In);
        if frame.skipped > 0 {
            metrics.record_dropped(DropCause::Gap, frame.skipped);
        }
        if !frame.preamble.kept {
            self.stamps.note(frame.sealed_at, arrived, &self.observation.clock);
            self.observation.since(Stage::Link, frame.sealed_at, opened, self.clock);
        }
        let timeline = FrameTimeline {
            preamble: frame.preamble,
            sealed_at: frame.sealed_at,
            arrived: last,
            released: arrived,
            clock: self.clock,
        };
        let received = ReceivedFrame {
            number: frame.preamble.frame,
            keyframe: frame.keyframe,
            media_time: Duration::from_nanos(frame.preamble.media_time),
            opened,
            data: Bytes::from(frame.data),
        };
        let pushed = self.queue.push(Delivered {
            session: self.session,
            track: Track::Picture,
            sound: self.sound.clone().filter(|_| self.wants_sound),
            orientation: self.orientation,
            info: Arc::clone(info),
            frame: received,
            timeline,
            sealed: frame.sealed,
        });
        if pushed.dropped > 0 {
            metrics.record_dropped(DropCause::Queue, pushed.dropped as u64);
        }
        self.wants_keyframe |= pushed.wants_keyframe;
    }
}

impl Listener for Receiver {
    fn media(&mut self, media: Assembled, arrived: Instant) -> bool {
        match media {
            Assembled::Info(info) => {
                let info = Arc::new(info);
                self.shown = Some(Arc::clone(&info));
                self.info = Some(info);
            }
            Assembled::Sound(sound) => {
                if self.sound.as_deref() != Some(&sound) {
                    self.sound = Some(Arc::new(sound));
                }
            }
            Assembled::Frame(frame) => {
                self.frame(frame, arrived);
                return true;
            }
            Assembled::Undecodable { skipped, .. } => {
                let metrics = &self.observation.metrics;
                metrics.record_dropped(DropCause::Gap, 1 + skipped);
                self.wants_keyframe = true;
            }
            Assembled::Lost if self.in_order => {
                // The missing data may include a new description, so show nothing with the old one.
                self.info = None;
            }
            // Every picture of Motion JPEG is a keyframe, so only other codecs need a request.
            Assembled::Lost => {
                self.wants_keyframe |= self.info.as_ref().is_none_or(|info| info.codec.predicts());
            }
        }
        false
    }

    fn clock(&mut self, estimate: ClockEstimate) {
        self.clock = Some(estimate);
    }

    fn enrolled(&mut self) {
        self.seen.clear();
    }

    fn refused(&mut self, reason: Refusal, in_order: bool) {
        // Where there is sound it may have been sound: the next picture tells.
        self.wants_keyframe |= in_order && reason != Refusal::Replay && self.sound.is_none();
        if let Some(total) = self.refused.count(Instant::now()) {
            tracing::warn!(%reason, total, "refused a record");
        }
    }

    fn sound_not_the_cameras(&mut self, reason: FrameRefusal) {
        self.observation.metrics.sound_dropped(1);
        if let Some(total) = self.forged.count(Instant::now()) {
            tracing::warn!(%reason, total, "refused sound that the camera did not sign as it came");
        }
    }

    fn not_the_cameras(&mut self, reason: FrameRefusal) {
        self.wants_keyframe = true;
        if let Some(total) = self.forged.count(Instant::now()) {
            tracing::warn!(%reason, total, "refused a frame that the camera did not sign as it came");
        }
    }
}
