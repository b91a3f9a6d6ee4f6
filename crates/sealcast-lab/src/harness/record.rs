//! The record: a file of JSON lines. The first line says what is measured and where. Each further line is a turn,
//! appended when it is over, so that a killed run can continue.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use sealcast::failure::{Failure, FailureKind, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::definition::Definition;
use super::environment::{self, Environment};
use super::sample::Sample;
use super::turn::Turn;

/// File name in the folder of a run.
const FILE: &str = "record.jsonl";

/// The first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) made: String,
    pub(crate) definition: Definition,
    pub(crate) environment: Environment,
    /// Facts about the environment from the engine.
    pub(crate) facts: Vec<(String, String)>,
    /// Systems that cannot be measured here, with the reason.
    pub(crate) absent: Vec<(String, String)>,
}

/// A further line: the outcome of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Taken {
    #[serde(flatten)]
    pub(crate) turn: Turn,
    pub(crate) load_average: String,
    #[serde(flatten)]
    pub(crate) outcome: Outcome,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    Sample(Sample),
    /// The reason why there is no sample.
    Failure(String),
}

/// A record on disk, with its content.
pub(crate) struct Record {
    pub(crate) header: Header,
    pub(crate) taken: Vec<Taken>,
    file: File,
    path: PathBuf,
}

impl Header {
    pub(crate) fn new(definition: &Definition, facts: Vec<(String, String)>, absent: Vec<(String, String)>) -> Self {
        Self {
            made: Timestamp::now().to_string(),
            definition: definition.clone(),
            environment: Environment::detect(),
            facts,
            absent,
        }
    }

    /// The reason why a record with header `self` cannot be continued with header `now`; `None` if it can. The number
    /// of rounds may grow, and place and time may differ, but not what is measured, with which program and on which
    /// machine.
    fn obstacle(&self, now: &Self) -> Option<&'static str> {
        let measured = |header: &Self| Definition {
            rounds: 1,
            at_once: 1,
            until: None,
            within_seconds: None,
            ..header.definition.clone()
        };
        if measured(self) != measured(now) {
            return Some("another definition");
        }
        if self.environment.machine != now.environment.machine {
            return Some("another machine");
        }
        (self.environment != now.environment).then_some("other versions")
    }
}

impl Record {
    /// Continues the record in `folder`, or begins one.
    ///
    /// # Errors
    /// The folder has the record of another measurement, or files cannot be written there.
    pub(crate) fn open(folder: &Path, header: Header) -> Result<Self> {
        let path = folder.join(FILE);
        let failed = |error: &dyn std::fmt::Display| unwritable(&path, error);
        fs::create_dir_all(folder).map_err(|error| failed(&error))?;
        let text = fs::read_to_string(&path).unwrap_or_default();
        let whole = whole_lines(&text);
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(|error| failed(&error))?;
        file.set_len(whole.len() as u64).map_err(|error| failed(&error))?;
        let mut lines = whole.lines();
        let Some(first) = lines.next() else {
            put(&mut file, &header).map_err(|error| failed(&error))?;
            return Ok(Self {
                header,
                taken: Vec::new(),
                file,
                path,
            });
        };
        let known: Header = read(&path, first)?;
        if let Some(obstacle) = known.obstacle(&header) {
            let what = format!("{} is of {obstacle}", path.display());
            return Err(Failure::new(
                FailureKind::Usage,
                what,
                "choose another --out, or remove the record",
            ));
        }
        let taken = lines.map(|line| read(&path, line)).collect::<Result<Vec<Taken>>>()?;
        Ok(Self {
            header: Header {
                made: known.made,
                ..header
            },
            taken,
            file,
            path,
        })
    }

