//! Duration of each stage that a frame passes: one histogram per stage, cheap to record into.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

/// Shortest and longest time that a histogram resolves, in nanoseconds: 1 ns to 60 s. Longer times count as 60 s.
const LOWEST_NS: u64 = 1;
const HIGHEST_NS: u64 = 60_000_000_000;
/// Three significant digits: every value read back is within 0.1 % of the recorded one.
const SIGNIFICANT_DIGITS: u8 = 3;

/// One stage of a frame's path from the camera to the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// From the start of a picture until the picture is complete at the source.
    Capture,
    /// From the complete picture to the encoded frame.
    Encode,
    /// At a camera gateway, for each packet: from its arrival from the camera until it is sealed and passed to the
    /// link or, if the link is full, to the queue before it. Includes sealing.
    Forward,
    /// Sealing all records of a frame.
    Seal,
    /// Passing the sealed records to the network.
    Send,
    /// From just before sealing to arrival at the viewer, by the viewer's corrected clock. Includes sealing and
    /// sending.
    Network,
    /// At a viewer gateway, for each sealed unit: from just before sealing until it is opened, by the viewer's
    /// corrected clock. Includes the network stage and opening.
    Link,
    /// Opening and verifying all records of a frame.
    Open,
    /// From the opened frame to the decoded picture.
    Decode,
    /// At a viewer gateway, for each packet and player: from the arrival of the unit that contained it until it is
    /// passed to the player's connection. Includes opening.
    Deliver,
    /// From the complete picture at the source to the decoded picture at the viewer, by the viewer's corrected clock.
    EndToEnd,
}

impl Stage {
    /// All stages, in the order in which a frame passes them.
    pub const ALL: [Self; 11] = [
        Self::Capture,
        Self::Encode,
        Self::Forward,
        Self::Seal,
        Self::Send,
        Self::Network,
        Self::Link,
        Self::Open,
        Self::Decode,
        Self::Deliver,
        Self::EndToEnd,
    ];

    /// Name in metrics, logs and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::Encode => "encode",
            Self::Forward => "forward",
            Self::Seal => "seal",
            Self::Send => "send",
            Self::Network => "network",
            Self::Link => "link",
            Self::Open => "open",
            Self::Decode => "decode",
            Self::Deliver => "deliver",
            Self::EndToEnd => "end_to_end",
        }
    }
}

/// Statistics of one stage. All times are in nanoseconds; all are 0 while `count` is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StageSnapshot {
    /// Number of recorded times.
    pub count: u64,
    /// Shortest time.
    pub min_ns: u64,
    /// Median.
    pub p50_ns: u64,
    /// 90th percentile.
    pub p90_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Longest time (60 s if it was longer).
    pub max_ns: u64,
    /// Arithmetic mean, exact.
    pub mean_ns: f64,
    /// Standard deviation.
    pub stddev_ns: f64,
    /// Number of times below the clock's uncertainty, including those recorded as 0 because they came out negative.
    /// Always 0 for a stage measured with a single clock.
    pub below_uncertainty: u64,
}

#[derive(Debug)]
struct Cell {
    histogram: Histogram<u64>,
    sum_ns: u64,
    below_uncertainty: u64,
}

impl Cell {
    fn new() -> Self {
        // The bounds are constants that the histogram accepts; a test checks that.
        let histogram = Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, SIGNIFICANT_DIGITS)
            .expect("the bounds of the stage histogram are valid");
        Self {
            histogram,
            sum_ns: 0,
            below_uncertainty: 0,
        }
    }

    fn record(&mut self, ns: u64) {
        let ns = ns.min(HIGHEST_NS);
        self.histogram.saturating_record(ns);
        self.sum_ns = self.sum_ns.saturating_add(ns);
    }
}

/// One histogram per stage, shared by the tasks that record into them. Recording takes one short lock and allocates
/// nothing. Clones record into the same histograms.
#[derive(Clone, Debug)]
pub struct StageTimes {
    cells: Arc<[Mutex<Cell>; Stage::ALL.len()]>,
}

impl Default for StageTimes {
    fn default() -> Self {
        Self::new()
    }
}

impl StageTimes {
    /// Empty histograms.
    pub fn new() -> Self {
        Self {
            cells: Arc::new(std::array::from_fn(|_| Mutex::new(Cell::new()))),
        }
    }

