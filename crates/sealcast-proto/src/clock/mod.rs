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

/// The time at which something arrived, on our clock and at the latest on the peer's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Monotonic time.
    pub at: Duration,
    /// The latest time that the peer's wall clock can have shown then, ns since 1970; `None` while nothing is known of
    /// that clock.
    pub peer_at_latest: Option<u64>,
}

impl Arrival {
    /// What arrives now, by what is known of the peer's clock.
    pub fn new(now: Now, clock: Option<&ClockEstimate>) -> Self {
        Self {
            at: now.monotonic,
            peer_at_latest: clock.map(|clock| clock.at(now.wall).peer_at_latest(now.wall)),
        }
    }
}

impl From<Duration> for Arrival {
    /// Nothing is known of the peer's clock.
    fn from(at: Duration) -> Self {
        Self {
            at,
            peer_at_latest: None,
        }
    }
}

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