    /// Reads the record in `folder`, which stays as it is.
    ///
    /// # Errors
    /// There is none, or it is no record of this program.
    pub(crate) fn load(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        let unreadable = |error: &dyn std::fmt::Display| {
            let what = format!("{} cannot be read ({error})", path.display());
            Failure::new(FailureKind::Usage, what, "measure it first")
        };
        let file = File::open(&path).map_err(|error| unreadable(&error))?;
        let text = fs::read_to_string(&path).map_err(|error| unreadable(&error))?;
        let mut lines = whole_lines(&text).lines();
        let header = read(&path, lines.next().ok_or_else(|| unreadable(&"it is empty"))?)?;
        let taken = lines.map(|line| read(&path, line)).collect::<Result<Vec<Taken>>>()?;
        Ok(Self {
            header,
            taken,
            file,
            path,
        })
    }

    /// True if an earlier round was the last one of this system in this case.
    pub(crate) fn is_over(&self, turn: &Turn) -> bool {
        let ends = |taken: &Taken| {
            let same = (&taken.turn.case, &taken.turn.system) == (&turn.case, &turn.system);
            same && matches!(&taken.outcome, Outcome::Sample(sample) if sample.last)
        };
        self.taken.iter().any(ends)
    }

    /// True if the turn was measured successfully.
    pub(crate) fn has(&self, turn: &Turn) -> bool {
        let done = |taken: &Taken| taken.turn == *turn && matches!(taken.outcome, Outcome::Sample(_));
        self.taken.iter().any(done)
    }

    /// True if the system has failed in this case, and never succeeded.
    pub(crate) fn never_succeeded(&self, case: &str, system: &str) -> bool {
        let same = |taken: &&Taken| (taken.turn.case.as_str(), taken.turn.system.as_str()) == (case, system);
        let mut own = self.taken.iter().filter(same).peekable();
        own.peek().is_some() && own.all(|taken| matches!(taken.outcome, Outcome::Failure(_)))
    }

    /// Appends a finished turn.
    pub(crate) fn add(&mut self, turn: Turn, outcome: Outcome) -> Result<()> {
        let taken = Taken {
            turn,
            load_average: environment::load_average(),
            outcome,
        };
        put(&mut self.file, &taken).map_err(|error| unwritable(&self.path, &error))?;
        self.taken.push(taken);
        Ok(())
    }

    /// Turns that failed and have not succeeded since, with the reason.
    pub(crate) fn failures(&self) -> impl Iterator<Item = (&Turn, &str)> {
        let last = |turn: &Turn| self.taken.iter().rfind(|taken| taken.turn == *turn);
        self.taken.iter().filter_map(move |taken| match &taken.outcome {
            Outcome::Failure(why) if last(&taken.turn) == Some(taken) && !self.has(&taken.turn) => {
                Some((&taken.turn, why.as_str()))
            }
            _ => None,
        })
    }
}

/// The definition of the record in a folder; `None` if there is no record that can be read.
pub(crate) fn definition_in(folder: &Path) -> Option<Definition> {
    let mut first = String::new();
    let file = File::open(folder.join(FILE)).ok()?;
    BufReader::new(file).read_line(&mut first).ok()?;
    let header: Header = serde_json::from_str(&first).ok()?;
    Some(header.definition)
}

/// The reason why the record in a folder cannot be continued with this definition, here and now; `None` if it can, or
/// there is none.
pub(crate) fn obstacle_in(folder: &Path, definition: &Definition) -> Option<&'static str> {
    let known = Record::load(folder).ok()?.header;
    known.obstacle(&Header::new(definition, Vec::new(), Vec::new()))
}

/// The sample in the record of a single turn, by whatever build of the laboratory; the reason if there is none.
pub(crate) fn single(folder: &Path) -> std::result::Result<Sample, String> {
    let text = fs::read_to_string(folder.join(FILE)).map_err(|error| format!("it left no record ({error})"))?;
    let last = whole_lines(&text).lines().last().unwrap_or_default();
    match serde_json::from_str(last).map(|taken: Taken| taken.outcome) {
        Ok(Outcome::Sample(sample)) => Ok(sample),
        Ok(Outcome::Failure(why)) => Err(why),
        Err(error) => Err(format!("its record is not understood ({error})")),
    }
}

