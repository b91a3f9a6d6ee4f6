//! Estimates offset and rate of the peer's clock from exchanges of four timestamps.
//!
//! An exchange that took longer than the shortest one has waited somewhere, and its offset may be wrong by half of what
//! it took more (the point error of Veitch, Ridoux and Korada, "Robust Synchronization of Absolute and Difference
//! Clocks Over Networks", IEEE/ACM Transactions on Networking 17(2), 2009; RFC 5905, section 10, selects by the same
//! delay). That is taken for the measurement noise of a Kalman filter whose state is offset and rate (Bletsas,
//! "Evaluation of Kalman Filtering for Network Time Keeping", IEEE Transactions on UFFC 52(9), 2005). What such waiting
//! cannot explain is a step of one of the clocks, or another path.

use std::collections::VecDeque;
use std::time::Duration;

use super::RoundTrip;
use super::estimate::{ClockEstimate, Covariance, State, seconds_between};

/// Number of round trips among which the shortest is looked for: with one each 500 ms, those of the last 32 s.
const WINDOW: usize = 64;

/// Number of predictions that are compared with what came.
const PREDICTIONS: usize = 32;

/// Number of predictions of which no more than [`BIASED`] may err on the same side.
const RUN: usize = 8;

/// Sum of the last innovations in standard deviations, over the square root of their number, from which on the rate
/// counts as another: the kernel slews a clock.
const BIASED: f64 = 2.5;

/// Standard deviation of the rate between two clocks before anything is known, ns/s: 200 ppm. Cheap crystals are within
/// 100 ppm; the kernel adjusts a clock by up to 500 ppm (RFC 5905, section 11.3).
const RATE_AT_FIRST: f64 = 200e3;

/// Standard deviation of an offset per waiting that the exchange may hold: the most that such waiting can do. It does
/// half of that where it is spread evenly over both directions, which it seldom is.
const PER_WAITING: f64 = 0.5;

/// Standard deviation of reading a clock, ns.
const READING: f64 = 500.0;

/// An offset this many standard deviations beyond what waiting explains is a step.
const STEP: f64 = 4.0;

/// The shortest of n round trips is longer than the shortest possible by about this share of their median waiting,
/// divided by the square root of n: 0.75 where the waiting in each direction is distributed exponentially, 1.25 where
/// evenly.
const UNSEEN: f64 = 1.25;

/// Four timestamps of a ping and its pong, ns since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Ping sent, by our clock.
    pub sent: u64,
    /// Ping received, by the peer's clock.
    pub peer_received: u64,
    /// Pong sent, by the peer's clock.
    pub peer_sent: u64,
    /// Pong received, by our clock.
    pub received: u64,
}

/// Measurement of the peer's clock by an exchange.
struct Sample {
    /// The middle of it, on our clock.
    at: u64,
    offset: i64,
    round_trip: u64,
}

impl Exchange {
    /// `None` for an impossible exchange: a pong before its ping.
    fn sample(self) -> Option<Sample> {
        let outside = self.received.checked_sub(self.sent)?;
        let inside = self.peer_sent.checked_sub(self.peer_received)?;
        let forth = i128::from(self.peer_received) - i128::from(self.sent);
        let back = i128::from(self.peer_sent) - i128::from(self.received);
        Some(Sample {
            at: self.sent + outside / 2,
            offset: i64::try_from((forth + back) / 2).ok()?,
            round_trip: outside.checked_sub(inside)?,
        })
    }
}

/// Estimates the peer's clock from exchanges.
#[derive(Clone, Default)]
pub struct ClockFilter {
    /// The last round trips, ns.
    window: VecDeque<u64>,
    round_trip: Option<RoundTrip>,
    estimate: Option<ClockEstimate>,
    /// The last innovations, each in standard deviations.
    innovations: VecDeque<f64>,
    steps: u64,
}

