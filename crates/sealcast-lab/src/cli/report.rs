//! `sealcast-lab report`

use std::process::ExitCode;

use sealcast::failure::Result;

use super::args::ReportArgs;
use crate::report::Report;

pub(super) fn run(args: &ReportArgs) -> Result<ExitCode> {
    let report = Report::read(&args.folders)?;
    print!("{}", report.text());
    if let Some(folder) = &args.out {
        report.write(folder)?;
        if args.trace {
            for said in report.trace(folder, args.frames.clone().unwrap_or_default())? {
                println!("* {said}");
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
