//! The figures of a turn.

use std::path::Path;

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::meter::statistics::quantile;

use super::columns::{CURVE, latency_axis};
use super::pictures::{Pictures, Reading, wall_us};
use crate::harness::Sample;

/// Points of the curve.
const STEPS: usize = 201;

/// A moment, and the processor time that the system had used by then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    /// In µs since 1970, as in pictures.
    pub(super) at_us: u64,
    pub(super) cpu: std::time::Duration,
}

impl Mark {
    pub(super) fn new(cpu: std::time::Duration) -> Self {
        Self { at_us: wall_us(), cpu }
    }
}

/// Observations in a turn.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) readings: Vec<Reading>,
    /// Pictures in which no clock could be read.
    pub(super) unreadable: usize,
    /// The begin and the end of the time that counts.
    pub(super) marks: [Mark; 2],
}

impl Seen {
    /// The readings of pictures that were painted in the time that counts, each picture once, in order.
    fn counted(&self) -> Vec<Reading> {
        let [from, to] = self.marks.map(|mark| mark.at_us);
        let within = |reading: &&Reading| (from..to).contains(&reading.painted_us);
        let mut own: Vec<Reading> = self.readings.iter().filter(within).copied().collect();
        own.sort_by_key(|reading| reading.event);
        own.dedup_by_key(|reading| reading.event);
        own
    }

    /// The values of the turn.
    ///
    /// # Errors
    /// No picture of that time arrived.
    pub(super) fn sample(&self, pictures: &Pictures) -> Result<Sample> {
        let counted = self.counted();
        let (Some(first), Some(last)) = (counted.first(), counted.last()) else {
            let what = format!(
                "no picture that was painted in the time that counts arrived with a clock; {} had none",
                self.unreadable
            );
            return Err(Failure::new(FailureKind::Network, what, "see the files of the run"));
        };
        let [from, to] = self.marks;
        let seconds = (to.at_us - from.at_us) as f64 * 1e-6;
        let span = u64::from(last.event - first.event) + 1;
        // What never arrived at the end is not in the span, and one more than the product may be due.
        let painted = span.max((seconds * f64::from(pictures.rate)).floor() as u64);
        let mut latencies: Vec<f64> = counted.iter().map(|reading| reading.latency_ms).collect();
        latencies.sort_by(f64::total_cmp);
        let longer = |ms: f64| {
            let until = latencies.partition_point(|&latency| latency <= ms);
            1.0 - until as f64 / latencies.len() as f64
        };
        let cpu = to.cpu.saturating_sub(from.cpu).as_secs_f64();
        let sample = Sample::default()
            .with("p50_ms", quantile(&latencies, 0.5))
            .with("p95_ms", quantile(&latencies, 0.95))
            .with("p99_ms", quantile(&latencies, 0.99))
            .with("painted", painted as f64)
            .with("shown", counted.len() as f64)
            .with("cpu_us", cpu * 1e6 / counted.len() as f64)
            .with_series(CURVE, latency_axis().steps(STEPS).map(longer).collect());
        Ok(match self.unreadable {
            0 => sample,
            count => sample.with("unreadable", count as f64),
        })
    }

    /// Writes `pictures.csv`, with a row for each reading.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        let file = folder.join("pictures.csv");
        let written = csv::Writer::from_path(&file).and_then(|mut rows| {
            rows.write_record(["picture", "painted_us", "latency_ms"])?;
            for reading in &self.readings {
                rows.write_record([
                    reading.event.to_string(),
                    reading.painted_us.to_string(),
                    reading.latency_ms.to_string(),
                ])?;
            }
            rows.flush().map_err(csv::Error::from)
        });
        written.map_err(|error| {
            let what = format!("{} cannot be written ({error})", file.display());
            Failure::new(FailureKind::Sink, what, "choose another --out")
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const PICTURES: Pictures = Pictures {
        width: 640,
        height: 480,
        rate: 10,
        bitrate: 1_500_000,
        gop: 20,
    };

    fn seen(of: &[(u32, f64)]) -> Seen {
        let mark = |at_us, ms| Mark {
            at_us,
            cpu: Duration::from_millis(ms),
        };
        let reading = |&(event, latency_ms): &(u32, f64)| Reading {
            event,
            painted_us: u64::from(event) * 100_000,
            latency_ms,
        };
        Seen {
            readings: of.iter().map(reading).collect(),
            unreadable: 0,
            marks: [mark(1_000_000, 100), mark(2_000_000, 120)],
        }
    }

    #[test]
    fn only_pictures_painted_in_the_time_that_counts_do_and_each_once() {
        let sample = seen(&[
            (9, 99.0),
            (10, 3.0),
            (11, 2.0),
            (11, 50.0),
            (13, 4.0),
            (19, 5.0),
            (20, 99.0),
        ])
        .sample(&PICTURES)
        .expect("pictures");
        let values = ["p50_ms", "p99_ms", "painted", "shown", "cpu_us"].map(|name| sample.value(name));
        assert_eq!(values, [Some(3.0), Some(5.0), Some(10.0), Some(4.0), Some(5000.0)]);
        for (ms, share) in latency_axis().steps(STEPS).zip(&sample.series[CURVE]) {
            let wanted = match ms {
                ..1.99 => 1.0,
                5.01.. => 0.0,
                3.01..3.99 => 0.5,
                _ => *share,
            };
            assert_eq!(*share, wanted, "{ms}");
        }
    }

    #[test]
    fn pictures_that_never_came_at_the_end_are_missing() {
        let sample = seen(&[(10, 3.0), (11, 3.0)]).sample(&PICTURES).expect("pictures");
        assert_eq!(
            (sample.value("painted"), sample.value("shown")),
            (Some(10.0), Some(2.0))
        );
        assert!(seen(&[(9, 3.0)]).sample(&PICTURES).is_err(), "before the time");
    }
}
