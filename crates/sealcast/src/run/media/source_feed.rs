//! The frames of a source that is opened again when it is away, if the user wants that.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast_proto::timeline::{Jump, Jumps, SourceTimeline};

use super::away::{Away, Nudge, Pauses};
use super::hub::Hub;
use crate::failure::{Failure, Result};
use crate::media::{Frame, SoundInfo, Track};
use crate::run::clock::nanos;
use crate::source::{Lost, Source, Stopping, Strangers, contain};

/// Opens the source again.
pub struct Reopen {
    open: Box<dyn FnMut() -> Result<Box<dyn Source>> + Send>,
    nudge: Arc<Nudge>,
}

impl Reopen {
    /// Opens it in this way.
    pub fn new(open: impl FnMut() -> Result<Box<dyn Source>> + Send + 'static) -> Self {
        Self {
            open: Box::new(open),
            nudge: Arc::default(),
        }
    }

    /// Ends pauses between attempts.
    pub fn nudge(&self) -> Arc<Nudge> {
        Arc::clone(&self.nudge)
    }
}

/// Says that the next picture should be left out.
pub(crate) type SharedSkip = Arc<dyn Fn() -> bool + Send + Sync>;

/// Interval at which it is looked during a pause whether the program stops.
const LOOK: Duration = Duration::from_millis(100);

/// Opens a source that is away, until it is there.
pub(crate) struct Waiting(Option<Reopen>);

impl Waiting {
    /// Waits for what this opens; without it, for nothing.
    pub(crate) fn new(reopen: Option<Reopen>) -> Self {
        Self(reopen)
    }

    /// Opens the source, which failed so and gave its last frame at `since`, until that succeeds. Returns `None` if
    /// the hub stops.
    ///
    /// # Errors
    /// The source is not to be opened again, or it fails for another reason than that it is away.
    pub(crate) fn open(&mut self, hub: &Hub, failure: Failure, since: Instant) -> Result<Option<Box<dyn Source>>> {
        let Some(reopen) = &mut self.0 else {
            return Err(failure);
        };
        // Of the time when the source was there.
        let _ = reopen.nudge.take();
        let (mut failure, mut pauses, mut told) = (failure, Pauses::default(), None);
        loop {
            let Some(away) = Away::after(&failure) else {
                return Err(failure);
            };
            let pause = pauses.after(away.cause);
            let again_in = pause.as_secs_f32();
            match told.replace(away.cause) == Some(away.cause) {
                false => tracing::warn!(
                    reason = %failure.what,
                    again_in,
                    "the camera is off: it is opened again until it is on; viewers wait; {}",
                    failure.hint
                ),
                true => tracing::debug!(reason = %failure.what, again_in, "the camera is still off"),
            }
            hub.standing.away(since, away);
            if !pass(pause, hub, &reopen.nudge) {
                return Ok(None);
            }
            match contain(&mut reopen.open) {
                Ok(source) => {
                    hub.standing.there();
                    tracing::info!("the camera is on again");
                    return Ok(Some(source));
                }
                Err(another) => failure = another,
            }
        }
    }
}

/// Waits for so long, or until it is nudged. Returns false if the hub stops.
fn pass(pause: Duration, hub: &Hub, nudge: &Nudge) -> bool {
    let until = Instant::now() + pause;
    while Instant::now() < until && !nudge.take() {
        if hub.stopping() {
            return false;
        }
        std::thread::sleep(LOOK.min(until.saturating_duration_since(Instant::now())));
    }
    !hub.stopping()
}

/// A source, and what opens it again.
pub(crate) struct SourceFeed {
    source: Box<dyn Source>,
    waiting: Waiting,
    /// False if the sound is left out.
    with_sound: bool,
    skip: Option<SharedSkip>,
    stopping: Option<Stopping>,
    /// When the last frame came.
    last: Option<Instant>,
    /// Joins the media times of sources: those of one that was opened again begin anew.
    timeline: SourceTimeline,
    /// When this began.
    began: Instant,
    /// Jumps of a camera's clock since the last call of [`take_jumps`](Self::take_jumps), and those that were said.
    jumps: Jumps,
    said: Jumps,
    /// Losses since the last call of [`take_lost`](Self::take_lost).
    lost: Lost,
    /// Packets of strangers since the last call of [`take_strangers`](Self::take_strangers).
    strangers: Strangers,
    /// Another source has taken the place of the first since the last call of [`take_reopened`](Self::take_reopened).
    reopened: bool,
}

