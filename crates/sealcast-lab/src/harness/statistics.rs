//! Figures of samples with their confidence intervals.

use sealcast::meter::statistics::{interval, interval_of_two, mean, median};
use serde::{Deserialize, Serialize};

/// A figure with the ends of its 95 % interval. One sample has no interval: both ends equal the figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The median; the mean where the constructor says so.
    pub median: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Estimate {
    /// The median of samples; `None` without samples.
    pub(crate) fn of(samples: &[f64]) -> Option<Self> {
        Self::with(samples, median)
    }

    /// The mean of samples; `None` without samples.
    pub(crate) fn of_mean(samples: &[f64]) -> Option<Self> {
        Self::with(samples, |samples| mean(samples))
    }

    /// A counted value, without an interval.
    pub(crate) fn exact(value: f64) -> Self {
        Self {
            median: value,
            low: value,
            high: value,
        }
    }

    /// The mean of shares, each of `each` events; `None` without shares. If all events have the same outcome,
    /// resampling gives an interval of length 0. Then the other end is set by the rule of three: three failures (or
    /// successes) in this number of events.
    pub(crate) fn of_shares(shares: &[f64], each: f64) -> Option<Self> {
        let estimate = Self::with(shares, |shares| mean(shares))?;
        let rule_of_three = (3.0 / (each * shares.len() as f64)).min(1.0);
        Some(match estimate.median {
            whole if whole >= 1.0 => Self {
                low: 1.0 - rule_of_three,
                ..estimate
            },
            none if none <= 0.0 => Self {
                high: rule_of_three,
                ..estimate
            },
            _ => estimate,
        })
    }

    /// The difference of two means, first minus second; `None` if either has no samples.
    pub(crate) fn difference(a: &[f64], b: &[f64]) -> Option<Self> {
        let difference = |a: &mut [f64], b: &mut [f64]| mean(a) - mean(b);
        let median = difference(&mut a.to_vec(), &mut b.to_vec());
        let (low, high) = interval_of_two(a, b, difference);
        median.is_finite().then_some(Self { median, low, high })
    }

    fn with(samples: &[f64], figure: impl Fn(&mut [f64]) -> f64) -> Option<Self> {
        if samples.is_empty() {
            return None;
        }
        let (low, high) = interval(samples, &figure);
        let median = figure(&mut samples.to_vec());
        Some(Self { median, low, high })
    }

    /// The estimate in another unit.
    pub(crate) fn times(self, factor: f64) -> Self {
        Self {
            median: self.median * factor,
            low: self.low * factor,
            high: self.high * factor,
        }
    }
}

#[cfg(test)]
mod tests {
    use sealcast_proto::sim::Random;

    use super::*;

    fn shares(random: &mut Random, share: f64) -> Vec<f64> {
        let good = |random: &mut Random| (0..30).filter(|_| random.chance(share)).count();
        (0..100).map(|_| good(random) as f64 / 30.0).collect()
    }

    #[test]
    fn an_interval_holds_the_share_it_was_drawn_from() {
        let mut random = Random::new(1);
        let holds = (0..40).filter(|_| {
            let seen = Estimate::of_shares(&shares(&mut random, 0.97), 30.0).expect("shares");
            seen.low <= 0.97 && 0.97 <= seen.high
        });
        assert!(holds.count() >= 34);
    }

    #[test]
    fn a_difference_is_shown_where_there_is_one_and_not_where_there_is_none() {
        let mut random = Random::new(2);
        let (a, b) = (shares(&mut random, 0.99), shares(&mut random, 0.90));
        assert!(Estimate::difference(&a, &b).expect("shares").low > 0.05);
        let same = (0..40).filter(|_| {
            let (a, b) = (shares(&mut random, 0.95), shares(&mut random, 0.95));
            let seen = Estimate::difference(&a, &b).expect("shares");
            seen.low <= 0.0 && 0.0 <= seen.high
        });
        assert!(same.count() >= 34);
        assert_eq!(Estimate::difference(&a, &[]), None);
    }

    #[test]
    fn all_good_is_not_certainty() {
        let all = Estimate::of_shares(&[1.0; 10], 30.0).expect("shares");
        assert_eq!((all.low, all.median, all.high), (0.99, 1.0, 1.0));
        let none = Estimate::of_shares(&[0.0; 10], 30.0).expect("shares");
        assert_eq!((none.low, none.median, none.high), (0.0, 0.0, 0.01));
    }
}
