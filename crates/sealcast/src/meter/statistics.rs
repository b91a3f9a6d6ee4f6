//! Medians, quantiles, and confidence intervals: of any figure by the percentile bootstrap, whose seed is fixed, so
//! that the same samples give the same interval; of the mean of few samples by Student's t, and of their median by
//! order statistics.

use sealcast_proto::sim::Random;

/// Number of resamples: each end of a 95 % interval rests on 50 of them.
const RESAMPLES: usize = 2000;

/// The 95 % interval of a statistic of samples.
pub fn interval<T: Copy>(samples: &[T], figure: impl Fn(&mut [T]) -> f64) -> (f64, f64) {
    interval_of_two(samples, &[], |samples, _| figure(samples))
}

/// The 95 % interval of a statistic of two sets of samples, such as their difference.
pub fn interval_of_two<T: Copy>(a: &[T], b: &[T], figure: impl Fn(&mut [T], &mut [T]) -> f64) -> (f64, f64) {
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

/// The median; reorders the values. The mean of the middle two if their number is even; NaN if there are none.
pub fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    let odd = !values.len().is_multiple_of(2);
    let (below, &mut upper, _) = values.select_nth_unstable_by(values.len() / 2, f64::total_cmp);
    if odd {
        return upper;
    }
    let lower = below.iter().copied().reduce(f64::max).unwrap_or(upper);
    lower.midpoint(upper)
}

/// The mean; NaN without values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard deviation of samples, with n - 1; NaN with less than two values.
pub fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() as f64 - 1.0)).sqrt()
}

/// The smallest of the sorted values such that at least this share of them is not greater; NaN without values.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(at.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

/// The share of intervals that hold the true value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confidence {
    /// 95 %.
    P95,
    /// 99 %.
    P99,
}

impl Confidence {
    fn share(self) -> f64 {
        match self {
            Self::P95 => 0.95,
            Self::P99 => 0.99,
        }
    }

    /// The standard deviations on either side of the middle of a normal distribution that hold this share of it.
    fn deviations(self) -> f64 {
        match self {
            Self::P95 => 1.959_963_985,
            Self::P99 => 2.575_829_304,
        }
    }
}

/// The interval of the mean by Student's t, which also holds for few samples; NaN with less than two values. Samples
/// that follow one another are taken for independent: give it the means of batches.
pub fn mean_interval(values: &[f64], confidence: Confidence) -> (f64, f64) {
    let (mean, count) = (mean(values), values.len() as f64);
    let half = student(count - 1.0, confidence) * deviation(values) / count.sqrt();
    (mean - half, mean + half)
}

/// The factor of Student's t for an interval with so many degrees of freedom: exact for one and two, beyond that by the
/// expansion in their reciprocal (Abramowitz and Stegun, 26.7.5), which is within 4 % for three, and 0.3 % from six on.
fn student(freedom: f64, confidence: Confidence) -> f64 {
    let (share, z) = (confidence.share(), confidence.deviations());
    if freedom < 1.5 {
        return (share * std::f64::consts::FRAC_PI_2).tan();
    }
    if freedom < 2.5 {
        return share * (2.0 / (1.0 - share * share)).sqrt();
    }
    let terms = [
        (z.powi(3) + z) / 4.0,
        (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0,
        (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0,
    ];
    terms.iter().rev().fold(0.0, |sum, term| (sum + term) / freedom) + z
}

/// The interval of the median of sorted samples that holds it with this confidence at least, whatever their
/// distribution; `None` with less than six for 95 %, eight for 99 %. Samples are taken for independent.
pub fn median_interval(sorted: &[f64], confidence: Confidence) -> Option<(f64, f64)> {
    let count = sorted.len();
    let beyond = (1.0 - confidence.share()) / 2.0;
    // How many samples are below the median is binomial. Beyond a thousand the smallest terms are below what f64 holds.
    let mut term = 0.5_f64.powi(count.min(1000) as i32);
    let (mut tail, mut rank) = (0.0, 0);
    while rank < count && tail + term <= beyond {
        tail += term;
        term *= (count - rank) as f64 / (rank + 1) as f64;
        rank += 1;
    }
    let low = rank.checked_sub(1)?;
    Some((sorted[low], sorted[count - 1 - low]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn students_factors_are_those_of_the_tables() {
        use Confidence::{P95, P99};
        for (freedom, confidence, factor) in [
            (1.0, P95, 12.706),
            (2.0, P95, 4.303),
            (9.0, P95, 2.262),
            (14.0, P95, 2.145),
            (29.0, P95, 2.045),
            (39.0, P95, 2.023),
            (1e9, P95, 1.960),
            (1.0, P99, 63.657),
            (2.0, P99, 9.925),
            (14.0, P99, 2.977),
            (29.0, P99, 2.756),
        ] {
            let seen = student(freedom, confidence);
            assert!((seen - factor).abs() < 1e-3, "{freedom}, {confidence:?}: {seen}");
        }
        let (low, high) = mean_interval(&[1.0, 2.0, 3.0], P95);
        assert!(
            (low + 0.484).abs() < 1e-3 && (high - 4.484).abs() < 1e-3,
            "{low} {high}"
        );
    }

    #[test]
    fn the_ranks_of_a_medians_interval_are_those_of_the_tables() {
        for (count, rank) in [(6, 1), (9, 2), (10, 2), (15, 4), (20, 6), (30, 10), (40, 14), (100, 40)] {
            let sorted: Vec<f64> = (1..=count).map(f64::from).collect();
            let expected = (f64::from(rank), f64::from(count + 1 - rank));
            assert_eq!(median_interval(&sorted, Confidence::P95), Some(expected), "{count}");
        }
        assert_eq!(median_interval(&[1.0, 2.0, 3.0, 4.0, 5.0], Confidence::P95), None);
        let sorted: Vec<f64> = (1..=15).map(f64::from).collect();
        assert_eq!(median_interval(&sorted, Confidence::P99), Some((3.0, 13.0)));
        assert_eq!(median_interval(&sorted[..7], Confidence::P99), None);
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_two() {
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert!(median(&mut []).is_nan());
    }

    #[test]
    fn a_deviation_is_that_of_samples() {
        assert_eq!(deviation(&[1.0, 3.0, 5.0]), 2.0);
        assert!(deviation(&[7.0]).is_nan());
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
