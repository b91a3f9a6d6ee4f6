//! Frames of a camera that were lost.

use std::time::{Duration, Instant};

/// Shortest time between two messages.
const PAUSE: Duration = Duration::from_secs(10);

/// Counts lost frames, and says so without flooding the log.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// Frames that the driver dropped, mostly because this program or the machine was too slow.
    dropped: u64,
    /// Frames that came damaged and were left out.
    damaged: u64,
    /// When the last message was, and how many were lost by then.
    said: Option<(Instant, u64)>,
}

impl Losses {
    /// Counts, and says so at the first loss and then at most every 10 s.
    pub(super) fn count(&mut self, camera: &str, dropped: u32, damaged: bool) {
        self.dropped += u64::from(dropped);
        self.damaged += u64::from(damaged);
        if self.unsaid() > 0 && self.said.is_none_or(|(when, _)| when.elapsed() >= PAUSE) {
            self.say(camera);
        }
    }

    /// Says what was not said yet.
    pub(super) fn say_rest(&mut self, camera: &str) {
        if self.unsaid() > 0 {
            self.say(camera);
        }
    }

    fn unsaid(&self) -> u64 {
        self.dropped + self.damaged - self.said.map_or(0, |(_, counted)| counted)
    }

    fn say(&mut self, camera: &str) {
        self.said = Some((Instant::now(), self.dropped + self.damaged));
        tracing::warn!(
            camera,
            dropped = self.dropped,
            damaged = self.damaged,
            "frames of the camera are missing so far"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_loss_is_said_at_last_and_not_each_at_once() {
        let mut losses = Losses::default();
        losses.count("it", 0, false);
        assert!(losses.said.is_none());
        losses.count("it", 2, false);
        assert_eq!(losses.unsaid(), 0, "the first is said");
        losses.count("it", 1, true);
        assert_eq!(losses.unsaid(), 2, "not yet");
        losses.say_rest("it");
        assert_eq!((losses.unsaid(), losses.dropped, losses.damaged), (0, 3, 1));
    }
}
