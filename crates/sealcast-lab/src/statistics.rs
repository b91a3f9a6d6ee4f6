//! Medians, and how sure a figure is: the percentile bootstrap.

use sealcast_proto::sim::Random;
use serde::Serialize;

/// Resamples: the ends of a 95 % interval rest on 50 of them each.
const RESAMPLES: usize = 2000;

/// The median of samples, and the ends of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The median.
    pub median: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Estimate {
    /// None of no samples.
    pub(crate) fn of(samples: &[f64]) -> Option<Self> {
        if samples.is_empty() {
            return None;
        }
        let (low, high) = interval(samples, median);
        let median = median(&mut samples.to_vec());
        Some(Self { median, low, high })
    }
}

/// The 95 % interval of a figure of samples.
pub(crate) fn interval<T: Copy>(samples: &[T], figure: impl Fn(&mut [T]) -> f64) -> (f64, f64) {
    interval_of_two(samples, &[], |samples, _| figure(samples))
}

/// The 95 % interval of a figure of two sets of samples, such as their difference.
pub(crate) fn interval_of_two<T: Copy>(a: &[T], b: &[T], figure: impl Fn(&mut [T], &mut [T]) -> f64) -> (f64, f64) {
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

/// The median, for which the values are sorted; of an even number the mean of the middle two; not a number of none.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let half = values.len() / 2;
    match values {
        [] => f64::NAN,
        _ if values.len().is_multiple_of(2) => values[half - 1].midpoint(values[half]),
        _ => values[half],
    }
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
}
