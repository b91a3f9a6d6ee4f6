//! Attempts to reach the other end: when to try again, and when to give up.

use std::time::{Duration, Instant};

use sealcast_proto::wire::CloseReason;

use super::retry::Retry;
use crate::failure::{Failure, FailureKind};

/// A program that somebody waits for gives up once it was refused in the same way so often,
const SAME_REFUSALS: u32 = 3;
/// for at least this long.
const SAME_FOR: Duration = Duration::from_secs(30);
/// Pause after another session took the place of this one: sooner, the two would take it from each other by turns.
const AFTER_REPLACED: Duration = Duration::from_secs(60);

/// The attempts of a program to reach one other end.
///
/// Before the first session anybody on the path can refuse it in the other end's name: an alert is not authenticated.
/// So it is told and tried again. After a session such a refusal is an attack or a fault that passes. What the other
/// end itself says in a session is final.
pub(crate) struct Attempts {
    retry: Retry,
    /// True if somebody waits for the program, who can act on a refusal.
    gives_up: bool,
    /// True if a place that is taken is worth waiting for.
    awaits_place: bool,
    stood: bool,
    replaced: bool,
    refused: Option<Refused>,
}

/// A refusal, and how often it came.
struct Refused {
    what: String,
    times: u32,
    since: Instant,
}

impl Attempts {
    pub(crate) fn new(gives_up: bool) -> Self {
        Self {
            retry: Retry::default(),
            gives_up,
            awaits_place: false,
            stood: false,
            replaced: false,
            refused: None,
        }
    }

    /// From now on, that all places are taken ends nothing: through relays sessions give way within seconds.
    pub(crate) fn await_place(&mut self) {
        self.awaits_place = true;
    }

    /// A session was established.
    pub(crate) fn stood(&mut self) {
        self.stood = true;
    }

    /// True if a session has been established.
    pub(crate) fn have_stood(&self) -> bool {
        self.stood
    }

    /// The next pause is a short one again: the last session has lasted.
    pub(crate) fn begin_anew(&mut self) {
        self.retry = Retry::default();
    }

    /// True if another attempt makes sense after this failure. `said` is the reason of the other end's close message,
    /// if it sent one.
    pub(crate) fn go_on(&mut self, failure: &Failure, said: Option<CloseReason>, now: Instant) -> bool {
        self.replaced = said == Some(CloseReason::Replaced);
        match (failure.kind, said) {
            (FailureKind::Network | FailureKind::Limit, _) => {
                self.refused = None;
                true
            }
            (FailureKind::Refused, Some(CloseReason::TooManyViewers)) => self.stood || self.awaits_place,
            (FailureKind::Refused, Some(_)) => false,
            (FailureKind::Refused, None) => self.stood || !self.is_settled(failure, now),
            _ => false,
        }
    }

    /// True if the same refusal came so often, and for so long, that nobody who waits for the program gains by waiting.
    fn is_settled(&mut self, failure: &Failure, now: Instant) -> bool {
        match &mut self.refused {
            Some(refused) if refused.what == failure.what => {
                refused.times += 1;
                let lasted = now.saturating_duration_since(refused.since) >= SAME_FOR;
                self.gives_up && lasted && refused.times >= SAME_REFUSALS
            }
            _ => {
                self.refused = Some(Refused {
                    what: failure.what.clone(),
                    times: 1,
                    since: now,
                });
                false
            }
        }
    }

    /// Say in the log that an attempt failed, if it is time to.
    pub(crate) fn tell(&mut self, failure: &Failure) {
        self.retry.failed(failure);
    }

    /// Wait until the next attempt.
    pub(crate) async fn pause(&mut self) {
        match std::mem::take(&mut self.replaced) {
            true => tokio::time::sleep(AFTER_REPLACED).await,
            false => self.retry.wait().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(kind: FailureKind, what: &str) -> Failure {
        Failure::new(kind, what, "do something")
    }

    /// The second at which a program gives up that is refused each second; `None` if it does not within two minutes.
    fn gives_up_at(attempts: &mut Attempts, refusal: impl Fn(u64) -> Failure) -> Option<u64> {
        let began = Instant::now();
        (0..120).find(|second| !attempts.go_on(&refusal(*second), None, began + Duration::from_secs(*second)))
    }

    #[test]
    fn the_same_refusal_ends_a_program_that_somebody_waits_for_and_no_service() {
        let alert = |_| failure(FailureKind::Refused, "it refused the handshake");
        assert_eq!(gives_up_at(&mut Attempts::new(true), alert), Some(30));
        assert_eq!(gives_up_at(&mut Attempts::new(false), alert), None);
        let mut stood = Attempts::new(true);
        stood.stood();
        assert_eq!(gives_up_at(&mut stood, alert), None, "after a session it passes");
    }

    #[test]
    fn refusals_that_differ_or_are_interrupted_are_counted_anew() {
        let turns = |second| failure(FailureKind::Refused, if second % 2 == 0 { "even" } else { "odd" });
        assert_eq!(gives_up_at(&mut Attempts::new(true), turns), None);
        let interrupted = |second| match second {
            20 => failure(FailureKind::Network, "nobody answers"),
            _ => failure(FailureKind::Refused, "it refused the handshake"),
        };
        assert_eq!(gives_up_at(&mut Attempts::new(true), interrupted), Some(51));
        // Twice in a minute is not often.
        let began = Instant::now();
        let mut seldom = Attempts::new(true);
        let alert = failure(FailureKind::Refused, "it refused the handshake");
        let mut at = |second| seldom.go_on(&alert, None, began + Duration::from_secs(second));
        assert_eq!([at(0), at(60), at(61)], [true, true, false]);
    }

    #[test]
    fn a_place_behind_a_relay_is_waited_for() {
        let full = failure(FailureKind::Refused, "all places are taken");
        let mut attempts = Attempts::new(true);
        let go_on = |attempts: &mut Attempts| attempts.go_on(&full, Some(CloseReason::TooManyViewers), Instant::now());
        assert!(!go_on(&mut attempts));
        attempts.await_place();
        assert!(go_on(&mut attempts));
    }

    #[test]
    fn the_other_ends_own_words_decide_at_once() {
        let now = Instant::now();
        for (kind, said, first, later) in [
            (FailureKind::Refused, Some(CloseReason::NotAuthorised), false, false),
            (FailureKind::Refused, Some(CloseReason::NotOffered), false, false),
            (FailureKind::Refused, Some(CloseReason::TooManyViewers), false, true),
            (FailureKind::Network, Some(CloseReason::Replaced), true, true),
            (FailureKind::Network, Some(CloseReason::GoingAway), true, true),
            (FailureKind::Limit, Some(CloseReason::KeyLimit), true, true),
            (FailureKind::Network, None, true, true),
            (FailureKind::Keys, None, false, false),
        ] {
            for (stood, expected) in [(false, first), (true, later)] {
                let mut attempts = Attempts::new(false);
                attempts.stood = stood;
                let failure = failure(kind, "something");
                assert_eq!(
                    attempts.go_on(&failure, said, now),
                    expected,
                    "{kind:?} {said:?} {stood}"
                );
            }
        }
    }
}
