//! Compares the cost of A and B by interleaved pairs with a bootstrap confidence interval, instead of by two
//! averages.

use std::collections::VecDeque;

use serde::Serialize;

use super::statistics::{interval, median};

/// Minimum number of pairs for an interval; with fewer it would suggest more than is known.
pub const MIN_PAIRS: usize = 6;

/// The two things to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first one: by convention the plain one.
    A,
    /// The second one: by convention the sealed one.
    B,
}

/// Statistics of pairs measured close together. `median_difference` is the median of B − A within pairs, which is not
/// the difference of the medians. All values are in the unit that was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PairedSummary {
    /// Number of pairs.
    pub n: usize,
    /// Median of the A values.
    pub median_a: f64,
    /// Median of the B values.
    pub median_b: f64,
    /// Median of B − A.
    pub median_difference: f64,
    /// Lower end of the 95 % confidence interval of `median_difference`.
    pub ci95_low: f64,
    /// Upper end of the 95 % confidence interval of `median_difference`.
    pub ci95_high: f64,
}

impl PairedSummary {
    /// True if a difference was shown: the interval does not contain 0.
    pub fn shows_difference(&self) -> bool {
        self.ci95_low > 0.0 || self.ci95_high < 0.0
    }
}

/// Collects pairs in the order A B B A, so that a slow drift of the machine affects both sides alike. Keeps only the
/// newest pairs, so memory is bounded.
#[derive(Clone, Debug)]
pub struct Paired {
    pairs: VecDeque<(f64, f64)>,
    capacity: usize,
    step: u8,
    half: f64,
}

impl Paired {
    /// Creates an empty collection that keeps at most the newest `capacity` pairs.
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.max(MIN_PAIRS);
        Self {
            pairs: VecDeque::new(),
            capacity,
            step: 0,
            half: 0.0,
        }
    }

    /// The side to measure next.
    pub fn next_side(&self) -> Side {
        match self.step {
            0 | 3 => Side::A,
            _ => Side::B,
        }
    }

    /// Records the value of [`next_side`](Self::next_side). A value that is not finite discards its pair.
    pub fn record(&mut self, value: f64) {
        match self.step {
            0 | 2 => self.half = value,
            1 => self.push(self.half, value),
            _ => self.push(value, self.half),
        }
        self.step = (self.step + 1) % 4;
    }

    /// Adds a pair that was measured elsewhere, in any order.
    pub fn push(&mut self, a: f64, b: f64) {
        if !(a.is_finite() && b.is_finite()) {
            return;
        }
        if self.pairs.len() == self.capacity {
            self.pairs.pop_front();
        }
        self.pairs.push_back((a, b));
    }

    /// Number of pairs held.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// True if no pair is held.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Computes the differences and their interval: a percentile bootstrap of the median, which gives the same result
    /// for the same pairs. `None` for fewer than [`MIN_PAIRS`] pairs. Pairs are assumed to be independent.
    pub fn summary(&self) -> Option<PairedSummary> {
        if self.pairs.len() < MIN_PAIRS {
            return None;
        }
        let differences: Vec<f64> = self.pairs.iter().map(|(a, b)| b - a).collect();
        let (ci95_low, ci95_high) = interval(&differences, median);
        Some(PairedSummary {
            n: self.pairs.len(),
            median_a: median(&mut self.pairs.iter().map(|pair| pair.0).collect::<Vec<_>>()),
            median_b: median(&mut self.pairs.iter().map(|pair| pair.1).collect::<Vec<_>>()),
            median_difference: median(&mut differences.clone()),
            ci95_low,
            ci95_high,
        })
    }
}

#[cfg(test)]
mod tests {
    use sealcast_proto::sim::Random;

    use super::*;

    /// Skewed like a latency: always positive, with a long tail.
    fn latency(random: &mut Random) -> f64 {
        100.0 - 20.0 * (1.0 - random.unit()).ln()
    }

    fn run(seed: u64, pairs: usize, shift: f64) -> PairedSummary {
        let mut random = Random::new(seed * 7919);
        let mut paired = Paired::new(10_000);
        for _ in 0..2 * pairs {
            let added = if paired.next_side() == Side::B { shift } else { 0.0 };
            paired.record(latency(&mut random) + added);
        }
        paired.summary().unwrap()
    }

    #[test]
    fn a_against_a_shows_no_difference() {
        for pairs in [30, 200] {
            let contains = (1..=100)
                .filter(|seed| !run(*seed, pairs, 0.0).shows_difference())
                .count();
            assert!(
                contains >= 90,
                "{contains} of 100 intervals contain 0 with {pairs} pairs"
            );
        }
    }

    #[test]
    fn a_known_shift_is_found() {
        for seed in 1..=20 {
            let summary = run(seed, 400, 10.0);
            assert!(summary.shows_difference(), "{summary:?}");
            assert!((summary.median_difference - 10.0).abs() < 6.0, "{summary:?}");
        }
        let covered = (1..=100)
            .map(|seed| run(seed, 200, 10.0))
            .filter(|s| s.ci95_low <= 10.0 && 10.0 <= s.ci95_high);
        assert!(covered.count() >= 90);
    }

    #[test]
    fn a_drift_falls_on_both_sides_alike() {
        let mut paired = Paired::new(100);
        (0..100).for_each(|minute| paired.record(f64::from(minute)));
        let summary = paired.summary().unwrap();
        assert_eq!((summary.n, summary.median_difference), (50, 0.0));
    }

    #[test]
    fn the_order_is_a_b_b_a() {
        let mut paired = Paired::new(10);
        let sides: Vec<Side> = (0..8)
            .map(|_| {
                let side = paired.next_side();
                paired.record(if side == Side::A { 1.0 } else { 2.0 });
                side
            })
            .collect();
        assert_eq!(
            sides,
            [Side::A, Side::B, Side::B, Side::A, Side::A, Side::B, Side::B, Side::A]
        );
        assert_eq!(paired.pairs, [(1.0, 2.0); 4]);
    }

    #[test]
    fn memory_is_bounded_and_the_newest_pairs_count() {
        let mut paired = Paired::new(50);
        (0..1000).for_each(|_| paired.push(1.0, 1.0));
        (0..50).for_each(|_| paired.push(1.0, 3.0));
        let summary = paired.summary().unwrap();
        assert_eq!((summary.n, summary.median_difference), (50, 2.0));
    }

    #[test]
    fn too_few_pairs_give_no_interval() {
        let mut paired = Paired::new(10);
        (1..MIN_PAIRS).for_each(|_| paired.push(1.0, 2.0));
        paired.push(f64::NAN, 1.0);
        assert_eq!(paired.summary(), None);
        paired.push(1.0, 2.0);
        assert!(paired.summary().unwrap().shows_difference());
    }
}
