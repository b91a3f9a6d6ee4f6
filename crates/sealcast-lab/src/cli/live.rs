//! `sealcast-lab live`

use std::process::ExitCode;

use sealcast::failure::Result;

use super::args::LiveArgs;
use super::run::{built_in, measure, whole_clip};
use crate::experiments::live::LIVE;

/// Seconds of an hour, and periods.
const HOUR_SECONDS: f64 = 3600.0;
const PERIODS_AN_HOUR: i64 = 60;

pub(super) fn run(args: &LiveArgs) -> Result<ExitCode> {
    let mut definition = built_in(&LIVE, &args.common)?;
    let settings = &mut definition.settings;
    settings.insert("meter".to_owned(), args.meter.meter.to_string().into());
    if let Some(file) = &args.clip {
        settings.insert("clip".to_owned(), whole_clip(file)?.into());
    }
    if let Some(hours) = args.hours {
        settings.insert("periods".to_owned(), (PERIODS_AN_HOUR * i64::from(hours)).into());
        definition.seconds = HOUR_SECONDS * f64::from(hours);
        definition.rounds = args.common.rounds.map_or(1, usize::from);
    }
    definition.only(&args.common.only)?;
    measure(definition, &args.common)
}
