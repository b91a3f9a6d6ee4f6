//! Duration of each stage that a frame passes: one histogram per stage, cheap to record into.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

/// Shortest and longest time that a histogram resolves, in nanoseconds: 1 ns to 60 s. Longer times count as 60 s.
const LOWEST_NS: u64 = 1;
const HIGHEST_NS: u64 = 60_000_000_000;
/// Three significant digits: every value read back is within 0.1 % of the recorded one.
const SIGNIFICANT_DIGITS: u8 = 3;

/// One stage of a frame's path from the camera to the screen.
///
/// Of a frame that travels from `publish` to `watch`, the stages capture, encode, queue, seal, send, network,
/// reassembly, open, wait, decode and present follow one another without a gap: their sum is the stage end to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// From the instant that the source stamps, as [`StampKind`](crate::media::StampKind) says, until the picture is
    /// complete at the source.
    Capture,
    /// From the complete picture to the encoded frame.
    Encode,
    /// From the encoded frame until it is sealed for this viewer: the wait for the source's thread, and for the path.
    Queue,
    /// At a camera gateway, for each packet: from its arrival from the camera until it is sealed and passed to the
    /// link or, if the link is full, to the queue before it. Includes sealing.
    Forward,
    /// Sealing all records of a frame.
    Seal,
    /// From the sealed records until the last of them is handed to the network, including the time for which they are
    /// held back to pace them.
    Send,
    /// With a constant rate: from the sealed records until the last cell that holds a part of them is due. It is a part
    /// of send.
    Shape,
    /// From the frame's passage to the network until its last record arrives at the viewer, by the viewer's corrected
    /// clock. Where it is not known how long sealing and sending took, it includes them.
    Network,
    /// From just before sealing until it is opened, by the viewer's corrected clock, for each frame; at a viewer
    /// gateway for each sealed unit. Includes seal, send, network, reassembly and open.
    Link,
    /// From the arrival of a frame's last record until nothing before it is missing any more.
    Reassembly,
    /// Opening and verifying the records of a frame that arrived last.
    Open,
    /// From the opened frame until the sink takes it.
    Wait,
    /// Decoding, for sinks that decode.
    Decode,
    /// From the decoded picture, or from the frame where none is decoded, until the sink has passed it on: it was
    /// written to the file or pipe, queued for the browsers, or drawn.
    Present,
    /// At a viewer gateway, for each packet and player: from the arrival of the unit that contained it until it is
    /// passed to the player's connection. Includes opening.
    Deliver,
    /// At a viewer gateway, for each picture: from the arrival of its first packet at the camera gateway until its last
    /// packet is passed to the players, by the viewer gateway's corrected clock.
    Picture,
    /// From the instant that the source stamps until the frame is presented, by the viewer's corrected clock.
    EndToEnd,
}

impl Stage {
    /// All stages, in the order in which a frame passes them.
    pub const ALL: [Self; 17] = [
        Self::Capture,
        Self::Encode,
        Self::Queue,
        Self::Forward,
        Self::Seal,
        Self::Send,
        Self::Shape,
        Self::Network,
        Self::Link,
        Self::Reassembly,
        Self::Open,
        Self::Wait,
        Self::Decode,
        Self::Present,
        Self::Deliver,
        Self::Picture,
        Self::EndToEnd,
    ];

    /// Name in metrics, logs and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::Encode => "encode",
            Self::Queue => "queue",
            Self::Forward => "forward",
            Self::Seal => "seal",
            Self::Send => "send",
            Self::Shape => "shape",
            Self::Network => "network",
            Self::Link => "link",
            Self::Reassembly => "reassembly",
            Self::Open => "open",
            Self::Wait => "wait",
            Self::Decode => "decode",
            Self::Present => "present",
            Self::Deliver => "deliver",
            Self::Picture => "picture",
            Self::EndToEnd => "end_to_end",
        }
    }
}

/// Statistics of one stage. All times are in nanoseconds; all are 0 while `count` is 0. A time between two clocks may
/// be negative, as far as their offset is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StageSnapshot {
    /// Number of recorded times.
    pub count: u64,
    /// Shortest time.
    pub min_ns: i64,
    /// Median.
    pub p50_ns: i64,
    /// 90th percentile.
    pub p90_ns: i64,
    /// 99th percentile.
    pub p99_ns: i64,
    /// Longest time (60 s if it was longer).
    pub max_ns: i64,
    /// Arithmetic mean, exact.
    pub mean_ns: f64,
    /// Standard deviation.
    pub stddev_ns: f64,
    /// Number of times that are less than the clock's uncertainty away from 0, negative ones included. Always 0 for a
    /// stage measured with a single clock.
    pub below_uncertainty: u64,
    /// Number of times that are further below 0 than the clock's uncertainty: if more than a few in a hundred are, the
    /// clocks are not what they were thought to be.
    pub impossible: u64,
}

