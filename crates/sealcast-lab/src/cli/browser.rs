//! `sealcast-lab browser`.

use std::process::ExitCode;

use sealcast::failure::Result;

use super::args::BrowserArgs;
use super::run::{built_in, measure};
use crate::experiments::browser::BROWSER;

pub(super) fn run(args: &BrowserArgs) -> Result<ExitCode> {
    let mut definition = built_in(&BROWSER, &args.common)?;
    definition.only(&args.common.only)?;
    measure(definition, &args.common)
}
