//! Medians, quantiles, shares, and their confidence intervals by the percentile bootstrap. The seed is fixed, so that
//! the same samples give the same interval.

use sealcast_proto::sim::Random;
use serde::{Deserialize, Serialize};

/// Number of resamples: each end of a 95 % interval rests on 50 of them.
const RESAMPLES: usize = 2000;

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

/// The 95 % interval of a statistic of samples.
pub(crate) fn interval<T: Copy>(samples: &[T], figure: impl Fn(&mut [T]) -> f64) -> (f64, f64) {
    interval_of_two(samples, &[], |samples, _| figure(samples))
}

/// The 95 % interval of a statistic of two sets of samples, such as their difference.
fn interval_of_two<T: Copy>(a: &[T], b: &[T], figure: impl Fn(&mut [T], &mut [T]) -> f64) -> (f64, f64) {
    let mut random = Random::new(0x5ea1 ^ a.len() as u64);
    let mut draw = |from: &[T]| -> Vec<T> {
        let count = from.len() as u64;
        from.iter().map(|_| from[random.uniform(0..count) as usize]).collect()
    };
    let mut figures: Vec<f64> = (0..RESAMPLES).map(|_| figure(&mut draw(a), &mut draw(b))).collect();
    figures.sort_unstable_by(f64::total_cmp);
    let tail = RESAMPLES / 40;
    (figures[tail], figures[RESAMPLES - 1 - tail])
}

/// The median; sorts the values. The mean of the middle two if their number is even; NaN if there are none.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let half = values.len() / 2;
    match values {
        [] => f64::NAN,
        _ if values.len().is_multiple_of(2) => values[half - 1].midpoint(values[half]),
        _ => values[half],
    }
}

/// The mean; NaN without values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The smallest of the sorted values such that at least this share of them is not greater; NaN without values.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(at.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_two() {
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert!(median(&mut []).is_nan());
    }

    #[test]
    fn an_interval_holds_the_median_it_was_drawn_from() {
        let mut random = Random::new(4);
        let holds = (0..200).filter(|_| {
            let samples: Vec<f64> = (0..31).map(|_| random.unit()).collect();
            let (low, high) = interval(&samples, median);
            low <= 0.5 && 0.5 <= high
        });
        let holds = holds.count();
        assert!((180..200).contains(&holds), "{holds} of 200");
    }

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

    #[test]
    fn a_quantile_is_a_value_that_was_seen() {
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(
            [0.5, 0.99, 0.999].map(|share| quantile(&hundred, share)),
            [50.0, 99.0, 100.0]
        );
        assert!(quantile(&[], 0.5).is_nan());
    }
}
