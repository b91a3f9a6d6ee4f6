//! `sealcast-lab traffic`

use std::process::ExitCode;

use sealcast::failure::Result;

use super::args::TrafficArgs;
use super::run::{built_in, measure};
use crate::experiments::traffic::TRAFFIC;

pub(super) fn run(args: &TrafficArgs) -> Result<ExitCode> {
    let mut definition = built_in(&TRAFFIC, &args.common)?;
    if let Some(encoding) = &args.encoding {
        definition
            .settings
            .insert("encoding".to_owned(), encoding.as_str().into());
    }
    definition.only(&args.common.only)?;
    measure(definition, &args.common)
}
