//! Medians, quantiles, and confidence intervals by the percentile bootstrap. The seed is fixed, so that the same
//! samples give the same interval.

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