/// The times of one stage.
#[derive(Debug)]
struct Cell {
    positive: Histogram<u64>,
    /// Magnitudes of negative times, once there was one.
    negative: Option<Histogram<u64>>,
    mean_ns: f64,
    /// Sum of squared differences from the mean (Welford's algorithm).
    squares: f64,
    below_uncertainty: u64,
    impossible: u64,
}

/// An empty histogram, which grows with the longest time that it counts: a program passes through few of the stages,
/// and for times up to a minute each would take 221 kB from the start.
fn histogram() -> Histogram<u64> {
    // The bounds are constants that the histogram accepts; a test checks that.
    let mut histogram = Histogram::new_with_bounds(LOWEST_NS, 2 * LOWEST_NS, SIGNIFICANT_DIGITS)
        .expect("the bounds of the stage histogram are valid");
    histogram.auto(true);
    histogram
}

/// `magnitude` is at most [`HIGHEST_NS`].
fn count_in(histogram: &mut Histogram<u64>, magnitude: u64, times: u64) {
    histogram
        .record_n(magnitude, times)
        .expect("a histogram grows to times of a minute");
}

fn add_to(all: &mut Histogram<u64>, more: &Histogram<u64>) {
    all.add(more).expect("a histogram grows to times of a minute");
}

impl Cell {
    fn new() -> Self {
        Self {
            positive: histogram(),
            negative: None,
            mean_ns: 0.0,
            squares: 0.0,
            below_uncertainty: 0,
            impossible: 0,
        }
    }

    /// Records the same time so often. `times` is at least 1.
    fn record(&mut self, ns: i64, times: u64) {
        let magnitude = ns.unsigned_abs().min(HIGHEST_NS);
        let value = if ns < 0 {
            count_in(self.negative.get_or_insert_with(histogram), magnitude, times);
            -(magnitude as f64)
        } else {
            count_in(&mut self.positive, magnitude, times);
            magnitude as f64
        };
        let (from_mean, times) = (value - self.mean_ns, times as f64);
        self.mean_ns += from_mean * times / self.count() as f64;
        self.squares += times * from_mean * (value - self.mean_ns);
    }

    /// Adds all times that the other one counted.
    fn add(&mut self, other: &Self) {
        let (ours, theirs) = (self.count() as f64, other.count() as f64);
        if theirs == 0.0 {
            return;
        }
        // The means and squares of two sets as one: Chan, Golub, LeVeque, "Updating formulae", 1979.
        let between = other.mean_ns - self.mean_ns;
        let all = ours + theirs;
        self.mean_ns += between * theirs / all;
        self.squares += other.squares + between * between * ours * theirs / all;
        add_to(&mut self.positive, &other.positive);
        if let Some(negative) = &other.negative {
            add_to(self.negative.get_or_insert_with(histogram), negative);
        }
        self.below_uncertainty += other.below_uncertainty;
        self.impossible += other.impossible;
    }

    fn snapshot(&self) -> StageSnapshot {
        let count = self.count();
        if count == 0 {
            return StageSnapshot::default();
        }
        StageSnapshot {
            count,
            min_ns: self.quantile(0.0),
            p50_ns: self.quantile(0.50),
            p90_ns: self.quantile(0.90),
            p99_ns: self.quantile(0.99),
            max_ns: self.quantile(1.0),
            mean_ns: self.mean_ns,
            stddev_ns: (self.squares / count as f64).sqrt(),
            below_uncertainty: self.below_uncertainty,
            impossible: self.impossible,
        }
    }

    /// See [`StageTimes::buckets`].
    fn buckets(&self, upper_bounds_seconds: &[f64]) -> (f64, u64, Vec<(f64, u64)>) {
        // Negative times are below every bound.
        let negatives = self.negatives();
        let (mut from, mut counted) = (0, 0);
        let mut buckets = Vec::with_capacity(upper_bounds_seconds.len() + 1);
        for &bound in upper_bounds_seconds {
            let to = (bound * 1e9).round() as u64;
            let count = self.positive.count_between(from, to).min(self.positive.len() - counted);
            let below = if buckets.is_empty() { negatives } else { 0 };
            buckets.push((bound, below + count));
            counted += count;
            // Above 2 µs the histogram's slots are wider than 1 ns, so the next bucket begins with the slot after
            // this one.
            from = self.positive.next_non_equivalent(to);
        }
        buckets.push((f64::MAX, self.positive.len() - counted));
        let count = self.count();
        (self.mean_ns * count as f64 / 1e9, count, buckets)
    }

