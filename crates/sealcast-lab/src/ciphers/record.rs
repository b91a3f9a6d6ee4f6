//! The record of a measurement: all times, round by round, and the environment.

use std::path::Path;

use jiff::Timestamp;
use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::platform::machine::Machine;
use sealcast::platform::versions::LIBRARIES;
use serde::{Deserialize, Serialize};

use super::alone::{Alone, Switched};
use super::browse;
use super::code::Code;
use super::contender::Contender;
use super::cycles;
use super::energy::{self, Energy};
use super::library::VERSIONS;
use super::measure::{Cell, SetUp};
use super::method::METHOD;
use super::plan::CipherOptions;
use super::summary::{self, Line};
use super::table::{self, Row};
use super::workload::{FRAMES_NAME, Workload};

/// A measurement, as in `record.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    made: String,
    settings: Settings,
    /// Ticks of the time-stamp counter per second.
    pub(super) tsc_hz: Option<f64>,
    pub(super) counter: String,
    pub(super) energy: String,
    /// How code size was determined.
    code: String,
    /// Keys per second that a brute-force attacker tries.
    pub(super) guesses_per_second: f64,
    pub(super) method: Vec<String>,
    pub(super) contenders: Vec<Described>,
    pub(super) rounds: Vec<Round>,
    /// Computed from the rounds.
    #[serde(default, skip_deserializing)]
    pub(super) table: Vec<Row>,
    #[serde(default, skip_deserializing)]
    pub(super) ciphers: Vec<Line>,
}

/// The settings that must be equal for a measurement to be continued.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Settings {
    pub(super) version: String,
    pub(super) libraries: Vec<(String, String)>,
    pub(super) machine: serde_json::Value,
    pub(super) quick: bool,
    /// The source of the frames.
    pub(super) frames: String,
    names: Vec<String>,
    pub(super) workloads: Vec<Load>,
}

/// Description of a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Load {
    pub(super) name: String,
    /// Number of packets.
    pub(super) packets: usize,
    /// Total number of bytes.
    bytes: usize,
}

impl Load {
    /// Mean length of a packet.
    pub(super) fn mean_bytes(&self) -> f64 {
        self.bytes as f64 / self.packets as f64
    }
}

/// Description of a contender.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Described {
    pub(super) cipher: String,
    pub(super) implementation: String,
    pub(super) key_bits: usize,
    pub(super) iv_bits: usize,
    pub(super) tag_bits: usize,
    pub(super) state_bytes: Option<usize>,
    /// Bytes of this program that belong to it alone.
    pub(super) code_bytes: Option<u64>,
    /// The reason why it is not timed.
    pub(super) wrong: Option<String>,
    /// A remark that readers of its figures need.
    #[serde(default)]
    pub(super) note: Option<String>,
}

/// The results of one round.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Round {
    pub(super) load_average: String,
    pub(super) set_ups: Vec<SetUp>,
    pub(super) cells: Vec<Cell>,
    /// For each contender, in a fresh process.
    pub(super) alone: Vec<Alone>,
    /// For contenders that use special instructions of the processor.
    pub(super) switched: Vec<Switched>,
    /// For contenders measured with the meter.
    #[serde(default)]
    pub(super) energies: Vec<Energy>,
}

impl Round {
    pub(super) fn begin() -> Self {
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        Self {
            load_average: load.trim().to_owned(),
            ..Self::default()
        }
    }
}

impl Described {
    fn of(contender: &Contender, code: Option<&Code>) -> Self {
        Self {
            cipher: contender.cipher.clone(),
            implementation: contender.implementation.clone(),
            key_bits: 8 * contender.key_bytes,
            iv_bits: 8 * contender.iv_bytes,
            tag_bits: 8 * contender.tag_bytes,
            state_bytes: contender.state_bytes,
            code_bytes: contender
                .load()
                .and(code)
                .and_then(|code| code.bytes_of(&contender.cipher, &contender.implementation)),
            wrong: contender.verify().err(),
            note: contender.note.clone(),
        }
    }
}

impl Record {
    /// Checks the contenders against published values; nothing is timed yet.
    pub(super) fn begin(
        options: &CipherOptions,
        contenders: &[Contender],
        workloads: &[Workload],
        energy: &str,
    ) -> Self {
        let tsc_hz = cycles::tsc_hz();
        let code = Code::of_this_program();
        let load = |workload: &Workload| Load {
            name: workload.name.clone(),
            packets: workload.packets.len(),
            bytes: workload.bytes(),
        };
        let owned = |(name, version): &(&str, &str)| ((*name).to_owned(), (*version).to_owned());
        let own = LIBRARIES.iter().chain(&VERSIONS).map(owned);
        let foreign = contenders
            .iter()
            .filter_map(|one| Some((one.name(), one.digest.clone()?)));
        let clip = options.clip.as_ref().map(|path| path.display().to_string());
        Self {
            made: Timestamp::now().to_string(),
            settings: Settings {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                libraries: own.chain(foreign).collect(),
                machine: serde_json::to_value(Machine::detect()).unwrap_or_default(),
                quick: options.quick,
                frames: clip.unwrap_or_else(|| "test card".to_owned()),
                names: contenders.iter().map(Contender::name).collect(),
                workloads: workloads.iter().map(load).collect(),
            },
            tsc_hz,
            counter: cycles::describe(tsc_hz),
            energy: energy.to_owned(),
            method: METHOD
                .iter()
                .chain([&energy::METHOD])
                .map(|&words| words.to_owned())
                .collect(),
            code: match code {
                Some(_) => "bytes of the functions and named constants of this program that bear the cipher's name",
                None => "not known: this program is stripped of its symbols",
            }
            .to_owned(),
            guesses_per_second: options.guesses_per_second,
            contenders: contenders.iter().map(|one| Described::of(one, code.as_ref())).collect(),
            rounds: Vec::new(),
            table: Vec::new(),
            ciphers: Vec::new(),
        }
    }

