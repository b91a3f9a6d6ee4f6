//! The readings of a probe, and the table at its end.

use std::collections::VecDeque;
use std::fmt::Write;

use crate::meter::statistics::{deviation, interval, mean, median};

/// Maximum of readings that are kept of each kind: two hours of 60 frames a second. Then the oldest go.
const MAX_READINGS: usize = 1 << 19;
/// The interval is drawn from at most this many readings, evenly spread over the run.
const MAX_RESAMPLED: usize = 2000;

/// Readings of one kind, in milliseconds.
#[derive(Debug, Default)]
pub(super) struct Readings {
    values: VecDeque<f64>,
    count: u64,
    /// Readings below zero, by no more than their uncertainty and by more.
    negative: u64,
    impossible: u64,
    widest: f64,
}

impl Readings {
    /// Take a reading with its uncertainty. A negative one is kept as it is.
    pub(super) fn take(&mut self, ms: f64, uncertainty_ms: f64) {
        if self.values.len() == MAX_READINGS {
            self.values.pop_front();
        }
        self.values.push_back(ms);
        self.count += 1;
        self.negative += u64::from(ms < 0.0 && ms + uncertainty_ms >= 0.0);
        self.impossible += u64::from(ms + uncertainty_ms < 0.0);
        self.widest = self.widest.max(uncertainty_ms);
    }

    /// True if there are any.
    pub(super) fn any(&self) -> bool {
        self.count > 0
    }

    /// A row of the table.
    fn row(&self, name: &str) -> String {
        let mut row = format!("{name:<26}{:>7}", self.count);
        if self.values.is_empty() {
            return row;
        }
        let mut values: Vec<f64> = self.values.iter().copied().collect();
        let step = values.len().div_ceil(MAX_RESAMPLED);
        let resampled: Vec<f64> = values.iter().copied().step_by(step).collect();
        let (low, high) = interval(&resampled, |resampled| mean(resampled));
        let (average, spread) = (mean(&values), deviation(&values));
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let middle = median(&mut values);
        for figure in [average, middle, least, most, spread] {
            let _ = match figure.is_nan() {
                true => write!(row, "{:>11}", "-"),
                false => write!(row, "{figure:>11.3}"),
            };
        }
        let _ = write!(row, "{:>24}{:>10.3}", format!("{low:.3} to {high:.3}"), self.widest);
        row
    }

    /// Words on readings below zero, if there are any.
    fn below_zero(&self, name: &str) -> Option<String> {
        match (self.negative, self.impossible) {
            (0, 0) => None,
            (within, 0) => Some(format!(
                "{name}: {within} negative readings, all within their uncertainty"
            )),
            (within, beyond) => Some(format!(
                "{name}: {within} negative readings within their uncertainty and {beyond} beyond it: the clocks are \
                 further apart than they seem"
            )),
        }
    }
}

/// The table of all kinds of readings.
pub(super) fn table(kinds: &[(&str, &Readings)]) -> String {
    let mut text = format!(
        "{:<26}{:>7}{:>11}{:>11}{:>11}{:>11}{:>11}{:>24}{:>10}\n",
        "video latency, ms", "n", "mean", "median", "min", "max", "sd", "mean, 95 % interval", "within ±"
    );
    for (name, readings) in kinds {
        text.push_str(&readings.row(name));
        text.push('\n');
    }
    for words in kinds.iter().filter_map(|(name, readings)| readings.below_zero(name)) {
        text.push_str(&words);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_row_has_the_figures_of_its_readings_and_negative_ones_stay() {
        let mut readings = Readings::default();
        for value in [-1.0, 2.0, 4.0, 6.0, 9.0] {
            readings.take(value, 1.5);
        }
        let row = readings.row("frames");
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(
            words[..7],
            ["frames", "5", "4.000", "4.000", "-1.000", "9.000", "3.808"]
        );
        assert_eq!(words[10], "1.500");
        let (low, high) = (
            words[7].parse::<f64>().expect("a number"),
            words[9].parse::<f64>().expect("a number"),
        );
        assert!(low < 4.0 && 4.0 < high && low >= -1.0 && high <= 9.0, "{row}");
        assert!(table(&[("frames", &readings)]).contains("frames: 1 negative readings, all within"));
        readings.take(-3.0, 1.0);
        assert!(table(&[("frames", &readings)]).contains("1 beyond it"));
    }
}
