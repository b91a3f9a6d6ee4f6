//! `sealcast-lab verify`

use std::process::ExitCode;

use sealcast::failure::Result;

use super::args::VerifyArgs;
use crate::verify::verify;

pub(super) fn run(args: &VerifyArgs) -> Result<ExitCode> {
    let verified = verify(&args.vectors)?;
    println!("{verified}");
    verified.judge()?;
    Ok(ExitCode::SUCCESS)
}
