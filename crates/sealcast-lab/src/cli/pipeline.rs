//! `sealcast-lab pipeline`, and the decoder that its viewer starts.

use std::process::ExitCode;

use sealcast::failure::Result;

use super::args::{PipelineArgs, SealcastArgs};
use super::run::{built_in, measure};
use crate::experiments::pipeline::PIPELINE;

pub(super) fn run(args: &PipelineArgs) -> Result<ExitCode> {
    let mut definition = built_in(&PIPELINE, &args.common)?;
    definition.only(&args.common.only)?;
    measure(definition, &args.common)
}

/// The decoder's process. A program starts it from the file that it runs itself, which is the laboratory's for the
/// `sealcast` of this build. It ends with its socket.
pub(super) fn decoder(args: &SealcastArgs) -> ExitCode {
    let own = ["sealcast".into(), "decoder".into()];
    sealcast::cli::run_with(own.into_iter().chain(args.arguments.iter().cloned()))
}
