//! `sealcast-lab board` and `sealcast-lab compare`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use sealcast::failure::{Failure, FailureKind, Result};

use super::common_args::CommonArgs;
use super::control;
use super::run::begin;
use crate::board::{Board, Part, compared, parts};
use crate::experiments;
use crate::harness::{self, Results};
use crate::papers::{Step, measure};

#[derive(Args, Debug)]
pub(super) struct BoardArgs {
    /// Write the figures into this file, for `compare`
    #[arg(long, value_name = "FILE", default_value = "board.json")]
    out: PathBuf,
}

#[derive(Args, Debug)]
pub(super) struct CompareArgs {
    /// The file of one board
    #[arg(value_name = "A")]
    a: PathBuf,
    /// That of the other, whose figures are told as multiples of the first one's
    #[arg(value_name = "B")]
    b: PathBuf,
}

pub(super) fn run(args: &BoardArgs) -> Result<ExitCode> {
    let mut board = Board::here();
    let scratch = tempfile::tempdir().map_err(|error| {
        let what = format!("there is no room for temporary files ({error})");
        Failure::new(FailureKind::Sink, what, "set TMPDIR")
    })?;
    let parts = parts()?;
    let steps: Vec<Step> = parts
        .iter()
        .map(|part| step(part, scratch.path()))
        .collect::<Result<_>>()?;
    let folders: Vec<PathBuf> = steps.iter().map(|step| step.folder.clone()).collect();
    let failures = control::until_signalled(move |stop| measure(&steps, stop, &|words| eprintln!("{words}")))?;
    for (name, failure) in &failures {
        board.missing.push(format!("{name}: {failure}"));
    }
    for (part, folder) in parts.iter().zip(&folders) {
        let experiment = experiments::by_name(&part.experiment)?;
        let Ok(results) = Results::load(experiment, folder) else {
            continue;
        };
        print!("{}", harness::terminal(&results, false));
        board.add(part, &results);
    }
    board.write(&args.out)?;
    println!("written: {} figures in {}", board.len(), args.out.display());
    match failures.into_iter().next() {
        None => Ok(ExitCode::SUCCESS),
        Some((name, failure)) => Err(Failure {
            what: format!("{name} could not be measured, as the file says: {}", failure.what),
            ..failure
        }),
    }
}

fn step(part: &Part, scratch: &std::path::Path) -> Result<Step> {
    let experiment = experiments::by_name(&part.experiment)?;
    let quick = CommonArgs {
        quick: true,
        ..CommonArgs::default()
    };
    let mut definition = begin(experiment.definition, &quick)?;
    part.narrow(&mut definition)?;
    Ok(Step {
        experiment,
        definition,
        folder: scratch.join(&part.experiment),
    })
}

pub(super) fn compare(args: &CompareArgs) -> Result<ExitCode> {
    let (a, b) = (Board::read(&args.a)?, Board::read(&args.b)?);
    print!("{}", compared(&a, &b));
    Ok(ExitCode::SUCCESS)
}
