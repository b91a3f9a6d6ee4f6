//! What a viewer's session hands out: verified records become frames in the sink's queue.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use sealcast_proto::clock::ClockEstimate;
use sealcast_proto::seal::{Opened, Refusal};
use sealcast_proto::session::{Event, InboundCounts, SessionError};
use sealcast_proto::unit::{Assembled, AssembledFrame, Assembler, Codec, Preamble, StreamInfo};

use super::connection::Listener;
use super::queue::Queued;
use super::serve_viewer::VIDEO;
use super::{FrameQueue, Observation};
use crate::media::ReceivedFrame;
use crate::meter::labels::{Direction, DropCause};
use crate::meter::stage::Stage;

/// A keyframe is asked for at most this often.
const REQUEST_INTERVAL: Duration = Duration::from_millis(250);

/// A frame on its way to the sink, with what is known of its journey.
pub(super) struct Delivered {
    pub(super) info: Arc<StreamInfo>,
    pub(super) frame: ReceivedFrame,
    pub(super) journey: Journey,
}

/// When a frame was where. Stamps are the publisher's wall clock unless they are instants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Journey {
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
    assembler: Assembler,
    info: Option<Arc<StreamInfo>>,
    clock: Option<ClockEstimate>,
    first_arrival: Option<Instant>,
    last_request: Option<Instant>,
    wants_keyframe: bool,
    /// News for the task that owns the session.
    pub(super) events: Vec<Event>,
    /// What had come as media when it was counted last.
    counted: InboundCounts,
    /// Records refused since the session began.
    pub(super) refused: u64,
}

impl Receiver {
    pub(super) fn new(observation: Arc<Observation>, queue: Arc<FrameQueue<Delivered>>) -> Self {
        Self {
            observation,
            queue,
            assembler: Assembler::new(),
            info: None,
            clock: None,
            first_arrival: None,
            last_request: None,
            wants_keyframe: false,
            events: Vec::new(),
            counted: InboundCounts::default(),
            refused: 0,
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

    fn take(&mut self, media: Assembled, arrived: Instant) {
        match media {
            Assembled::Info(info) => self.info = Some(Arc::new(info)),
            Assembled::Frame(frame) => self.frame(frame, arrived),
            Assembled::Partial => {}
            Assembled::Undecodable { skipped, .. } => {
                let metrics = &self.observation.metrics;
                metrics.record_dropped(DropCause::Gap, 1 + skipped);
                self.wants_keyframe = true;
            }
            // Every picture of Motion JPEG is a keyframe.
            Assembled::Lost => {
                self.wants_keyframe |= self.info.as_ref().is_none_or(|info| info.codec != Codec::Mjpeg);
            }
        }
    }

    fn frame(&mut self, frame: AssembledFrame, arrived: Instant) {
        let Some(info) = &self.info else {
            // The description was lost with whatever else is missing; it comes again with the keyframe.
            self.observation.metrics.record_dropped(DropCause::Gap, 1);
            self.assembler.lost();
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
        let journey = Journey {
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
            journey,
        });
        if pushed.dropped > 0 {
            metrics.record_dropped(DropCause::Queue, pushed.dropped as u64);
        }
        self.wants_keyframe |= pushed.wants_keyframe;
    }
}

impl Listener for Receiver {
    fn media(&mut self, record: Opened<'_>, arrived: Instant) -> Result<(), SessionError> {
        if record.header().stream != VIDEO {
            return Ok(());
        }
        let arrived_first = *self.first_arrival.get_or_insert(arrived);
        if record.follows_gap() {
            // A new description may be among what is missing: nothing is shown by one that may be out of date.
            self.info = None;
        }
        let media = self.assembler.take(&record).map_err(|_| SessionError::PeerMisbehaved)?;
        if !matches!(media, Assembled::Partial) {
            self.first_arrival = None;
        }
        // The delay of a frame is that of its last record; opening began with its first.
        let opening_since = if record.header().flags.first() {
            arrived
        } else {
            arrived_first
        };
        self.take(media, opening_since.max(arrived_first));
        Ok(())
    }

    fn assembled(&mut self, media: Assembled, arrived: Instant) -> bool {
        let whole = matches!(media, Assembled::Frame(_));
        self.take(media, arrived);
        whole
    }

    fn event(&mut self, event: Event) {
        if let Event::Clock(estimate) = &event {
            self.clock = Some(*estimate);
        }
        self.events.push(event);
    }

    fn refused(&mut self, reason: Refusal, in_order: bool) {
        self.refused += 1;
        if in_order && reason != Refusal::Replay {
            self.assembler.lost();
            self.wants_keyframe = true;
        }
        if self.refused.is_power_of_two() {
            tracing::warn!(%reason, total = self.refused, "refused a record");
        }
    }
}
