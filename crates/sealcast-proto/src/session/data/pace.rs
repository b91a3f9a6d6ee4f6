//! The bound on the rate of data (protocol.md §12).

use std::time::Duration;

/// Most bytes of data that an end sends in a second. More would take what a picture needs on slow paths.
const BYTES_A_SECOND: u64 = 128 * 1024;
/// Most datagrams that an end sends in a second, so that many short ones cost no more than long ones.
const DATAGRAMS_A_SECOND: u32 = 512;
/// The time over which the rate is measured: so much may leave at once.
const TOLERANCE: Duration = Duration::from_micros(62_500);
/// The same at the receiver, since a path may hold datagrams back and deliver them together.
const TOLERANCE_OF_RECEIVER: Duration = Duration::from_secs(1);

/// Says which datagrams are within the rate (the generic cell rate algorithm).
pub(super) struct Pace {
    bytes_a_second: u64,
    datagrams_a_second: u32,
    tolerance: Duration,
    /// The time that is used up by what passed, if it passed at the rate.
    used: Duration,
}

impl Pace {
    /// Pace of a sender, to which the path gives `room` bytes a second if that is known.
    pub(super) fn sending(room: Option<u64>) -> Self {
        Self {
            bytes_a_second: room.unwrap_or(BYTES_A_SECOND).clamp(1, BYTES_A_SECOND),
            datagrams_a_second: DATAGRAMS_A_SECOND,
            tolerance: TOLERANCE,
            used: Duration::ZERO,
        }
    }

    /// Pace of a receiver: twice that of a sender, whose datagrams may come twice.
    pub(super) fn receiving() -> Self {
        Self {
            bytes_a_second: 2 * BYTES_A_SECOND,
            datagrams_a_second: 2 * DATAGRAMS_A_SECOND,
            tolerance: TOLERANCE_OF_RECEIVER,
            used: Duration::ZERO,
        }
    }

    /// Time from which on the next datagram may pass.
    pub(super) fn next(&self) -> Duration {
        self.used.saturating_sub(self.tolerance)
    }

    /// True if a datagram of this length may pass now. It counts then.
    pub(super) fn take(&mut self, now: Duration, length: usize) -> bool {
        if now < self.next() {
            return false;
        }
        let long = Duration::from_nanos(length as u64 * 1_000_000_000 / self.bytes_a_second);
        let cost = long.max(Duration::from_secs(1) / self.datagrams_a_second);
        self.used = self.used.max(now) + cost;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of datagrams of this length that pass in so many seconds if they come all the time.
    fn passed(pace: &mut Pace, length: usize, seconds: u32) -> u32 {
        let times = (0..seconds * 10_000).map(|tick| Duration::from_micros(100) * tick);
        times.map(|now| u32::from(pace.take(now, length))).sum()
    }

    #[test]
    fn short_datagrams_are_bounded_by_their_number_and_long_ones_by_their_bytes() {
        let short = passed(&mut Pace::sending(None), 20, 4);
        assert!((4 * 512..=4 * 512 + 33).contains(&short), "{short}");
        let long = passed(&mut Pace::sending(None), 1200, 4) * 1200;
        assert!(
            (4 * 131_072 - 1200..=4 * 131_072 + 8192 + 2400).contains(&long),
            "{long}"
        );
        let narrow = passed(&mut Pace::sending(Some(1000)), 100, 4);
        assert!((40..=41).contains(&narrow), "{narrow}");
        assert!(
            passed(&mut Pace::sending(Some(0)), 1, 4) <= 5,
            "no room is a byte a second"
        );
    }

    #[test]
    fn what_passes_a_sender_twice_passes_a_receiver() {
        let (mut sender, mut receiver) = (Pace::sending(None), Pace::receiving());
        for tick in 0..40_000 {
            let now = Duration::from_micros(100) * tick;
            if sender.take(now, 300) {
                assert!(receiver.take(now, 300) && receiver.take(now, 300), "{now:?}");
            }
        }
    }
}