    /// Records that `stage` took `time`.
    pub fn record(&self, stage: Stage, time: Duration) {
        self.cell(stage)
            .record(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Records a time measured with two clocks, with the uncertainty of their offset. Returns the recorded time in
    /// ns.
    ///
    /// A negative difference says something about the clocks, not about the network: it is recorded as 0. All times
    /// below the uncertainty, these zeros included, are counted separately, so that a reader knows which part of the
    /// distribution is noise.
    pub fn record_between_clocks(&self, stage: Stage, difference_ns: i64, uncertainty_ns: u64) -> u64 {
        let ns = u64::try_from(difference_ns).unwrap_or(0);
        let mut cell = self.cell(stage);
        cell.record(ns);
        if difference_ns < 0 || ns < uncertainty_ns {
            cell.below_uncertainty += 1;
        }
        ns
    }

    /// The statistics of `stage` so far.
    pub fn snapshot(&self, stage: Stage) -> StageSnapshot {
        let cell = self.cell(stage);
        let count = cell.histogram.len();
        if count == 0 {
            return StageSnapshot::default();
        }
        StageSnapshot {
            count,
            min_ns: cell.histogram.min(),
            p50_ns: cell.histogram.value_at_quantile(0.50),
            p90_ns: cell.histogram.value_at_quantile(0.90),
            p99_ns: cell.histogram.value_at_quantile(0.99),
            max_ns: cell.histogram.max(),
            mean_ns: cell.sum_ns as f64 / count as f64,
            stddev_ns: cell.histogram.stdev(),
            below_uncertainty: cell.below_uncertainty,
        }
    }

    /// All stages that have recorded anything, in the order in which a frame passes them.
    pub fn snapshots(&self) -> Vec<(Stage, StageSnapshot)> {
        Stage::ALL
            .into_iter()
            .map(|stage| (stage, self.snapshot(stage)))
            .filter(|(_, snapshot)| snapshot.count > 0)
            .collect()
    }

    /// The distribution of `stage` in Prometheus' form: sum in seconds, count, and for each upper bound (seconds,
    /// ascending; the last one unbounded) the number of times between it and the previous bound.
    pub fn buckets(&self, stage: Stage, upper_bounds_seconds: &[f64]) -> (f64, u64, Vec<(f64, u64)>) {
        let cell = self.cell(stage);
        let mut from = 0;
        let mut counted = 0;
        let mut buckets = Vec::with_capacity(upper_bounds_seconds.len() + 1);
        for &bound in upper_bounds_seconds {
            let to = (bound * 1e9).round() as u64;
            let count = cell
                .histogram
                .count_between(from, to)
                .min(cell.histogram.len() - counted);
            buckets.push((bound, count));
            counted += count;
            // Above 2 µs the histogram's slots are wider than 1 ns, so the next bucket begins with the slot after
            // this one.
            from = cell.histogram.next_non_equivalent(to);
        }
        buckets.push((f64::MAX, cell.histogram.len() - counted));
        (cell.sum_ns as f64 / 1e9, cell.histogram.len(), buckets)
    }

    /// Ignores lock poisoning: a panic elsewhere leaves at most one record half counted.
    fn cell(&self, stage: Stage) -> MutexGuard<'_, Cell> {
        self.cells[stage as usize]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_back_are_within_a_thousandth() {
        let times = StageTimes::new();
        for microseconds in 1..=1000 {
            times.record(Stage::Seal, Duration::from_micros(microseconds));
        }
        let seen = times.snapshot(Stage::Seal);
        let near = |seen: u64, expected: f64| (seen as f64 - expected).abs() <= expected / 1000.0;
        assert_eq!(seen.count, 1000);
        assert!(near(seen.min_ns, 1_000.0), "{seen:?}");
        assert!(near(seen.p50_ns, 500_000.0), "{seen:?}");
        assert!(near(seen.p90_ns, 900_000.0), "{seen:?}");
        assert!(near(seen.p99_ns, 990_000.0), "{seen:?}");
        assert!(near(seen.max_ns, 1_000_000.0), "{seen:?}");
        assert!((seen.mean_ns - 500_500.0).abs() < 0.5, "{seen:?}");
        assert!((seen.stddev_ns - 288_675.0).abs() < 500.0, "{seen:?}");
        assert_eq!(times.snapshot(Stage::Open), StageSnapshot::default());
    }

    #[test]
    fn a_negative_latency_is_recorded_as_zero_and_counted_as_below_the_uncertainty() {
        let times = StageTimes::new();
        assert_eq!(times.record_between_clocks(Stage::Network, -5_000, 20_000), 0);
        assert_eq!(times.record_between_clocks(Stage::Network, 10_000, 20_000), 10_000);
        assert_eq!(times.record_between_clocks(Stage::Network, 90_000, 20_000), 90_000);
        let seen = times.snapshot(Stage::Network);
        assert_eq!((seen.count, seen.min_ns, seen.below_uncertainty), (3, 0, 2));
    }

    #[test]
    fn times_beyond_the_range_count_at_its_end() {
        let times = StageTimes::new();
        times.record(Stage::Capture, Duration::from_secs(3600));
        times.record(Stage::Capture, Duration::MAX);
        let seen = times.snapshot(Stage::Capture);
        assert_eq!(seen.count, 2);
        assert!((60.0..60.1).contains(&(seen.max_ns as f64 / 1e9)), "{seen:?}");
    }

    #[test]
    fn buckets_hold_every_record_once() {
        let times = StageTimes::new();
        for nanoseconds in [0, 900, 1_500, 40_000, 2_000_000, 70_000_000_000] {
            times.record(Stage::Decode, Duration::from_nanos(nanoseconds));
        }
        let (sum, count, buckets) = times.buckets(Stage::Decode, &[1e-6, 1e-5, 1e-4, 1.0]);
        assert_eq!(count, 6);
        assert_eq!(buckets.iter().map(|b| b.1).collect::<Vec<_>>(), [2, 1, 1, 1, 1]);
        assert!((sum - 60.002_042_4).abs() < 1e-9, "{sum}");
    }

    #[test]
    fn threads_record_into_the_same_histograms() {
        let times = StageTimes::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let times = times.clone();
                scope.spawn(move || (0..1000).for_each(|_| times.record(Stage::Send, Duration::from_nanos(700))));
            }
        });
        assert_eq!(times.snapshot(Stage::Send).count, 4000);
    }
}
