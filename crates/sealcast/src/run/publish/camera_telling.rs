//! A publisher's messages to a viewer about its camera (protocol.md §4, Camera and Orientation).

use std::time::Duration;

use sealcast_proto::session::Input;
use sealcast_proto::wire::{CameraState, Orientation};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::run::clock::Clock;
use crate::run::media::away::{SourceState, StandingWatch};

/// Interval at which it is said again that the camera is off, or pictures are turned: datagrams may be lost.
const REPEAT: Duration = Duration::from_secs(5);

/// Messages about the camera to one viewer, and the time of the next.
pub(crate) struct CameraTelling {
    state: watch::Receiver<SourceState>,
    /// The viewer was told that the camera is off, and not since then that it is on.
    told_off: bool,
    /// The orientation that it was told last.
    told_turn: Option<Orientation>,
    repeat: Instant,
}

impl CameraTelling {
    /// A viewer that was told nothing.
    pub(crate) fn new(standing: &StandingWatch) -> Self {
        Self {
            state: standing.subscribe(),
            told_off: false,
            told_turn: None,
            repeat: Instant::now(),
        }
    }

    /// Changes of what is to be said.
    pub(crate) fn changes(&self) -> watch::Receiver<SourceState> {
        self.state.clone()
    }

    /// Waits until something is to be said again. Cancel-safe.
    pub(crate) async fn repeats(&self) {
        match self.told_off || self.told_turn.is_some() {
            true => sleep_until(self.repeat).await,
            false => std::future::pending().await,
        }
    }

    /// Takes what is to be said now: nothing to a viewer that takes the camera for on while it is, and pictures for
    /// upright while they are.
    pub(crate) fn take(&mut self, clock: &Clock) -> [Option<Input<'static>>; 2] {
        let SourceState { standing, orientation } = self.state.borrow_and_update().clone();
        let (now, away) = (Instant::now(), standing.away);
        let turn = orientation.filter(|_| orientation != self.told_turn || self.repeat <= now);
        let on = away.is_none();
        let camera = (!on || self.told_off).then(|| {
            Input::TellCamera(CameraState {
                on,
                since: clock.wall(standing.since),
                why: away.as_deref().map_or("", |away| away.cause.words()),
            })
        });
        if turn.is_some() || camera.is_some() {
            self.repeat = now + REPEAT;
        }
        (self.told_off, self.told_turn) = (!on, orientation);
        [turn.map(Input::Orient), camera]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::{Failure, FailureKind, SourceFault};
    use crate::meter::metrics::Metrics;
    use crate::run::media::away::Away;
    use crate::run::session::observe::build_info;

    fn away(kind: FailureKind, what: &str) -> Away {
        let failure = Failure::new(kind, what, "none").of_source(SourceFault::Unreachable);
        Away::after(&failure).expect("it may come back")
    }

    fn has_news(telling: &CameraTelling) -> bool {
        telling.changes().has_changed().expect("the source is there")
    }

    /// Message about the camera: on or not, and why.
    fn said(telling: &mut CameraTelling) -> Option<(bool, &'static str)> {
        match telling.take(&Clock::default()) {
            [None, camera] => camera.map(|camera| match camera {
                Input::TellCamera(CameraState { on, why, .. }) => (on, why),
                _ => panic!("nothing else is said"),
            }),
            _ => panic!("no picture is turned"),
        }
    }

    /// Message about the orientation of the pictures.
    fn turned(telling: &mut CameraTelling) -> Option<Orientation> {
        match telling.take(&Clock::default()) {
            [Some(Input::Orient(orientation)), None] => Some(orientation),
            [None, None] => None,
            _ => panic!("nothing else is said"),
        }
    }

    #[tokio::test]
    async fn a_viewer_hears_how_pictures_are_turned_when_that_changes_and_again_and_again() {
        let standing = StandingWatch::new(Metrics::new(build_info()));
        let (upright, quarter) = (Orientation::default(), Orientation::new(1, false));
        assert!(!standing.orient(upright), "as pictures are");
        let mut telling = CameraTelling::new(&standing);
        assert_eq!(turned(&mut telling), None);
        // The camera was waited for, and gives turned pictures.
        for now in [quarter, upright] {
            assert!(standing.orient(now) && !standing.orient(now));
            assert!(has_news(&telling));
            assert_eq!((turned(&mut telling), turned(&mut telling)), (Some(now), None));
            telling.repeat = Instant::now();
            telling.repeats().await;
            assert_eq!(turned(&mut telling), Some(now), "it may have been lost");
        }
        let mut late = CameraTelling::new(&standing);
        assert_eq!(turned(&mut late), Some(upright));
    }

    #[tokio::test]
    async fn a_viewer_hears_that_the_camera_is_off_and_why_again_and_again_until_it_is_on() {
        let standing = StandingWatch::new(Metrics::new(build_info()));
        let mut telling = CameraTelling::new(&standing);
        assert_eq!(said(&mut telling), None, "it is on");
        let began = std::time::Instant::now();
        let address = "rtsp://10.0.0.7/live does not answer";
        standing.away(began, away(FailureKind::Source, address));
        assert!(has_news(&telling));
        let (off, words) = said(&mut telling).expect("news");
        assert!(!off && words == "it cannot be reached" && !words.contains("10.0.0.7"));
        // Nothing changes, and the time has come.
        telling.repeat = Instant::now();
        telling.repeats().await;
        assert_eq!(said(&mut telling), Some((false, words)));
        standing.away(began, away(FailureKind::Refused, "another reason"));
        assert!(has_news(&telling));
        assert!(said(&mut telling).is_some_and(|(on, why)| !on && why.contains("login")));
        assert_eq!(standing.now().since, began, "it is off since then all the same");
        standing.there();
        assert!(has_news(&telling));
        assert_eq!(said(&mut telling), Some((true, "")));
        telling.repeat = Instant::now();
        tokio::select! {
            biased;
            () = telling.repeats() => panic!("there is nothing to say"),
            () = std::future::ready(()) => {}
        }
        assert_eq!(said(&mut telling), None, "once is enough");
    }
}
