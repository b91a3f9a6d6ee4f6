//! Messages of a publisher to a viewer about its camera (protocol.md §4, Camera).

use std::time::Duration;

use sealcast_proto::session::Input;
use sealcast_proto::wire::CameraState;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::Clock;
use super::away::{SourceStanding, StandingWatch};

/// Interval at which it is said again that the camera is off: datagrams may be lost.
const REPEAT: Duration = Duration::from_secs(5);

/// Messages about the camera to one viewer, and the time of the next.
pub(super) struct CameraTelling {
    standing: watch::Receiver<SourceStanding>,
    /// The viewer was told that the camera is off, and not since then that it is on.
    told_off: bool,
    repeat: Instant,
}

impl CameraTelling {
    /// A viewer that was told nothing.
    pub(super) fn new(standing: &StandingWatch) -> Self {
        Self {
            standing: standing.subscribe(),
            told_off: false,
            repeat: Instant::now(),
        }
    }

    /// Waits until there is something to say. Cancel-safe.
    pub(super) async fn due(&mut self) {
        tokio::select! {
            changed = self.standing.changed() => if changed.is_err() {
                std::future::pending().await
            },
            () = sleep_until(self.repeat), if self.told_off => {}
        }
    }

    /// Takes what is to be said now: nothing to a viewer that takes the camera for on while it is.
    pub(super) fn take(&mut self, clock: &Clock) -> Option<Input<'static>> {
        let SourceStanding { since, away } = self.standing.borrow_and_update().clone();
        let on = away.is_none();
        if on && !self.told_off {
            return None;
        }
        (self.told_off, self.repeat) = (!on, Instant::now() + REPEAT);
        Some(Input::TellCamera(CameraState {
            on,
            since: clock.wall(since),
            why: away.map_or("", |away| away.cause.words()),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::away::Away;
    use super::super::build_info;
    use super::*;
    use crate::failure::{Failure, FailureKind, SourceFault};
    use crate::meter::metrics::Metrics;

    fn away(kind: FailureKind, what: &str) -> Away {
        let failure = Failure::new(kind, what, "none").of_source(SourceFault::Unreachable);
        Away::after(&failure).expect("it may come back")
    }

    /// Message that is due: on or not, and why.
    fn said(telling: &mut CameraTelling) -> Option<(bool, &'static str)> {
        match telling.take(&Clock::default())? {
            Input::TellCamera(CameraState { on, why, .. }) => Some((on, why)),
            _ => panic!("nothing else is said"),
        }
    }

    #[tokio::test]
    async fn a_viewer_hears_that_the_camera_is_off_and_why_again_and_again_until_it_is_on() {
        let standing = StandingWatch::new(Metrics::new(build_info()));
        let mut telling = CameraTelling::new(&standing);
        assert_eq!(said(&mut telling), None, "it is on");
        let began = std::time::Instant::now();
        let address = "rtsp://10.0.0.7/live does not answer";
        standing.away(began, away(FailureKind::Source, address));
        telling.due().await;
        let (off, words) = said(&mut telling).expect("news");
        assert!(!off && words == "it cannot be reached" && !words.contains("10.0.0.7"));
        // Nothing changes, and the time has come.
        telling.repeat = Instant::now();
        telling.due().await;
        assert_eq!(said(&mut telling), Some((false, words)));
        standing.away(began, away(FailureKind::Refused, "another reason"));
        telling.due().await;
        assert!(said(&mut telling).is_some_and(|(on, why)| !on && why.contains("login")));
        assert_eq!(standing.now().since, began, "it is off since then all the same");
        standing.there();
        telling.due().await;
        assert_eq!(said(&mut telling), Some((true, "")));
        telling.repeat = Instant::now();
        tokio::select! {
            biased;
            () = telling.due() => panic!("there is nothing to say"),
            () = std::future::ready(()) => {}
        }
        assert_eq!(said(&mut telling), None, "once is enough");
    }
}
