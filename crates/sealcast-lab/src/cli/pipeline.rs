//! `sealcast-lab pipeline`.

use std::process::ExitCode;

use sealcast::failure::Result;

use super::args::PipelineArgs;
use super::run::{built_in, measure};
use crate::experiments::pipeline::PIPELINE;

pub(super) fn run(args: &PipelineArgs) -> Result<ExitCode> {
    let mut definition = built_in(&PIPELINE, &args.common)?;
    definition.only(&args.common.only)?;
    measure(definition, &args.common)
}
