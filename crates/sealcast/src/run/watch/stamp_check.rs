//! Whether the camera's stamps fit this machine's clock.

use std::time::{Duration, Instant};

use crate::run::clock::{Clock, nanos};

/// Difference from which on it is told.
const APART: Duration = Duration::from_secs(60);

/// Compares the stamps of frames, which came as the camera sealed them, with the own clock: the wall clock that it put
/// into their records, whatever its source says of the time.
#[derive(Default)]
pub(crate) struct StampCheck {
    apart: u64,
}

impl StampCheck {
    /// Notes a frame that was sealed at this time of the camera's wall clock, and arrived now.
    pub(crate) fn note(&mut self, sealed_at: u64, arrived: Instant, clock: &Clock) {
        let Some((words, frames)) = self.check(sealed_at, clock.wall(arrived)) else {
            return;
        };
        tracing::warn!(
            frames,
            "the camera stamps its pictures {words} than this machine's clock: one of the two clocks is wrong, or a \
             recording is played; set both by NTP"
        );
    }

    /// Returns what to say of a stamp, and of how many frames: of the first one that is far from the own clock, and at
    /// powers of two.
    fn check(&mut self, sealed_at: u64, own: u64) -> Option<(String, u64)> {
        let apart = sealed_at.abs_diff(own);
        if apart < nanos(APART) {
            return None;
        }
        self.apart += 1;
        let seconds = Duration::from_nanos(apart).as_secs();
        let which = if sealed_at < own { "earlier" } else { "later" };
        self.apart
            .is_power_of_two()
            .then(|| (format!("{seconds} s {which}"), self.apart))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60_000_000_000;

    #[test]
    fn a_minute_in_either_direction_is_told_once_and_counted_at_powers_of_two() {
        for (sealed_at, own, words) in [
            (5 * MINUTE, 8 * MINUTE, "180 s earlier"),
            (8 * MINUTE, 5 * MINUTE, "180 s later"),
            (5 * MINUTE, 6 * MINUTE, "60 s earlier"),
            (0, 29_000_000 * MINUTE, "1740000000 s earlier"),
        ] {
            let mut stamps = StampCheck::default();
            let told: Vec<_> = (0..100).filter_map(|_| stamps.check(sealed_at, own)).collect();
            let frames: Vec<u64> = told.iter().map(|(_, frames)| *frames).collect();
            assert_eq!(frames, [1, 2, 4, 8, 16, 32, 64]);
            assert!(told.iter().all(|(said, _)| said == words), "{told:?}");
        }
    }

    #[test]
    fn less_than_a_minute_is_nothing() {
        let mut stamps = StampCheck::default();
        for sealed_at in [5 * MINUTE + 1, 6 * MINUTE, 7 * MINUTE - 1] {
            assert_eq!(stamps.check(sealed_at, 6 * MINUTE), None);
        }
    }
}
