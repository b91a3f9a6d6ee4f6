//! A sliding minimum and a sliding rate, both in fixed memory.

use std::time::Duration;

/// Minimum of the values inserted during the last `N` spans. The oldest span is dropped as a whole.
pub(super) struct WindowedMin<const N: usize> {
    span: Duration,
    /// Start of the newest span.
    began: Duration,
    minima: [i64; N],
    newest: usize,
}

impl<const N: usize> WindowedMin<N> {
    pub(super) fn new(span: Duration) -> Self {
        Self {
            span,
            began: Duration::ZERO,
            minima: [i64::MAX; N],
            newest: 0,
        }
    }

    pub(super) fn insert(&mut self, now: Duration, value: i64) {
        let mut turned = 0;
        while now.saturating_sub(self.began) >= self.span {
            self.newest = (self.newest + 1) % N;
            self.minima[self.newest] = i64::MAX;
            turned += 1;
            // After a long pause every span is empty, and the newest one begins now.
            self.began = if turned == N { now } else { self.began + self.span };
        }
        self.minima[self.newest] = self.minima[self.newest].min(value);
    }

    /// The smallest value, or `None` if there is none.
    pub(super) fn get(&self) -> Option<i64> {
        self.minima.iter().copied().min().filter(|&value| value != i64::MAX)
    }

    pub(super) fn clear(&mut self) {
        self.minima.fill(i64::MAX);
    }
}

/// Number of spans of a [`Meter`], one of which is still being filled.
const METER_SPANS: usize = 5;
/// Length of a span of a [`Meter`]. Four spans are RFC 8298's 200 ms.
const METER_SPAN: Duration = Duration::from_millis(50);

/// Mean rate over the last four complete spans.
#[derive(Default)]
pub(super) struct Meter {
    began: Duration,
    bytes: [u64; METER_SPANS],
    newest: usize,
}

impl Meter {
    /// Adds `bytes`. Zero only advances the time.
    pub(super) fn add(&mut self, now: Duration, bytes: u64) {
        let mut turned = 0;
        while now.saturating_sub(self.began) >= METER_SPAN {
            self.newest = (self.newest + 1) % METER_SPANS;
            self.bytes[self.newest] = 0;
            turned += 1;
            self.began = if turned == METER_SPANS {
                now
            } else {
                self.began + METER_SPAN
            };
        }
        self.bytes[self.newest] = self.bytes[self.newest].saturating_add(bytes);
    }

    /// The rate in bit/s.
    pub(super) fn rate(&self) -> f64 {
        let whole = (METER_SPANS - 1) as f64 * METER_SPAN.as_secs_f64();
        let bytes = self.bytes.iter().fold(0_u64, |sum, &bytes| sum.saturating_add(bytes));
        bytes.saturating_sub(self.bytes[self.newest]) as f64 * 8.0 / whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn a_minimum_is_forgotten_after_its_window_and_not_before() {
        let mut window = WindowedMin::<3>::new(S);
        assert_eq!(window.get(), None);
        window.insert(S, 5);
        window.insert(S * 2, 9);
        window.insert(S * 3, 8);
        assert_eq!(window.get(), Some(5));
        window.insert(S * 4, 10);
        assert_eq!(window.get(), Some(8));
        window.insert(S * 1_000_000, 20);
        assert_eq!(window.get(), Some(20));
    }

    #[test]
    fn a_steady_flow_is_metered_exactly_and_a_pause_as_nothing() {
        let mut meter = Meter::default();
        for millis in 0..1000 {
            meter.add(Duration::from_millis(millis), 125);
        }
        assert_eq!(meter.rate(), 1e6);
        meter.add(S * 60, 0);
        assert_eq!(meter.rate(), 0.0);
    }
}
