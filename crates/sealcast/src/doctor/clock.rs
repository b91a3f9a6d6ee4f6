//! Whether the wall clock is kept right and runs evenly, and how fine the clocks are.

use std::time::{Duration, Instant, SystemTime};

use rustix::time::{ClockId, clock_getres};

use super::finding::Finding;
use crate::platform::kernel_clock::KernelClock;

const CHECK: &str = "clock";
/// Time for which the wall clock is compared with the one that never jumps.
const WATCHED: Duration = Duration::from_millis(300);
/// Difference of the two after that time that counts as a jump. A clock that is being corrected moves by at most 500
/// ppm, 0.15 ms.
const JUMP: Duration = Duration::from_millis(2);
/// Coarsest clock with which stages of some microseconds can be timed.
const FINE: Duration = Duration::from_micros(10);
/// Longest time between the two readings of a pair, and how often a pair is read to get one like that.
const CLOSE: Duration = Duration::from_micros(50);
const PAIRS: usize = 1000;

/// Asks the kernel for its wall clock, and watches both clocks for a moment.
pub(super) fn check() -> Vec<Finding> {
    let resolution = clock_getres(ClockId::Monotonic);
    let resolution = Duration::from_nanos(u64::try_from(resolution.tv_nsec).unwrap_or(u64::MAX));
    let source = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    vec![
        kept(&KernelClock::read()),
        steady(watched(), resolution, source.ok().as_deref().map(str::trim)),
    ]
}

/// Judges whether something keeps the clock right.
fn kept(kernel: &Result<KernelClock, String>) -> Finding {
    match kernel {
        Ok(clock) if clock.synchronised => Finding::ok(
            CHECK,
            format!(
                "the kernel says that the wall clock is kept right, within {:.1} ms",
                clock.maximum_error_us as f64 / 1000.0
            ),
        ),
        Ok(_) => Finding::warning(
            CHECK,
            "nothing keeps the wall clock right: invites may expire early or late, and stamps of two machines differ",
            "run: sudo timedatectl set-ntp true",
        ),
        Err(why) => Finding::unknown(
            CHECK,
            format!("whether something keeps the wall clock right is not known: {why}"),
            "run: sudo apt-get install adjtimex, or look with: timedatectl",
        ),
    }
}

/// Judges what was watched: the difference of both clocks, `None` if they could not be read close together.
fn steady(difference: Option<Duration>, resolution: Duration, source: Option<&str>) -> Finding {
    let source = source.unwrap_or("of a source that is not named");
    let fineness = format!("steps of {resolution:?}, clock source {source}");
    let Some(difference) = difference else {
        let saw = format!("{fineness}; whether the wall clock jumps is not known: the machine was too busy to look");
        return Finding::unknown(CHECK, saw, "run it again when less runs here");
    };
    if difference > JUMP {
        let saw = format!("the wall clock jumped by {difference:?} within {WATCHED:?}; {fineness}");
        let advice = "find out who sets it, so that it is slewed: timedatectl timesync-status, chronyc tracking, or \
                      the tools of this virtual machine";
        return Finding::warning(CHECK, saw, advice);
    }
    if resolution > FINE {
        let saw = format!("{fineness}: too coarse for the time of a stage");
        let advice = "see which there are: cat /sys/devices/system/clocksource/clocksource0/available_clocksource";
        return Finding::warning(CHECK, saw, advice);
    }
    Finding::ok(
        CHECK,
        format!("no jump of the wall clock within {WATCHED:?}, no longer was watched; {fineness}"),
    )
}

/// Difference between the progress of the two clocks.
fn watched() -> Option<Duration> {
    let first = pair()?;
    std::thread::sleep(WATCHED);
    let second = pair()?;
    let steady = second.0.saturating_duration_since(first.0);
    // A clock that was set back went less far than nothing.
    Some(match second.1.duration_since(first.1) {
        Ok(wall) => wall.abs_diff(steady),
        Err(back) => back.duration() + steady,
    })
}

/// Both clocks at nearly the same time.
fn pair() -> Option<(Instant, SystemTime)> {
    (0..PAIRS).find_map(|_| {
        let (before, wall) = (Instant::now(), SystemTime::now());
        (before.elapsed() <= CLOSE).then_some((before, wall))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    fn kernel(synchronised: bool) -> Result<KernelClock, String> {
        Ok(KernelClock {
            synchronised,
            offset_us: 0.0,
            maximum_error_us: 1500,
            estimated_error_us: 10,
            rate_ppm: 0.0,
        })
    }

    #[test]
    fn a_clock_that_nothing_keeps_right_is_a_warning_and_one_that_nobody_knows_unknown() {
        let found = kept(&kernel(true));
        assert!(
            found.verdict == Verdict::Ok && found.saw.contains("1.5 ms"),
            "{found:?}"
        );
        assert_eq!(kept(&kernel(false)).verdict, Verdict::Warning);
        let found = kept(&Err("the program adjtimex is not installed".to_owned()));
        assert!(
            found.verdict == Verdict::Unknown && found.saw.contains("adjtimex"),
            "{found:?}"
        );
    }

    #[test]
    fn a_clock_that_jumps_or_is_coarse_is_a_warning() {
        let (fine, coarse) = (Duration::from_nanos(1), Duration::from_millis(4));
        let still = Some(Duration::from_micros(20));
        assert_eq!(steady(still, fine, Some("tsc")).verdict, Verdict::Ok);
        let jumped = steady(Some(Duration::from_millis(40)), fine, Some("tsc"));
        assert!(
            jumped.verdict == Verdict::Warning && jumped.saw.contains("40ms"),
            "{jumped:?}"
        );
        assert_eq!(steady(still, coarse, Some("jiffies")).verdict, Verdict::Warning);
        assert_eq!(steady(None, fine, None).verdict, Verdict::Unknown);
    }
}
