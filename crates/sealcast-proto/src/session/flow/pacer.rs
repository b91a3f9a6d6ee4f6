//! Spreads what is sent over time: a token bucket.

use std::time::Duration;

/// Bytes that may leave at once, as time at the rate. About one frame, so that pacing delays only long ones.
const BURST: Duration = Duration::from_millis(40);
/// Minimum of the bytes that may leave at once.
const LEAST_BURST: u64 = 4 * 1024;

/// The shortest wait: timers are no finer.
const LEAST_WAIT: Duration = Duration::from_micros(100);
/// Fractions of a byte in which tokens are counted, so that bit/s times nanoseconds is a whole number of them.
const SHARES: i128 = 8_000_000_000;

/// A token bucket whose rate may change from call to call.
pub(super) struct Pacer {
    /// Tokens available at `at`; negative when more was sent than had accumulated.
    tokens: i128,
    at: Duration,
}

impl Pacer {
    pub(super) fn new(now: Duration) -> Self {
        Self {
            tokens: i128::from(LEAST_BURST) * SHARES,
            at: now,
        }
    }

    /// Bytes that may leave now at `rate` bit/s; a caller that gets more than zero may send one packet more than
    /// that.
    pub(super) fn allowance(&mut self, now: Duration, rate: u64) -> u64 {
        let passed = now.saturating_sub(self.at);
        self.at = now;
        self.tokens = (self.tokens + earned(rate, passed)).min(burst(rate));
        // Nearly every value fits 64 bits, where division is ten times as fast.
        let bytes =
            i64::try_from(self.tokens).map_or_else(|_| self.tokens / SHARES, |few| (few / SHARES as i64).into());
        u64::try_from(bytes).unwrap_or(0)
    }

    pub(super) fn sent(&mut self, bytes: usize) {
        self.tokens -= bytes as i128 * SHARES;
    }

    /// The next time at which a packet may leave, at `rate` bit/s.
    pub(super) fn next(&self, rate: u64) -> Duration {
        let owed = (SHARES - self.tokens).max(0);
        let nanos = u64::try_from(owed / i128::from(rate.max(1)) + 1).unwrap_or(u64::MAX);
        self.at + Duration::from_nanos(nanos).max(LEAST_WAIT)
    }
}

fn earned(rate: u64, time: Duration) -> i128 {
    // An hour's worth is more than any bucket holds.
    i128::from(rate) * time.as_nanos().min(3_600_000_000_000) as i128
}

fn burst(rate: u64) -> i128 {
    earned(rate, BURST).max(i128::from(LEAST_BURST) * SHARES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_frame_leaves_at_the_rate_after_its_first_burst() {
        let (mut pacer, mut now, mut left) = (Pacer::new(Duration::ZERO), Duration::ZERO, 200_000_usize);
        while left > 0 {
            if pacer.allowance(now, 8_000_000) > 0 {
                pacer.sent(1_000);
                left -= 1_000;
            } else {
                now = pacer.next(8_000_000);
            }
        }
        let ideal = Duration::from_micros(200_000 - LEAST_BURST);
        assert!(now >= ideal.saturating_sub(Duration::from_millis(2)) && now <= ideal + Duration::from_millis(2));
    }

    #[test]
    fn a_rate_of_nothing_does_not_divide_by_it() {
        let mut pacer = Pacer::new(Duration::ZERO);
        pacer.sent(1 << 30);
        assert!(pacer.next(0) > Duration::from_secs(1));
    }
}
