//! Figures computed from the rounds of a record.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;

use super::measure::{Cell, SetUp, Timed};
use super::record::Record;
use crate::harness::statistics::{Estimate, interval, median};

/// A line of `table.csv`: a contender on a workload. Intervals are 95 %.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    pub(super) cipher: String,
    pub(super) implementation: String,
    pub(super) key_bits: usize,
    pub(super) iv_bits: usize,
    pub(super) tag_bits: usize,
    pub(super) state_bytes: Option<usize>,
    pub(super) workload: String,
    /// Mean length of the workload's packets.
    pub(super) packet_bytes: f64,
    /// Number of packets enciphered at once.
    pub(super) at_once: usize,
    pub(super) rounds: usize,
    /// Throughput of enciphering, in millions of bytes per second.
    pub(super) mb_per_s: f64,
    pub(super) mb_per_s_low: f64,
    pub(super) mb_per_s_high: f64,
    pub(super) open_mb_per_s: f64,
    /// For enciphering, baseline subtracted.
    pub(super) cycles_per_byte: Option<f64>,
    pub(super) cycles_per_byte_low: Option<f64>,
    pub(super) cycles_per_byte_high: Option<f64>,
    /// The same loop with a cipher that does nothing.
    pub(super) baseline_cycles_per_byte: Option<f64>,
    /// Packets or frames enciphered per second.
    pub(super) packets_per_s: f64,
    pub(super) key_ns: f64,
    pub(super) iv_ns: Option<f64>,
    /// Time to encipher one packet, IV included.
    pub(super) seal_ns: f64,
    pub(super) open_ns: f64,
}

/// All lines, ordered by workload and then by contender.
pub(super) fn rows(record: &Record) -> Vec<Row> {
    let workloads = 0..record.settings().workloads.len();
    let pairs = workloads.flat_map(|workload| (0..record.contenders.len()).map(move |contender| (contender, workload)));
    pairs
        .filter_map(|(contender, workload)| row(record, contender, workload))
        .collect()
}

/// `None` if nothing was timed.
fn row(record: &Record, contender: usize, workload: usize) -> Option<Row> {
    let described = &record.contenders[contender];
    let load = &record.settings().workloads[workload];
    let here = |cell: &&Cell| (cell.contender, cell.workload) == (contender, workload);
    let timed: Vec<(&SetUp, &Cell)> = record
        .rounds
        .iter()
        .filter_map(|round| {
            let set_up = round.set_ups.iter().find(|set_up| set_up.contender == contender)?;
            Some((set_up, round.cells.iter().find(here)?))
        })
        .collect();
    if timed.is_empty() || described.wrong.is_some() {
        return None;
    }
    let of = |figure: &dyn Fn(&SetUp, &Cell) -> f64| -> Vec<f64> {
        timed.iter().map(|(set_up, cell)| figure(set_up, cell)).collect()
    };
    let middle = |figure: &dyn Fn(&SetUp, &Cell) -> f64| median(&mut of(figure));
    let seal = |cell: &Cell| cell.timed.seal_ns / cell.timed.bytes as f64;
    let each_ns = |cell: &Cell, ns: f64| ns / cell.timed.bytes as f64 * load.mean_bytes();
    let ns_per_byte = middle(&|_, cell| seal(cell));
    let (least, most) = interval(&of(&|_, cell| seal(cell)), median);
    let cycles = |ns: fn(&Timed) -> f64| {
        let each = timed
            .iter()
            .filter_map(|(_, cell)| cell.timed.cycles_per_byte(ns, record.tsc_hz));
        Estimate::of(&each.collect::<Vec<_>>())
    };
    let net = cycles(|timed| timed.seal_ns - timed.baseline_ns);
    let ivs: Option<Vec<f64>> = timed.iter().map(|(set_up, _)| set_up.iv_ns).collect();
    Some(Row {
        cipher: described.cipher.clone(),
        implementation: described.implementation.clone(),
        key_bits: described.key_bits,
        iv_bits: described.iv_bits,
        tag_bits: described.tag_bits,
        state_bytes: described.state_bytes,
        workload: load.name.clone(),
        packet_bytes: load.mean_bytes(),
        at_once: timed.iter().map(|(_, cell)| cell.timed.packets).max().unwrap_or(0),
        rounds: timed.len(),
        mb_per_s: 1e3 / ns_per_byte,
        mb_per_s_low: 1e3 / most,
        mb_per_s_high: 1e3 / least,
        open_mb_per_s: 1e3 / middle(&|_, cell| cell.timed.open_ns / cell.timed.bytes as f64),
        cycles_per_byte: net.map(|net| net.median),
        cycles_per_byte_low: net.map(|net| net.low),
        cycles_per_byte_high: net.map(|net| net.high),
        baseline_cycles_per_byte: cycles(|timed| timed.baseline_ns).map(|baseline| baseline.median),
        packets_per_s: 1e9 / (ns_per_byte * load.mean_bytes()),
        key_ns: middle(&|set_up, _| set_up.key_ns),
        iv_ns: ivs.map(|mut ivs| median(&mut ivs)),
        seal_ns: middle(&|_, cell| each_ns(cell, cell.timed.seal_ns)),
        open_ns: middle(&|_, cell| each_ns(cell, cell.timed.open_ns)),
    })
}

