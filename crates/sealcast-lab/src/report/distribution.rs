//! Distribution of values, in bounded memory however many there are.

use hdrhistogram::Histogram;

/// Values in thousandths: nanoseconds where the unit is a microsecond.
const PARTS: f64 = 1e3;
/// A quantile is within 0.1 % of a value that was seen.
const SIGNIFICANT_DIGITS: u8 = 3;

/// Values of either sign: number, mean, standard deviation and ends exactly, quantiles within 0.1 %.
#[derive(Clone, Debug)]
pub(super) struct Distribution {
    positive: Histogram<u64>,
    /// Magnitudes of values below 0.
    negative: Histogram<u64>,
    pub(super) least: f64,
    pub(super) most: f64,
    mean: f64,
    /// Sum of squared differences from the mean (Welford's algorithm).
    squares: f64,
}

impl Distribution {
    pub(super) fn new() -> Self {
        let empty = || Histogram::new(SIGNIFICANT_DIGITS).expect("the number of digits is valid");
        Self {
            positive: empty(),
            negative: empty(),
            least: f64::INFINITY,
            most: f64::NEG_INFINITY,
            mean: 0.0,
            squares: 0.0,
        }
    }

    pub(super) fn add(&mut self, value: f64) {
        let parts = (value.abs() * PARTS).round() as u64;
        let side = if value < 0.0 {
            &mut self.negative
        } else {
            &mut self.positive
        };
        side.record(parts).expect("the histogram grows with its values");
        self.least = self.least.min(value);
        self.most = self.most.max(value);
        let from_mean = value - self.mean;
        self.mean += from_mean / self.count() as f64;
        self.squares += from_mean * (value - self.mean);
    }

    pub(super) fn count(&self) -> u64 {
        self.negative.len() + self.positive.len()
    }

    /// The mean; NaN without values.
    pub(super) fn mean(&self) -> f64 {
        if self.count() == 0 { f64::NAN } else { self.mean }
    }

    pub(super) fn sum(&self) -> f64 {
        self.mean * self.count() as f64
    }

    /// The sample's standard deviation; NaN for fewer than two values.
    pub(super) fn deviation(&self) -> f64 {
        match self.count() {
            0 | 1 => f64::NAN,
            count => (self.squares / (count - 1) as f64).sqrt(),
        }
    }

    /// The smallest value such that at least this share of all is not greater; NaN without values.
    pub(super) fn quantile(&self, share: f64) -> f64 {
        if self.count() == 0 {
            return f64::NAN;
        }
        let below = self.negative.len();
        let rank = ((share * self.count() as f64).ceil() as u64).clamp(1, self.count());
        let parts = if rank <= below {
            // The lowest value has the largest magnitude.
            -(at_rank(&self.negative, below - rank + 1) as f64)
        } else {
            at_rank(&self.positive, rank - below) as f64
        };
        (parts / PARTS).clamp(self.least, self.most)
    }

    /// The cumulative distribution, as values and the share of all that is not greater: evenly spaced shares.
    pub(super) fn cumulative(&self, steps: usize) -> Vec<(f64, f64)> {
        if self.count() == 0 {
            return Vec::new();
        }
        let shares = (0..=steps).map(|step| step as f64 / steps as f64);
        shares.map(|share| (self.quantile(share), share)).collect()
    }
}

/// The value of this rank, counted from 1.
fn at_rank(values: &Histogram<u64>, rank: u64) -> u64 {
    // Half a rank less, so that rounding cannot reach the next one.
    values.value_at_quantile((rank as f64 - 0.5) / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use sealcast::meter::statistics::quantile;
    use sealcast_proto::sim::Random;

    use super::*;

    fn of(values: &[f64]) -> Distribution {
        let mut distribution = Distribution::new();
        values.iter().for_each(|value| distribution.add(*value));
        distribution
    }

    #[test]
    fn figures_are_those_of_all_values_at_once() {
        let mut random = Random::new(3);
        let mut values: Vec<f64> = (0..10_000).map(|_| (random.unit() - 0.2) * 1e4).collect();
        let distribution = of(&values);
        values.sort_by(f64::total_cmp);
        let mean = values.iter().sum::<f64>() / 1e4;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 9999.0;
        assert!((distribution.mean() - mean).abs() < 1e-6);
        assert!((distribution.deviation() - variance.sqrt()).abs() < 1e-6);
        assert_eq!((distribution.least, distribution.most), (values[0], values[9999]));
        for share in [0.0, 0.001, 0.1, 0.2, 0.5, 0.95, 0.99, 1.0] {
            let (ours, exact) = (distribution.quantile(share), quantile(&values, share));
            assert!(
                (ours - exact).abs() <= 0.001 * exact.abs() + 0.001,
                "{share}: {ours}, {exact}"
            );
        }
    }

    #[test]
    fn a_cumulative_distribution_rises_from_the_least_to_the_most() {
        let curve = of(&[3.0, -1.0, 2.0, 2.0]).cumulative(4);
        let shares: Vec<f64> = curve.iter().map(|point| point.1).collect();
        assert_eq!(shares, [0.0, 0.25, 0.5, 0.75, 1.0]);
        let expected = [-1.0, -1.0, 2.0, 2.0, 3.0];
        let near = curve
            .iter()
            .zip(expected)
            .all(|(point, value)| (point.0 - value).abs() < 0.004);
        assert!(near, "{curve:?}");
    }

    #[test]
    fn nothing_has_no_figures() {
        let none = of(&[]);
        assert!(none.mean().is_nan() && none.quantile(0.5).is_nan() && none.cumulative(4).is_empty());
        assert!(of(&[1.0]).deviation().is_nan());
    }
}
