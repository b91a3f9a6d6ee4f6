//! `sealcast-lab live`

use std::process::ExitCode;

use sealcast::failure::{Failure, FailureKind, Result};

use super::args::LiveArgs;
use super::run::{built_in, clip, measure};
use crate::experiments::live::LIVE;

/// Seconds of an hour, and periods.
const HOUR_SECONDS: f64 = 3600.0;
const PERIODS_AN_HOUR: i64 = 60;

pub(super) fn run(args: &LiveArgs) -> Result<ExitCode> {
    let mut definition = built_in(&LIVE, &args.common)?;
    let settings = &mut definition.settings;
    settings.insert("meter".to_owned(), args.meter.meter.to_string().into());
    if let Some(file) = &args.clip {
        let whole = file.canonicalize().map_err(|error| {
            let what = format!("--clip {} cannot be read ({error})", file.display());
            Failure::new(FailureKind::Source, what, "name a file")
        })?;
        settings.insert("clip".to_owned(), clip(Some(&whole)).into());
    }
    if let Some(hours) = args.hours {
        settings.insert("periods".to_owned(), (PERIODS_AN_HOUR * i64::from(hours)).into());
        definition.seconds = HOUR_SECONDS * f64::from(hours);
        definition.rounds = args.common.rounds.map_or(1, usize::from);
    }
    definition.only(&args.common.only)?;
    measure(definition, &args.common)
}
