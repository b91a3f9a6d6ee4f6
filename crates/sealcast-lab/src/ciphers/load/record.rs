//! The record of a measurement, and its files.

use std::path::Path;

use jiff::Timestamp;
use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::platform::machine::Machine;
use sealcast::platform::versions::LIBRARIES;
use serde::Serialize;

use super::browse;
use super::pipeline::Frames;
use super::plan::{Held, LoadOptions};
use super::table::{self, Row};
use crate::ciphers::contender::Contender;
use crate::ciphers::library::VERSIONS;

/// Description of the method, for the report.
const METHOD: &[&str] = &[
    "A frame is taken from memory (I420), its luma blurred (3x3 Gaussian kernel) where a filter is asked for, cut \
     into packets of 1200 bytes, enciphered under an IV for each packet, the whole frame at once, and handed to the \
     sink; all on one thread, which goes before others where the system allows it. udp: one system call for each \
     packet, to a socket on the loopback interface that another thread empties. memory: one more copy.",
    "Frames are due at even times. One is late if it is not done when the next is due; a late one delays those behind \
     it. A rate holds if at most one frame in a hundred is late, in 2 s (0.25 s with --quick).",
    "The rate is doubled until it does not hold, then the geometric mean of the highest that held and the lowest that \
     did not is tried, until they are 5 % apart: the former is the figure. It begins \
     at half the rate that the time of one frame allows.",
    "Everybody takes a turn in each round, without and with the filter, in the next one in the opposite order. \
     Figures are medians over rounds; intervals are 95 %, bootstrap over rounds. Of one round there is none.",
    "Each implementation is held to published values before. Unless some are named, of each cipher that one takes \
     part that enciphers a frame fastest here.",
];

/// A measurement, as in `record.json`.
#[derive(Clone, Debug, Serialize)]
pub struct LoadRecord {
    made: String,
    version: String,
    libraries: Vec<(&'static str, &'static str)>,
    machine: Machine,
    frames: String,
    pub(super) frame_bytes: usize,
    pub(super) sink: &'static str,
    quick: bool,
    held_seconds: f64,
    method: &'static [&'static str],
    pub(super) contenders: Vec<(String, String)>,
    /// Contenders that did not reproduce published values and were not measured.
    pub(super) wrong: Vec<String>,
    load_averages: Vec<String>,
    pub(super) rounds: Vec<Vec<Held>>,
    /// Computed from the rounds.
    table: Vec<Row>,
}

impl LoadRecord {
    pub(super) fn begin(options: &LoadOptions, frames: &Frames, contenders: &[Contender], wrong: Vec<String>) -> Self {
        let clip = options.clip.as_ref().map(|path| path.display().to_string());
        let from = clip.unwrap_or_else(|| "test card".to_owned());
        Self {
            made: Timestamp::now().to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            libraries: LIBRARIES.iter().chain(&VERSIONS).copied().collect(),
            machine: Machine::detect(),
            frames: format!("{from}, {}x{}, {} bytes", frames.width, frames.height, frames.bytes()),
            frame_bytes: frames.bytes(),
            sink: options.sink.name(),
            quick: options.quick,
            held_seconds: options.held().as_secs_f64(),
            method: METHOD,
            contenders: contenders
                .iter()
                .map(|one| (one.cipher.clone(), one.implementation.clone()))
                .collect(),
            wrong,
            load_averages: Vec::new(),
            rounds: Vec::new(),
            table: Vec::new(),
        }
    }

    /// Adds a finished round.
    pub(super) fn add(&mut self, round: Vec<Held>) {
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        self.load_averages.push(load.trim().to_owned());
        self.rounds.push(round);
        self.table = table::rows(self);
    }

    pub(super) fn rows(&self) -> &[Row] {
        &self.table
    }

    pub(super) fn method(&self) -> &[&str] {
        self.method
    }

    /// The facts above the tables.
    pub(super) fn facts(&self) -> [(&'static str, String); 7] {
        let Machine {
            cpu_model,
            cores,
            kernel,
            ..
        } = &self.machine;
        let quick = if self.quick { ", quick, for a first look" } else { "" };
        [
            ("made", self.made.clone()),
            ("machine", format!("{cpu_model}, {cores} cores, {kernel}")),
            ("sealcast", self.version.clone()),
            ("frames", self.frames.clone()),
            ("sink", self.sink.to_owned()),
            (
                "rounds",
                format!("{} of {} s a rate{quick}", self.rounds.len(), self.held_seconds),
            ),
            ("load average", self.load_averages.join("; ")),
        ]
    }
}

/// Writes `record.json`, `table.csv` and `report.html` into a folder, which is created if needed.
///
/// # Errors
/// A file cannot be written.
pub fn write(record: &LoadRecord, folder: &Path) -> Result<()> {
    let failed = |error: &dyn std::fmt::Display| {
        let what = format!("the results cannot be written to {} ({error})", folder.display());
        Failure::new(FailureKind::Sink, what, "choose another --out, or make room")
    };
    std::fs::create_dir_all(folder).map_err(|error| failed(&error))?;
    let json = serde_json::to_string_pretty(record).map_err(|error| failed(&error))?;
    std::fs::write(folder.join("record.json"), json + "\n").map_err(|error| failed(&error))?;
    table::write_csv(&folder.join("table.csv"), record.rows()).map_err(|error| failed(&error))?;
    let page = browse::page(record).map_err(|error| failed(&error))?;
    std::fs::write(folder.join("report.html"), page).map_err(|error| failed(&error))
}
