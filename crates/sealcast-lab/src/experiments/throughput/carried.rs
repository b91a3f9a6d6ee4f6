//! The result of one measurement.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::harness::Sample;
use crate::harness::process::Stop;

/// The period in which a system sends.
#[derive(Clone, Copy)]
pub(super) struct Sending<'a> {
    /// Its duration.
    pub(super) time: Duration,
    /// Ends it early.
    pub(super) stop: Stop<'a>,
}

impl Sending<'_> {
    /// True while sending that started at `began` goes on.
    pub(super) fn goes_on(&self, began: Instant) -> bool {
        began.elapsed() < self.time && !self.stop.load(Ordering::Relaxed)
    }
}

/// The data that a system carried, and its cost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Carried {
    /// Bytes that arrived, without our headers.
    pub(super) bytes: u64,
    /// Duration of the measurement.
    pub(super) elapsed: Duration,
    /// Processor time, user and system.
    pub(super) cpu: Duration,
    /// Datagrams sent; 0 on a stream.
    pub(super) sent: u64,
    /// Datagrams among them that did not arrive.
    pub(super) lost: u64,
}

impl Carried {
    /// Gbit for each second of processor time.
    pub(super) fn per_core(&self) -> f64 {
        gigabits(self.bytes) / self.cpu.as_secs_f64()
    }

    /// The values for the record. A stream has none of datagrams.
    pub(super) fn sample(&self) -> Sample {
        let sample = Sample::default()
            .with("bytes", self.bytes as f64)
            .with("elapsed_s", self.elapsed.as_secs_f64())
            .with("cpu_s", self.cpu.as_secs_f64())
            .with("gbit_per_second", gigabits(self.bytes) / self.elapsed.as_secs_f64())
            .with("gbit_per_core", self.per_core());
        match self.sent {
            0 => sample,
            sent => sample
                .with("datagrams", sent as f64)
                .with("datagrams_lost", self.lost as f64)
                .with("loss", self.lost as f64 / sent as f64),
        }
    }
}

fn gigabits(bytes: u64) -> f64 {
    bytes as f64 * 8e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_counts_bits_over_time_and_over_processor_time() {
        let carried = Carried {
            bytes: 1_000_000_000,
            elapsed: Duration::from_secs(2),
            cpu: Duration::from_secs(4),
            sent: 1000,
            lost: 1,
        };
        let values = |carried: Carried| {
            let sample = carried.sample();
            ["gbit_per_second", "gbit_per_core", "loss"].map(|name| sample.value(name))
        };
        assert_eq!(values(carried), [Some(4.0), Some(2.0), Some(0.001)]);
        let stream = Carried {
            sent: 0,
            lost: 0,
            ..carried
        };
        assert_eq!(values(stream), [Some(4.0), Some(2.0), None]);
        assert_eq!(values(Carried::default()), [None; 3], "nothing was measured");
    }
}
