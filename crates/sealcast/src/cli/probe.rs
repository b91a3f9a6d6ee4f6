//! `sealcast probe`.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast_proto::events::EventTicket;
use sealcast_proto::session::RekeyPolicy;
use sealcast_proto::wire::Ticket;
use tokio::sync::watch::Receiver;

use super::args::ProbeArgs;
use super::publish_source::open_source;
use super::ticket::ticket_in_force;
use super::{build, probe_beside, shutdown};
use crate::config::Settings;
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::files::End;
use crate::keys::seen_groups::SeenGroups;
use crate::meter::metrics::Metrics;
use crate::output;
use crate::private_file::read_ticket;
use crate::run::probe::{Probe, ProbeOptions, feed};
use crate::run::{Observation, Observing, PublisherAt, QueueLimits, WatchOptions, build_info, watch};
use crate::sink::Sink;
use crate::source::SourceUrl;
use crate::transport::DEFAULT_LATENCY_MS;

/// Command line that gives a probe its ticket.
const TYPED: &str = "sealcast probe @FILE";

/// Publisher or source that a probe measures.
#[derive(Clone)]
pub(super) enum From {
    Publisher(Ticket),
    Source(String),
}

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

/// Feed a sink with what is measured until that ends or `stop` turns true. A publisher is connected to again when the
/// connection breaks, if `reconnect` is true.
///
/// # Errors
/// The source fails, the publisher refuses this end, or the sink fails.
pub(super) async fn feed_from(
    args: &ProbeArgs,
    settings: &Settings,
    from: From,
    (sink, reconnect): (Box<dyn Sink>, bool),
    observation: Arc<Observation>,
    stop: Receiver<bool>,
) -> Result<()> {
    let ticket = match from {
        From::Source(url) => return feed(open_source(url).await?, sink, stop).await,
        From::Publisher(ticket) => ticket,
    };
    let sealing = build::Sealing::without_media(RekeyPolicy::default());
    let budget = ticket.latency.unwrap_or(DEFAULT_LATENCY_MS);
    let budget = args.latency.latency.unwrap_or(budget);
    let mut offer = build::own_offer(&args.session, End::Viewer, sealing, settings)?;
    offer.wish.camera = build::wished_camera(settings)?;
    let options = WatchOptions {
        offer,
        publisher: PublisherAt::Connect(ticket),
        sink,
        budget: Duration::from_millis(budget.into()),
        stream_budget: args.latency.budget(),
        queue: QueueLimits::default(),
        sound: false,
        reconnect,
        without_session: false,
        seen: SeenGroups::nowhere(),
        relays: Vec::new(),
    };
    watch(options, observation, stop).await
}

pub(super) fn panicked(error: &tokio::task::JoinError) -> Failure {
    let what = format!("the probe failed ({error})");
    Failure::new(FailureKind::Internal, what, "please report this")
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
