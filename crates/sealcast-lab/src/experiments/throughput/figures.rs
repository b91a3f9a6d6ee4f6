//! Samples and the figures computed from them.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::Carrier;
use crate::harness::statistics::median;

/// One measurement.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Sample {
    /// Bytes that arrived, without our headers.
    pub bytes: u64,
    /// Duration of the measurement.
    pub elapsed: Duration,
    /// Processor time, user and system.
    pub cpu: Duration,
    /// Datagrams sent; 0 on a stream.
    pub sent: u64,
    /// Datagrams among them that did not arrive.
    pub lost: u64,
}

impl Sample {
    /// Gbit/s.
    pub fn rate(&self) -> f64 {
        gigabits(self.bytes) / self.elapsed.as_secs_f64()
    }

    /// Gbit for each second of processor time.
    pub fn per_core(&self) -> f64 {
        gigabits(self.bytes) / self.cpu.as_secs_f64()
    }

    /// Share of the datagrams that were lost.
    pub fn loss(&self) -> f64 {
        self.lost as f64 / self.sent.max(1) as f64
    }
}

fn gigabits(bytes: u64) -> f64 {
    bytes as f64 * 8e-9
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rate, per_core, loss) = (self.rate(), self.per_core(), self.loss() * 100.0);
        write!(f, "{rate:.2} Gbit/s, {per_core:.2} per core, {loss:.3} % lost")
    }
}

/// The samples of a contender.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Name of the contender.
    pub name: String,
    /// Its carrier.
    pub carrier: Carrier,
    /// The processes whose processor time counts.
    pub counted: &'static str,
    /// One sample for each round.
    pub samples: Vec<Sample>,
}

/// Median and range of some values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Middle {
    /// The median.
    pub median: f64,
    /// The minimum.
    pub least: f64,
    /// The maximum.
    pub most: f64,
}

impl Middle {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        let median = median(&mut values);
        let (Some(&least), Some(&most)) = (values.first(), values.last()) else {
            return Self::default();
        };
        Self { median, least, most }
    }
}

impl Figures {
    pub(super) fn new(name: String, carrier: Carrier, counted: &'static str) -> Self {
        Self {
            name,
            carrier,
            counted,
            samples: Vec::new(),
        }
    }

    /// Gbit/s.
    pub fn rate(&self) -> Middle {
        Middle::of(self.samples.iter().map(Sample::rate))
    }

    /// Gbit for each second of processor time.
    pub fn per_core(&self) -> Middle {
        Middle::of(self.samples.iter().map(Sample::per_core))
    }

    /// Share of the datagrams that were lost.
    pub fn loss(&self) -> Middle {
        Middle::of(self.samples.iter().map(Sample::loss))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_an_even_number_lies_between_the_two() {
        let middle = Middle::of([4.0, 1.0, 3.0, 2.0].into_iter());
        assert_eq!((middle.median, middle.least, middle.most), (2.5, 1.0, 4.0));
        assert_eq!(Middle::of([3.0, 1.0, 2.0].into_iter()).median, 2.0);
        assert_eq!(Middle::of(std::iter::empty()), Middle::default());
    }

    #[test]
    fn a_sample_counts_bits_over_time_and_over_processor_time() {
        let sample = Sample {
            bytes: 1_000_000_000,
            elapsed: Duration::from_secs(2),
            cpu: Duration::from_secs(4),
            sent: 1000,
            lost: 1,
        };
        assert_eq!((sample.rate(), sample.per_core(), sample.loss()), (4.0, 2.0, 0.001));
        assert_eq!(Sample::default().loss(), 0.0, "nothing was sent, nothing is lost");
    }
}