    /// This measurement, or its continuation if the folder has a record of it.
    ///
    /// # Errors
    /// The folder has the record of another measurement, or one that cannot be read.
    pub(super) fn resumed(self, folder: &Path) -> Result<Self> {
        let path = folder.join("record.json");
        let Ok(text) = std::fs::read_to_string(&path) else {
            return Ok(self);
        };
        let other = |why: &str| {
            let what = format!("{} {why}", path.display());
            Failure::new(FailureKind::Sink, what, "choose another --out, or remove it")
        };
        let before: Self =
            serde_json::from_str(&text).map_err(|error| other(&format!("is no record of this command ({error})")))?;
        if before.settings != self.settings || before.energy != self.energy {
            return Err(other(
                "is of another measurement: machine, version, ciphers, clip, meter or --quick differ",
            ));
        }
        // A contender that is wrong now is reported as wrong, even if it was timed before.
        Ok(Self {
            contenders: self.contenders,
            guesses_per_second: self.guesses_per_second,
            ..before
        })
    }

    /// True if it was too slow for this workload in an earlier round.
    pub(super) fn was_left_out(&self, contender: usize, workload: usize) -> bool {
        let there = |cell: &Cell| (cell.contender, cell.workload) == (contender, workload);
        self.rounds.first().is_some_and(|round| !round.cells.iter().any(there))
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Mean length of the frames that represent a camera's video.
    pub(super) fn frame_bytes(&self) -> f64 {
        let loads = &self.settings.workloads;
        let frames = loads.iter().find(|load| load.name == FRAMES_NAME);
        frames.map_or(0.0, Load::mean_bytes)
    }

    /// Writes `record.json` atomically.
    pub(super) fn save(&self, folder: &Path) -> Result<()> {
        let failed = |error: &dyn std::fmt::Display| unwritable(folder, error);
        std::fs::create_dir_all(folder).map_err(|error| failed(&error))?;
        let full = Self {
            table: table::rows(self),
            ciphers: summary::lines(self),
            ..self.clone()
        };
        let json = serde_json::to_string_pretty(&full).map_err(|error| failed(&error))?;
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(|error| failed(&error))?;
        std::io::Write::write_all(&mut file, json.as_bytes()).map_err(|error| failed(&error))?;
        file.persist(folder.join("record.json"))
            .map_err(|error| failed(&error))?;
        Ok(())
    }

    /// The processor's instruction sets that matter to these ciphers.
    pub(super) fn features(&self) -> Vec<&str> {
        let all = self.settings.machine["cpu_features"].as_array();
        let detected = all.into_iter().flatten().filter(|feature| feature["detected"] == true);
        detected.filter_map(|feature| feature["name"].as_str()).collect()
    }

    /// The facts above the tables.
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        let machine = |field: &str| self.settings.machine[field].as_str().unwrap_or("unknown").to_owned();
        let cores = &self.settings.machine["cores"];
        let libraries = self
            .settings
            .libraries
            .iter()
            .map(|(name, version)| format!("{name} {version}"));
        let loads: Vec<&str> = self.rounds.iter().map(|round| round.load_average.as_str()).collect();
        let how = if self.settings.quick {
            "quick, for a first look"
        } else {
            "full"
        };
        vec![
            ("made", self.made.clone()),
            (
                "machine",
                format!("{}, {cores} cores, {}", machine("cpu_model"), machine("kernel")),
            ),
            (
                "versions",
                format!(
                    "sealcast {}, {}",
                    self.settings.version,
                    libraries.collect::<Vec<_>>().join(", ")
                ),
            ),
            ("cycles", self.counter.clone()),
            ("code", self.code.clone()),
            ("energy", self.energy.clone()),
            ("frames", self.settings.frames.clone()),
            ("rounds", format!("{}, {how}", self.rounds.len())),
            ("load average", loads.join("; ")),
        ]
    }
}

fn unwritable(folder: &Path, error: &dyn std::fmt::Display) -> Failure {
    let what = format!("the results cannot be written to {} ({error})", folder.display());
    Failure::new(FailureKind::Sink, what, "choose another --out, or make room")
}

/// Writes `record.json`, `table.csv`, `ciphers.csv` and `report.html`.
///
/// # Errors
/// A file cannot be written.
pub fn write(record: &Record, folder: &Path) -> Result<()> {
    record.save(folder)?;
    let failed = |error: &dyn std::fmt::Display| unwritable(folder, error);
    let rows = table::rows(record);
    table::write_csv(&folder.join("table.csv"), &rows).map_err(|error| failed(&error))?;
    let lines = summary::lines(record);
    summary::write_csv(&folder.join("ciphers.csv"), &lines).map_err(|error| failed(&error))?;
    let page = browse::page(record, &rows, &lines).map_err(|error| failed(&error))?;
    std::fs::write(folder.join("report.html"), page).map_err(|error| failed(&error))
}
