//! Evidence of what was measured: the records below a folder, one for each experiment.

use std::fs;
use std::path::{Path, PathBuf};

use sealcast::failure::{Failure, FailureKind, Result};

use super::data::{Library, Needed};
use crate::experiments;
use crate::harness::definition::Quick;
use crate::harness::record::unwritable;
use crate::harness::{self, Definition, Results};

/// The file in an experiment's folder that says why it could not be measured.
const FAILURE: &str = "failure.txt";

/// The records of all experiments.
pub(crate) struct Evidence {
    /// The folder that they are below.
    pub(crate) out: PathBuf,
    pub(crate) all: Vec<Measured>,
}

/// An experiment and its record.
pub(crate) struct Measured {
    pub(crate) needed: Needed,
    /// `None` without a record.
    pub(crate) results: Option<Results>,
    /// Reason why it could not be measured, or not to its end.
    pub(crate) failure: Option<String>,
}

/// The folder of an experiment.
pub(crate) fn folder(out: &Path, experiment: &str) -> PathBuf {
    out.join(experiment)
}

/// Notes why an experiment could not be measured, or that it was.
pub(crate) fn note(folder: &Path, failure: Option<&Failure>) -> Result<()> {
    let path = folder.join(FAILURE);
    let noted = match failure {
        Some(failure) => fs::create_dir_all(folder).and_then(|()| fs::write(&path, format!("{failure}\n"))),
        None => match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        },
    };
    noted.map_err(|error| unwritable(&path, &error))
}

impl Evidence {
    /// Reads the records that are below `out`.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn read(library: &Library, out: &Path) -> Result<Self> {
        let all: Vec<Measured> = library
            .experiments
            .iter()
            .map(|needed| Measured::read(needed, out))
            .collect();
        if all
            .iter()
            .all(|measured| measured.results.is_none() && measured.failure.is_none())
        {
            let what = format!("{} has no record of an experiment of the papers", out.display());
            return Err(Failure::new(
                FailureKind::Usage,
                what,
                "leave out --rebuild, or name another --out",
            ));
        }
        Ok(Self {
            out: out.to_owned(),
            all,
        })
    }

    pub(crate) fn of(&self, experiment: &str) -> Option<&Measured> {
        self.all.iter().find(|measured| measured.needed.name == experiment)
    }

    pub(crate) fn results(&self, experiment: &str) -> Option<&Results> {
        self.of(experiment)?.results.as_ref()
    }
}

#[cfg(test)]
impl Measured {
    /// Results as of a record.
    pub(super) fn made(name: &str, results: Results) -> Self {
        Self {
            needed: Needed {
                name: name.to_owned(),
                only: vec!["udp".to_owned()],
            },
            results: Some(results),
            failure: None,
        }
    }
}

impl Measured {
    fn read(needed: &Needed, out: &Path) -> Self {
        let folder = folder(out, &needed.name);
        let mut failure = fs::read_to_string(folder.join(FAILURE)).ok();
        let mut results = None;
        if folder.join("record.jsonl").exists() {
            let experiment = experiments::by_name(&needed.name);
            match experiment.and_then(|experiment| Results::load(experiment, &folder)) {
                Ok(read) => results = Some(read),
                Err(error) => failure = Some(error.to_string()),
            }
        }
        Self {
            needed: needed.clone(),
            results,
            failure: failure.map(|words| words.trim().to_owned()),
        }
    }

    /// Writes its report and tables beside its record.
    pub(super) fn write(&self, out: &Path) -> Result<()> {
        let Some(results) = &self.results else { return Ok(()) };
        let method = experiments::by_name(&self.needed.name)?.method(&results.definition)?;
        harness::write(results, &method, &folder(out, &self.needed.name))
    }

    /// True if fewer rounds were measured than asked for.
    pub(super) fn is_unfinished(&self) -> bool {
        let is_short = |results: &Results| results.rounds() < results.definition.rounds;
        self.results.as_ref().is_some_and(is_short)
    }

    /// The number of rounds in words.
    pub(super) fn rounds(&self, results: &Results) -> String {
        let unfinished = if self.is_unfinished() { "unfinished, " } else { "" };
        format!(
            "{unfinished}{} of {} rounds",
            results.rounds(),
            results.definition.rounds
        )
    }

    /// True if it was reduced by `--quick`, which leaves nothing to reduce.
    pub(crate) fn is_quick(&self) -> bool {
        let is_reduced = |definition: &Definition| definition.quick == Quick::default();
        self.results
            .as_ref()
            .is_some_and(|results| is_reduced(&results.definition))
    }
}
