//! `sealcast-lab ciphers`

use std::process::ExitCode;

use sealcast::failure::Result;

use super::args::CiphersArgs;
use crate::ciphers::{self, CipherOptions};

/// Rounds: in full, and with `--quick`.
const ROUNDS: (usize, usize) = (15, 3);

pub(super) fn run(args: &CiphersArgs) -> Result<ExitCode> {
    let options = CipherOptions {
        quick: args.quick,
        clip: args.clip.clone(),
        only: args.only.clone(),
        external: args.external.clone(),
        rounds: args
            .rounds
            .unwrap_or(if args.quick { ROUNDS.1 } else { ROUNDS.0 })
            .max(1),
        folder: args.out.clone(),
    };
    let record = ciphers::measure(&options, &|words| eprintln!("{words}"))?;
    print!("{}", ciphers::terminal(&record));
    if let Some(folder) = &args.out {
        ciphers::write(&record, folder)?;
        println!(
            "written: record.json, table.csv and report.html in {}",
            folder.display()
        );
    }
    Ok(ExitCode::SUCCESS)
}
