//! The record of a run, and its files.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::platform::machine::Machine;
use sealcast::platform::versions::LIBRARIES;
use serde::Serialize;
use serde_json::json;

use super::figures::Middle;
use super::{Carrier, DATAGRAM, Figures, Plan};
use crate::harness::environment;

/// All data of a run.
#[derive(Clone, Debug)]
pub struct Record {
    plan: Plan,
    /// The contenders that were measured.
    pub figures: Vec<Figures>,
    /// Contenders that were missing in a round, with the reason.
    pub missing: Vec<String>,
}

/// One line of the table.
#[derive(Serialize)]
struct Row<'a> {
    carrier: String,
    name: &'a str,
    counted: &'a str,
    rounds: usize,
    gbit_per_second: Middle,
    gbit_per_core: Middle,
    loss: Middle,
}

impl Record {
    pub(super) fn new(plan: &Plan, figures: Vec<Figures>, missing: Vec<String>) -> Self {
        Self {
            plan: plan.clone(),
            figures,
            missing,
        }
    }

    fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.figures.iter().map(|figures| Row {
            carrier: figures.carrier.to_string(),
            name: &figures.name,
            counted: figures.counted,
            rounds: figures.samples.len(),
            gbit_per_second: figures.rate(),
            gbit_per_core: figures.per_core(),
            loss: figures.loss(),
        })
    }

    /// Ratio of our throughput to each peer's, per second of processor time.
    fn ratios(&self) -> Vec<(&str, &str, f64)> {
        let ours = self
            .figures
            .iter()
            .filter(|figures| figures.name.starts_with("sealcast"));
        let both = ours.flat_map(|ours| {
            let peers = self
                .figures
                .iter()
                .filter(move |peer| peer.carrier == ours.carrier && !peer.name.starts_with("sealcast"));
            peers.map(move |peer| {
                let ratio = ours.per_core().median / peer.per_core().median;
                (ours.name.as_str(), peer.name.as_str(), ratio)
            })
        });
        both.collect()
    }

    /// The table for readers.
    pub fn table(&self) -> String {
        let mut text = format!(
            "{} rounds of {} ms; UDP in datagrams of {DATAGRAM} bytes; medians, and the least and the most\n",
            self.plan.rounds,
            self.plan.time.as_millis()
        );
        text.push_str("|      | what | Gbit/s | Gbit/s per core | least to most | lost % | processor time of |\n");
        text.push_str("|------|------|--------|-----------------|---------------|--------|-------------------|\n");
        for row in self.rows() {
            let (rate, core, loss) = (row.gbit_per_second.median, row.gbit_per_core, row.loss.median * 100.0);
            let lost = if row.carrier == Carrier::Tcp.to_string() {
                String::new()
            } else {
                format!("{loss:.3}")
            };
            let _ = writeln!(
                text,
                "| {} | {} | {rate:.2} | {:.2} | {:.2} to {:.2} | {lost} | {} |",
                row.carrier, row.name, core.median, core.least, core.most, row.counted
            );
        }
        for (ours, peer, ratio) in self.ratios() {
            let _ = writeln!(text, "{ours}: {ratio:.2} times {peer}");
        }
        for missing in &self.missing {
            let _ = writeln!(text, "not measured: {missing}");
        }
        let _ = writeln!(text, "TCP congestion control: {}", environment::congestion_control());
        text
    }

    fn json(&self) -> serde_json::Value {
        let samples = self
            .figures
            .iter()
            .map(|figures| json!({"name": figures.name, "samples": figures.samples}));
        let ratios = self.ratios();
        let ratios = ratios
            .iter()
            .map(|(ours, peer, ratio)| json!({"ours": ours, "peer": peer, "ratio": ratio}));
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "machine": Machine::detect(),
            "libraries": LIBRARIES.iter().copied().collect::<std::collections::BTreeMap<_, _>>(),
            "tcp_congestion_control": environment::congestion_control(),
            "load_average": environment::load_average(),
            "datagram_bytes": DATAGRAM,
            "rounds": self.plan.rounds,
            "milliseconds": self.plan.time.as_millis() as u64,
            "rows": self.rows().collect::<Vec<_>>(),
            "ratios": ratios.collect::<Vec<_>>(),
            "not_measured": self.missing,
            "samples": samples.collect::<Vec<_>>(),
        })
    }

    fn csv(&self) -> std::result::Result<Vec<u8>, csv::Error> {
        let mut out = csv::Writer::from_writer(Vec::new());
        out.write_record([
            "carrier",
            "name",
            "counted",
            "rounds",
            "gbit_per_second",
            "gbit_per_core",
            "gbit_per_core_least",
            "gbit_per_core_most",
            "loss",
        ])?;
        for row in self.rows() {
            let core = row.gbit_per_core;
            let numbers = [
                row.gbit_per_second.median,
                core.median,
                core.least,
                core.most,
                row.loss.median,
            ];
            let numbers = numbers.map(|number| format!("{number:.6}"));
            let rounds = row.rounds.to_string();
            let words = [row.carrier.as_str(), row.name, row.counted, &rounds];
            out.write_record(words.into_iter().chain(numbers.iter().map(String::as_str)))?;
        }
        out.into_inner().map_err(|error| error.into_error().into())
    }
}

/// Writes `record.json` and `table.csv` into a folder, which is created if needed.
///
/// # Errors
/// A file cannot be written.
pub fn write(record: &Record, folder: &Path) -> Result<()> {
    let unwritable = |error: &dyn std::fmt::Display| {
        let what = format!("the record cannot be written to {} ({error})", folder.display());
        Failure::new(FailureKind::Sink, what, "choose another --out")
    };
    fs::create_dir_all(folder).map_err(|error| unwritable(&error))?;
    let table = record.csv().map_err(|error| unwritable(&error))?;
    let text = serde_json::to_string_pretty(&record.json()).map_err(|error| unwritable(&error))?;
    for (name, bytes) in [("record.json", text.into_bytes()), ("table.csv", table)] {
        fs::write(folder.join(name), bytes).map_err(|error| unwritable(&error))?;
    }
    Ok(())
}
