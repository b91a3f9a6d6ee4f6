//! `sealcast-lab ciphers`

use std::process::ExitCode;

use sealcast::failure::{Failure, FailureKind, Result};

use super::args::{CipherAloneArgs, CiphersArgs};
use crate::ciphers::{self, CipherOptions, Question};

/// Number of rounds: in full, and with `--quick`.
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
        guesses_per_second: args.guesses_per_second as f64,
        folder: args.out.clone(),
        meter: args.meter.clone(),
    };
    let record = ciphers::measure(&options, &|words| eprintln!("{words}"))?;
    print!("{}", ciphers::terminal(&record));
    if let Some(folder) = &args.out {
        ciphers::write(&record, folder)?;
        println!(
            "written: record.json, table.csv, ciphers.csv and report.html in {}",
            folder.display()
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// `sealcast-lab cipher-alone`: measures one implementation in this process and prints the answer to standard output.
pub(super) fn alone(args: &CipherAloneArgs) -> Result<ExitCode> {
    let answer = ciphers::answer(&Question {
        name: args.name.clone(),
        frame_bytes: args.frame_bytes,
        time_ms: args.time_ms,
    })?;
    let json = serde_json::to_string(&answer)
        .map_err(|error| Failure::new(FailureKind::Internal, error.to_string(), "please report this"))?;
    println!("{json}");
    Ok(ExitCode::SUCCESS)
}
