//! Clocks: the instant that is passed in, and what can be said about the peer's clock.

mod offset;

use std::time::Duration;

pub use offset::{ClockEstimate, ClockFilter, RoundTrip};

/// The time as the caller reads it. Proto never reads a clock itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Monotonic time since an origin of the caller's choice.
    pub monotonic: Duration,
    /// Wall clock in nanoseconds since 1970-01-01T00:00:00Z.
    pub wall: u64,
}

impl Now {
    /// The same clocks, `later` on.
    pub fn plus(self, later: Duration) -> Self {
        let nanos = u64::try_from(later.as_nanos()).unwrap_or(u64::MAX);
        Self {
            monotonic: self.monotonic + later,
            wall: self.wall.saturating_add(nanos),
        }
    }
}
