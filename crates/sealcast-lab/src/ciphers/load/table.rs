//! Figures computed from the rounds of a record.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;

use super::record::LoadRecord;
use crate::ciphers::table::short;
use crate::harness::statistics::{interval, median};

/// A line of `table.csv`. The interval is 95 %; a single round has none.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    pub(super) cipher: String,
    pub(super) implementation: String,
    pub(super) filter: &'static str,
    sink: &'static str,
    rounds: usize,
    /// The highest sustained rate; 0 if there is none.
    pub(super) frames_per_s: f64,
    pub(super) frames_per_s_low: Option<f64>,
    pub(super) frames_per_s_high: Option<f64>,
    /// The same in Mbit/s of raw video.
    mbit_per_s: f64,
}

/// All lines: first without the filter, then with it; in each, the run without a cipher first.
pub(super) fn rows(record: &LoadRecord) -> Vec<Row> {
    let contenders = || std::iter::once(None).chain((0..record.contenders.len()).map(Some));
    let pairs = [false, true]
        .into_iter()
        .flat_map(|filtered| contenders().map(move |one| (one, filtered)));
    pairs
        .map(|(contender, filtered)| row(record, contender, filtered))
        .collect()
}

fn row(record: &LoadRecord, contender: Option<usize>, filtered: bool) -> Row {
    let none = || ("none".to_owned(), "-".to_owned());
    let (cipher, implementation) = contender.map_or_else(none, |index| record.contenders[index].clone());
    let all = record.rounds.iter().flatten();
    let own = all.filter(|held| (held.contender, held.filtered) == (contender, filtered));
    let mut rates: Vec<f64> = own.map(|held| held.frames_per_s.unwrap_or(0.0)).collect();
    let ends = (rates.len() > 1).then(|| interval(&rates, median));
    let frames_per_s = median(&mut rates);
    Row {
        cipher,
        implementation,
        filter: if filtered { "3x3 Gaussian" } else { "none" },
        sink: record.sink,
        rounds: rates.len(),
        frames_per_s,
        frames_per_s_low: ends.map(|(low, _)| low),
        frames_per_s_high: ends.map(|(_, high)| high),
        mbit_per_s: frames_per_s * record.frame_bytes as f64 * 8e-6,
    }
}

/// Headings of the columns.
pub(super) const COLUMNS: [&str; 6] = ["cipher", "implementation", "filter", "frames/s held", "95 %", "Mbit/s"];

impl Row {
    /// The cells of the columns in [`COLUMNS`].
    pub(super) fn cells(&self) -> [String; 6] {
        let ends = self.frames_per_s_low.zip(self.frames_per_s_high);
        [
            self.cipher.to_owned(),
            self.implementation.to_owned(),
            self.filter.to_owned(),
            short(self.frames_per_s),
            ends.map_or_else(
                || "-".to_owned(),
                |(low, high)| format!("{} to {}", short(low), short(high)),
            ),
            short(self.mbit_per_s),
        ]
    }
}

/// The table in Markdown, with notes on wrong contenders.
pub fn terminal(record: &LoadRecord) -> String {
    let mut text = String::new();
    let mut line = |cells: &[String]| {
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    };
    line(&COLUMNS.map(str::to_owned));
    line(&COLUMNS.map(|_| "---".to_owned()));
    record.rows().iter().for_each(|row| line(&row.cells()));
    for (name, value) in record.facts() {
        let _ = writeln!(text, "{name}: {value}");
    }
    for wrong in &record.wrong {
        let _ = writeln!(text, "WRONG, not measured: {wrong}");
    }
    text
}

pub(super) fn write_csv(path: &Path, rows: &[Row]) -> csv::Result<()> {
    let mut writer = csv::Writer::from_path(path)?;
    rows.iter().try_for_each(|row| writer.serialize(row))?;
    writer.flush().map_err(csv::Error::from)
}
