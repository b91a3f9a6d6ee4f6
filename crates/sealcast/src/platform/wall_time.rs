//! The time of day, for logs, reports and lists.

use std::time::SystemTime;

use jiff::Timestamp;

/// The time of day by the system's clock. A clock that is set beyond what a calendar can show (the year 9999) counts as
/// its last instant: a program must not end because of it.
pub fn wall_time() -> Timestamp {
    shown(SystemTime::now())
}

fn shown(time: SystemTime) -> Timestamp {
    let outside = if time < SystemTime::UNIX_EPOCH {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    };
    Timestamp::try_from(time).unwrap_or(outside)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_clock_that_no_calendar_can_show_is_its_last_instant() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(shown(at(1)), Timestamp::from_second(1).expect("in range"));
        for far in [253_402_300_800, 1 << 40] {
            assert_eq!(shown(at(far)), Timestamp::MAX, "{far}");
        }
    }
}
