//! `sealcast-lab load`

use std::process::ExitCode;

use sealcast::failure::Result;

use super::args::LoadArgs;
use crate::ciphers::load::{self, LoadOptions};

/// Number of rounds: in full, and with `--quick`.
const ROUNDS: (u16, u16) = (5, 1);

pub(super) fn run(args: &LoadArgs) -> Result<ExitCode> {
    let rounds = args.rounds.unwrap_or(if args.quick { ROUNDS.1 } else { ROUNDS.0 });
    let options = LoadOptions {
        quick: args.quick,
        clip: args.clip.clone(),
        only: args.only.clone(),
        sink: args.sink.into(),
        rounds: rounds.into(),
    };
    let record = load::measure(&options, &|words| eprintln!("{words}"))?;
    print!("{}", load::terminal(&record));
    if let Some(folder) = &args.out {
        load::write(&record, folder)?;
        println!(
            "written: record.json, table.csv and report.html in {}",
            folder.display()
        );
    }
    Ok(ExitCode::SUCCESS)
}
