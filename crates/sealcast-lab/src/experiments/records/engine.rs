//! One measurement: a run of a build's benchmark.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};
use serde::Deserialize;

use crate::harness::process::{Program, Stop, last_words, new_copy};
use crate::harness::{Definition, Engine, Opened, Place, Sample, Turn};

/// Time limit for a run.
const PATIENCE: Duration = Duration::from_secs(300);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// The benchmark's own rounds in a turn.
    rounds: u16,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct System {
    /// The benchmark, as cargo built it.
    program: Option<PathBuf>,
}

struct Records {
    rounds: u16,
    programs: BTreeMap<String, PathBuf>,
}

pub(super) fn open(definition: &Definition, _: &Place<'_>) -> Result<Opened> {
    let settings: Settings = definition.settings()?;
    let mut programs = BTreeMap::new();
    for system in &definition.systems {
        let Some(program) = system.read::<System>()?.program else {
            let what = format!("the benchmark of `{}` is not named", system.name);
            let hint = "name with --program what `cargo bench -p sealcast-proto --bench record_layer --no-run` builds";
            return Err(Failure::new(FailureKind::Usage, what, hint));
        };
        programs.insert(system.name.clone(), program);
    }
    Ok(Opened::new(Records {
        rounds: settings.rounds,
        programs,
    }))
}

impl Engine for Records {
    fn measure(&self, turn: &Turn, _: f64, stop: Stop<'_>) -> Result<Sample> {
        let scratch = tempfile::tempdir().map_err(|error| {
            let what = format!("there is no room for temporary files ({error})");
            Failure::new(FailureKind::Sink, what, "set TMPDIR")
        })?;
        let mut command = Command::new(new_copy(&self.programs[&turn.system], scratch.path())?);
        command.arg(self.rounds.to_string());
        let log = scratch.path().join("benchmark.txt");
        let (mut program, _, mut stdout) = Program::with_pipes("the benchmark", command, &log)?;
        // It says less than a pipe holds, and ends by itself.
        let ended = program.ended(PATIENCE, stop);
        ended.map_err(|failure| Failure {
            what: failure.what + &last_words(scratch.path()),
            ..failure
        })?;
        let mut said = String::new();
        let sample = stdout.read_to_string(&mut said).ok().and_then(|_| sample(&said));
        sample.ok_or_else(|| {
            let what = "the benchmark did not say its table";
            Failure::new(
                FailureKind::Usage,
                what,
                "name the benchmark record_layer of sealcast-proto",
            )
        })
    }
}

/// The values of the benchmark's table: a line has suite, what is done, bytes, and the time in nanoseconds of the bare
/// primitive and of ours. `None` if there is no such line.
fn sample(said: &str) -> Option<Sample> {
    let mut sample = Sample::default();
    for line in said.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if let ["", suite, what, bytes, _, ours, ..] = cells[..]
            && let Ok(ns) = ours.parse()
        {
            sample.values.insert(format!("{suite}_{what}_{bytes}_ns"), ns);
        }
    }
    (!sample.values.is_empty()).then_some(sample)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "25 rounds; ns per operation (medians)\n\
        | suite              | what |  bytes |   raw ns |  ours ns |   GB/s | of raw   | spread  |\n\
        |--------------------|------|--------|----------|----------|--------|----------|---------|\n\
        | aes-128-gcm        | seal |   1200 |    249.7 |    252.3 |   4.76 |   99.0 % |   0.5 % |\n\
        | aegis-128x4        | path |  20000 |   1500.0 |   2500.5 |   8.00 |   60.0 % |   0.5 % |\ntook 1.0 s\n";

    #[test]
    fn the_columns_are_lines_of_the_benchmarks_table() {
        let sample = sample(SAID).expect("a table");
        assert_eq!(sample.value("aes-128-gcm_seal_1200_ns"), Some(252.3));
        assert_eq!(sample.value("aegis-128x4_path_20000_ns"), Some(2500.5));
        let columns: Vec<&str> = super::super::columns::columns()
            .iter()
            .map(|column| column.key)
            .collect();
        assert!(
            sample.values.keys().all(|key| columns.contains(&key.as_str())),
            "{sample:?}"
        );
        assert_eq!(super::sample("running 0 tests\n"), None);
    }
}
