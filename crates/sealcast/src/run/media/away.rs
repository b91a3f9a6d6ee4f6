//! Sources that are away: why, since when, and how long until they are looked for again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::sync::watch;

use crate::config::secrets::redact;
use crate::failure::{Failure, FailureKind, SourceFault};
use crate::media::Orientation;
use crate::meter::metrics::Metrics;

/// First and longest pause between two attempts to open a source that failed.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(5));
/// Pause after an attempt at a stream that the camera does not have.
const NO_SUCH_STREAM: Duration = MINUTE;
/// Minutes of pause after each attempt that the camera refused; the last one repeats. Cameras lock accounts.
const REFUSED: [u32; 4] = [1, 5, 15, 30];
const MINUTE: Duration = Duration::from_secs(60);
/// Bytes of a reason that is shown to the publisher's user, at most.
const LONGEST_REASON: usize = 256;

/// Reason why a source is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AwayCause {
    /// It does not admit us, or is not the one that it should be.
    Refused,
    /// It answers, and lacks the stream.
    NoSuchStream,
    /// Nothing answers.
    Unreachable,
    /// Anything else.
    Failed,
}

impl AwayCause {
    /// Reason why a source is away that failed so; `None` if it does not come back by itself.
    pub(crate) fn of(failure: &Failure) -> Option<Self> {
        match (failure.kind, failure.fault) {
            (FailureKind::Refused, _) => Some(Self::Refused),
            (FailureKind::Source, SourceFault::NoSuchStream) => Some(Self::NoSuchStream),
            (FailureKind::Source, SourceFault::Unreachable) => Some(Self::Unreachable),
            (FailureKind::Source, SourceFault::Other) => Some(Self::Failed),
            _ => None,
        }
    }

    /// Words for viewers: no address, and no word of the camera.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Refused => "it does not accept the publisher's login, or is not the camera that was expected",
            Self::NoSuchStream => "it has no such stream",
            Self::Unreachable => "it cannot be reached",
            Self::Failed => "it failed",
        }
    }
}

/// The pauses between attempts to open a source that is away.
#[derive(Debug, Default)]
pub(crate) struct Pauses {
    refused: u32,
    failed: u32,
}

impl Pauses {
    /// The pause after one more attempt that failed for `cause`.
    pub(crate) fn after(&mut self, cause: AwayCause) -> Duration {
        let count = match cause {
            AwayCause::Refused => &mut self.refused,
            AwayCause::NoSuchStream => return NO_SUCH_STREAM,
            AwayCause::Unreachable | AwayCause::Failed => &mut self.failed,
        };
        let before = *count;
        *count = before.saturating_add(1);
        match cause {
            AwayCause::Refused => MINUTE * REFUSED[(before as usize).min(REFUSED.len() - 1)],
            _ => BACKOFF.0.saturating_mul(1 << before.min(16)).min(BACKOFF.1),
        }
    }
}

/// A source that is away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Away {
    pub(crate) cause: AwayCause,
    /// The reason as the publisher's user is told it: it may name the camera.
    pub(crate) reason: String,
}

impl Away {
    /// Away after this failure, if it may come back.
    pub(crate) fn after(failure: &Failure) -> Option<Self> {
        AwayCause::of(failure).map(|cause| Self::new(cause, &failure.what))
    }

    /// Away after this failure, whether it may come back or not.
    pub(crate) fn for_ever(failure: &Failure) -> Self {
        Self::new(AwayCause::of(failure).unwrap_or(AwayCause::Failed), &failure.what)
    }

    /// Away for this cause, and a reason without the secrets that it may have.
    pub(crate) fn new(cause: AwayCause, reason: &str) -> Self {
        let mut reason = redact(reason).into_owned();
        reason.truncate(reason.floor_char_boundary(LONGEST_REASON));
        Self { cause, reason }
    }
}

/// The end of the source.
#[derive(Clone, Debug)]
pub enum SourceEnd {
    /// The source has no more frames.
    Complete,
    /// The source failed.
    Failed(Failure),
}

/// Whether the source gives pictures.
#[derive(Clone, Debug)]
pub(crate) struct SourceStanding {
    /// Since when.
    pub(crate) since: Instant,
    /// Reason, if it gives none.
    pub(crate) away: Option<Arc<Away>>,
}

/// State of the source as viewers are told of it.
#[derive(Clone, Debug)]
pub(crate) struct SourceState {
    /// State of the source: pictures come, or why none do.
    pub(crate) standing: SourceStanding,
    /// Orientation of its pictures, once it said that they are turned.
    pub(crate) orientation: Option<Orientation>,
}

/// The state of the source, for all who want to know.
pub(crate) struct StandingWatch {
    state: watch::Sender<SourceState>,
    metrics: Metrics,
}

impl StandingWatch {
    /// It gives pictures until something else is said.
    pub(crate) fn new(metrics: Metrics) -> Self {
        let (since, away) = (Instant::now(), None);
        let state = SourceState {
            standing: SourceStanding { since, away },
            orientation: None,
        };
        Self {
            state: watch::channel(state).0,
            metrics,
        }
    }

