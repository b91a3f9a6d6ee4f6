//! `sealcast-lab delay`, and its two ends.

use std::process::ExitCode;

use sealcast::failure::{Failure, FailureKind, Result};

use super::args::{DelayCommand, DelayEndArgs, DelaySendArgs};
use super::control;
use crate::experiments::delay::{self, DelayEnd, DelayOptions, MEDIA};

/// Number of rounds: in full, and with `--quick`.
const ROUNDS: (u16, u16) = (15, 3);

pub(super) fn run(args: &DelayCommand) -> Result<ExitCode> {
    let rounds = if args.quick { ROUNDS.1 } else { ROUNDS.0 };
    let options = DelayOptions {
        only: args.only.clone(),
        rounds: args.rounds.unwrap_or(rounds).into(),
    };
    let planned = options.clone();
    let result = control::until_signalled(move |stop| delay::measure(&planned, stop, &|words| eprintln!("{words}")))?;
    print!("{}", delay::terminal(&result));
    if let Some(out) = &args.out {
        delay::write(out, &options, &result)?;
        println!("written: record.json, table.csv and report.html in {}", out.display());
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn send(args: &DelaySendArgs) -> Result<ExitCode> {
    delay::send(&end(&args.end)?, args.to, args.window).map(|()| ExitCode::SUCCESS)
}

pub(super) fn receive(args: &DelayEndArgs) -> Result<ExitCode> {
    delay::receive(&end(args)?).map(|()| ExitCode::SUCCESS)
}

fn end(args: &DelayEndArgs) -> Result<DelayEnd> {
    let medium = MEDIA.iter().find(|medium| medium.name == args.medium);
    let unknown = || {
        let what = format!("there is no medium `{}`", args.medium);
        Failure::new(FailureKind::Usage, what, "use `sealcast-lab delay`")
    };
    Ok(DelayEnd {
        medium: *medium.ok_or_else(unknown)?,
        cipher: args.cipher.clone(),
        token: args.token,
    })
}
