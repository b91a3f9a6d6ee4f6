//! The receiving side of a viewer: frames that its session hands out go into the sink's queue.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use sealcast_proto::clock::ClockEstimate;
use sealcast_proto::seal::Refusal;
use sealcast_proto::session::{InboundCounts, Session};
use sealcast_proto::unit::{Assembled, AssembledFrame, Codec, Preamble, StreamInfo};

use super::connection::Listener;
use super::queue::Queued;
use super::serve_viewer::VIDEO;
use super::{FrameQueue, Observation};
use crate::media::ReceivedFrame;
use crate::meter::labels::{Direction, DropCause};
use crate::meter::stage::Stage;

/// A keyframe is asked for at most this often.
const REQUEST_INTERVAL: Duration = Duration::from_millis(250);

/// A frame on its way to the sink, and its timeline.
pub(super) struct Delivered {
    pub(super) info: Arc<StreamInfo>,
    pub(super) frame: ReceivedFrame,
    pub(super) timeline: FrameTimeline,
}

/// When a frame was where. Stamps are the publisher's wall clock unless they are instants.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameTimeline {
    pub(super) preamble: Preamble,
    pub(super) sealed_at: u64,
    pub(super) arrived: Instant,
    pub(super) network: Option<u64>,
    pub(super) clock: Option<ClockEstimate>,
}

impl Queued for Delivered {
    fn keyframe(&self) -> bool {
        self.frame.keyframe
    }

    fn size(&self) -> usize {
        self.frame.data.len()
    }
}

/// The listening side of a viewer's session.
pub(super) struct Receiver {
    observation: Arc<Observation>,
    queue: Arc<FrameQueue<Delivered>>,
    /// Media comes in order, so that what is missing was removed on the way.
    in_order: bool,
    info: Option<Arc<StreamInfo>>,
    clock: Option<ClockEstimate>,
    /// A frame was dropped for want of a description: those that need it cannot be shown either.
    undescribed: bool,
    last_request: Option<Instant>,
    wants_keyframe: bool,
    /// What had come as media when it was counted last.
    counted: InboundCounts,
}

impl Receiver {
    /// The receiver of that session.
    pub(super) fn new(session: &Session, observation: Arc<Observation>, queue: Arc<FrameQueue<Delivered>>) -> Self {
        Self {
            observation,
            queue,
            in_order: session.assembles_stream(),
            info: None,
            clock: None,
            undescribed: false,
            last_request: None,
            wants_keyframe: false,
            counted: InboundCounts::default(),
        }
    }

    /// Count what came as media since the last time.
    pub(super) fn count(&mut self, counts: Option<InboundCounts>) {
        if let Some(counts) = counts {
            self.observation.metrics.media_came(&mut self.counted, counts);
        }
    }

    /// Whether a keyframe should be asked for now; at most every quarter of a second.
    pub(super) fn take_keyframe_request(&mut self) -> bool {
        let due = self.last_request.is_none_or(|last| last.elapsed() >= REQUEST_INTERVAL);
        let ask = self.wants_keyframe && due;
        if ask {
            self.wants_keyframe = false;
            self.last_request = Some(Instant::now());
        }
        ask
    }

    fn frame(&mut self, frame: AssembledFrame, arrived: Instant) {
        if frame.stream != VIDEO {
            return;
        }
        self.undescribed &= !frame.keyframe;
        let Some(info) = self.info.as_ref().filter(|_| !self.undescribed) else {
            // The description was lost with whatever else is missing; it comes again with the keyframe.
            self.undescribed = true;
            self.observation.metrics.record_dropped(DropCause::Gap, 1);
            self.wants_keyframe = true;
            return;
        };
        let opened = Instant::now();
        let metrics = &self.observation.metrics;
        metrics.record_stage(Stage::Open, opened - arrived);
        metrics.record_frame(Direction::In);
        if frame.skipped > 0 {
            metrics.record_dropped(DropCause::Gap, frame.skipped);
        }
        let network = self
            .observation
            .since(Stage::Network, frame.sealed_at, arrived, self.clock);
        let timeline = FrameTimeline {
            preamble: frame.preamble,
            sealed_at: frame.sealed_at,
            arrived,
            network,
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
            info: Arc::clone(info),
            frame: received,
            timeline,
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
            Assembled::Info(info) => self.info = Some(Arc::new(info)),
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
                // A new description may be among what is missing: nothing is shown by one that may be out of date.
                self.info = None;
            }
            // Every picture of Motion JPEG is a keyframe.
            Assembled::Lost => {
                self.wants_keyframe |= self.info.as_ref().is_none_or(|info| info.codec != Codec::Mjpeg);
            }
        }
        false
    }

    fn clock(&mut self, estimate: ClockEstimate) {
        self.clock = Some(estimate);
    }

    fn refused(&mut self, reason: Refusal, total: u64, in_order: bool) {
        self.wants_keyframe |= in_order && reason != Refusal::Replay;
        if total.is_power_of_two() {
            tracing::warn!(%reason, total, "refused a record");
        }
    }
}
