//! Frames of a camera that were lost: their count, and what the log says of them.

use std::time::{Duration, Instant};

use super::Lost;

/// Shortest time between two messages.
const PAUSE: Duration = Duration::from_secs(10);

/// Counts lost frames, and says so without flooding the log.
#[derive(Debug)]
pub(super) struct Losses {
    /// Advice about them.
    advice: &'static str,
    /// Since the camera was opened first.
    all: Lost,
    /// Since they were taken last.
    untaken: Lost,
    /// When the last message was, and how many were lost by then.
    said: Option<(Instant, u64)>,
}

impl Losses {
    /// None so far.
    pub(super) fn new(advice: &'static str) -> Self {
        Self {
            advice,
            all: Lost::default(),
            untaken: Lost::default(),
            said: None,
        }
    }

    /// Counts, and says so at the first loss and then at most every 10 s.
    pub(super) fn count(&mut self, camera: &str, lost: Lost) {
        self.all += lost;
        self.untaken += lost;
        if self.unsaid() > 0 && self.said.is_none_or(|(when, _)| when.elapsed() >= PAUSE) {
            self.say(camera);
        }
    }

    /// True if there are any.
    #[cfg(feature = "gst")]
    pub(super) fn any(&self) -> bool {
        self.all.count() > 0
    }

    /// Losses since the last call.
    pub(super) fn take(&mut self) -> Lost {
        std::mem::take(&mut self.untaken)
    }

    /// Says what was not said yet.
    pub(super) fn say_rest(&mut self, camera: &str) {
        if self.unsaid() > 0 {
            self.say(camera);
        }
    }

    fn unsaid(&self) -> u64 {
        self.all.count() - self.said.map_or(0, |(_, counted)| counted)
    }

    fn say(&mut self, camera: &str) {
        self.said = Some((Instant::now(), self.all.count()));
        let Lost {
            dropped,
            damaged,
            left_out,
        } = self.all;
        tracing::warn!(
            camera,
            dropped,
            damaged,
            left_out,
            "frames of the camera are missing so far: {}",
            self.advice
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(dropped: u64, damaged: u64, left_out: u64) -> Lost {
        Lost {
            dropped,
            damaged,
            left_out,
        }
    }

    #[test]
    fn every_loss_is_said_at_last_and_not_each_at_once() {
        let mut losses = Losses::new("lower its rate");
        losses.count("it", Lost::default());
        assert!(losses.said.is_none());
        losses.count("it", lost(2, 0, 0));
        assert_eq!(losses.unsaid(), 0, "the first is said");
        losses.count("it", lost(1, 1, 4));
        assert_eq!(losses.unsaid(), 6, "not yet");
        losses.say_rest("it");
        assert_eq!((losses.unsaid(), losses.all), (0, lost(3, 1, 4)));
    }

    #[test]
    fn every_loss_is_taken_once() {
        let mut losses = Losses::new("lower its rate");
        losses.count("it", lost(2, 0, 0));
        losses.count("it", lost(1, 1, 4));
        assert_eq!(losses.take(), lost(3, 1, 4));
        assert_eq!(losses.take(), Lost::default());
        losses.count("it", lost(0, 1, 0));
        assert_eq!(losses.take(), lost(0, 1, 0));
    }
}
