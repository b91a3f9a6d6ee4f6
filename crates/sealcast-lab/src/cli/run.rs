//! `sealcast-lab run`, and the common part of all experiment commands.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use sealcast::failure::{Failure, FailureKind, Result};

use super::common_args::{CommonArgs, TableArgs};
use super::control;
use crate::experiments;
use crate::harness::{self, Asked, Definition, Entry, Experiment, Results};

#[derive(Args, Debug)]
pub(super) struct RunArgs {
    /// The definition of an experiment, a TOML file
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    #[command(flatten)]
    pub(super) common: CommonArgs,
}

#[derive(Args, Debug)]
pub(super) struct DefinitionArgs {
    /// The experiment
    #[arg(value_name = "NAME")]
    pub(super) name: String,
}

pub(super) fn run(args: &RunArgs) -> Result<ExitCode> {
    let text = std::fs::read_to_string(&args.file).map_err(|error| {
        let what = format!("{} cannot be read ({error})", args.file.display());
        Failure::new(FailureKind::Usage, what, "name the TOML file of a definition")
    })?;
    let mut definition = begin(&text, &args.common)?;
    definition.only(&args.common.only)?;
    let command = format!("sealcast-lab run {}", args.file.display());
    shown(definition, &args.common, Some(command)).map(|_| ExitCode::SUCCESS)
}

/// Prints a built-in definition.
pub(super) fn definition(args: &DefinitionArgs) -> Result<ExitCode> {
    print!("{}", experiments::by_name(&args.name)?.definition);
    Ok(ExitCode::SUCCESS)
}

/// Reads a definition and applies the command-line options.
pub(super) fn begin(text: &str, common: &CommonArgs) -> Result<Definition> {
    let mut definition = Definition::parse(text)?;
    let experiment = experiments::by_name(&definition.experiment)?;
    let timed = Definition::parse(experiment.definition)?.seconds > 0.0;
    let known = common.out.as_deref().and_then(harness::definition_in);
    let asked = Asked {
        only: &common.only,
        known: known.as_ref(),
    };
    experiment.complete(&mut definition, &asked)?;
    if common.quick {
        definition.quicken();
    }
    if common.rounds.is_some() || common.seconds.is_some() || !common.only.is_empty() {
        // The limit is for a run that names neither what is measured nor how much of it.
        definition.within_seconds = None;
    }
    definition.rounds = common.rounds.map_or(definition.rounds, usize::from);
    definition.seconds = common.seconds.unwrap_or(definition.seconds);
    definition.seed = common.seed.unwrap_or(definition.seed);
    definition.at_once = common.at_once.map_or(definition.at_once, u64::from);
    check_seconds(&definition, timed)?;
    Ok(definition)
}

/// The path of a clip as definitions have it: empty for the test card.
pub(super) fn clip(path: Option<&Path>) -> String {
    path.map_or_else(String::new, |path| path.display().to_string())
}

/// The path of a clip that programs are given, whatever folder they run in.
///
/// # Errors
/// There is no such file.
pub(super) fn whole_clip(file: &Path) -> Result<String> {
    let whole = file.canonicalize().map_err(|error| {
        let what = format!("--clip {} cannot be read ({error})", file.display());
        Failure::new(FailureKind::Source, what, "name a file")
    })?;
    Ok(clip(Some(&whole)))
}

/// Limit for the duration of one measurement.
const MAX_SECONDS: f64 = 3600.0;

/// Refuses a duration that is out of range, and one for an experiment whose turns are not `timed`.
fn check_seconds(definition: &Definition, timed: bool) -> Result<()> {
    let seconds = definition.seconds;
    let refused = |what, hint| Err(Failure::new(FailureKind::Usage, what, hint));
    if timed && !(seconds > 0.0 && seconds <= MAX_SECONDS) {
        let what = format!("--seconds {seconds} is no time to measure");
        return refused(what, "name more than 0 and at most 3600");
    }
    if !timed && seconds != 0.0 {
        let what = format!(
            "--seconds {seconds}: the cases of `{}` decide how long a turn takes",
            definition.experiment
        );
        return refused(what, "leave seconds out");
    }
    Ok(())
}

/// The built-in definition of an experiment, with options applied.
pub(super) fn built_in(experiment: &Experiment, common: &CommonArgs) -> Result<Definition> {
    begin(experiment.definition, common)
}

/// True if a system is of this kind.
pub(super) fn is_of_kind(system: &Entry, kind: &str) -> bool {
    system.fields.get("kind").and_then(toml::Value::as_str) == Some(kind)
}

/// Sets the program that systems of a kind run.
pub(super) fn name_program(definition: &mut Definition, kind: &str, program: &str) {
    let systems = definition.systems.iter_mut();
    for system in systems.filter(|system| is_of_kind(system, kind)) {
        system.fields.insert("program".to_owned(), program.into());
    }
}

/// Measures, prints the findings, and writes the files if a folder is given.
pub(super) fn measure(definition: Definition, common: &CommonArgs) -> Result<ExitCode> {
    measured(definition, common).map(|_| ExitCode::SUCCESS)
}

/// As [`measure`], with the results for checks of the caller.
pub(super) fn measured(definition: Definition, common: &CommonArgs) -> Result<Results> {
    shown(definition, common, None)
}

/// Measures what a command measures, that of the experiment if none is named, and shows it.
fn shown(definition: Definition, common: &CommonArgs, command: Option<String>) -> Result<Results> {
    let experiment = experiments::by_name(&definition.experiment)?;
    let method = experiment.method(&definition)?;
    let scratch = tempfile::tempdir().map_err(|error| {
        let what = format!("there is no room for temporary files ({error})");
        Failure::new(FailureKind::Sink, what, "set TMPDIR")
    })?;
    let folder = common.out.clone().unwrap_or_else(|| scratch.path().to_owned());
    let mut results = control::until_signalled(move |stop| {
        harness::run(experiment, &definition, &folder, stop, &|progress| {
            eprintln!("{progress}")
        })
    })?;
    results.command = command.unwrap_or(results.command);
    print!("{}", printed(&results, &common.tables)?);
    if let Some(out) = &common.out {
        harness::write(&results, &method, out)?;
        eprintln!(
            "written: record.jsonl, definition.toml, table.csv, table.md and report.html in {}",
            out.display()
        );
    }
    Ok(results)
}

/// The text that is printed of results.
fn printed(results: &Results, tables: &TableArgs) -> Result<String> {
    let unwritable = |error: &dyn std::fmt::Display| {
        let what = format!("the table cannot be written as CSV ({error})");
        Failure::new(FailureKind::Sink, what, "leave --csv out")
    };
    match (tables.latex, tables.csv) {
        (true, _) => Ok(harness::latex(results)),
        (_, true) => {
            let bytes = harness::csv(results).map_err(|error| unwritable(&error))?;
            String::from_utf8(bytes).map_err(|error| unwritable(&error))
        }
        _ => Ok(harness::terminal(results, tables.wide)),
    }
}
