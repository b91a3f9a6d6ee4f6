//! `sealcast-lab glass`.

use std::path::Path;
use std::process::ExitCode;

use sealcast::failure::{Failure, FailureKind, Result};

use super::args::GlassArgs;
use super::run::{built_in, measure};
use crate::experiments::glass::GLASS;
use crate::harness::Definition;

/// The system that `--also` adds other builds of.
const SEALCAST: &str = "sealcast";

pub(super) fn run(args: &GlassArgs) -> Result<ExitCode> {
    let mut definition = built_in(&GLASS, &args.common)?;
    let mut only = args.common.only.clone();
    for program in &args.also {
        let name = add(&mut definition, program)?;
        if only.iter().any(|wanted| wanted == SEALCAST) {
            only.push(name);
        }
    }
    definition.only(&only)?;
    measure(definition, &args.common)
}

/// Adds another build of the system sealcast, and returns its name.
fn add(definition: &mut Definition, program: &Path) -> Result<String> {
    let own = definition.systems.iter().find(|system| system.name == SEALCAST);
    let mut other = own.cloned().ok_or_else(|| {
        let what = "--also: there is no system `sealcast` to take the options from";
        Failure::new(FailureKind::Usage, what, "leave it out")
    })?;
    let program = program.display().to_string();
    other.name = format!("{SEALCAST} as {program}");
    other.words = String::new();
    other.fields.insert("program".to_owned(), program.into());
    let name = other.name.clone();
    definition.rivals.push(name.clone());
    definition.systems.push(other);
    Ok(name)
}
