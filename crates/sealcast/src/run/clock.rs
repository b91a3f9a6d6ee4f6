//! The program's clocks. They are read here and passed into the protocol, which reads no clock itself.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sealcast_proto::clock::Now;

/// A monotonic clock and a wall clock derived from it. The system's wall clock is read only once, so stamps taken
/// here never jump relative to each other.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
    wall_at_origin: u64,
}

impl Default for Clock {
    fn default() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            origin: Instant::now(),
            wall_at_origin: nanos(wall),
        }
    }
}

impl Clock {
    /// The time now.
    pub fn now(&self) -> Now {
        self.at(Instant::now())
    }

    /// The time at `instant`.
    pub fn at(&self, instant: Instant) -> Now {
        Now {
            monotonic: instant.saturating_duration_since(self.origin),
            wall: self.wall(instant),
        }
    }

    /// The wall clock at a monotonic time of [`Now`], in ns since 1970.
    pub fn wall_at(&self, monotonic: Duration) -> u64 {
        self.wall_at_origin.saturating_add(nanos(monotonic))
    }

    /// The wall clock at `instant`, in ns since 1970.
    pub fn wall(&self, instant: Instant) -> u64 {
        match instant.checked_duration_since(self.origin) {
            Some(after) => self.wall_at_origin.saturating_add(nanos(after)),
            None => self
                .wall_at_origin
                .saturating_sub(nanos(self.origin.duration_since(instant))),
        }
    }

    /// The instant of a monotonic time of [`Now`]; `None` for `Duration::MAX`, which means never.
    pub fn instant(&self, monotonic: Duration) -> Option<Instant> {
        self.origin.checked_add(monotonic).filter(|_| monotonic < Duration::MAX)
    }
}

/// Duration in whole nanoseconds, saturating at 4.3 s.
pub(super) fn nanos_u32(duration: Duration) -> u32 {
    u32::try_from(duration.as_nanos()).unwrap_or(u32::MAX)
}

/// Duration in whole nanoseconds, saturating.
pub(super) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
