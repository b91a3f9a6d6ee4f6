//! One measurement: a stream between two programs, and what their logs say of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind, Result};
use serde::Deserialize;

use crate::harness::process::{Program, Stop, last_words, own_program, pause};
use crate::harness::{Definition, Engine, Opened, Place, Sample, Turn};
use crate::report::Report;

/// Time limit for programs to start, to find each other, and to end.
const PATIENCE: Duration = Duration::from_secs(60);
/// Beginning of the line with the ticket.
const TICKET: &str = "sealcast://";
/// How often the viewer's log is looked at until frames arrive.
const LOOK: Duration = Duration::from_millis(50);
/// The viewer's log of frames.
const FRAMES: &str = "frames_latency.csv";

/// What is streamed, and how.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// What `publish` reads.
    source: String,
    /// Where it listens.
    listen: String,
    /// The key mechanism, as in `--mech`.
    mechanism: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct System {
    suite: String,
}

struct Pipeline {
    cases: BTreeMap<String, Case>,
    suites: BTreeMap<String, String>,
    folder: PathBuf,
}

pub(super) fn open(definition: &Definition, place: &Place<'_>) -> Result<Opened> {
    let mut pipeline = Pipeline {
        cases: BTreeMap::new(),
        suites: BTreeMap::new(),
        folder: place.folder.join("runs"),
    };
    for case in &definition.cases {
        pipeline.cases.insert(case.name.clone(), case.read()?);
    }
    for system in &definition.systems {
        let System { suite } = system.read()?;
        pipeline.suites.insert(system.name.clone(), suite);
    }
    Ok(Opened::new(pipeline))
}

impl Engine for Pipeline {
    fn measure(&self, turn: &Turn, seconds: f64, stop: Stop<'_>) -> Result<Sample> {
        let name = format!("{}-{}-{}", turn.case, turn.system, turn.round + 1);
        let run = Run {
            case: &self.cases[&turn.case],
            suite: &self.suites[&turn.system],
            folder: &self.folder.join(name),
            stop,
        };
        run.stream(Duration::from_secs_f64(seconds))
            .map_err(|failure| Failure {
                what: failure.what + &last_words(run.folder),
                ..failure
            })?;
        let report = Report::read(&[run.logs("publisher"), run.logs("viewer")])?;
        report.write(&run.folder.join("report"))?;
        let condensed = report.condensed(seconds);
        let values = condensed.values.iter();
        let sample = values.fold(Sample::default(), |sample, (name, value)| sample.with(name, *value));
        let curves = condensed.curves.into_iter().filter(|(_, curve)| !curve.is_empty());
        let sample = curves.fold(sample, |sample, (name, curve)| sample.with_series(&name, curve));
        Ok(condensed.lacks.into_iter().fold(sample, Sample::lacking))
    }
}

/// A run of both programs.
struct Run<'a> {
    case: &'a Case,
    suite: &'a str,
    /// For logs and what the programs say.
    folder: &'a Path,
    stop: Stop<'a>,
}

impl Run<'_> {
    /// Streams for this long after the first frame was logged.
    fn stream(&self, time: Duration) -> Result<()> {
        // Programs append to the logs of an earlier try.
        let _ = fs::remove_dir_all(self.folder);
        fs::create_dir_all(self.folder).map_err(|error| {
            let what = format!("{} cannot be made ({error})", self.folder.display());
            Failure::new(FailureKind::Sink, what, "choose another --out")
        })?;
        let mut command = self.command("publish", "publisher")?;
        command.args([&self.case.source, "--listen", &self.case.listen, "--ticket-file", "-"]);
        let mut publisher = self.start("the publisher", command, "publisher")?;
        let ticket = TICKET.to_owned() + &publisher.line(TICKET, PATIENCE, self.stop)?;
        // The page decodes every picture, whether a browser looks at it or not.
        let mut command = self.command("watch", "viewer")?;
        command.args(["--to", "http://127.0.0.1:0"]);
        // A ticket is in the environment, which other users cannot read.
        command.env("SEALCAST_WATCH_TICKET", ticket);
        let mut viewer = self.start("the viewer", command, "viewer")?;
        self.until_frames_arrive()?;
        pause(time, self.stop)?;
        for program in [&mut viewer, &mut publisher] {
            program.ask_to_end();
            program.ended(PATIENCE, self.stop)?;
        }
        Ok(())
    }

    /// The program of this build as its user runs it, with an identity and logs of its own.
    fn command(&self, verb: &str, end: &str) -> Result<Command> {
        let mut command = own_program()?;
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("SEALCAST_") {
                command.env_remove(name);
            }
        }
        command.env("SEALCAST_HOME", self.folder.join(format!("{end}-home")));
        command.args(["sealcast", verb, "--suite", self.suite, "--mech", &self.case.mechanism]);
        command.arg("--log-dir").arg(self.logs(end));
        Ok(command)
    }

    fn start(&self, name: &'static str, command: Command, end: &str) -> Result<Program> {
        Program::start(name, command, &self.folder.join(format!("{end}.txt")))
    }

    fn until_frames_arrive(&self) -> Result<()> {
        let began = Instant::now();
        let log = self.logs("viewer").join(FRAMES);
        while !fs::read_to_string(&log).is_ok_and(|text| text.lines().count() > 1) {
            if began.elapsed() > PATIENCE {
                let what = format!("no frame arrived within {} s", PATIENCE.as_secs());
                let hint = "see what the programs printed, in the files of the run";
                return Err(Failure::new(FailureKind::Network, what, hint));
            }
            pause(LOOK, self.stop)?;
        }
        Ok(())
    }

    fn logs(&self, end: &str) -> PathBuf {
        self.folder.join(format!("{end}-logs"))
    }
}
