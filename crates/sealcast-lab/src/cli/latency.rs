//! `sealcast-lab latency`

use std::process::ExitCode;

use sealcast::failure::Result;

use super::args::LatencyArgs;
use super::run::{built_in, measure};
use crate::experiments::latency::LATENCY;

pub(super) fn run(args: &LatencyArgs) -> Result<ExitCode> {
    let mut definition = built_in(&LATENCY, &args.common)?;
    if let Some(profile) = &args.profile {
        definition.settings.insert("profile".to_owned(), profile.clone().into());
    }
    definition.only(&args.common.only)?;
    measure(definition, &args.common)
}