    fn negatives(&self) -> u64 {
        self.negative.as_ref().map_or(0, Histogram::len)
    }

    fn count(&self) -> u64 {
        self.negatives() + self.positive.len()
    }

    /// The value that this share of all times does not exceed, ns.
    fn quantile(&self, share: f64) -> i64 {
        let negatives = self.negatives();
        let rank = ((share * self.count() as f64).ceil() as u64).max(1);
        let Some(negative) = self.negative.as_ref().filter(|_| rank <= negatives) else {
            let share = (rank - negatives) as f64 / self.positive.len() as f64;
            return signed(self.positive.value_at_quantile(share));
        };
        // The lowest time has the largest magnitude.
        let share = (negatives - rank + 1) as f64 / negatives as f64;
        -signed(negative.value_at_quantile(share))
    }
}

/// A time in a histogram, which is at most a minute.
fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// One histogram per stage, shared by the tasks that record into them. Recording takes one short lock, and allocates
/// only for a time that is at least twice as long as all before. Clones record into the same histograms.
#[derive(Clone, Debug)]
pub struct StageTimes {
    /// Made with the first time of a stage: a program, and each of its cameras, passes through few of them.
    cells: Arc<[OnceLock<Mutex<Cell>>; Stage::ALL.len()]>,
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
            cells: Arc::new(std::array::from_fn(|_| OnceLock::new())),
        }
    }

    /// Records that `stage` took `time`.
    pub fn record(&self, stage: Stage, time: Duration) {
        self.record_together(stage, time, 1);
    }

    /// Records that `stage` took `time` for each of `count` frames or packets, at least one, that passed it together.
    pub fn record_together(&self, stage: Stage, time: Duration, count: u64) {
        self.cell(stage)
            .record(i64::try_from(time.as_nanos()).unwrap_or(i64::MAX), count);
    }

    /// Records a time measured with two clocks, with the uncertainty of their offset.
    ///
    /// A negative time is recorded as it is: it says how far the clocks may be off. Times within the uncertainty are
    /// counted apart, so that a reader knows which part of the distribution is noise.
    pub fn record_between_clocks(&self, stage: Stage, ns: i64, uncertainty_ns: u64) {
        let mut cell = self.cell(stage);
        cell.record(ns, 1);
        if ns.unsigned_abs() < uncertainty_ns {
            cell.below_uncertainty += 1;
        } else if ns < 0 {
            cell.impossible += 1;
        }
    }

    /// The statistics of `stage` so far.
    pub fn snapshot(&self, stage: Stage) -> StageSnapshot {
        self.seen(stage)
            .map_or_else(StageSnapshot::default, |cell| cell.snapshot())
    }

    /// The statistics of `stage` in all of these histograms, as if one had recorded everything.
    pub fn together<'a>(all: impl Iterator<Item = &'a Self>, stage: Stage) -> StageSnapshot {
        let mut sum = Cell::new();
        all.filter_map(|times| times.seen(stage))
            .for_each(|cell| sum.add(&cell));
        sum.snapshot()
    }

    /// The distribution of `stage` in Prometheus' form: sum in seconds, count, and for each upper bound (seconds,
    /// ascending; the last one unbounded) the number of times between it and the previous bound.
    pub fn buckets(&self, stage: Stage, upper_bounds_seconds: &[f64]) -> (f64, u64, Vec<(f64, u64)>) {
        self.seen(stage).map_or_else(
            || Cell::new().buckets(upper_bounds_seconds),
            |cell| cell.buckets(upper_bounds_seconds),
        )
    }

    fn cell(&self, stage: Stage) -> MutexGuard<'_, Cell> {
        lock(self.cells[stage as usize].get_or_init(|| Mutex::new(Cell::new())))
    }

    /// The times of a stage that has any.
    fn seen(&self, stage: Stage) -> Option<MutexGuard<'_, Cell>> {
        self.cells[stage as usize].get().map(lock)
    }
}

