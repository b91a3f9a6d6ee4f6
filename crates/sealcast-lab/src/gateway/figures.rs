//! Samples, and what they come to.

use std::fmt;

use hdrhistogram::Histogram;
use serde::Serialize;

use super::drive::Outcome;
use super::load::Load;
use super::system::System;
use crate::statistics::Estimate;

/// The longest delay that is told apart, in nanoseconds.
const MAX_DELAY: u64 = 60_000_000_000;

/// One measurement of one system with one load.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// Of which round, from 0 on.
    pub round: usize,
    /// The median delay of frames, in microseconds.
    pub p50_us: f64,
    /// The delay that 99 % of the frames do not exceed, in microseconds.
    pub p99_us: f64,
    /// The delay that 99.9 % of the frames do not exceed, in microseconds.
    pub p999_us: f64,
    /// Packets sent.
    pub packets: u64,
    /// Packets among them that did not come out.
    pub lost: u64,
    /// Processor time of what lies between, user and system, for each packet carried, in microseconds.
    pub cpu_us: f64,
    /// The same in percent of one core.
    pub core_percent: f64,
}

impl Sample {
    pub(super) fn new(round: usize, outcome: &Outcome) -> Self {
        let delay = |share: f64| quantile(&outcome.delays, share) * 1e-3;
        let cpu = outcome.cpu.as_secs_f64();
        Self {
            round,
            p50_us: delay(0.5),
            p99_us: delay(0.99),
            p999_us: delay(0.999),
            packets: outcome.packets,
            lost: outcome.packets.saturating_sub(outcome.arrived),
            cpu_us: cpu * 1e6 / outcome.arrived.max(1) as f64,
            core_percent: cpu * 1e2 / outcome.elapsed.as_secs_f64(),
        }
    }
}

/// The least of the sorted values that this share of them does not exceed; not a number of none.
fn quantile(sorted: &[u64], share: f64) -> f64 {
    let at = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(at.saturating_sub(1)).map_or(f64::NAN, |&value| value as f64)
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "p50 {:.0} µs, p99 {:.0} µs, {:.1} µs of processor time a packet, {} of {} lost",
            self.p50_us, self.p99_us, self.cpu_us, self.lost, self.packets
        )
    }
}

/// Samples of one system with one load.
#[derive(Clone, Debug)]
pub struct Figures {
    /// What was sent.
    pub load: Load,
    /// Who carried it.
    pub system: System,
    /// One from each round in which it could be measured.
    pub samples: Vec<Sample>,
    /// The delays of all frames of all rounds, in nanoseconds.
    pub delays: Histogram<u64>,
}

impl Figures {
    pub(super) fn new(load: Load, system: System) -> Self {
        Self {
            load,
            system,
            samples: Vec::new(),
            delays: Histogram::new_with_bounds(1, MAX_DELAY, 3).expect("bounds in order, and few digits"),
        }
    }

    pub(super) fn add(&mut self, sample: Sample, delays: &[u64]) {
        self.samples.push(sample);
        for &delay in delays {
            self.delays.saturating_record(delay);
        }
    }

    /// The median over rounds of something in each sample, of which there is one at least.
    pub fn middle(&self, figure: impl Fn(&Sample) -> f64) -> Estimate {
        let samples: Vec<f64> = self.samples.iter().map(figure).collect();
        Estimate::of(&samples).expect("who has no sample is left out")
    }

    /// The median over rounds of the difference to another system in the same round; `None` without a common round.
    pub fn more_than(&self, other: &Self, figure: impl Fn(&Sample) -> f64) -> Option<Estimate> {
        self.beside(other, |own, theirs| figure(own) - figure(theirs))
    }

    /// The median over rounds of how many times another system's in the same round this one's is; `None` without a
    /// common round.
    pub fn times(&self, other: &Self, figure: impl Fn(&Sample) -> f64) -> Option<Estimate> {
        self.beside(other, |own, theirs| figure(own) / figure(theirs))
    }

    fn beside(&self, other: &Self, compared: impl Fn(&Sample, &Sample) -> f64) -> Option<Estimate> {
        let pairs = self.samples.iter().filter_map(|own| {
            let theirs = other.samples.iter().find(|theirs| theirs.round == own.round)?;
            Some(compared(own, theirs))
        });
        let compared: Vec<f64> = pairs.collect();
        Estimate::of(&compared)
    }

    /// Packets lost in all rounds.
    pub fn lost(&self) -> u64 {
        self.samples.iter().map(|sample| sample.lost).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::load::LOADS;
    use super::*;

    fn figures(medians: &[(usize, f64)]) -> Figures {
        let mut figures = Figures::new(LOADS[0], System::Relay);
        for &(round, p50) in medians {
            let outcome = Outcome {
                delays: vec![(p50 * 1e3) as u64],
                packets: 4,
                arrived: 3,
                cpu: Duration::from_micros(75),
                elapsed: Duration::from_millis(1),
            };
            let sample = Sample::new(round, &outcome);
            assert_eq!(
                (sample.p50_us, sample.lost, sample.cpu_us, sample.core_percent),
                (p50, 1, 25.0, 7.5)
            );
            figures.add(sample, &outcome.delays);
        }
        figures
    }

    #[test]
    fn rounds_are_compared_with_themselves() {
        let (ours, theirs) = (
            figures(&[(0, 110.0), (2, 60.0), (3, 80.0)]),
            figures(&[(0, 100.0), (1, 7.0), (2, 50.0)]),
        );
        let more = ours.more_than(&theirs, |sample| sample.p50_us).expect("common rounds");
        assert_eq!((more.low, more.median, more.high), (10.0, 10.0, 10.0));
        let times = ours.times(&theirs, |sample| sample.p50_us).expect("common rounds");
        assert_eq!((times.low, times.high), (1.1, 1.2));
        assert!(
            figures(&[(5, 1.0)])
                .more_than(&theirs, |sample| sample.p50_us)
                .is_none()
        );
        assert_eq!(ours.lost(), 3);
    }

    #[test]
    fn a_quantile_is_a_delay_that_was_seen() {
        let hundred: Vec<u64> = (1..=100).collect();
        assert_eq!(
            [0.5, 0.99, 0.999].map(|share| quantile(&hundred, share)),
            [50.0, 99.0, 100.0]
        );
        assert!(quantile(&[], 0.5).is_nan());
    }
}
