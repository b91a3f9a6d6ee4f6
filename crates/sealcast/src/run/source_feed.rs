//! The frames of a source that is opened again when it fails, if the user wants that.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Hub;
use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Frame, SoundInfo, Track};
use crate::source::{Lost, Source, contain};

/// Opens the source again.
pub type Reopen = Box<dyn FnMut() -> Result<Box<dyn Source>> + Send>;

/// Says that the next picture should be left out.
pub(super) type SharedSkip = Arc<dyn Fn() -> bool + Send + Sync>;

/// First and longest pause between two attempts.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(5));
/// Interval at which it is looked during a pause whether the program stops.
const LOOK: Duration = Duration::from_millis(100);

/// A source, and what opens it again.
pub(super) struct SourceFeed {
    source: Box<dyn Source>,
    reopen: Option<Reopen>,
    /// False if the sound is left out.
    with_sound: bool,
    skip: Option<SharedSkip>,
    /// What is added to media times: those of a source that was opened again begin anew.
    offset: Duration,
    /// Media time of the last frame, and when it came.
    last: Option<(Duration, Instant)>,
    /// What was lost since the last call of [`take_lost`](Self::take_lost).
    lost: Lost,
    /// Another source has taken the place of the first since the last call of [`take_reopened`](Self::take_reopened).
    reopened: bool,
}

impl SourceFeed {
    /// The frames of `source`. Without `reopen` they end when it fails.
    pub(super) fn new(source: Box<dyn Source>, reopen: Option<Reopen>, with_sound: bool) -> Self {
        Self {
            source,
            reopen,
            with_sound,
            skip: None,
            offset: Duration::ZERO,
            last: None,
            lost: Lost::default(),
            reopened: false,
        }
    }

    /// The source, as long as it does not fail.
    pub(super) fn source(&mut self) -> &mut dyn Source {
        &mut *self.source
    }

    /// Description of the sound that comes with the picture.
    pub(super) fn sound(&self) -> Option<SoundInfo> {
        self.source.sound().filter(|_| self.with_sound)
    }

    /// Ask `skip` just before each picture is encoded, whatever source makes it.
    pub(super) fn skip_if(&mut self, skip: SharedSkip) {
        self.skip = Some(skip);
        self.hand_on_skip();
    }

    fn hand_on_skip(&mut self) {
        if let Some(skip) = self.skip.clone() {
            self.source.skip_if(Box::new(move || skip()));
        }
    }

    /// True if the source was opened again since the last call: it knows no bit rate that was asked for.
    pub(super) fn take_reopened(&mut self) -> bool {
        std::mem::take(&mut self.reopened)
    }

    /// The frames that were lost since the last call, by sources that failed since then too.
    pub(super) fn take_lost(&mut self) -> Lost {
        std::mem::take(&mut self.lost)
    }

    /// The next frame. `None` at the end of the stream, and if the hub stops while the source is away.
    ///
    /// # Errors
    /// The source failed and is not to be opened again, or it fails for another reason than that it is away.
    pub(super) fn next(&mut self, hub: &Hub) -> Result<Option<Frame>> {
        loop {
            let next = contain(|| self.source.next());
            self.lost += self.source.take_lost();
            match next {
                Ok(Some(frame)) if frame.track == Track::Sound && !self.with_sound => {}
                Ok(Some(mut frame)) => {
                    frame.media_time += self.offset;
                    self.last = Some((frame.media_time, Instant::now()));
                    return Ok(Some(frame));
                }
                Ok(None) => return Ok(None),
                Err(failure) => {
                    let Some(source) = self.open_again(hub, failure)? else {
                        return Ok(None);
                    };
                    self.take_over(source, hub);
                }
            }
        }
    }

    fn take_over(&mut self, source: Box<dyn Source>, hub: &Hub) {
        self.source = source;
        self.hand_on_skip();
        hub.set_makes_keyframes(self.source.makes_keyframes());
        hub.set_plays_once(self.source.waits_for_viewers());
        if let Some((media_time, came)) = self.last {
            self.offset = media_time + came.elapsed();
        }
        self.reopened = true;
        tracing::info!("the source is back");
    }

