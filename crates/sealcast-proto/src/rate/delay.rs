//! Time that packets wait in queues on the path, and its trend (RFC 8298, 4.1.2.1 and RFC 6817).

use std::time::Duration;

use super::window::WindowedMin;

/// RFC 8298's QDELAY_TARGET_LO, which is the fixed queue delay target here: 60 ms instead of 100.
pub(super) const QDELAY_TARGET_LO: Duration = Duration::from_millis(60);
/// Weight of a sample in the average of the queue delay as a fraction of its target.
const QDELAY_WEIGHT: f64 = 0.1;
/// Weight of a sample above the average that decides on cuts of the rate (SCReAMv2's QDELAY_AVG_G). A sample below
/// replaces the average.
const QDELAY_AVG_G: f64 = 0.25;
/// Interval between samples of the history that the trend is computed from.
const TREND_INTERVAL: Duration = Duration::from_millis(50);
/// Samples in the history.
const TREND_HISTORY: usize = 20;
/// Factor by which the memory of the trend decays at each sample.
const TREND_MEMORY: f64 = 0.99;
/// The lowest delay of this many spans is the base delay. They are two minutes, in which a clock drift of 100 ppm adds
/// 12 ms.
const BASE_SPANS: usize = 12;
const BASE_SPAN: Duration = Duration::from_secs(10);
/// A queue delay that exceeds the whole round trip by more than this is not real: the receiver's clock was set.
const CLOCK_STEP: Duration = Duration::from_millis(50);

/// Longest round trip that is believed.
const LONGEST_TRIP: Duration = Duration::from_secs(3600);

/// Measures the queue delay.
pub(super) struct Delay {
    base: WindowedMin<BASE_SPANS>,
    shortest: WindowedMin<BASE_SPANS>,
    smoothed: Option<Duration>,
    latest: Duration,
    average: f64,
    fraction_average: f64,
    history: [f64; TREND_HISTORY],
    at: usize,
    next_trend: Duration,
    trend: f64,
    trend_memory: f64,
}

impl Default for Delay {
    fn default() -> Self {
        Self {
            base: WindowedMin::new(BASE_SPAN),
            shortest: WindowedMin::new(BASE_SPAN),
            smoothed: None,
            latest: Duration::ZERO,
            average: 0.0,
            fraction_average: 0.0,
            history: [0.0; TREND_HISTORY],
            at: 0,
            next_trend: Duration::ZERO,
            trend: 0.0,
            trend_memory: 0.0,
        }
    }
}

impl Delay {
    /// Takes a sample: a packet left at `sent` by our clock and arrived at `arrived_ns` by the receiver's; the report
    /// came at `now`.
    pub(super) fn sample(&mut self, now: Duration, sent: Duration, arrived_ns: u64) {
        let round_trip = now.saturating_sub(sent).min(LONGEST_TRIP);
        // LONGEST_TRIP in nanoseconds fits an `i64`.
        self.shortest
            .insert(now, i64::try_from(round_trip.as_nanos()).unwrap_or(0));
        self.smoothed = Some(self.smoothed.map_or(round_trip, |smoothed| {
            let parts = smoothed.as_secs_f64() * 7.0 + round_trip.as_secs_f64();
            Duration::from_secs_f64(parts / 8.0)
        }));
        let one_way = i128::from(arrived_ns) - i128::try_from(sent.as_nanos()).unwrap_or(i128::MAX);
        let Some(one_way) = i64::try_from(one_way).ok().filter(|&delay| delay != i64::MAX) else {
            return;
        };
        let mut above = self.above_base(one_way);
        if above > round_trip + CLOCK_STEP {
            self.base.clear();
            above = Duration::ZERO;
        }
        self.base.insert(now, one_way);
        self.latest = above.min(round_trip);
        let latest = self.latest.as_secs_f64();
        // Down at once, up slowly: a spike as radio links cause it is not a queue.
        self.average = if latest < self.average {
            latest
        } else {
            self.average + (latest - self.average) * QDELAY_AVG_G
        };
        self.follow_trend(now, latest / QDELAY_TARGET_LO.as_secs_f64());
    }

    fn above_base(&self, one_way: i64) -> Duration {
        let base = self.base.get().unwrap_or(one_way);
        let above = i128::from(one_way) - i128::from(base);
        Duration::from_nanos(u64::try_from(above.max(0)).unwrap_or(u64::MAX))
    }

    fn follow_trend(&mut self, now: Duration, fraction: f64) {
        if now < self.next_trend {
            return;
        }
        self.next_trend = now.saturating_add(TREND_INTERVAL);
        self.fraction_average += (fraction - self.fraction_average) * QDELAY_WEIGHT;
        self.history[self.at] = fraction;
        self.at = (self.at + 1) % TREND_HISTORY;
        self.trend = (autocorrelation(&self.history, self.at) * self.fraction_average).clamp(0.0, 1.0);
        self.trend_memory = (self.trend_memory * TREND_MEMORY).max(self.trend);
    }

