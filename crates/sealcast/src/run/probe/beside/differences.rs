//! Statistics of the differences of pairs: median and mean, with intervals that hold although successive differences
//! are alike.

use std::collections::VecDeque;
use std::time::Duration;

use super::pairing::Pair;
use crate::meter::statistics::{Confidence, mean, mean_interval, median, median_interval, quantile};

/// Maximum of differences that are kept: two hours of 60 pictures a second. Then the oldest go.
const MAX_DIFFERENCES: usize = 1 << 19;
/// A batch takes a second at least, on average. Pictures of one group of pictures, and of one burst on the network,
/// are alike.
const BATCH: Duration = Duration::from_secs(1);
/// Number of batches that an interval needs at least, and at most: longer runs have longer batches.
pub(super) const MIN_BATCHES: usize = 10;
const MAX_BATCHES: usize = 40;
/// From this share of pairs on that are only the nearest, half a step counts in the interval.
const NEAREST: f64 = 0.1;

#[derive(Clone, Copy, Debug)]
struct Difference {
    at: Duration,
    ms: f64,
    arrival_ms: f64,
}

/// The differences of the pairs so far.
#[derive(Debug, Default)]
pub(super) struct Differences {
    list: VecDeque<Difference>,
    /// All pairs, and those of which B's picture is only the nearest.
    count: u64,
    nearest: u64,
}

/// A figure in ms with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    pub(super) ms: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Estimate {
    /// The same, less certain by this much in both directions.
    pub(super) fn widened(self, by: f64) -> Self {
        Self {
            low: self.low - by,
            high: self.high + by,
            ..self
        }
    }

    /// True if the interval does not hold zero.
    pub(super) fn excludes_zero(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// Statistics of the differences, which are by how much B is later, in ms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judged {
    pub(super) pairs: u64,
    /// Number and length of the batches.
    pub(super) batches: usize,
    pub(super) batch: Duration,
    pub(super) median: Estimate,
    pub(super) mean: Estimate,
    pub(super) p5: f64,
    pub(super) p95: f64,
    /// Of the arrival, before decoding.
    pub(super) arrival: Estimate,
    /// Error of the nearest picture, if it is not always the same one, which counts in the intervals.
    pub(super) step: f64,
}

impl Differences {
    /// Take a pair.
    pub(super) fn take(&mut self, pair: &Pair) {
        if self.list.len() == MAX_DIFFERENCES {
            self.list.pop_front();
        }
        self.list.push_back(Difference {
            at: pair.b.decoded,
            ms: pair.difference_ms(),
            arrival_ms: pair.arrival_ms(),
        });
        self.count += 1;
        self.nearest += u64::from(!pair.same);
    }

    /// Number of pairs.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The median so far; `None` without pairs.
    pub(super) fn median(&self) -> Option<f64> {
        let mut all: Vec<f64> = self.list.iter().map(|difference| difference.ms).collect();
        (!all.is_empty()).then(|| median(&mut all))
    }

    /// Statistics, where half a step between pictures is `half_step` ms; `None` with fewer batches than an interval
    /// needs.
    pub(super) fn judge(&self, half_step: f64) -> Option<Judged> {
        let (batches, batch) = self.batches();
        if batches.len() < MIN_BATCHES {
            return None;
        }
        let nearest = self.nearest as f64 / self.count.max(1) as f64;
        let step = if nearest > NEAREST { half_step } else { 0.0 };
        let mut sorted: Vec<f64> = self.list.iter().map(|difference| difference.ms).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let of = |value: fn(&Difference) -> f64| median_of(&batches, value);
        let means: Vec<f64> = batches.iter().map(|batch| mean(&values(batch, |of| of.ms))).collect();
        let (low, high) = mean_interval(&means, Confidence::P95);
        let mean = Estimate {
            ms: mean(&means),
            low,
            high,
        };
        Some(Judged {
            pairs: self.count,
            batches: batches.len(),
            batch,
            median: of(|difference| difference.ms)?.widened(step),
            mean: mean.widened(step),
            p5: quantile(&sorted, 0.05),
            p95: quantile(&sorted, 0.95),
            arrival: of(|difference| difference.arrival_ms)?.widened(step),
            step,
        })
    }

    /// The differences in batches of as many each, and how long a batch takes.
    fn batches(&self) -> (Vec<Vec<Difference>>, Duration) {
        let (Some(first), Some(last)) = (self.list.front(), self.list.back()) else {
            return (Vec::new(), BATCH);
        };
        let span = last.at.saturating_sub(first.at).max(BATCH);
        let seconds = (span.as_millis() / BATCH.as_millis()) as usize;
        // By their number and not by the clock: events of each second would leave some seconds empty.
        let count = seconds.clamp(1, MAX_BATCHES).min(self.list.len());
        let mut batches = vec![Vec::new(); count];
        for (at, difference) in self.list.iter().enumerate() {
            batches[at * count / self.list.len()].push(*difference);
        }
        (batches, span / count as u32)
    }
}

