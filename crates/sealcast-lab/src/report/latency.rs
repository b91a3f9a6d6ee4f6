//! Evaluation of a log of latencies: the whole and each stage, and whether the stages make up the whole.

use sealcast::failure::Result;
use sealcast::meter::logs::{FrameRow, PictureRow, UnitRow};

use super::distribution::Distribution;
use super::log::Log;

/// A log of latencies, in microseconds.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) file: &'static str,
    pub(super) columns: &'static [&'static str],
    /// Subject of a row.
    pub(super) of: &'static str,
    /// The stages' columns, less `_us`.
    pub(super) stages: &'static [&'static str],
    /// The column of the whole, where the stages follow one another without a gap.
    pub(super) total: Option<&'static str>,
}

/// The stages of a frame, in their order: columns with `_us` after the name.
pub(crate) const FRAME_STAGES: [&str; 11] = [
    "capture",
    "encode",
    "queue",
    "seal",
    "send",
    "network",
    "reassembly",
    "open",
    "wait",
    "decode",
    "present",
];

pub(super) const FRAMES: usize = 0;
pub(super) const KINDS: [Kind; 3] = [
    Kind {
        file: "frames_latency.csv",
        columns: FrameRow::HEADER,
        of: "frame",
        stages: &FRAME_STAGES,
        total: Some("total_us"),
    },
    Kind {
        file: "network_latency.csv",
        columns: UnitRow::HEADER,
        of: "sealed unit",
        stages: &["camera_gateway", "network", "link", "viewer_gateway"],
        total: None,
    },
    Kind {
        file: "picture_latency.csv",
        columns: PictureRow::HEADER,
        of: "picture",
        stages: &["gather", "camera_gateway", "network", "viewer_gateway"],
        total: Some("total_us"),
    },
];

/// Whether the stages of rows add up to the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sums {
    /// Rows with a whole.
    pub(super) rows: u64,
    /// Those whose stages add up to it within the uncertainty of the clocks.
    pub(super) agree: u64,
    /// Largest difference.
    pub(super) most_us: f64,
    /// Largest uncertainty.
    pub(super) uncertainty_us: f64,
}

/// The latencies of one log.
#[derive(Debug)]
pub(super) struct Latency {
    pub(super) kind: &'static Kind,
    /// One for each stage.
    pub(super) stages: Vec<Distribution>,
    pub(super) total: Distribution,
    /// The magnitude of the whole.
    pub(super) magnitude: Distribution,
    /// Contribution of each stage to all rows that have a whole.
    in_total: Vec<f64>,
    pub(super) sums: Sums,
}

impl Latency {
    pub(super) fn new(kind: &'static Kind) -> Self {
        Self {
            kind,
            stages: kind.stages.iter().map(|_| Distribution::new()).collect(),
            total: Distribution::new(),
            magnitude: Distribution::new(),
            in_total: vec![0.0; kind.stages.len()],
            sums: Sums::default(),
        }
    }

    /// Takes in a log.
    pub(super) fn read(&mut self, log: &mut Log) -> Result<()> {
        let stage = |name: &&str| log.column(&format!("{name}_us"));
        let columns: Vec<usize> = self.kind.stages.iter().map(stage).collect();
        let total = self.kind.total.map(|name| log.column(name));
        let uncertainty = log.column("clock_uncertainty_us");
        let kept = log.place("kept");
        let mut values = vec![None; columns.len()];
        while log.next()? {
            // Frames from before the viewer joined say nothing of the path.
            if kept.is_some_and(|kept| log.text(kept) == "true") {
                continue;
            }
            for (value, column) in values.iter_mut().zip(&columns) {
                *value = log.number(*column)?;
            }
            let total = total.map(|column| log.number(column)).transpose()?.flatten();
            self.row(&values, total, log.number(uncertainty)?.unwrap_or(0.0));
        }
        Ok(())
    }

    fn row(&mut self, values: &[Option<f64>], total: Option<f64>, uncertainty: f64) {
        for (stage, value) in self.stages.iter_mut().zip(values) {
            if let Some(value) = value {
                stage.add(*value);
            }
        }
        let Some(total) = total else { return };
        self.total.add(total);
        self.magnitude.add(total.abs());
        let stages = || values.iter().map(|value| value.unwrap_or(0.0));
        self.in_total
            .iter_mut()
            .zip(stages())
            .for_each(|(sum, value)| *sum += value);
        let difference = (stages().sum::<f64>() - total).abs();
        self.sums.rows += 1;
        // Each of them is written to the nanosecond.
        let rounding = 1e-3 * (values.len() + 1) as f64;
        self.sums.agree += u64::from(difference <= uncertainty + rounding);
        self.sums.most_us = self.sums.most_us.max(difference);
        self.sums.uncertainty_us = self.sums.uncertainty_us.max(uncertainty);
    }

    /// Rows with any value.
    pub(super) fn count(&self) -> u64 {
        let stages = self.stages.iter().map(Distribution::count);
        stages.max().unwrap_or(0)
    }

    /// A stage's share of the whole, over all rows that have one.
    pub(super) fn share(&self, stage: usize) -> Option<f64> {
        (self.sums.rows > 0).then(|| self.in_total[stage] / self.total.sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_that_make_up_the_whole_are_told_from_those_that_do_not() {
        let mut latency = Latency::new(&KINDS[2]);
        let row = |network| [Some(10.0), Some(20.0), network, Some(5.0)];
        latency.row(&row(Some(15.0)), Some(50.0), 0.0);
        latency.row(&row(Some(-5.0)), Some(32.0), 2.0);
        latency.row(&row(Some(15.0)), Some(60.0), 2.0);
        // Before the first exchange there is no whole.
        latency.row(&row(None), None, 0.0);
        let expected = Sums {
            rows: 3,
            agree: 2,
            most_us: 10.0,
            uncertainty_us: 2.0,
        };
        assert_eq!(latency.sums, expected);
        assert_eq!(
            (latency.count(), latency.stages[2].count(), latency.total.count()),
            (4, 3, 3)
        );
        assert!((latency.share(0).expect("a share") - 30.0 / 142.0).abs() < 1e-9);
    }

    #[test]
    fn every_stage_is_a_column_of_its_log() {
        for kind in &KINDS {
            let names = kind.stages.iter().map(|stage| format!("{stage}_us"));
            for name in names.chain(kind.total.map(str::to_owned)) {
                assert!(kind.columns.contains(&name.as_str()), "{name} in {}", kind.file);
            }
        }
    }
}