    /// State of the source now.
    pub(crate) fn now(&self) -> SourceStanding {
        self.state.borrow().standing.clone()
    }

    /// The state now and from now on.
    pub(crate) fn subscribe(&self) -> watch::Receiver<SourceState> {
        self.state.subscribe()
    }

    /// Orientation of the pictures, unless they never were turned.
    pub(crate) fn orientation(&self) -> Option<Orientation> {
        self.state.borrow().orientation
    }

    /// Pictures are turned so from here on. Returns true if that is news.
    pub(crate) fn orient(&self, orientation: Orientation) -> bool {
        self.state.send_if_modified(|state| {
            let news = state.orientation.unwrap_or_default() != orientation;
            if news {
                state.orientation = Some(orientation);
            }
            news
        })
    }

    /// The source is away since then, or still away.
    pub(crate) fn away(&self, since: Instant, away: Away) {
        self.metrics.camera_off(true);
        self.state.send_if_modified(|SourceState { standing, .. }| {
            let before = standing.away.as_deref();
            let news = before != Some(&away);
            if news {
                standing.since = before.map_or(since, |_| standing.since);
                standing.away = Some(Arc::new(away));
            }
            news
        });
    }

    /// The source is there.
    pub(crate) fn there(&self) {
        self.metrics.camera_off(false);
        let (since, away) = (Instant::now(), None);
        self.state
            .send_modify(|state| state.standing = SourceStanding { since, away });
    }
}

/// Has a source that is away looked for at once.
#[derive(Debug, Default)]
pub struct Nudge(AtomicBool);

impl Nudge {
    /// Do not wait for the end of the pause. While the source is there this does nothing.
    pub fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True if that was called since the last time.
    pub(crate) fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

/// A time of a wall clock, in ns since 1970, as it is shown: to the second, in UTC.
pub(crate) fn utc(wall: u64) -> Timestamp {
    // 2⁶⁴ ns are in the year 2554.
    Timestamp::from_second((wall / 1_000_000_000) as i64).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pauses(cause: AwayCause, attempts: usize) -> Vec<f64> {
        let mut pauses = Pauses::default();
        (0..attempts).map(|_| pauses.after(cause).as_secs_f64()).collect()
    }

    #[test]
    fn a_camera_that_refuses_is_asked_after_1_5_15_and_then_each_30_minutes() {
        let minutes: Vec<f64> = pauses(AwayCause::Refused, 6).iter().map(|pause| pause / 60.0).collect();
        assert_eq!(minutes, [1.0, 5.0, 15.0, 30.0, 30.0, 30.0]);
        // What comes between, as while it starts again, makes none of them shorter.
        let mut between = Pauses::default();
        between.after(AwayCause::Refused);
        between.after(AwayCause::Unreachable);
        assert_eq!(between.after(AwayCause::Refused), 5 * MINUTE);
    }

    #[test]
    fn a_stream_that_does_not_exist_is_looked_for_each_minute() {
        assert_eq!(pauses(AwayCause::NoSuchStream, 3), [60.0; 3]);
    }

    #[test]
    fn a_camera_that_is_off_is_looked_for_often() {
        for cause in [AwayCause::Unreachable, AwayCause::Failed] {
            assert_eq!(pauses(cause, 6), [0.5, 1.0, 2.0, 4.0, 5.0, 5.0]);
        }
        assert!(pauses(AwayCause::Failed, 100).ends_with(&[5.0]), "however long");
    }

    #[test]
    fn what_waiting_does_not_mend_is_not_waited_for() {
        let failure = |kind, fault| Failure::new(kind, "x", "y").of_source(fault);
        let cause = |kind, fault| AwayCause::of(&failure(kind, fault));
        let (other, refused) = (SourceFault::Other, Some(AwayCause::Refused));
        assert_eq!(cause(FailureKind::Refused, other), refused);
        assert_eq!(cause(FailureKind::Source, other), Some(AwayCause::Failed));
        let missing = cause(FailureKind::Source, SourceFault::NoSuchStream);
        assert_eq!(missing, Some(AwayCause::NoSuchStream));
        for kind in [
            FailureKind::Config,
            FailureKind::Internal,
            FailureKind::Limit,
            FailureKind::Usage,
            FailureKind::Keys,
        ] {
            assert_eq!(cause(kind, SourceFault::Unreachable), None, "{kind:?}");
        }
    }

    #[test]
    fn a_reason_is_short_and_has_no_password() {
        let what = format!("rtsp://admin:hunter2@10.0.0.7/live says {}", "ä".repeat(300));
        let away = Away::after(&Failure::new(FailureKind::Source, what, "z")).expect("away");
        assert!(!away.reason.contains("hunter2"), "{}", away.reason);
        assert!(away.reason.len() <= LONGEST_REASON && away.reason.contains("says"));
    }

    #[test]
    fn times_are_shown_to_the_second() {
        assert_eq!(utc(1_795_953_483_999_999_999).to_string(), "2026-11-29T11:58:03Z");
        assert!(utc(u64::MAX).to_string().starts_with("2554-"));
    }
}
