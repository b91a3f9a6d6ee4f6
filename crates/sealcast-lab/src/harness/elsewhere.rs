//! Systems that are measured inside the laboratory's process, of another build: its laboratory runs the turn, as a
//! process of its own, and leaves a record.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};

use super::definition::{Definition, Entry};
use super::experiment::Engine;
use super::process::{Program, Stop, last_words, new_copy};
use super::record;
use super::sample::Sample;
use super::turn::Turn;

/// Time that a turn may take beside its own seconds: setting up, and warming up.
const PATIENCE: Duration = Duration::from_secs(120);
/// The definition that the other laboratory measures, in the folder of a turn.
const FILE: &str = "turn.toml";

/// An engine that leaves some systems to other laboratories.
pub(crate) struct Elsewhere<'a> {
    pub(crate) definition: &'a Definition,
    pub(crate) engine: &'a dyn Engine,
}

impl Engine for Elsewhere<'_> {
    fn suits(&self, case: &Entry, system: &Entry) -> bool {
        self.engine.suits(case, system)
    }

    fn measure(&self, turn: &Turn, seconds: f64, stop: Stop<'_>) -> Result<Sample> {
        match self.definition.laboratories.get(&turn.system) {
            None => self.engine.measure(turn, seconds, stop),
            Some(laboratory) => self.ask(laboratory, turn, seconds, stop),
        }
    }
}

impl Elsewhere<'_> {
    fn ask(&self, laboratory: &Path, turn: &Turn, seconds: f64, stop: Stop<'_>) -> Result<Sample> {
        let unusable = |error: &dyn std::fmt::Display| {
            let what = format!("there is no room for temporary files ({error})");
            Failure::new(FailureKind::Sink, what, "set TMPDIR")
        };
        let scratch = tempfile::tempdir().map_err(|error| unusable(&error))?;
        let text = toml::to_string(&self.one(turn)).map_err(|error| unusable(&error))?;
        let file = scratch.path().join(FILE);
        std::fs::write(&file, text).map_err(|error| unusable(&error))?;
        let mut command = Command::new(new_copy(laboratory, scratch.path())?);
        command.arg("run").arg(&file).arg("--out").arg(scratch.path());
        let log = scratch.path().join("laboratory.txt");
        let mut program = Program::start("the laboratory", command, &log)?;
        let ended = program.ended(PATIENCE + Duration::from_secs_f64(seconds), stop);
        let sample = ended.and_then(|()| {
            let not_told = |why| Failure::new(FailureKind::Network, why, "see what it can measure");
            record::single(scratch.path()).map_err(not_told)
        });
        sample.map_err(|failure| Failure {
            what: format!(
                "{}: {}{}",
                laboratory.display(),
                failure.what,
                last_words(scratch.path())
            ),
            ..failure
        })
    }

    /// The definition with this turn alone, without what earlier laboratories do not know.
    fn one(&self, turn: &Turn) -> Definition {
        let keep = |entries: &[Entry], name: &str| -> Vec<Entry> {
            entries.iter().filter(|entry| entry.name == name).cloned().collect()
        };
        let whole = self.definition;
        Definition {
            rounds: 1,
            at_once: 1,
            cases: keep(&whole.cases, &turn.case),
            systems: keep(&whole.systems, &turn.system),
            subject: turn.system.clone(),
            rivals: Vec::new(),
            baseline: String::new(),
            against: Vec::new(),
            laboratories: Default::default(),
            until: None,
            within_seconds: None,
            controls: Vec::new(),
            targets: Vec::new(),
            published: Vec::new(),
            terminal_cases: Vec::new(),
            ..whole.clone()
        }
    }
}
