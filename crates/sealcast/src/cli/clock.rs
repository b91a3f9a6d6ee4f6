//! `sealcast clock`.

use std::time::Duration;

use sealcast_proto::events::EventTicket;
use sealcast_proto::wire::{Host, Invite};

use super::args::ClockArgs;
use super::hand_out::hand_out_lines;
use super::shutdown;
use crate::config::{ClockSection, Settings};
use crate::failure::{Failure, FailureKind, Result};
use crate::run::events::{ClockOptions, Display, show_clock};
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
        host: host(configured).map_err(|failure| settings.placed("clock.host", failure))?,
        period: period.0,
    })
}

/// The host for the ticket, if one is set.
fn host(configured: &ClockSection) -> Result<Option<Host>> {
    let Some(host) = &configured.host else {
        return Ok(None);
    };
    // Parse a ticket with it: a mistyped host is reported here and not at the probe.
    let ticket = EventTicket {
        host: Host::Name(host.clone()),
        port: 1,
        secret: Invite::new([0; 16]),
    };
    match ticket.reveal().parse::<EventTicket>() {
        Ok(ticket) => Ok(Some(ticket.host)),
        Err(error) => Err(Failure::new(
            FailureKind::Usage,
            format!("no ticket can be made: {error}"),
            "check --host",
        )),
    }
}
