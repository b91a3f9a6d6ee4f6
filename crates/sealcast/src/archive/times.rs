//! Times of an archive as people write them.

use std::str::FromStr;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;

use sealcast_proto::clock::ClockEstimate;

use crate::failure::{Failure, FailureKind, Result};
use crate::length::parse_length;

/// A moment in an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A time of the writer's clock, ns since 1970.
    At(u64),
    /// So long after the archive begins.
    AfterBegin(Duration),
    /// So long before it ends.
    BeforeEnd(Duration),
}

impl Moment {
    /// The time that it is in an archive from `begin` to `end`, ns since 1970.
    pub fn in_archive(self, begin: u64, end: u64) -> u64 {
        let nanos = |length: Duration| u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
        match self {
            Self::At(time) => time,
            Self::AfterBegin(length) => begin.saturating_add(nanos(length)),
            Self::BeforeEnd(length) => end.saturating_sub(nanos(length)),
        }
    }
}

impl FromStr for Moment {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self> {
        let fail = || {
            let hint = "write 2026-11-26T20:00:00Z, +90s after the beginning, or -10m before the end";
            Failure::new(FailureKind::Usage, format!("\"{text}\" is no time"), hint)
        };
        match text.split_at_checked(1) {
            Some(("+", length)) => Ok(Self::AfterBegin(parse_length(length).ok_or_else(fail)?)),
            Some(("-", length)) => Ok(Self::BeforeEnd(parse_length(length).ok_or_else(fail)?)),
            _ => {
                let time: Timestamp = text.parse().map_err(|_| fail())?;
                let nanos = u64::try_from(time.as_nanosecond()).map_err(|_| fail())?;
                Ok(Self::At(nanos))
            }
        }
    }
}

/// A time in ns since 1970 as people read it, to the millisecond.
pub fn show_time(nanos: u64) -> String {
    let time = Timestamp::from_nanosecond(nanos.into()).unwrap_or_default();
    format!("{time:.3}")
}

/// The wall clock, ns since 1970.
pub(crate) fn wall_now() -> u64 {
    nanos_of(SystemTime::now())
}

pub(super) fn nanos_of(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// An instant by the camera's clock, ns since 1970, by this machine's, and to within how many ns that is known. Without
/// a clock it is now, and not known (`u64::MAX`).
pub(super) fn by_own_clock(stamped: u64, clock: Option<ClockEstimate>) -> (u64, u64) {
    let now = wall_now();
    match clock.map(|clock| clock.at(now)) {
        Some(reading) => (stamped.saturating_add_signed(-reading.offset), reading.uncertainty),
        None => (now, u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_absolute_or_from_either_end() {
        let second = 1_000_000_000;
        let parse = |text: &str| text.parse::<Moment>().expect(text);
        assert_eq!(parse("1970-01-01T00:00:02Z"), Moment::At(2 * second));
        assert_eq!(parse("+90s").in_archive(10 * second, 500 * second), 100 * second);
        assert_eq!(parse("-1m30s").in_archive(0, 100 * second), 10 * second);
        for wrong in ["", "yesterday", "+", "-x", "+-5s", "1960-01-01T00:00:00Z"] {
            assert!(wrong.parse::<Moment>().is_err(), "{wrong}");
        }
    }
}
