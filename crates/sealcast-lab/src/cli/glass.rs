//! `sealcast-lab glass`.

use std::process::ExitCode;

use sealcast::failure::Result;

use super::args::GlassArgs;
use super::builds::Programs;
use super::gateway::is_ours;
use super::run::{built_in, measure};
use crate::experiments::glass::GLASS;

pub(super) fn run(args: &GlassArgs) -> Result<ExitCode> {
    let mut definition = built_in(&GLASS, &args.common)?;
    definition.only(&args.common.only)?;
    args.builds.apply(&mut definition, Programs::Started, is_ours)?;
    measure(definition, &args.common)
}
