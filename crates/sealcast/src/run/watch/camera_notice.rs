//! Knowledge of a viewer about its publisher's camera, from what it was told and from pictures (protocol.md §4,
//! Camera).

use crate::run::media::away::utc;
use std::time::Instant;

use crate::meter::metrics::Metrics;
use crate::meter::telling::Telling;
use crate::sink::OnAway;

/// Number of changes that are all logged: a camera goes off and on again some times. A publisher may say it endlessly.
const LOGGED: u64 = 64;

/// Follows whether the camera is off.
pub(crate) struct CameraNotice {
    /// Since when it is off, by the publisher's wall clock in ns, and why.
    off: Option<(u64, String)>,
    /// Function that shows it.
    shows: Option<OnAway>,
    changes: Telling,
}

impl CameraNotice {
    /// One that is shown as well.
    pub(crate) fn shown_by(shows: Option<OnAway>) -> Self {
        Self {
            off: None,
            shows,
            changes: Telling::after(LOGGED),
        }
    }

    /// The publisher said it, perhaps once more.
    pub(crate) fn told(&mut self, on: bool, since: u64, why: &str, metrics: &Metrics) {
        let off = (!on).then(|| (since, why.to_owned()));
        if off == self.off {
            return;
        }
        let words = off
            .as_ref()
            .map(|(since, why)| format!("the camera is off since {}, because {why}", utc(*since)));
        if self.changes.count(Instant::now()).is_some() {
            match &words {
                Some(words) => tracing::warn!("{words}; this viewer waits for it"),
                None => tracing::info!("the camera is on again"),
            }
        }
        self.show(words);
        metrics.camera_off(off.is_some());
        self.off = off;
    }

    /// A picture came that was captured then, by the publisher's wall clock.
    pub(crate) fn pictured(&mut self, captured: u64, metrics: &Metrics) {
        if self.off.as_ref().is_some_and(|(since, _)| captured > *since) {
            self.told(true, captured, "", metrics);
        }
    }

    fn show(&self, words: Option<String>) {
        if let Some(show) = &self.shows {
            show(words);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::run::session::observe::build_info;

    #[test]
    fn a_camera_is_on_again_when_that_is_said_or_a_picture_came_that_is_newer() {
        let shown = Arc::new(Mutex::new(Vec::new()));
        let show = {
            let shown = Arc::clone(&shown);
            move |words| shown.lock().expect("no panic").push(words)
        };
        let metrics = Metrics::new(build_info());
        let mut notice = CameraNotice::shown_by(Some(Arc::new(show)));
        let off = |seconds| {
            let words = format!("the camera is off since 1970-01-01T00:00:{seconds:02}Z, because it failed");
            Some(words)
        };
        let second = |seconds: u64| seconds * 1_000_000_000;
        for _ in 0..3 {
            notice.told(false, second(9), "it failed", &metrics);
        }
        // It was on its way when the camera went.
        notice.pictured(second(8), &metrics);
        notice.told(true, second(12), "", &metrics);
        notice.told(false, second(20), "it failed", &metrics);
        notice.pictured(second(21), &metrics);
        notice.told(true, second(21), "", &metrics);
        assert_eq!(*shown.lock().expect("no panic"), [off(9), None, off(20), None]);
        assert!(metrics.encode().contains("\nsealcast_camera_off 0\n"));
    }
}
