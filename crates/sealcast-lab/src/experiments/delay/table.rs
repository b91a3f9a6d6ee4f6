//! Figures computed from the samples.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;

use super::plan::{DelayResult, MEDIA, Medium, NONE, STEPS, Sample};
use crate::harness::statistics::Estimate;

/// A line of `table.csv`: a medium under a cipher, after `packets` packets. Medians over rounds; intervals are 95 %.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    pub(super) medium: &'static str,
    /// Bytes of each packet.
    pub(super) bytes: usize,
    pub(super) cipher: String,
    /// Packets sent up to this point.
    pub(super) packets: u32,
    pub(super) rounds: usize,
    /// Time from the start of sending to their reception.
    pub(super) delay_ms: f64,
    pub(super) delay_ms_low: f64,
    pub(super) delay_ms_high: f64,
    /// The difference to the run without a cipher in the same round.
    pub(super) more_ms: f64,
    pub(super) more_ms_low: f64,
    pub(super) more_ms_high: f64,
    /// Lost packets of the whole medium, in all rounds.
    pub(super) lost: u32,
    pub(super) foreign: u64,
    pub(super) stalls: u32,
}

/// All lines, ordered by medium, cipher and packets.
pub(super) fn rows(result: &DelayResult) -> Vec<Row> {
    let mut rows = Vec::new();
    for medium in MEDIA {
        for cipher in &result.ciphers {
            rows.extend((0..STEPS).filter_map(|step| row(result, medium, cipher, step)));
        }
    }
    rows
}

/// `None` if no packet had come by then in any round.
fn row(result: &DelayResult, medium: Medium, cipher: &str, step: usize) -> Option<Row> {
    let of = |cipher: &str| -> Vec<&Sample> {
        let samples = result.samples.iter();
        samples
            .filter(|sample| (sample.medium, sample.cipher.as_str()) == (medium.name, cipher))
            .collect()
    };
    let (own, bare) = (of(cipher), of(NONE));
    let at = |sample: &Sample| sample.delays_ms.get(step).copied().flatten();
    let delays: Vec<f64> = own.iter().filter_map(|sample| at(sample)).collect();
    let more = own.iter().filter_map(|sample| {
        let beside = bare.iter().find(|bare| bare.round == sample.round)?;
        Some(at(sample)? - at(beside)?)
    });
    let more: Vec<f64> = more.collect();
    let rounds = delays.len();
    let (delay, more) = (Estimate::of(&delays)?, Estimate::of(&more)?);
    Some(Row {
        medium: medium.name,
        bytes: medium.bytes,
        cipher: cipher.to_owned(),
        packets: medium.packets / STEPS as u32 * (step as u32 + 1),
        rounds,
        delay_ms: delay.median,
        delay_ms_low: delay.low,
        delay_ms_high: delay.high,
        more_ms: more.median,
        more_ms_low: more.low,
        more_ms_high: more.high,
        lost: own.iter().map(|sample| sample.lost).sum(),
        foreign: own.iter().map(|sample| sample.foreign).sum(),
        stalls: own.iter().map(|sample| sample.stalls).sum(),
    })
}

/// Headings of the columns.
pub(super) const COLUMNS: [&str; 8] = [
    "medium",
    "cipher",
    "packets",
    "delay, ms",
    "95 %",
    "more than none, ms",
    "lost",
    "foreign",
];

impl Row {
    /// Cells of the columns in [`COLUMNS`].
    pub(super) fn cells(&self) -> [String; 8] {
        [
            format!("{}, {} bytes", self.medium, self.bytes),
            self.cipher.clone(),
            self.packets.to_string(),
            format!("{:.2}", self.delay_ms),
            format!("{:.2} to {:.2}", self.delay_ms_low, self.delay_ms_high),
            match self.cipher.as_str() {
                NONE => String::new(),
                _ => format!(
                    "{:+.2} ({:+.2} to {:+.2})",
                    self.more_ms, self.more_ms_low, self.more_ms_high
                ),
            },
            self.lost.to_string(),
            self.foreign.to_string(),
        ]
    }

    /// True if the line covers all packets of its medium.
    fn is_whole(&self) -> bool {
        MEDIA
            .iter()
            .any(|medium| (medium.name, medium.packets) == (self.medium, self.packets))
    }
}

/// The lines of whole media, as Markdown, with notes.
pub fn terminal(result: &DelayResult) -> String {
    let mut text = String::new();
    let mut line = |cells: &[String]| {
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    };
    line(&COLUMNS.map(str::to_owned));
    line(&COLUMNS.map(|_| "---".to_owned()));
    for row in rows(result).iter().filter(|row| row.is_whole()) {
        line(&row.cells());
    }
    for note in notes(result) {
        let _ = writeln!(text, "\n{note}");
    }
    text
}

/// Notes on lost packets and other irregularities.
pub(super) fn notes(result: &DelayResult) -> Vec<String> {
    let lost: u32 = result.samples.iter().map(|sample| sample.lost).sum();
    let stalls: u32 = result.samples.iter().map(|sample| sample.stalls).sum();
    let foreign: u64 = result.samples.iter().map(|sample| sample.foreign).sum();
    let runs = result.samples.len();
    let mut notes = vec![format!(
        "{lost} packets lost in {runs} runs; a delay is that of the packets which came"
    )];
    if stalls > 0 {
        notes.push(format!(
            "{stalls} times the sender waited for nothing: these runs are too long"
        ));
    }
    if foreign > 0 {
        notes.push(format!(
            "{foreign} packets came that were of no run; they are in no figure"
        ));
    }
    notes
}

pub(super) fn write_csv(path: &Path, rows: &[Row]) -> csv::Result<()> {
    let mut writer = csv::Writer::from_path(path)?;
    rows.iter().try_for_each(|row| writer.serialize(row))?;
    writer.flush().map_err(csv::Error::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(round: usize, cipher: &str, delays: [Option<f64>; 2]) -> Sample {
        Sample {
            round,
            medium: "audio",
            cipher: cipher.to_owned(),
            delays_ms: delays.to_vec(),
            lost: 1,
            foreign: 2,
            stalls: 0,
            window: 100,
        }
    }

    #[test]
    fn a_difference_is_taken_within_a_round_and_what_did_not_come_is_in_no_figure() {
        let result = DelayResult {
            ciphers: vec![NONE.to_owned(), "xor/definition".to_owned()],
            samples: vec![
                sample(0, NONE, [Some(1.0), Some(2.0)]),
                sample(0, "xor/definition", [Some(1.5), Some(3.0)]),
                sample(1, "xor/definition", [None, Some(30.0)]),
                sample(1, NONE, [Some(10.0), Some(20.0)]),
            ],
        };
        let rows = rows(&result);
        let figures: Vec<_> = rows
            .iter()
            .map(|row| (row.packets, row.rounds, row.delay_ms, row.more_ms))
            .collect();
        assert_eq!(
            figures,
            [
                (50, 2, 5.5, 0.0),
                (100, 2, 11.0, 0.0),
                (50, 1, 1.5, 0.5),
                (100, 2, 16.5, 5.5)
            ]
        );
        assert_eq!((rows[3].more_ms_low, rows[3].more_ms_high), (1.0, 10.0));
        let notes = notes(&result);
        assert!(
            notes[0].starts_with("4 packets lost in 4 runs") && notes[1].starts_with("8 packets came"),
            "{notes:?}"
        );
    }
}
