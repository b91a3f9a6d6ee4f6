//! When pictures of a pipeline were taken.

use std::time::{Duration, Instant};

use gstreamer::prelude::*;
use gstreamer::{BufferRef, ClockTime, ElementFactoryType, FormattedSegment, SampleRef};

use sealcast_proto::timeline::{Jumps, SourceTimeline, Track};

use crate::gst::Pipeline;
use crate::media::StampKind;

/// A stamp that is older is not believed.
const OLDEST: Duration = Duration::from_secs(10);

/// Least time from one frame to the next in media time, where a frame has no stamp.
const LEAST_STEP: Duration = Duration::from_micros(1);

/// Places frames on the clock of this machine and in media time.
pub(super) struct Stamps {
    /// Meaning of the pipeline's stamps; `None` if the pipeline plays something at its own time.
    kind: Option<StampKind>,
    /// Running times of the first frame and of the last.
    times: Option<(Duration, Duration)>,
    /// Judges the stamps of a live pipeline, since elements hand on those of a camera's clock.
    timeline: SourceTimeline,
    /// Arrivals count from here.
    opened: Instant,
}

/// When a frame was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamped {
    pub(super) began: Instant,
    pub(super) kind: StampKind,
    pub(super) media_time: Duration,
}

impl Stamps {
    /// For a pipeline that is `live`, which means that pictures are lost if nobody takes them.
    pub(super) fn of(pipeline: &Pipeline, live: bool) -> Self {
        let kind = match from_network(pipeline) {
            // The source stamps the packets of a camera that has encoded them.
            true => StampKind::Arrival,
            false => StampKind::FrameEnd,
        };
        Self::new(live.then_some(kind))
    }

    fn new(kind: Option<StampKind>) -> Self {
        Self {
            kind,
            times: None,
            timeline: SourceTimeline::live(),
            opened: Instant::now(),
        }
    }

    /// The jumps of the clock that stamps since the last call.
    pub(super) fn take_jumps(&mut self) -> Jumps {
        self.timeline.take_jumps()
    }

    /// The stamp of a frame that came at `arrived`.
    pub(super) fn place(&mut self, pipeline: &Pipeline, sample: &SampleRef, arrived: Instant) -> Stamped {
        let now = pipeline.inner().current_running_time().map(Duration::from);
        let running = sample.buffer().and_then(|buffer| running_time(buffer, sample));
        self.at(running, now, arrived)
    }

    /// The same, from running times of the pipeline: of the frame, and `now`, which is `arrived`.
    fn at(&mut self, running: Option<Duration>, now: Option<Duration>, arrived: Instant) -> Stamped {
        let age = running.zip(now).and_then(|(running, now)| now.checked_sub(running));
        let believed = age
            .filter(|age| *age <= OLDEST)
            .and_then(|age| arrived.checked_sub(age));
        let (began, kind) = match (believed, self.kind) {
            (Some(began), Some(kind)) => (began, kind),
            _ => (arrived, StampKind::Arrival),
        };
        let time = running.or(now).unwrap_or_default();
        let (first, time) = match self.times {
            None => (time, time),
            Some((first, last)) if running.is_none() => (first, time.max(last + LEAST_STEP)),
            Some((first, _)) => (first, time),
        };
        self.times = Some((first, time));
        let media_time = match self.kind {
            Some(_) => {
                let stamp = i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
                let arrival = arrived.saturating_duration_since(self.opened);
                self.timeline.media_time(Track::Picture, stamp, arrival)
            }
            None => time.saturating_sub(first),
        };
        Stamped {
            began,
            kind,
            media_time,
        }
    }
}

/// Time of presentation, as a running time of the pipeline: some encoders shift stamps and segment alike.
fn running_time(buffer: &BufferRef, sample: &SampleRef) -> Option<Duration> {
    let segment: &FormattedSegment<ClockTime> = sample.segment()?.downcast_ref()?;
    let stamp = buffer.pts().or(buffer.dts())?;
    segment.to_running_time(stamp).map(Duration::from)
}

fn from_network(pipeline: &Pipeline) -> bool {
    let network = |factory: gstreamer::ElementFactory| {
        factory.has_type(ElementFactoryType::SRC)
            && factory.metadata("klass").is_some_and(|klass| klass.contains("Network"))
    };
    let elements = pipeline.inner().iterate_recurse().into_iter().flatten();
    elements.filter_map(|element| element.factory()).any(network)
}

#[cfg(test)]
mod tests {
    use sealcast_proto::timeline::Jump;

    use super::*;

    fn milliseconds(count: u64) -> Option<Duration> {
        Some(Duration::from_millis(count))
    }

    fn stamps(kind: Option<StampKind>) -> Stamps {
        Stamps::new(kind)
    }

    #[test]
    fn a_live_stamp_is_placed_by_its_age() {
        let mut stamps = stamps(Some(StampKind::FrameEnd));
        let arrived = Instant::now();
        let first = stamps.at(milliseconds(500), milliseconds(540), arrived);
        assert_eq!(first.began, arrived - Duration::from_millis(40));
        assert_eq!((first.kind, first.media_time), (StampKind::FrameEnd, Duration::ZERO));
        let second = stamps.at(milliseconds(533), milliseconds(575), arrived);
        assert_eq!(second.media_time, Duration::from_millis(33));
    }

    #[test]
    fn a_stamp_that_cannot_be_is_not_believed() {
        let arrived = Instant::now();
        for (running, now) in [
            (milliseconds(600), milliseconds(540)),
            (milliseconds(0), milliseconds(10_001)),
            (None, milliseconds(540)),
            (milliseconds(500), None),
        ] {
            let stamped = stamps(Some(StampKind::FrameEnd)).at(running, now, arrived);
            assert_eq!((stamped.began, stamped.kind), (arrived, StampKind::Arrival));
        }
        let played = stamps(None).at(milliseconds(500), milliseconds(540), arrived);
        assert_eq!((played.began, played.kind), (arrived, StampKind::Arrival));
    }

    #[test]
    fn a_stamp_hours_away_is_replaced_by_when_its_frame_came_and_a_file_is_believed() {
        const STRAY: u64 = 9000;
        let mut live = stamps(Some(StampKind::Arrival));
        let mut played = stamps(None);
        let (live_opened, first) = (live.opened, milliseconds(500).expect("a time"));
        for frame in 0..40_u32 {
            let passed = Duration::from_millis(40) * frame;
            let stray = Duration::from_secs(if frame == 20 { STRAY } else { 0 });
            let running = first + passed + stray;
            let time = live
                .at(Some(running), Some(first + passed), live_opened + passed)
                .media_time;
            assert!(time.abs_diff(passed) < Duration::from_millis(5), "{frame}: {time:?}");
            let time = played
                .at(Some(running), Some(first + passed), live_opened + passed)
                .media_time;
            assert_eq!(time, passed + stray);
        }
        assert_eq!(live.take_jumps().of(Jump::Stray), 1);
    }

    #[test]
    fn frames_without_stamps_follow_each_other() {
        let mut stamps = stamps(Some(StampKind::FrameEnd));
        let arrived = Instant::now();
        let times: Vec<Duration> = [None, milliseconds(20), milliseconds(20), None]
            .into_iter()
            .map(|now| stamps.at(None, now, arrived).media_time)
            .collect();
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
        assert!(times[1] >= Duration::from_millis(20), "{times:?}");
    }
}
