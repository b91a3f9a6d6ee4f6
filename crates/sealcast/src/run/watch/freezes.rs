//! Freezes of the picture, as browsers count them in calls (W3C, *Identifiers for WebRTC's Statistics API*,
//! `freezeCount` and `totalFreezesDuration`). The page counts them in the same way.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Intervals of which the usual one is the mean, and how many there must be.
const AVERAGED: usize = 30;
const LEAST: usize = 5;
/// A freeze is longer than the usual interval by this, and by twice that interval.
const LONGER: Duration = Duration::from_millis(150);

/// Finds freezes among the pictures that a sink presents.
#[derive(Default)]
pub(crate) struct Freezes {
    last: Option<Instant>,
    /// The last intervals in which nothing froze.
    usual: VecDeque<Duration>,
}

impl Freezes {
    /// A picture is presented. Returns for how long the one before it stood, if that was a freeze.
    pub(crate) fn presented(&mut self, now: Instant) -> Option<Duration> {
        let last = self.last.replace(now)?;
        let interval = now.saturating_duration_since(last);
        let count = self.usual.len();
        let mean = self.usual.iter().sum::<Duration>() / u32::try_from(count.max(1)).unwrap_or(u32::MAX);
        if count >= LEAST && interval >= (mean * 3).max(mean + LONGER) {
            return Some(interval);
        }
        if count == AVERAGED {
            self.usual.pop_front();
        }
        self.usual.push_back(interval);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_that_stands_for_far_longer_than_usual_is_a_freeze() {
        // The page's test has the same rows: interval in ms, one that is longer, and whether that is a freeze.
        for (usual, longer, froze) in [
            (40, 189, false),
            (40, 190, true),
            (100, 299, false),
            (100, 300, true),
            (1000, 2999, false),
            (1000, 3000, true),
            (40, 60_000, true),
        ] {
            let (mut freezes, mut now) = (Freezes::default(), Instant::now());
            let mut after = |millis: u64| {
                now += Duration::from_millis(millis);
                freezes.presented(now)
            };
            for _ in 0..40 {
                assert_eq!(after(usual), None);
            }
            let length = Duration::from_millis(longer);
            assert_eq!(after(longer), froze.then_some(length), "{usual} {longer}");
            assert_eq!(after(usual), None, "it goes on");
        }
    }

    #[test]
    fn before_an_interval_is_usual_nothing_is_a_freeze() {
        let (mut freezes, mut now) = (Freezes::default(), Instant::now());
        assert_eq!(freezes.presented(now), None, "the first picture");
        for seconds in [5, 1, 7, 2, 3] {
            now += Duration::from_secs(seconds);
            assert_eq!(freezes.presented(now), None);
        }
    }
}
