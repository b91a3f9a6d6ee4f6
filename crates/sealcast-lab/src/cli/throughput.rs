//! `sealcast-lab throughput`

use std::process::ExitCode;

use sealcast::failure::Result;

use super::args::ThroughputCommand;
use super::run::{built_in, measure, name_boringtun};
use crate::experiments::throughput::THROUGHPUT;

pub(super) fn run(args: &ThroughputCommand) -> Result<ExitCode> {
    let mut definition = built_in(&THROUGHPUT, &args.common)?;
    name_boringtun(&mut definition, &args.boringtun);
    definition.only(&args.common.only)?;
    measure(definition, &args.common)
}
