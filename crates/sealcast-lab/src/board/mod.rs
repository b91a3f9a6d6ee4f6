//! A board in one file: what a machine does with ciphers, handshakes and a stream, to be kept and compared with others.

mod compare;

use std::path::Path;

use sealcast::failure::{Failure, FailureKind, Result};
use serde::{Deserialize, Serialize};

pub(crate) use compare::compared;

use crate::harness::environment::Environment;
use crate::harness::{self, Definition, Estimate, Results};

/// Definition of the measurement.
const PARTS: &str = include_str!("../../definitions/board.toml");
/// Version of the file.
const FORMAT: u32 = 1;
/// Maximum size of a file in bytes; a longer one is surely something else.
const MAX_FILE: u64 = 16 << 20;

/// An experiment, with what of it is measured and kept.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) experiment: String,
    pub(crate) only: Vec<String>,
    pub(crate) rounds: usize,
    columns: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    #[serde(rename = "part")]
    parts: Vec<Part>,
}

/// The parts that are measured.
pub(crate) fn parts() -> Result<Vec<Part>> {
    let parts: std::result::Result<Parts, _> = toml::from_str(PARTS);
    parts.map(|parts| parts.parts).map_err(|error| {
        let what = format!("the list of what is measured is not understood ({error})");
        Failure::new(FailureKind::Internal, what, "please report this")
    })
}

impl Part {
    /// Has a definition measure this part.
    pub(crate) fn narrow(&self, definition: &mut Definition) -> Result<()> {
        definition.takes_seconds *= self.rounds as f64 / definition.rounds.max(1) as f64;
        definition.rounds = self.rounds;
        definition.only(&self.only)
    }
}

/// A board: the machine, and its figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Board {
    format: u32,
    pub(crate) environment: Environment,
    /// The load average when it was measured.
    pub(crate) load: String,
    figures: Vec<Figure>,
    /// Figures that could not be measured, with the reason.
    pub(crate) missing: Vec<String>,
}

/// One figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Figure {
    part: String,
    case: String,
    system: String,
    /// The column's name in `table.csv`, its heading and its unit.
    key: String,
    title: String,
    unit: String,
    /// The median over rounds, with the ends of its 95 % interval.
    value: Estimate,
    rounds: usize,
}

impl Board {
    /// This machine, without a figure.
    pub(crate) fn here() -> Self {
        Self {
            format: FORMAT,
            environment: Environment::detect(),
            load: harness::environment::load_average(),
            figures: Vec::new(),
            missing: Vec::new(),
        }
    }

    /// Adds the figures of a part.
    pub(crate) fn add(&mut self, part: &Part, results: &Results) {
        for row in results.rows.iter().filter(|row| !row.samples.is_empty()) {
            let figures = results.columns.iter().zip(&row.figures);
            for (column, value) in figures.filter(|(column, _)| part.columns.iter().any(|key| key == column.key)) {
                let Some(value) = value else { continue };
                self.figures.push(Figure {
                    part: part.name.clone(),
                    case: row.case.name.clone(),
                    system: row.system.name.clone(),
                    key: column.key.to_owned(),
                    title: column.title.to_owned(),
                    unit: column.unit.to_owned(),
                    value: value.times(column.scale),
                    rounds: row.samples.len(),
                });
            }
        }
        let missing = results.missing.iter().map(|why| format!("{}: {why}", part.name));
        self.missing.extend(missing);
    }

    /// Number of figures.
    pub(crate) fn len(&self) -> usize {
        self.figures.len()
    }

    /// Writes the file.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn write(&self, file: &Path) -> Result<()> {
        let written = serde_json::to_string_pretty(self)
            .map_err(std::io::Error::from)
            .and_then(|text| std::fs::write(file, text + "\n"));
        written.map_err(|error| harness::unwritable(file, &error))
    }

    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or is none of `sealcast-lab board`.
    pub(crate) fn read(file: &Path) -> Result<Self> {
        let refused = |why: &dyn std::fmt::Display| {
            let what = format!("{} is no file of `sealcast-lab board` ({why})", file.display());
            Failure::new(
                FailureKind::Usage,
                what,
                "measure one with: sealcast-lab board --out FILE",
            )
        };
        let length = std::fs::metadata(file).map_err(|error| refused(&error))?.len();
        if length > MAX_FILE {
            return Err(refused(&"it is longer than 16 MiB"));
        }
        let text = std::fs::read_to_string(file).map_err(|error| refused(&error))?;
        let board: Self = serde_json::from_str(&text).map_err(|error| refused(&error))?;
        match board.format {
            FORMAT => Ok(board),
            other => Err(refused(&format_args!("it has format {other}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments;

    #[test]
    fn every_part_names_cases_systems_and_columns_that_there_are() {
        let mut seconds = 0.0;
        for part in parts().expect("it is right") {
            let experiment = experiments::by_name(&part.experiment).expect("known");
            let mut definition = Definition::parse(experiment.definition).expect("it is right");
            experiment
                .complete(&mut definition, &harness::Asked::default())
                .expect("complete");
            definition.quicken();
            part.narrow(&mut definition).expect("known names");
            assert!(!definition.cases.is_empty() && definition.rounds >= 7, "{part:?}");
            seconds += definition.takes_seconds;
            let columns = (experiment.columns)();
            for key in &part.columns {
                assert!(columns.iter().any(|column| column.key == key), "{}: {key}", part.name);
            }
        }
        assert!((60.0..=420.0).contains(&seconds), "about five minutes: {seconds} s");
    }

    #[test]
    fn a_file_is_read_as_it_was_written_and_another_is_refused_by_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("board.json");
        let mut board = Board::here();
        board.figures.push(compare::tests::figure("trivium", 1.0, 0.9, 1.1));
        board.write(&file).expect("written");
        assert_eq!(Board::read(&file).expect("the same"), board);
        board.format = 2;
        board.write(&file).expect("written");
        let told = Board::read(&file).expect_err("another format").to_string();
        assert!(told.contains("board.json") && told.contains("format 2"), "{told}");
        std::fs::write(&file, "{}").expect("written");
        assert!(Board::read(&file).is_err());
        assert!(Board::read(&folder.path().join("none")).is_err());
    }
}