    /// Opens the source again, until that succeeds. Returns `None` if the hub stops.
    fn open_again(&mut self, hub: &Hub, failure: Failure) -> Result<Option<Box<dyn Source>>> {
        let may_return = |failure: &Failure| failure.kind == FailureKind::Source;
        let Some(reopen) = self.reopen.as_mut().filter(|_| may_return(&failure)) else {
            return Err(failure);
        };
        tracing::warn!(reason = %failure.what, "the source is opened again until it is back; viewers wait");
        let mut pause = BACKOFF.0;
        loop {
            let until = Instant::now() + pause;
            while Instant::now() < until {
                if hub.stopping() {
                    return Ok(None);
                }
                std::thread::sleep(LOOK.min(until.saturating_duration_since(Instant::now())));
            }
            pause = (pause * 2).min(BACKOFF.1);
            match contain(&mut *reopen) {
                Ok(source) => return Ok(Some(source)),
                Err(failure) if may_return(&failure) => tracing::debug!(reason = %failure.what, "it is still away"),
                Err(failure) => return Err(failure),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::{Codec, FrameRate, StampKind, StreamInfo};
    use crate::meter::metrics::Metrics;
    use crate::run::{QueueLimits, build_info};

    /// A source that gives some frames, 40 ms apart, and then fails or ends.
    struct Camera {
        frames: u32,
        made: u32,
        then: Option<FailureKind>,
    }

    impl Source for Camera {
        fn info(&self) -> StreamInfo {
            StreamInfo {
                codec: Codec::Mjpeg,
                width: 2,
                height: 2,
                rate: FrameRate {
                    numerator: 25,
                    denominator: 1,
                },
                parameters: Vec::new(),
            }
        }

        fn next(&mut self) -> Result<Option<Frame>> {
            if self.made == self.frames {
                return self.then.map_or(Ok(None), |kind| Err(failure(kind)));
            }
            self.made += 1;
            let now = Instant::now();
            Ok(Some(Frame {
                track: Track::Picture,
                number: 0,
                keyframe: true,
                media_time: Duration::from_millis(40) * (self.made - 1),
                began: now,
                stamp: StampKind::Arrival,
                captured: now,
                encoded: now,
                data: vec![0].into(),
            }))
        }

        fn request_keyframe(&mut self) {}
    }

    fn failure(kind: FailureKind) -> Failure {
        Failure::new(kind, "unplugged", "plug it in")
    }

    fn camera(frames: u32, then: Option<FailureKind>) -> Box<dyn Source> {
        Box::new(Camera { frames, made: 0, then })
    }

    fn hub() -> Hub {
        Hub::new(QueueLimits::default(), Metrics::new(build_info()))
    }

    #[test]
    fn a_source_that_is_back_goes_on_in_the_same_media_time() {
        let mut attempts = 0;
        let reopen: Reopen = Box::new(move || {
            attempts += 1;
            match attempts {
                1 => Err(failure(FailureKind::Source)),
                _ => Ok(camera(2, None)),
            }
        });
        let mut feed = SourceFeed::new(camera(3, Some(FailureKind::Source)), Some(reopen), true);
        let hub = hub();
        let frames: Vec<Duration> = std::iter::from_fn(|| feed.next(&hub).expect("it comes back"))
            .map(|frame| frame.media_time)
            .collect();
        assert_eq!(frames.len(), 5);
        assert!(frames.windows(2).all(|pair| pair[0] < pair[1]), "{frames:?}");
        assert!(
            frames[3] - frames[2] >= BACKOFF.0,
            "the time that it was away has passed"
        );
        assert!(feed.take_reopened() && !feed.take_reopened());
    }

    #[test]
    fn what_opening_again_does_not_mend_ends_the_stream() {
        let hub = hub();
        let refused: Reopen = Box::new(|| Err(failure(FailureKind::Refused)));
        for (then, reopen) in [
            (FailureKind::Source, None),
            (FailureKind::Source, Some(refused)),
            (FailureKind::Refused, Some(Box::new(|| Ok(camera(1, None))) as Reopen)),
        ] {
            let mut feed = SourceFeed::new(camera(0, Some(then)), reopen, true);
            assert!(feed.next(&hub).is_err());
        }
    }

    #[test]
    fn a_publisher_that_stops_does_not_wait_for_its_source() {
        let hub = hub();
        hub.stop();
        let away: Reopen = Box::new(|| Err(failure(FailureKind::Source)));
        let mut feed = SourceFeed::new(camera(0, Some(FailureKind::Source)), Some(away), true);
        assert!(feed.next(&hub).expect("no failure").is_none());
    }
}
