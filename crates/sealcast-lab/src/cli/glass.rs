//! `sealcast-lab glass`, and the decoder that its probe starts.

use std::process::ExitCode;

use sealcast::failure::Result;

use super::args::{GlassArgs, SealcastArgs};
use super::run::{built_in, measure};
use crate::experiments::glass::GLASS;

pub(super) fn run(args: &GlassArgs) -> Result<ExitCode> {
    let mut definition = built_in(&GLASS, &args.common)?;
    definition.only(&args.common.only)?;
    measure(definition, &args.common)
}

/// The decoder's process. A program starts it from the file that it runs itself, which is the laboratory's for the
/// `sealcast` of this build. It ends with its socket.
pub(super) fn decoder(args: &SealcastArgs) -> ExitCode {
    let own = ["sealcast".into(), "decoder".into()];
    sealcast::cli::run_with(own.into_iter().chain(args.arguments.iter().cloned()))
}
