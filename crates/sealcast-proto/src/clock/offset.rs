//! Estimates of the peer's clock offset from pings and pongs, with a minimum-delay filter.

use std::time::Duration;

/// Number of exchanges in the window: with one each 500 ms, those of the last 32 s.
const WINDOW: usize = 64;

/// An estimate of the peer's clock from one exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockEstimate {
    /// The peer's wall clock minus ours, ns.
    pub offset: i64,
    /// Half the round trip, ns. It bounds the error of the offset, however the delay is split between the two
    /// directions.
    pub uncertainty: u64,
}

/// Round-trip time, smoothed as in TCP (RFC 6298, section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// Smoothed round-trip time (SRTT).
    pub smoothed: Duration,
    /// Mean deviation of a single round trip from that (RTTVAR).
    pub variation: Duration,
}

impl RoundTrip {
    /// Initialises the estimates from the first exchange.
    fn first(latest: Duration) -> Self {
        Self {
            smoothed: latest,
            variation: latest / 2,
        }
    }

    /// Updates the estimates with another exchange.
    fn and(self, latest: Duration) -> Self {
        Self {
            smoothed: (self.smoothed * 7 + latest) / 8,
            variation: (self.variation * 3 + self.smoothed.abs_diff(latest)) / 4,
        }
    }
}

/// Selects the best exchange of a sliding window: that with the shortest round trip, which has the smallest
/// uncertainty.
#[derive(Clone, Default)]
pub struct ClockFilter {
    samples: std::collections::VecDeque<ClockEstimate>,
    round_trip: Option<RoundTrip>,
}

impl ClockFilter {
    /// Adds an exchange of timestamps in ns: ping sent (ours), ping received (peer's), pong sent (peer's), pong
    /// received (ours). An impossible exchange (a pong before its ping) is ignored.
    pub fn sample(&mut self, t1: u64, t2: u64, t3: u64, t4: u64) {
        let (Some(outside), Some(inside)) = (t4.checked_sub(t1), t3.checked_sub(t2)) else {
            return;
        };
        let Some(round_trip) = outside.checked_sub(inside) else {
            return;
        };
        let ahead = (i128::from(t2) - i128::from(t1) + i128::from(t3) - i128::from(t4)) / 2;
        let Ok(offset) = i64::try_from(ahead) else { return };
        let latest = Duration::from_nanos(round_trip);
        let before = self.round_trip;
        self.round_trip = Some(before.map_or(RoundTrip::first(latest), |before| before.and(latest)));
        if self.samples.len() == WINDOW {
            self.samples.pop_front();
        }
        self.samples.push_back(ClockEstimate {
            offset,
            uncertainty: round_trip.div_ceil(2),
        });
    }

    /// Returns the round trip, or `None` before the first exchange.
    pub fn round_trip(&self) -> Option<RoundTrip> {
        self.round_trip
    }

    /// Returns the best estimate in the window, or `None` before the first exchange.
    pub fn estimate(&self) -> Option<ClockEstimate> {
        self.samples.iter().min_by_key(|sample| sample.uncertainty).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_is_found_when_the_path_is_symmetric() {
        let mut filter = ClockFilter::default();
        filter.sample(1_000, 6_500, 6_600, 2_100);
        assert_eq!(
            filter.estimate(),
            Some(ClockEstimate {
                offset: 5_000,
                uncertainty: 500
            })
        );
    }

    #[test]
    fn an_asymmetric_path_errs_by_no_more_than_the_uncertainty() {
        let mut filter = ClockFilter::default();
        filter.sample(0, 900 - 77, 900 - 77, 1_000);
        let estimate = filter.estimate().expect("one sample");
        assert!((estimate.offset + 77).unsigned_abs() <= estimate.uncertainty);
    }

    #[test]
    fn the_shortest_round_trip_wins() {
        let mut filter = ClockFilter::default();
        filter.sample(0, 5_000, 5_000, 10_000);
        filter.sample(20_000, 20_050, 20_050, 20_100);
        filter.sample(30_000, 39_000, 39_000, 40_000);
        assert_eq!(
            filter.estimate(),
            Some(ClockEstimate {
                offset: 0,
                uncertainty: 50
            })
        );
    }

    #[test]
    fn the_round_trip_and_how_it_varies_are_those_of_rfc_6298() {
        let mut filter = ClockFilter::default();
        let mut after = |nanos| {
            filter.sample(0, 0, 0, nanos);
            let RoundTrip { smoothed, variation } = filter.round_trip().expect("a sample");
            (smoothed.as_nanos(), variation.as_nanos())
        };
        assert_eq!(after(8_000), (8_000, 4_000));
        assert_eq!(after(16_000), (9_000, 5_000));
        assert_eq!(after(9_000), (9_000, 3_750));
    }

    #[test]
    fn impossible_stamps_are_ignored() {
        let mut filter = ClockFilter::default();
        filter.sample(10, 0, 0, 5);
        filter.sample(0, 50, 10, 100);
        filter.sample(0, 0, 200, 100);
        assert_eq!(filter.estimate(), None);
    }
}
