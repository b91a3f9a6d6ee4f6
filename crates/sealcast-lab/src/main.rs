//! The `sealcast-lab` command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    sealcast_lab::cli::run()
}