/// The share of a run of so many rounds that the record in a folder has; 0 if there is none.
pub(crate) fn share_done(folder: &Path, rounds: usize) -> f64 {
    let Ok(record) = Record::load(folder) else { return 0.0 };
    let done = |round: Option<usize>| {
        let counts = |taken: &&Taken| {
            matches!(taken.outcome, Outcome::Sample(_)) && round.is_none_or(|of| taken.turn.round == of)
        };
        record.taken.iter().filter(counts).count() as f64
    };
    let all = done(Some(0)) * rounds as f64;
    if all > 0.0 { (done(None) / all).min(1.0) } else { 0.0 }
}

/// The lines that end. A last one without an end was cut off when the run was killed.
fn whole_lines(text: &str) -> &str {
    &text[..text.rfind('\n').map_or(0, |end| end + 1)]
}

/// Writes one line with a single write.
fn put(file: &mut File, line: &impl Serialize) -> std::io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    file.write_all(&text)
}

fn read<T: DeserializeOwned>(path: &Path, line: &str) -> Result<T> {
    serde_json::from_str(line).map_err(|error| {
        let what = format!("{} is no record of this program ({error})", path.display());
        Failure::new(FailureKind::Usage, what, "choose another --out, or remove it")
    })
}

/// The failure if a file of the results cannot be written.
pub(crate) fn unwritable(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    let what = format!("{} cannot be written ({error})", path.display());
    Failure::new(FailureKind::Sink, what, "choose another --out, or make room")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(rounds: usize, seconds: f64) -> Header {
        let text = format!(
            "experiment = \"e\"\ntitle = \"t\"\nasks = \"a\"\ndisproved_by = \"d\"\nrounds = {rounds}\n\
             seconds = {seconds}\n[[case]]\nname = \"c\"\nrate = 2.5\n[[system]]\nname = \"s\"\n"
        );
        Header::new(&Definition::parse(&text).expect("it is right"), Vec::new(), Vec::new())
    }

    fn turn(round: usize) -> Turn {
        Turn {
            round,
            case: "c".to_owned(),
            system: "s".to_owned(),
        }
    }

    #[test]
    fn a_record_that_was_cut_off_goes_on_after_its_last_whole_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let sample = Sample::default()
            .with("p50_us", 0.1 + 0.2)
            .with_series("good", vec![1.0 / 3.0]);
        let mut record = Record::open(folder.path(), header(1, 2.5)).expect("new");
        record.add(turn(0), Outcome::Sample(sample.clone())).expect("written");
        record
            .add(turn(1), Outcome::Failure("no route".to_owned()))
            .expect("written");
        let path = folder.path().join(FILE);
        let text = fs::read_to_string(&path).expect("it is there");
        fs::write(&path, text.clone() + "{\"round\":2,\"ca").expect("written");

        // A run with more rounds continues the same measurement.
        let mut record = Record::open(folder.path(), header(3, 2.5)).expect("it goes on");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), text);
        assert_eq!(
            record.taken[0].outcome,
            Outcome::Sample(sample.clone()),
            "to the last digit"
        );
        assert!(record.has(&turn(0)) && !record.has(&turn(1)) && !record.has(&turn(2)));
        assert_eq!(record.failures().map(|(_, why)| why).collect::<Vec<_>>(), ["no route"]);
        record.add(turn(1), Outcome::Sample(sample)).expect("written");
        assert_eq!(record.failures().count(), 0);
    }

    #[test]
    fn a_record_of_another_definition_or_machine_is_refused_in_words() {
        let folder = tempfile::tempdir().expect("a folder");
        drop(Record::open(folder.path(), header(1, 2.0)).expect("new"));
        let refused = |header| Record::open(folder.path(), header).err().expect("another").what;
        assert!(refused(header(1, 3.0)).contains("another definition"));
        let mut elsewhere = header(1, 2.0);
        elsewhere.environment.machine = "a toaster".into();
        assert!(refused(elsewhere).contains("another machine"));
        let mut later = header(1, 2.0);
        later.environment.version = "9".to_owned();
        assert!(refused(later).contains("other versions"));
        fs::write(folder.path().join(FILE), "hello\n").expect("written");
        assert!(refused(header(1, 2.0)).contains("no record of this program"));
    }
}