impl SourceFeed {
    /// The frames of `source`, and of those that `waiting` opens when it fails.
    pub(crate) fn new(source: Box<dyn Source>, waiting: Waiting, with_sound: bool) -> Self {
        Self {
            source,
            waiting,
            with_sound,
            skip: None,
            stopping: None,
            last: None,
            timeline: SourceTimeline::believing(),
            began: Instant::now(),
            jumps: Jumps::default(),
            said: Jumps::default(),
            lost: Lost::default(),
            strangers: Strangers::default(),
            reopened: false,
        }
    }

    /// The source, as long as it does not fail.
    pub(crate) fn source(&mut self) -> &mut dyn Source {
        &mut *self.source
    }

    /// Description of the sound that comes with the picture.
    pub(crate) fn sound(&self) -> Option<SoundInfo> {
        self.source.sound().filter(|_| self.with_sound)
    }

    /// Ask `stopping` while a source waits for long.
    pub(crate) fn stop_when(&mut self, stopping: Stopping) {
        self.source.stop_when(Arc::clone(&stopping));
        self.stopping = Some(stopping);
    }

    /// Ask `skip` just before each picture is encoded, whatever source makes it.
    pub(crate) fn skip_if(&mut self, skip: SharedSkip) {
        self.skip = Some(skip);
        self.hand_on_skip();
    }

    fn hand_on_skip(&mut self) {
        if let Some(skip) = self.skip.clone() {
            self.source.skip_if(Box::new(move || skip()));
        }
    }

    /// True if the source was opened again since the last call: it knows no bit rate that was asked for.
    pub(crate) fn take_reopened(&mut self) -> bool {
        std::mem::take(&mut self.reopened)
    }

    /// The frames that were lost since the last call, by sources that failed since then too.
    pub(crate) fn take_lost(&mut self) -> Lost {
        std::mem::take(&mut self.lost)
    }

    /// The packets of strangers since the last call.
    pub(crate) fn take_strangers(&mut self) -> Strangers {
        std::mem::take(&mut self.strangers)
    }

    /// The jumps of a camera's clock since the last call.
    pub(crate) fn take_jumps(&mut self) -> Jumps {
        std::mem::take(&mut self.jumps)
    }

    /// Notes the source's jumps. The first of each kind is said.
    fn note_jumps(&mut self) {
        let jumps = self.source.take_jumps();
        for (jump, _) in jumps.counts().filter(|(_, count)| *count > 0) {
            if self.said.of(jump) == 0 {
                let what = match jump {
                    Jump::Forward => "went on ahead of the time that passed",
                    Jump::Backward => "went on behind the time that passed",
                    Jump::Stray => "had one frame of another time",
                    Jump::Still => "stood still while time passed",
                };
                tracing::warn!("the camera's time stamps {what}: the time at which frames came counts instead");
            }
        }
        self.said += jumps;
        self.jumps += jumps;
    }

