//! Figures of samples with their confidence intervals.

use sealcast::meter::statistics::{Confidence, mean, mean_interval, median, median_interval};
use serde::{Deserialize, Serialize};

/// Explanation for readers of the intervals of figures.
pub(crate) const INTERVALS: &str = "An interval, written (a to b), holds the median or the mean of an endless number \
    of rounds with 95 %: of a median by order statistics (ranks, as in the sign test), of a mean by Student's t. Of \
    a median of fewer than six rounds there is no such interval: then it is the range, from the least round to the \
    greatest. A single round has none.";

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
    /// The median of samples, with its 95 % interval; `None` without samples.
    pub(crate) fn of(samples: &[f64]) -> Option<Self> {
        Self::with(samples, Confidence::P95)
    }

    /// The median of samples by order statistics. Where there are too few samples for this confidence, the interval is
    /// their range. `None` without samples.
    pub(crate) fn with(samples: &[f64], confidence: Confidence) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let range = (*sorted.first()?, *sorted.last()?);
        let (low, high) = median_interval(&sorted, confidence).unwrap_or(range);
        let median = median(&mut sorted);
        Some(Self { median, low, high })
    }

    /// The mean of samples, with its 95 % interval; `None` without samples.
    pub(crate) fn of_mean(samples: &[f64]) -> Option<Self> {
        Self::mean_with(samples, Confidence::P95)
    }

    /// The mean of samples by Student's t; `None` without samples.
    pub(crate) fn mean_with(samples: &[f64], confidence: Confidence) -> Option<Self> {
        let median = mean(samples);
        let (low, high) = match samples.len() {
            0 => return None,
            1 => (median, median),
            _ => mean_interval(samples, confidence),
        };
        Some(Self { median, low, high })
    }

    /// A counted value, without an interval.
    pub(crate) fn exact(value: f64) -> Self {
        Self {
            median: value,
            low: value,
            high: value,
        }
    }

    /// The mean of shares, each of `each` events; `None` without shares. If all events have the same outcome, Student's
    /// t gives an interval of length 0. Then the other end is set by the rule of three: three failures (or successes)
    /// in this number of events.
    pub(crate) fn of_shares(shares: &[f64], each: f64) -> Option<Self> {
        let Self { median, low, high } = Self::of_mean(shares)?;
        let rule_of_three = (3.0 / (each * shares.len() as f64)).min(1.0);
        let (low, high) = match median {
            whole if whole >= 1.0 => (1.0 - rule_of_three, 1.0),
            none if none <= 0.0 => (0.0, rule_of_three),
            _ => (low.max(0.0), high.min(1.0)),
        };
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

    /// About a normal distribution, of deviation 1 around 0.
    fn normal(random: &mut Random) -> f64 {
        (0..12).map(|_| random.unit() - 0.5).sum()
    }

    /// Rounds as quiet and as busy machines have them, each with 0 in its middle.
    fn rounds(kind: &str, random: &mut Random) -> f64 {
        match kind {
            "normal" => normal(random),
            "one in ten far off" if random.chance(0.1) => 10.0 * normal(random),
            "one in ten far off" => normal(random),
            // The median of an exponential distribution is the logarithm of 2.
            _ => -(1.0 - random.unit()).ln() - std::f64::consts::LN_2,
        }
    }

    /// Which share of made measurements have an interval that holds the true value, in per cent.
    fn coverage(count: usize, kind: &str, truth: f64, interval: impl Fn(&[f64]) -> Estimate) -> f64 {
        const MEASUREMENTS: usize = 20_000;
        let mut random = Random::new(count as u64);
        let holds = (0..MEASUREMENTS).filter(|_| {
            let seen: Vec<f64> = (0..count).map(|_| rounds(kind, &mut random)).collect();
            let Estimate { low, high, .. } = interval(&seen);
            low <= truth && truth <= high
        });
        holds.count() as f64 * 100.0 / MEASUREMENTS as f64
    }

    #[test]
    fn intervals_of_made_rounds_hold_the_truth_as_often_as_the_method_says() {
        let mut rows = String::new();
        for count in [3, 6, 7, 15] {
            for kind in ["normal", "one in ten far off", "skewed"] {
                // The mean of an exponential distribution is 1.
                let mean = if kind == "skewed" {
                    1.0 - std::f64::consts::LN_2
                } else {
                    0.0
                };
                let of = |confidence| {
                    coverage(count, kind, 0.0, move |seen| {
                        Estimate::with(seen, confidence).expect("rounds")
                    })
                };
                let (median, wider) = (of(Confidence::P95), of(Confidence::P99));
                let student = coverage(count, kind, mean, |seen| Estimate::of_mean(seen).expect("rounds"));
                assert!(count < 6 || median >= 95.0, "{count}, {kind}: {median}");
                rows += &format!("| {count} | {kind} | {median:.0} % | {wider:.0} % | {student:.0} % |\n");
            }
        }
        let method = include_str!("../../../../docs/method.md");
        assert!(method.contains(&rows), "docs/method.md lacks these rows:\n{rows}");
    }

    #[test]
    fn all_good_is_not_certainty() {
        let all = Estimate::of_shares(&[1.0; 10], 30.0).expect("shares");
        assert_eq!((all.low, all.median, all.high), (0.99, 1.0, 1.0));
        let none = Estimate::of_shares(&[0.0; 10], 30.0).expect("shares");
        assert_eq!((none.low, none.median, none.high), (0.0, 0.0, 0.01));
    }
}
