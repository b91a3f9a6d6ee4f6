//! `sealcast-lab price`, `sealcast-lab resolution` and `sealcast-lab slow`

use std::process::ExitCode;

use sealcast::failure::Result;

use super::args::StreamArgs;
use super::run::{built_in, measure};
use crate::harness::Experiment;

pub(super) fn run(experiment: &Experiment, args: &StreamArgs) -> Result<ExitCode> {
    let mut definition = built_in(experiment, &args.common)?;
    let meter = args.meter.meter.to_string();
    definition.settings.insert("meter".to_owned(), meter.into());
    definition.only(&args.common.only)?;
    measure(definition, &args.common)
}
