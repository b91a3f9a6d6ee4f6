//! `sealcast-lab throughput`

use std::process::ExitCode;

use sealcast::failure::Result;

use super::args::ThroughputCommand;
use super::builds::Programs;
use super::gateway::is_ours;
use super::run::{built_in, measure, name_program};
use crate::experiments::throughput::THROUGHPUT;

pub(super) fn run(args: &ThroughputCommand) -> Result<ExitCode> {
    let mut definition = built_in(&THROUGHPUT, &args.common)?;
    name_program(&mut definition, "boringtun", &args.boringtun);
    definition.only(&args.common.only)?;
    args.builds.apply(&mut definition, Programs::Laboratories, is_ours)?;
    measure(definition, &args.common)
}
