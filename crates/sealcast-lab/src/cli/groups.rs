//! `sealcast-lab groups`

use std::process::ExitCode;

use clap::Args;
use sealcast::failure::{Failure, FailureKind, Result};

use super::args::{CommonArgs, MeterArgs};
use super::run::{built_in, measured};
use crate::experiments::groups::{CHECK_FAILED, GROUPS};

#[derive(Args, Debug)]
pub(super) struct GroupsArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,
    #[command(flatten)]
    pub(super) meter: MeterArgs,
}

pub(super) fn run(args: &GroupsArgs) -> Result<ExitCode> {
    let mut definition = built_in(&GROUPS, &args.common)?;
    let settings = &mut definition.settings;
    settings.insert("meter".to_owned(), args.meter.meter.to_string().into());
    definition.only(&args.common.only)?;
    let results = measured(definition, &args.common)?;
    // Figures of a group that leaks or loses frames are of no use, however fast it is.
    match results.missing.into_iter().find(|why| why.contains(CHECK_FAILED)) {
        Some(why) => Err(Failure::new(FailureKind::Internal, why, "please report this")),
        None => Ok(ExitCode::SUCCESS),
    }
}