/// Ignores lock poisoning: a panic elsewhere leaves at most one record half counted.
fn lock(cell: &Mutex<Cell>) -> MutexGuard<'_, Cell> {
    cell.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histograms_grow_to_a_minute_and_longer_times_count_as_one() {
        let times = StageTimes::new();
        let small = times.cell(Stage::Seal).positive.distinct_values();
        for (count, nanoseconds) in [1, 1_000, 1_000_000, HIGHEST_NS, 2 * HIGHEST_NS, u64::MAX]
            .iter()
            .enumerate()
        {
            times.record(Stage::Seal, Duration::from_nanos(*nanoseconds));
            let seen = times.snapshot(Stage::Seal);
            let expected = (*nanoseconds).min(HIGHEST_NS) as f64;
            assert_eq!(seen.count, count as u64 + 1);
            assert!((seen.max_ns as f64 - expected).abs() <= expected / 1000.0, "{seen:?}");
        }
        let grown = times.cell(Stage::Seal).positive.distinct_values();
        let whole = Histogram::<u64>::new_with_bounds(LOWEST_NS, HIGHEST_NS, SIGNIFICANT_DIGITS).unwrap();
        assert!(
            small * 8 < grown && grown <= whole.distinct_values(),
            "{small} and {grown}"
        );
        let (_, count, buckets) = times.buckets(Stage::Seal, &[0.001, 1.0, 100.0]);
        assert_eq!((count, buckets.iter().map(|bucket| bucket.1).sum()), (6, 6));
        assert_eq!(times.buckets(Stage::Open, &[0.001]).2, [(0.001, 0), (f64::MAX, 0)]);
    }

    #[test]
    fn figures_read_back_are_within_a_thousandth() {
        let times = StageTimes::new();
        for microseconds in 1..=1000 {
            times.record(Stage::Seal, Duration::from_micros(microseconds));
        }
        let seen = times.snapshot(Stage::Seal);
        let near = |seen: i64, expected: f64| (seen as f64 - expected).abs() <= expected / 1000.0;
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
    fn a_negative_latency_is_recorded_as_it_is_and_said_to_be_within_the_uncertainty_or_not() {
        let times = StageTimes::new();
        for ns in [-5_000, 10_000, 90_000, -30_000] {
            times.record_between_clocks(Stage::Network, ns, 20_000);
        }
        let seen = times.snapshot(Stage::Network);
        assert_eq!((seen.count, seen.below_uncertainty, seen.impossible), (4, 2, 1));
        let near = |seen: i64, expected: i64| seen.abs_diff(expected) <= expected.unsigned_abs() / 1000;
        assert!(
            near(seen.min_ns, -30_000) && near(seen.p50_ns, -5_000) && near(seen.max_ns, 90_000),
            "{seen:?}"
        );
        assert!((seen.mean_ns - 16_250.0).abs() < 1e-6, "{seen:?}");
        let (sum, count, buckets) = times.buckets(Stage::Network, &[1e-6, 1e-3]);
        assert_eq!(count, 4);
        assert_eq!(buckets.iter().map(|bucket| bucket.1).collect::<Vec<_>>(), [2, 2, 0]);
        assert!((sum - 65e-6).abs() < 1e-12, "{sum}");
    }

    #[test]
    fn what_several_histograms_recorded_is_told_as_if_one_had() {
        // Parts of different length and reach, one of them empty, with negative times in the middle.
        let parts = [
            (1..400).map(|n| n * 7_001).collect::<Vec<i64>>(),
            vec![],
            (-50..3).map(|n| n * 90_011).collect(),
            vec![2_500_000_000],
        ];
        let one = StageTimes::new();
        let several = parts.map(|part| {
            let times = StageTimes::new();
            for ns in part {
                let both = [&one, &times].into_iter();
                both.for_each(|times| times.record_between_clocks(Stage::Network, ns, 100_000));
            }
            times
        });
        for stage in [Stage::Network, Stage::Open] {
            let (seen, expected) = (StageTimes::together(several.iter(), stage), one.snapshot(stage));
            for (seen, expected) in [(seen.mean_ns, expected.mean_ns), (seen.stddev_ns, expected.stddev_ns)] {
                assert!((seen - expected).abs() <= expected * 1e-12, "{seen} and {expected}");
            }
            let counted = |all: StageSnapshot| StageSnapshot {
                mean_ns: 0.0,
                stddev_ns: 0.0,
                ..all
            };
            assert_eq!(counted(seen), counted(expected));
        }
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
