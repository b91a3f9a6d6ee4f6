//! The way of one frame from the camera to the sink, with all its stages.

use std::time::{Duration, Instant};

use sealcast_proto::clock::ClockEstimate;
use sealcast_proto::unit::Preamble;

use crate::media::ReceivedFrame;
use crate::meter::logs::{FrameRow, Phase};
use crate::meter::stage::Stage;
use crate::platform::wall_time::wall_time;
use crate::run::session::observe::Observation;

/// Times of a frame until it is in the sink's queue. They are on the publisher's wall clock unless they are instants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameTimeline {
    pub(crate) preamble: Preamble,
    pub(crate) sealed_at: u64,
    /// The frame's last record arrived.
    pub(crate) arrived: Instant,
    /// Time at which what the frame waited for arrived: its own last record, or that of an earlier frame.
    pub(crate) released: Instant,
    pub(crate) clock: Option<ClockEstimate>,
}

impl FrameTimeline {
    /// The instant that the source stamped.
    pub(crate) fn stamped(&self) -> u64 {
        self.preamble.captured.saturating_sub(self.preamble.capture.into())
    }
}

/// A frame that the sink has presented.
pub(crate) struct Passage {
    timeline: FrameTimeline,
    number: u64,
    keyframe: bool,
    bytes: u64,
    opened: Instant,
    taken: Instant,
    decode: Option<Duration>,
    presented: Instant,
}

impl Passage {
    /// Record the stages at the sink, which took the frame at `taken`, spent `decode` on decoding it, and has just
    /// presented it.
    pub(crate) fn presented(
        observation: &Observation,
        frame: &ReceivedFrame,
        timeline: FrameTimeline,
        taken: Instant,
        decode: Option<Duration>,
    ) -> Self {
        let passage = Self {
            timeline,
            number: frame.number,
            keyframe: frame.keyframe,
            bytes: frame.data.len() as u64,
            opened: frame.opened,
            taken,
            decode,
            presented: Instant::now(),
        };
        // What a kept frame waited for, and where, says nothing of the path.
        if !timeline.preamble.kept {
            passage.record_stages(observation);
        }
        passage
    }

    fn record_stages(&self, observation: &Observation) {
        let metrics = &observation.metrics;
        metrics.record_stage(Stage::Wait, self.taken - self.opened);
        if let Some(decode) = self.decode {
            metrics.record_stage(Stage::Decode, decode);
        }
        let writing = (self.presented - self.taken).saturating_sub(self.decode.unwrap_or_default());
        metrics.record_stage(Stage::Present, writing);
        let stamped = self.timeline.stamped();
        observation.since(Stage::EndToEnd, stamped, self.presented, self.timeline.clock);
    }

    /// Complete the record of the frame, since the one after it, with the preamble `next`, says how long sealing and
    /// sending took; it is `None` if there is no such frame.
    pub(crate) fn complete(self, observation: &Observation, next: Option<&Preamble>) {
        let next = next.filter(|next| next.frame == self.number + 1);
        // 0 stands for what is not known.
        let told = |nanos: fn(&Preamble) -> u32| next.map(nanos).filter(|&nanos| nanos > 0);
        let (seal, send) = (told(|next| next.previous_seal), told(|next| next.previous_send));
        let left = self.timeline.sealed_at + u64::from(seal.unwrap_or(0)) + u64::from(send.unwrap_or(0));
        let on_its_way = !self.timeline.preamble.kept;
        let since = || observation.since(Stage::Network, left, self.timeline.arrived, self.timeline.clock);
        let network = on_its_way.then(since).flatten();
        if let Some(logs) = observation.logs() {
            logs.frame(self.row(observation, [seal, send], network));
        }
    }

    fn row(&self, observation: &Observation, [seal, send]: [Option<u32>; 2], network: Option<i64>) -> FrameRow {
        let clock = observation.clock;
        let FrameTimeline {
            preamble,
            sealed_at,
            arrived,
            released,
            clock: estimate,
        } = self.timeline;
        let reading = estimate.map(|estimate| estimate.at(clock.wall(arrived)));
        let nanos = |nanos: f64| nanos / 1e3;
        let between = |from: u64, to: u64| nanos(to.saturating_sub(from) as f64);
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let stamped = self.timeline.stamped();
        let decode = self.decode.unwrap_or_default();
        let total = estimate.map(|estimate| {
            let presented = clock.wall(self.presented);
            i128::from(presented) + i128::from(estimate.at(presented).offset) - i128::from(stamped)
        });
        FrameRow {
            time: wall_time(),
            phase: Phase::Steady,
            frame: self.number,
            keyframe: self.keyframe,
            bytes: self.bytes,
            stamp: preamble.stamp.name(),
            stamped_ns: stamped,
            captured_ns: preamble.captured,
            encoded_ns: preamble.encoded,
            sealed_ns: sealed_at,
            received_ns: clock.wall(arrived),
            opened_ns: clock.wall(self.opened),
            taken_ns: clock.wall(self.taken),
            decoded_ns: self.decode.map(|decode| clock.wall(self.taken + decode)),
            presented_ns: clock.wall(self.presented),
            capture_us: nanos(preamble.capture.into()),
            encode_us: between(preamble.captured, preamble.encoded),
            queue_us: between(preamble.encoded, sealed_at),
            seal_us: seal.map(|seal| nanos(seal.into())),
            send_us: send.map(|send| nanos(send.into())),
            network_us: network.map(|network| nanos(network as f64)),
            reassembly_us: micros(released - arrived),
            open_us: micros(self.opened - released),
            wait_us: micros(self.taken - self.opened),
            decode_us: self.decode.map(micros),
            present_us: micros((self.presented - self.taken).saturating_sub(decode)),
            total_us: total.map(|total| nanos(total as f64)),
            clock_offset_us: reading.map(|reading| nanos(reading.offset as f64)),
            clock_spread_us: reading.map(|reading| nanos(reading.spread as f64)),
            clock_uncertainty_us: reading.map(|reading| nanos(reading.uncertainty as f64)),
            clock_rate_ppm: estimate.map(|estimate| estimate.rate_ppm().0),
            kept: preamble.kept,
        }
    }
}