impl ClockFilter {
    /// Adds an exchange. An impossible one is ignored.
    pub fn sample(&mut self, exchange: Exchange) {
        let Some(sample) = exchange.sample() else { return };
        let latest = Duration::from_nanos(sample.round_trip);
        let before = self.round_trip;
        self.round_trip = Some(before.map_or(RoundTrip::first(latest), |before| before.and(latest)));
        if self.window.len() == WINDOW {
            self.window.pop_front();
        }
        self.window.push_back(sample.round_trip);
        let (shortest, unseen) = self.shortest();
        // Where it is shorter than those before, all of them had waited, and the estimate may be off by half of that.
        let known = self.estimate.as_mut();
        if let Some(known) = known.filter(|known| known.shortest > shortest) {
            let waited = (known.shortest - shortest) as f64 / 2.0;
            known.variance.offset += waited * waited;
            known.one_sided.offset += waited;
        }
        let next = self.next(&sample, (sample.round_trip - shortest) as f64, unseen);
        self.estimate = Some(ClockEstimate {
            shortest,
            steps: self.steps,
            surprise: mean_square(&self.innovations).max(1.0),
            ..next
        });
    }

    /// The estimate after `sample`, which took `longer` than the shortest exchange; that may have waited `unseen`. Both
    /// in ns.
    fn next(&mut self, sample: &Sample, longer: f64, unseen: f64) -> ClockEstimate {
        let waiting = longer + unseen;
        let noise = PER_WAITING * waiting + READING;
        let Some(before) = self.estimate else {
            return first(sample, noise, longer, 0.0);
        };
        let seconds = seconds_between(before.at, sample.at);
        let mut predicted = before.variance.aged(seconds);
        let one_sided = before.one_sided.after(seconds);
        let innovation = sample.offset.saturating_sub(before.base) as f64 - before.state.after(seconds);
        let doubt = STEP * (predicted.offset * before.surprise).max(0.0).sqrt() + one_sided.abs();
        if innovation.abs() > waiting / 2.0 + READING + doubt {
            self.steps += 1;
            self.innovations.clear();
            return first(sample, noise, longer, before.state.rate);
        }
        if self.slewed(innovation / (predicted.offset + noise * noise).sqrt()) {
            predicted.offset += innovation * innovation;
            predicted.rate += RATE_AT_FIRST * RATE_AT_FIRST;
        }
        let expected = predicted.offset + noise * noise;
        let (to_offset, to_rate) = (predicted.offset / expected, predicted.both / expected);
        let updated = |state: State, innovation: f64| State {
            offset: state.after(seconds) + to_offset * innovation,
            rate: state.rate + to_rate * innovation,
        };
        ClockEstimate {
            at: sample.at,
            state: updated(before.state, innovation),
            // The filter is linear: what is wrong with the samples passes it as they do.
            one_sided: updated(before.one_sided, longer / 2.0 - one_sided),
            variance: Covariance {
                offset: predicted.offset * (1.0 - to_offset),
                both: predicted.both * (1.0 - to_offset),
                rate: predicted.rate - to_rate * predicted.both,
            },
            ..before
        }
    }

    /// Notes an innovation, in standard deviations. True if the last ones err so much on the same side that the rate
    /// must be another than before.
    fn slewed(&mut self, innovation: f64) -> bool {
        if self.innovations.len() == PREDICTIONS {
            self.innovations.pop_front();
        }
        self.innovations.push_back(innovation);
        let run = self.innovations.iter().rev().take(RUN);
        let slewed = self.innovations.len() >= RUN && run.sum::<f64>().abs() > BIASED * (RUN as f64).sqrt();
        if slewed {
            self.innovations.clear();
        }
        slewed
    }

    /// The shortest round trip, and how long it may have waited nevertheless, ns.
    fn shortest(&self) -> (u64, f64) {
        let mut sorted: Vec<u64> = self.window.iter().copied().collect();
        sorted.sort_unstable();
        let count = sorted.len() as f64;
        let (shortest, median) = (sorted[0], sorted[sorted.len() / 2]);
        // The fewer there are, the more.
        let unseen = UNSEEN * (median - shortest) as f64 / count.sqrt();
        (shortest, unseen.max(shortest as f64 / (count * count)))
    }

    /// Returns the smoothed round trip, or `None` before the first exchange.
    pub fn round_trip(&self) -> Option<RoundTrip> {
        self.round_trip
    }

    /// Returns the estimate, or `None` before the first exchange.
    pub fn estimate(&self) -> Option<ClockEstimate> {
        self.estimate
    }
}

