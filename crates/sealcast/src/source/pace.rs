//! Plays a file in real time, according to its timestamps.

use std::thread;
use std::time::{Duration, Instant};

use super::SOURCE_PATIENCE;

/// A frame that is later than this restarts the schedule: after a pause of the caller (nobody watched, the machine
/// slept) playback continues in real time, without a burst of all missed frames.
const LAG_LIMIT: Duration = Duration::from_millis(500);

/// Maximum wait for one frame. Longer gaps in a file are shortened, because a source must answer within
/// [`SOURCE_PATIENCE`]; the media time stays unchanged.
const WAIT_LIMIT: Duration = Duration::from_secs(SOURCE_PATIENCE.as_secs() / 2);

/// Waits until frames are due.
#[derive(Debug, Default)]
pub struct Pacer {
    /// An instant and the media time that corresponds to it.
    origin: Option<(Instant, Duration)>,
}

impl Pacer {
    /// Returns the time to wait, at `now`, for a frame that is due at `due` on the file's clock.
    pub fn wait(&mut self, now: Instant, due: Duration) -> Duration {
        let (started, first) = *self.origin.get_or_insert((now, due));
        let target = started + due.saturating_sub(first);
        let wait = target.saturating_duration_since(now);
        let late = now.saturating_duration_since(target);
        if late > LAG_LIMIT {
            self.origin = Some((now, due));
            return Duration::ZERO;
        }
        if wait > WAIT_LIMIT {
            self.origin = Some((now + WAIT_LIMIT, due));
            return WAIT_LIMIT;
        }
        wait
    }

    /// Sleeps until a frame that is due at `due` on the file's clock may be delivered.
    pub fn sleep_until(&mut self, due: Duration) {
        let wait = self.wait(Instant::now(), due);
        if !wait.is_zero() {
            thread::sleep(wait);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Duration = Duration::from_millis(40);

    #[test]
    fn frames_are_due_at_their_distance_from_the_first() {
        let mut pacer = Pacer::default();
        let start = Instant::now();
        assert_eq!(pacer.wait(start, Duration::from_secs(7)), Duration::ZERO);
        assert_eq!(pacer.wait(start, Duration::from_secs(7) + FRAME), FRAME);
        assert_eq!(pacer.wait(start + FRAME, Duration::from_secs(7) + 3 * FRAME), 2 * FRAME);
    }

    #[test]
    fn a_small_delay_is_caught_up_and_a_long_pause_is_not() {
        let mut pacer = Pacer::default();
        let start = Instant::now();
        pacer.wait(start, Duration::ZERO);
        assert_eq!(pacer.wait(start + 3 * FRAME, FRAME), Duration::ZERO);
        assert_eq!(pacer.wait(start + 3 * FRAME, 4 * FRAME), FRAME);
        let later = start + Duration::from_secs(60);
        assert_eq!(pacer.wait(later, 5 * FRAME), Duration::ZERO);
        assert_eq!(pacer.wait(later, 6 * FRAME), FRAME);
    }

    #[test]
    fn a_gap_never_outlasts_the_patience_with_a_source() {
        let mut pacer = Pacer::default();
        let start = Instant::now();
        pacer.wait(start, Duration::ZERO);
        let gap = pacer.wait(start, Duration::from_secs(3600));
        assert!(gap < SOURCE_PATIENCE);
        assert_eq!(pacer.wait(start + gap, Duration::from_secs(3600) + FRAME), FRAME);
    }
}
