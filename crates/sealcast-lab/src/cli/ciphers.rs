//! `sealcast-lab ciphers`, and the processes that it starts.

use std::process::ExitCode;

use sealcast::failure::{Failure, FailureKind, Result};

use super::args::{CipherAloneArgs, CiphersArgs};
use super::run::{built_in, clip, measure};
use crate::ciphers::choice;
use crate::experiments::ciphers::{self, CIPHERS, Question};

pub(super) fn run(args: &CiphersArgs) -> Result<ExitCode> {
    let mut definition = built_in(&CIPHERS, &args.common)?;
    let settings = &mut definition.settings;
    settings.insert("clip".to_owned(), clip(args.clip.as_deref()).into());
    settings.insert("meter".to_owned(), args.meter.meter.to_string().into());
    settings.insert("guesses_per_second".to_owned(), (args.guesses_per_second as f64).into());
    definition.only(&args.common.only)?;
    // A named library is measured whatever else --only leaves.
    choice::add_external(&mut definition, &args.external)?;
    measure(definition, &args.common)
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