fn values(batch: &[Difference], value: impl Fn(&Difference) -> f64) -> Vec<f64> {
    batch.iter().map(value).collect()
}

/// The median of all, with the interval that the batches' medians give.
fn median_of(batches: &[Vec<Difference>], value: fn(&Difference) -> f64) -> Option<Estimate> {
    let mut medians: Vec<f64> = batches.iter().map(|batch| median(&mut values(batch, value))).collect();
    medians.sort_unstable_by(f64::total_cmp);
    let (low, high) = median_interval(&medians, Confidence::P95)?;
    let ms = median(&mut batches.iter().flatten().map(value).collect::<Vec<_>>());
    Some(Estimate {
        ms,
        low: low.min(ms),
        high: high.max(ms),
    })
}

#[cfg(test)]
mod tests {
    use sealcast_proto::sim::Random;

    use super::super::pairing::{By, Taken};
    use super::*;

    fn pair(number: u64, difference_ms: f64, same: bool) -> Pair {
        let at = Duration::from_millis(1000 + 40 * number);
        let taken = |decoded| Taken {
            number,
            arrived: decoded,
            decoded,
        };
        let later = Duration::from_secs_f64((at.as_secs_f64() * 1e3 + difference_ms) / 1e3);
        Pair {
            by: By::Clock,
            a: taken(at),
            b: taken(later),
            apart_us: 0,
            same,
        }
    }

    /// Differences that wander within a second, have a tail, and are later by `shift`.
    fn run(seed: u64, pairs: u64, shift: f64) -> Differences {
        let mut random = Random::new(seed * 7919);
        let mut differences = Differences::default();
        let mut wander = 0.0;
        for number in 0..pairs {
            wander = 0.8 * wander + 0.2 * (random.unit() - 0.5);
            let tail = if random.chance(0.05) {
                8.0 * (random.unit() - 0.5)
            } else {
                0.0
            };
            differences.take(&pair(number, shift + wander + tail, true));
        }
        differences
    }

    #[test]
    fn the_intervals_hold_the_truth_about_as_often_as_they_say_although_successive_differences_are_alike() {
        for shift in [0.0, 1.0, 20.0] {
            let holds = |of: fn(&Judged) -> Estimate| {
                let runs = (1..=400).filter_map(|seed| run(seed, 750, shift).judge(0.0));
                let held = runs.filter(|judged| of(judged).low <= shift && shift <= of(judged).high);
                held.count()
            };
            let (means, medians) = (holds(|judged| judged.mean), holds(|judged| judged.median));
            assert!((368..=392).contains(&means), "mean, {shift} ms: {means} of 400");
            assert!((368..=398).contains(&medians), "median, {shift} ms: {medians} of 400");
        }
    }

    #[test]
    fn a_constant_difference_is_what_they_say() {
        let mut differences = Differences::default();
        (0..500).for_each(|number| differences.take(&pair(number, 5.0, true)));
        let judged = differences.judge(10.0).expect("20 s");
        let near = |value: f64| (value - 5.0).abs() < 1e-3;
        for estimate in [judged.median, judged.mean, judged.arrival] {
            assert!(
                near(estimate.ms) && near(estimate.low) && near(estimate.high),
                "{estimate:?}"
            );
            assert!(estimate.excludes_zero());
        }
        assert!(near(judged.p5) && near(judged.p95));
        assert_eq!((judged.pairs, judged.batches, judged.step), (500, 19, 0.0));
    }

    #[test]
    fn the_nearest_pictures_are_less_certain_by_half_a_step() {
        let mut differences = Differences::default();
        (0..500).for_each(|number| differences.take(&pair(number, 5.0, number % 4 != 0)));
        let judged = differences.judge(10.0).expect("20 s");
        assert_eq!(judged.step, 10.0);
        assert!(judged.median.low < -4.0 && judged.median.high > 14.0 && !judged.mean.excludes_zero());
    }

    #[test]
    fn a_short_run_says_nothing_and_a_long_one_has_longer_batches() {
        assert!(run(1, 200, 1.0).judge(0.0).is_none());
        assert!(Differences::default().judge(0.0).is_none());
        let judged = run(1, 5000, 1.0).judge(0.0).expect("200 s");
        assert_eq!(judged.batches, MAX_BATCHES);
        assert!(judged.batch > Duration::from_secs(4));
    }

    #[test]
    fn memory_is_bounded_and_all_pairs_are_counted() {
        let mut differences = Differences::default();
        let many = MAX_DIFFERENCES as u64 + 1000;
        (0..many).for_each(|number| differences.take(&pair(number, 1.0, true)));
        assert_eq!((differences.list.len(), differences.count()), (MAX_DIFFERENCES, many));
    }
}
