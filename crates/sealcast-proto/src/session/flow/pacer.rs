//! Spreads what is sent over time: a token bucket.

use std::time::Duration;

/// What may leave at once: most frames of video, so that pacing delays only the long ones.
const BURST: u64 = 24 * 1024;

/// A token bucket whose rate may change from call to call.
pub(super) struct Pacer {
    /// Bytes that may leave at `at`; negative when more left than was saved up.
    tokens: i64,
    at: Duration,
}

impl Pacer {
    pub(super) fn new(now: Duration) -> Self {
        Self {
            tokens: BURST as i64,
            at: now,
        }
    }

    /// Bytes that may leave now at `rate` bit/s; whoever gets more than zero may send one packet more than that.
    pub(super) fn allowance(&mut self, now: Duration, rate: u64) -> u64 {
        let passed = now.saturating_sub(self.at);
        self.at = now;
        let earned = u128::from(rate) * passed.as_nanos() / 8_000_000_000;
        let earned = i64::try_from(earned).unwrap_or(i64::MAX);
        self.tokens = self.tokens.saturating_add(earned).min(BURST as i64);
        u64::try_from(self.tokens).unwrap_or(0)
    }

    pub(super) fn sent(&mut self, bytes: usize) {
        self.tokens = self.tokens.saturating_sub(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    /// When something may leave again, at `rate` bit/s.
    pub(super) fn next(&self, rate: u64) -> Duration {
        let owed = u64::try_from(1_i64.saturating_sub(self.tokens)).unwrap_or(0);
        let nanos = u128::from(owed) * 8_000_000_000 / u128::from(rate.max(1));
        self.at + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
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
        let ideal = Duration::from_micros(200_000 - BURST);
        assert!(now >= ideal.saturating_sub(Duration::from_millis(2)) && now <= ideal + Duration::from_millis(2));
    }

    #[test]
    fn a_rate_of_nothing_does_not_divide_by_it() {
        let mut pacer = Pacer::new(Duration::ZERO);
        pacer.sent(1 << 30);
        assert!(pacer.next(0) > Duration::from_secs(1));
    }
}
