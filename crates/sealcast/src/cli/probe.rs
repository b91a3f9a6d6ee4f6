//! `sealcast probe`.

use std::path::Path;
use std::time::Instant;

use sealcast_proto::events::EventTicket;

use super::args::ProbeArgs;
use super::probe_feed::{From, feed_from, panicked};
use super::ticket::ticket_in_force;
use super::{build, probe_beside, shutdown};
use crate::config::Settings;
use crate::failure::{Failure, FailureKind, Result};
use crate::meter::metrics::Metrics;
use crate::output;
use crate::private_file::read_ticket;
use crate::run::probe::{Probe, ProbeOptions};
use crate::run::{Observation, Observing, build_info};
use crate::sink::Sink;
use crate::source::SourceUrl;

/// Command line that gives a probe its ticket.
const TYPED: &str = "sealcast probe @FILE";

pub(super) fn run(args: ProbeArgs) -> Result<()> {
    shutdown::single_threaded_runtime()?.block_on(run_async(args))
}

async fn run_async(args: ProbeArgs) -> Result<()> {
    let settings = build::settings(&args.session)?;
    let from = from(&settings)?;
    if let Some(beside) = &settings.config.probe.beside {
        let beside = named(beside).map_err(|failure| settings.placed("probe.beside", failure))?;
        return probe_beside::run(&args, &settings, [from, beside]).await;
    }
    if settings.config.probe.alarm.is_some() {
        let hint = "name another way to the same camera, with --beside";
        let failure = Failure::new(FailureKind::Usage, "an alarm compares two ways", hint);
        return Err(settings.placed("probe.alarm", failure));
    }
    let events = settings.config.probe.events.as_deref().map(event_ticket).transpose();
    let events = events.map_err(|failure| settings.placed("probe.events", failure))?;
    let observing = Observation::start("probe", build::observe(&settings)?, Metrics::new(build_info())).await?;
    let options = ProbeOptions {
        events,
        log_dir: settings.config.observe.log_dir.clone(),
        program: None,
    };
    let clock = observing.observation().clock;
    // Registering waits for the event server.
    let started = tokio::task::spawn_blocking(move || Probe::start(options, clock)).await;
    let outcome = match started.unwrap_or_else(|error| Err(panicked(&error))) {
        Ok((probe, sink)) => measure(&args, &settings, from, &observing, (probe, sink)).await,
        Err(failure) => Err(failure),
    };
    observing.finish(outcome)
}

async fn measure(
    args: &ProbeArgs,
    settings: &Settings,
    from: From,
    observing: &Observing,
    (probe, sink): (Probe, Box<dyn Sink>),
) -> Result<()> {
    let received = receive(args, settings, from, observing, sink).await;
    let finished = tokio::task::spawn_blocking(move || probe.finish()).await;
    // The last stage's failure is the reason why those before it ended.
    let table = finished.unwrap_or_else(|error| Err(panicked(&error)))?;
    received.and(output::print(&format!("{table}\n")))
}

async fn receive(
    args: &ProbeArgs,
    settings: &Settings,
    from: From,
    observing: &Observing,
    sink: Box<dyn Sink>,
) -> Result<()> {
    let began = Instant::now();
    let stop = shutdown::stop_signal(args.session.time())?;
    let (observation, reconnect) = (observing.observation(), true);
    let outcome = feed_from(args, settings, from, (sink, reconnect), observation, stop).await;
    shutdown::in_time(outcome, began, args.session.time(), &observing.observation())
}

/// Choice of what to measure: a ticket or a file with one, or a source.
fn from(settings: &Settings) -> Result<From> {
    let configured = &settings.config.probe;
    match (&configured.from, &configured.ticket_file) {
        (Some(text), _) => named(text).map_err(|failure| settings.placed("probe.from", failure)),
        (None, Some(file)) => ticket_in_force(None, Some(file), TYPED).map(From::Publisher),
        (None, None) => Err(Failure::new(
            FailureKind::Usage,
            "there is nothing to measure",
            "name a ticket, @FILE with one, rtsp://HOST/PATH, or - for video on standard input",
        )),
    }
}

/// A ticket, a file with one, or a source, as it is typed.
fn named(text: &String) -> Result<From> {
    match text.starts_with('@') || text.contains("sealcast://") {
        true => ticket_in_force(Some(text), None, TYPED).map(From::Publisher),
        false => text.parse::<SourceUrl>().map(|_| From::Source(text.clone())),
    }
}

/// The event ticket in `@FILE`. As an argument it would be seen by other users of the machine.
fn event_ticket(typed: &str) -> Result<EventTicket> {
    let Some(path) = typed.strip_prefix('@') else {
        return Err(Failure::new(
            FailureKind::Usage,
            "the ticket of the event server must be in a file",
            "give @FILE: `sealcast clock --ticket-file FILE` writes one",
        ));
    };
    read_ticket(Path::new(path), |line| {
        line.trim().parse().map_err(|error| {
            let what = format!("{path} has no ticket of an event server: {error}");
            let hint = "copy the whole line that `sealcast clock` printed";
            Failure::new(FailureKind::Keys, what, hint)
        })
    })
}
