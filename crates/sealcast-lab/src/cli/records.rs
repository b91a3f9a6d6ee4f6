//! `sealcast-lab records`

use std::process::ExitCode;

use sealcast::failure::Result;

use super::args::RecordsArgs;
use super::builds::Programs;
use super::run::{built_in, measure};
use crate::experiments::records::RECORDS;

pub(super) fn run(args: &RecordsArgs) -> Result<ExitCode> {
    let mut definition = built_in(&RECORDS, &args.common)?;
    definition.only(&args.common.only)?;
    args.builds.apply(&mut definition, Programs::Started, |_| true)?;
    measure(definition, &args.common)
}
