//! Clocks: the current time, passed in by the caller, and estimates of the peer's clock.

mod estimate;
mod filter;
mod round_trip;
#[cfg(test)]
mod two_clocks_tests;

use std::time::Duration;

pub use estimate::{ClockEstimate, ClockReading};
pub use filter::{ClockFilter, Exchange};
pub use round_trip::RoundTrip;

/// The current time, read by the caller. This crate reads no clock itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Monotonic time since an origin of the caller's choice.
    pub monotonic: Duration,
    /// Wall clock in nanoseconds since 1970-01-01T00:00:00Z.
    pub wall: u64,
}

impl Now {
    /// Returns the time of both clocks after `later` has passed.
    pub fn plus(self, later: Duration) -> Self {
        let nanos = u64::try_from(later.as_nanos()).unwrap_or(u64::MAX);
        Self {
            monotonic: self.monotonic + later,
            wall: self.wall.saturating_add(nanos),
        }
    }
}