    /// The next frame. `None` at the end of the stream, and if the hub stops while the source is away.
    ///
    /// # Errors
    /// The source failed and is not to be opened again, or it fails for another reason than that it is away.
    pub(crate) fn next(&mut self, hub: &Hub) -> Result<Option<Frame>> {
        loop {
            let next = contain(|| self.source.next());
            self.lost += self.source.take_lost();
            self.strangers += self.source.take_strangers();
            self.note_jumps();
            match next {
                Ok(Some(frame)) if frame.track == Track::Sound && !self.with_sound => {}
                Ok(Some(mut frame)) => {
                    let stamp = i64::try_from(nanos(frame.media_time)).unwrap_or(i64::MAX);
                    frame.media_time = self.timeline.media_time(frame.track, stamp, self.began.elapsed());
                    self.last = Some(Instant::now());
                    return Ok(Some(frame));
                }
                Ok(None) => return Ok(None),
                Err(failure) => {
                    let since = self.last.unwrap_or_else(Instant::now);
                    let Some(source) = self.waiting.open(hub, failure, since)? else {
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
        if let Some(stopping) = &self.stopping {
            self.source.stop_when(Arc::clone(stopping));
        }
        hub.set_makes_keyframes(self.source.makes_keyframes());
        hub.set_plays_once(self.source.waits_for_viewers());
        self.timeline.restarted();
        self.reopened = true;
    }
}

#[cfg(test)]
mod tests {
    use super::super::away::AwayCause;
    use super::super::queue::QueueLimits;
    use super::*;
    use crate::failure::FailureKind;
    use crate::media::{Codec, FrameRate, StampKind, StreamInfo};
    use crate::meter::metrics::Metrics;
    use crate::run::session::observe::build_info;

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
        let reopen = Reopen::new(move || {
            attempts += 1;
            match attempts {
                1 => Err(failure(FailureKind::Source)),
                _ => Ok(camera(2, None)),
            }
        });
        let waiting = Waiting::new(Some(reopen));
        let mut feed = SourceFeed::new(camera(3, Some(FailureKind::Source)), waiting, true);
        let hub = hub();
        let frames: Vec<Duration> = std::iter::from_fn(|| feed.next(&hub).expect("it comes back"))
            .map(|frame| frame.media_time)
            .collect();
        assert_eq!(frames.len(), 5);
        assert!(frames.windows(2).all(|pair| pair[0] < pair[1]), "{frames:?}");
        assert!(
            frames[3] - frames[2] >= Duration::from_millis(500),
            "the time that it was away has passed"
        );
        assert!(feed.take_reopened() && !feed.take_reopened());
    }

    #[test]
    fn what_opening_again_does_not_mend_ends_the_stream() {
        let hub = hub();
        let too_small = Reopen::new(|| Err(failure(FailureKind::Config)));
        let never = || Reopen::new(|| panic!("it is not asked"));
        for (then, reopen) in [
            (FailureKind::Source, None),
            (FailureKind::Source, Some(too_small)),
            (FailureKind::Limit, Some(never())),
        ] {
            let mut feed = SourceFeed::new(camera(0, Some(then)), Waiting::new(reopen), true);
            assert!(feed.next(&hub).is_err());
        }
    }

    #[test]
    fn a_publisher_that_stops_does_not_wait_for_its_source() {
        let hub = hub();
        hub.stop();
        let away = Reopen::new(|| Err(failure(FailureKind::Source)));
        let mut feed = SourceFeed::new(camera(0, Some(FailureKind::Refused)), Waiting::new(Some(away)), true);
        assert!(feed.next(&hub).expect("no failure").is_none());
    }

    #[test]
    fn a_camera_that_refused_is_asked_at_once_by_a_nudge_and_its_state_is_known_meanwhile() {
        let hub = Arc::new(hub());
        let reopen = Reopen::new(|| Ok(camera(1, None)));
        let (nudge, mut waiting) = (reopen.nudge(), Waiting::new(Some(reopen)));
        let mut standing = hub.standing.subscribe();
        let since = Instant::now();
        let opened = {
            let hub = Arc::clone(&hub);
            std::thread::spawn(move || waiting.open(&hub, failure(FailureKind::Refused), since))
        };
        let away = loop {
            let known = standing.borrow_and_update().standing.clone();
            if let Some(away) = known.away {
                assert_eq!(known.since, since);
                break away;
            }
            std::thread::yield_now();
        };
        assert_eq!((away.cause, away.reason.as_str()), (AwayCause::Refused, "unplugged"));
        // The first may come before its pause has begun.
        while !opened.is_finished() {
            nudge.now();
            std::thread::yield_now();
        }
        assert!(opened.join().expect("no panic").expect("it is back").is_some());
        assert!(standing.borrow_and_update().standing.away.is_none());
    }
}