/// Headings of the columns.
pub(super) const COLUMNS: [&str; 10] = [
    "cipher",
    "implementation",
    "MB/s",
    "95 %",
    "deciphering, MB/s",
    "cycles/byte",
    "of the loop",
    "packets or frames/s",
    "key, ns",
    "IV, ns",
];

/// The cells of one line, for the columns in [`COLUMNS`].
pub(super) fn cells(row: &Row) -> [String; 10] {
    let or_none = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    [
        row.cipher.clone(),
        row.implementation.clone(),
        short(row.mb_per_s),
        format!("{} to {}", short(row.mb_per_s_low), short(row.mb_per_s_high)),
        short(row.open_mb_per_s),
        or_none(row.cycles_per_byte.map(short)),
        or_none(row.baseline_cycles_per_byte.map(short)),
        short(row.packets_per_s),
        short(row.key_ns),
        or_none(row.iv_ns.map(short)),
    ]
}

/// Three significant digits, or all digits before the point.
pub(super) fn short(value: f64) -> String {
    let before_point = value.abs().max(1e-9).log10().floor() as i32 + 1;
    format!("{value:.*}", (3 - before_point).clamp(0, 4) as usize)
}

/// The table of 1200-byte packets for a terminal, as Markdown, with notes on wrong contenders.
pub fn terminal(record: &Record) -> String {
    let all = rows(record);
    let shown: Vec<[String; 10]> = all.iter().filter(|row| row.workload == SHOWN).map(cells).collect();
    let lines = || std::iter::once(COLUMNS.map(str::to_owned)).chain(shown.iter().cloned());
    let widths: Vec<usize> = (0..COLUMNS.len())
        .map(|column| lines().map(|line| line[column].chars().count()).max().unwrap_or(0))
        .collect();
    let mut text = format!("{SHOWN} a packet, {} rounds; {}\n", record.rounds.len(), record.counter);
    for (index, line) in lines().enumerate() {
        for (cell, width) in line.iter().zip(&widths) {
            let _ = write!(text, "| {cell:width$} ");
        }
        text.push_str("|\n");
        if index == 0 {
            widths
                .iter()
                .for_each(|width| text.push_str(&format!("|{}", "-".repeat(width + 2))));
            text.push_str("|\n");
        }
    }
    for wrong in wrong(record) {
        let _ = writeln!(text, "WRONG, not timed: {wrong}");
    }
    for note in notes(record) {
        let _ = writeln!(text, "note: {note}");
    }
    let _ = writeln!(text, "energy: {}", record.energy);
    text
}

/// The workload that terminals and charts show.
pub(super) const SHOWN: &str = "1200 bytes";

/// The wrong contenders, with the reason.
pub(super) fn wrong(record: &Record) -> impl Iterator<Item = String> {
    record.contenders.iter().filter_map(|one| {
        let why = one.wrong.as_ref()?;
        Some(format!("{}/{}: {why}", one.cipher, one.implementation))
    })
}

/// Remarks that readers of the figures need.
pub(super) fn notes(record: &Record) -> impl Iterator<Item = String> {
    let timed = record.contenders.iter().filter(|one| one.wrong.is_none());
    timed.filter_map(|one| Some(format!("{}/{}: {}", one.cipher, one.implementation, one.note.as_ref()?)))
}

pub(super) fn write_csv(path: &Path, rows: &[Row]) -> csv::Result<()> {
    let mut writer = csv::Writer::from_path(path)?;
    rows.iter().try_for_each(|row| writer.serialize(row))?;
    writer.flush().map_err(csv::Error::from)
}
