//! `sealcast clock`.

use std::time::Duration;

use sealcast_proto::events::EventTicket;

use super::args::ClockArgs;
use super::hand_out::hand_out_lines;
use super::shutdown;
use crate::config::Settings;
use crate::failure::{Failure, FailureKind, Result};
use crate::run::events::{ClockOptions, Display, show_clock};
use crate::transport::Advertised;
use crate::web::Listen;
use crate::web::clock::DEFAULT_PORT;

/// Bounds of the mean time between events.
const PERIODS: std::ops::RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(60);

pub(super) fn run(args: &ClockArgs) -> Result<()> {
    shutdown::single_threaded_runtime()?.block_on(run_async(args))
}

async fn run_async(args: &ClockArgs) -> Result<()> {
    let settings = Settings::gather(args.config.config.as_deref(), std::env::vars_os(), args.flags.values())?;
    let options = options(&settings)?;
    let file = settings.config.clock.ticket_file.as_deref();
    let hand_out = |ticket: &EventTicket| hand_out_lines(ticket.reveal() + "\n", true, file);
    show_clock(
        options,
        hand_out,
        shutdown::stop_signal(args.seconds.map(|time| time.0))?,
    )
    .await
}

/// The settings of a clock.
pub(super) fn options(settings: &Settings) -> Result<ClockOptions> {
    let configured = &settings.config.clock;
    let page = Listen::parse(&configured.page, DEFAULT_PORT, "the clock");
    let period = configured.period;
    if !PERIODS.contains(&period.0) {
        let failure = Failure::new(
            FailureKind::Usage,
            format!("{period} is no time between events"),
            "choose 100ms to 1m",
        );
        return Err(settings.placed("clock.period", failure));
    }
    Ok(ClockOptions {
        display: match configured.window {
            true => Display::Window,
            false => Display::Page(page.map_err(|failure| settings.placed("clock.page", failure))?),
        },
        events: configured.events,
        advertised: Advertised::parse(configured.advertise.as_slice())
            .map_err(|failure| settings.placed("clock.advertise", failure))?,
        period: period.0,
    })
}
