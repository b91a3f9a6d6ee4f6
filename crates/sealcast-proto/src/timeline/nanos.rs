//! Times in nanoseconds, which may be before the beginning.

use std::time::Duration;

/// Nanoseconds of a stamp, an arrival or a media time, or between two of them.
pub(super) type Nanos = i128;

pub(super) fn nanos(duration: Duration) -> Nanos {
    Nanos::try_from(duration.as_nanos()).unwrap_or(Nanos::MAX)
}

/// A media time as a duration. Time before the beginning is its beginning.
pub(super) fn duration(media: Nanos) -> Duration {
    Duration::from_nanos(u64::try_from(media.max(0)).unwrap_or(u64::MAX))
}