/// The estimate from one exchange alone, which took `longer` than the shortest; the rate was thought to be `rate`.
fn first(sample: &Sample, noise: f64, longer: f64, rate: f64) -> ClockEstimate {
    ClockEstimate {
        at: sample.at,
        base: sample.offset,
        state: State { offset: 0.0, rate },
        one_sided: State {
            offset: longer / 2.0,
            rate: 0.0,
        },
        variance: Covariance {
            offset: noise * noise,
            both: 0.0,
            rate: RATE_AT_FIRST * RATE_AT_FIRST,
        },
        surprise: 1.0,
        shortest: sample.round_trip,
        steps: 0,
    }
}

/// Mean of the squares, 0 of nothing.
fn mean_square(values: &VecDeque<f64>) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(exchanges: &[[u64; 4]]) -> ClockFilter {
        let mut filter = ClockFilter::default();
        for &[sent, peer_received, peer_sent, received] in exchanges {
            filter.sample(Exchange {
                sent,
                peer_received,
                peer_sent,
                received,
            });
        }
        filter
    }

    #[test]
    fn the_offset_is_found_when_the_path_is_symmetric() {
        let estimate = after(&[[1_000, 6_500, 6_600, 2_100]]).estimate().expect("one sample");
        assert_eq!(estimate.at(1_550).offset, 5_000);
        assert_eq!(estimate.shortest_round_trip(), 1_000);
    }

    #[test]
    fn one_exchange_is_as_uncertain_as_its_round_trip_is_long() {
        let reading = |length| {
            let filter = after(&[[0, 77, 77, length]]);
            filter.estimate().expect("a sample").at(0)
        };
        let (short, long) = (reading(10_000), reading(10_000_000));
        // Delays may be 0 one way and all of it the other way.
        assert!((short.offset - 77).unsigned_abs() <= short.uncertainty);
        assert!((long.offset - 77).unsigned_abs() <= long.uncertainty);
        assert!(long.spread >= 5_000_000 && short.spread < 20_000, "{short:?} {long:?}");
    }

    #[test]
    fn an_estimate_grows_uncertain_with_age_by_what_the_rate_is_not_known_to() {
        const SECOND: u64 = 1_000_000_000;
        let exchanges: Vec<_> = (0..20)
            .map(|number| {
                let at = number * SECOND / 2;
                // The peer's clock is 100 ppm fast.
                let peer = 70 * SECOND + at + at / 10_000;
                [at, peer + 50_000, peer + 50_000, at + 100_000]
            })
            .collect();
        let early = after(&exchanges[..1]).estimate().expect("a sample");
        let late = after(&exchanges).estimate().expect("samples");
        let growth = |estimate: ClockEstimate| {
            let [now, then] = [0, 60 * SECOND].map(|later| estimate.at(estimate.at + later));
            then.uncertainty - now.uncertainty
        };
        // 60 s at 2 x 200 ppm before the rate is known.
        assert!((23_000_000..25_000_000).contains(&growth(early)), "{}", growth(early));
        assert!(growth(late) < 200_000, "{}", growth(late));
        let (rate, spread) = late.rate_ppm();
        assert!((rate - 100.0).abs() <= spread && spread < 2.0, "{rate} ± {spread}");
    }

    #[test]
    fn impossible_stamps_are_ignored_and_extreme_ones_do_no_harm() {
        let none = after(&[
            [10, 0, 0, 5],
            [0, 50, 10, 100],
            [0, 0, 200, 100],
            [0, u64::MAX, u64::MAX, 0],
        ]);
        assert_eq!(none.estimate(), None);
        let far = i64::MAX as u64;
        let extreme = after(&[
            [0, far, far, 100],
            [500, 0, 0, u64::MAX],
            [u64::MAX, 5, 5, u64::MAX],
            [0, 0, 0, 0],
            [1 << 60, 1 << 60, 1 << 60, 1 << 60],
        ]);
        for at in [0, 1 << 60, u64::MAX] {
            let reading = extreme.estimate().expect("samples").at(at);
            assert!(reading.uncertainty >= reading.spread);
        }
    }
}
