//! `sealcast-lab papers`

use std::process::ExitCode;

use sealcast::failure::{Failure, FailureKind, Result};

use super::args::PapersArgs;
use super::common_args::CommonArgs;
use super::control;
use super::run::begin;
use crate::experiments;
use crate::harness;
use crate::papers::{self, Library, Needed, Step};

pub(super) fn run(args: &PapersArgs) -> Result<ExitCode> {
    let library = Library::built_in()?;
    let measured = match args.rebuild {
        true => Ok(Vec::new()),
        false => {
            let steps = steps(&library, args)?;
            control::until_signalled(move |stop| papers::measure(&steps, stop, &|words| eprintln!("{words}")))
        }
    };
    // After a signal too: the page shows what there is until then.
    let written = papers::write(&library, &args.out);
    let failures = measured.map_err(|failure| Failure {
        hint: "the same command goes on where it was stopped".to_owned(),
        ..failure
    })?;
    println!("{}", written?);
    match failures.into_iter().next() {
        None => Ok(ExitCode::SUCCESS),
        Some((name, failure)) => Err(Failure {
            what: format!("{name} could not be measured, as the page says: {}", failure.what),
            ..failure
        }),
    }
}

/// The experiments to measure, as their own commands would.
fn steps(library: &Library, args: &PapersArgs) -> Result<Vec<Step>> {
    let known = &library.experiments;
    if let Some(wrong) = args
        .only
        .iter()
        .find(|name| known.iter().all(|needed| needed.name != **name))
    {
        let names: Vec<&str> = known.iter().map(|needed| needed.name.as_str()).collect();
        let what = format!("--only {wrong} is no experiment of the papers");
        return Err(Failure::new(
            FailureKind::Usage,
            what,
            format!("choose among {}", names.join(", ")),
        ));
    }
    let asked = known
        .iter()
        .filter(|needed| args.only.is_empty() || args.only.contains(&needed.name));
    asked.map(|needed| step(needed, args)).collect()
}

fn step(needed: &Needed, args: &PapersArgs) -> Result<Step> {
    let experiment = experiments::by_name(&needed.name)?;
    let folder = args.out.join(&needed.name);
    let common = CommonArgs {
        quick: args.quick,
        out: Some(folder.clone()),
        ..CommonArgs::default()
    };
    let mut definition = begin(experiment.definition, &common)?;
    definition.only(&needed.only)?;
    if let Some(obstacle) = harness::obstacle_in(&folder, &definition) {
        let what = format!("{} has a record of {obstacle}", folder.display());
        let hint = "choose another --out, such as one for --quick and one without, or --rebuild";
        return Err(Failure::new(FailureKind::Usage, what, hint));
    }
    Ok(Step {
        experiment,
        definition,
        folder,
    })
}