    /// Queue delay of the last sample.
    pub(super) fn latest(&self) -> Duration {
        self.latest
    }

    /// Average queue delay, which follows slowly upwards and at once downwards.
    pub(super) fn average(&self) -> Duration {
        Duration::from_secs_f64(self.average)
    }

    /// RFC 8298's qdelay_trend, 0 to 1: high if the delay is high and growing.
    pub(super) fn trend(&self) -> f64 {
        self.trend
    }

    /// RFC 8298's qdelay_trend_mem: the highest trend of late, decaying.
    pub(super) fn trend_memory(&self) -> f64 {
        self.trend_memory
    }

    /// Smoothed round trip, including the receiver's wait before its report.
    pub(super) fn round_trip(&self) -> Option<Duration> {
        self.smoothed
    }

    /// Shortest round trip of the last two minutes.
    pub(super) fn shortest(&self) -> Option<Duration> {
        let nanos = self.shortest.get()?;
        Some(Duration::from_nanos(u64::try_from(nanos).unwrap_or(0)))
    }
}

/// Correlation of each sample with the one before it, -1 to 1. `first` is the index of the oldest.
fn autocorrelation(samples: &[f64; TREND_HISTORY], first: usize) -> f64 {
    let mean = samples.iter().sum::<f64>() / TREND_HISTORY as f64;
    let (mut own, mut next) = (0.0, 0.0);
    let mut before = 0.0;
    for step in 0..TREND_HISTORY {
        let value = samples[(first + step) % TREND_HISTORY] - mean;
        own += value * value;
        next += value * before;
        before = value;
    }
    if own > 0.0 { next / own } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Takes a sample every 20 ms on a path of 20 ms each way plus a queue. The receiver's clock is `ahead` by so many
    /// ns.
    fn run(delay: &mut Delay, from: u32, steps: u32, ahead: impl Fn(u32) -> u64, queue: impl Fn(u32) -> u32) {
        for step in from..from + steps {
            let (sent, queue) = (MS * 20 * step, MS * queue(step));
            let arrived = sent + MS * 20 + queue;
            let nanos = u64::try_from(arrived.as_nanos()).expect("short") + ahead(step);
            delay.sample(arrived + MS * 20, sent, nanos);
        }
    }

    #[test]
    fn the_queue_is_found_whatever_the_receivers_clock_says() {
        for ahead in [0, 1 << 40, 1_900_000_000_000_000_000] {
            let mut delay = Delay::default();
            run(&mut delay, 0, 100, |_| ahead, |_| 0);
            assert_eq!(delay.average(), Duration::ZERO);
            run(&mut delay, 100, 50, |_| ahead, |_| 35);
            assert_eq!((delay.latest(), delay.average().as_millis()), (MS * 35, 34));
            assert_eq!(delay.round_trip().map(|trip| trip.as_millis()), Some(74));
            assert_eq!(delay.shortest(), Some(MS * 40));
        }
    }

    #[test]
    fn a_growing_queue_shows_in_the_trend_and_jitter_does_not() {
        let mut delay = Delay::default();
        let mut state = 1_u32;
        let noise = std::cell::RefCell::new(&mut state);
        let jitter = |_| {
            let mut state = noise.borrow_mut();
            **state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (**state >> 16) % 30
        };
        run(&mut delay, 0, 500, |_| 0, jitter);
        assert!(delay.trend() < 0.2, "{}", delay.trend());
        run(&mut delay, 500, 60, |_| 0, |step| (step - 500) * 2);
        assert!(delay.trend() > 0.3, "{}", delay.trend());
    }

    #[test]
    fn drift_of_100_ppm_costs_less_than_13_ms() {
        let mut delay = Delay::default();
        run(&mut delay, 0, 50 * 600, |step| u64::from(step) * 2_000, |_| 0);
        assert!(delay.latest() < MS * 13, "{:?}", delay.latest());
        let mut delay = Delay::default();
        run(
            &mut delay,
            0,
            50 * 600,
            |step| 1_000_000_000 - u64::from(step) * 2_000,
            |_| 0,
        );
        assert_eq!(delay.latest(), Duration::ZERO);
    }

    #[test]
    fn a_clock_that_is_set_does_not_look_like_a_queue_for_minutes() {
        let mut delay = Delay::default();
        run(&mut delay, 0, 100, |_| 1 << 40, |_| 0);
        run(&mut delay, 100, 2, |_| 1 << 41, |_| 0);
        assert_eq!(delay.latest(), Duration::ZERO);
        run(&mut delay, 102, 2, |_| 0, |_| 0);
        assert_eq!(delay.latest(), Duration::ZERO);
    }
}
