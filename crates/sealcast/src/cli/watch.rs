//! `sealcast watch`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sealcast_proto::keys::Role;
use sealcast_proto::session::RekeyPolicy;
use sealcast_proto::wire::Ticket;

use super::args::WatchArgs;
use super::publish::{hand_out, ticket_for};
use super::{build, peers, shutdown};
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::peers::Terms;
use crate::meter::metrics::Metrics;
use crate::run::{Observation, PublisherAt, QueueLimits, WatchOptions, build_info, watch};
use crate::sink;
use crate::transport::{DEFAULT_LATENCY_MS, ListenUrl, Listener};

pub(super) fn run(args: WatchArgs) -> Result<()> {
    shutdown::single_threaded_runtime()?.block_on(run_async(args))
}

async fn run_async(args: WatchArgs) -> Result<()> {
    let hangups = args.listen.as_ref().map(|_| shutdown::hangups()).transpose()?;
    let settings = build::settings(&args.session)?;
    let configured = &settings.config.watch;
    let sealing = build::Sealing::without_media(RekeyPolicy::default());
    let offer = build::own_offer(&args.session, sealing, &settings)?;
    let peer = offer.identity.peer_id();
    let metrics = Metrics::new(build_info());
    // Who has the ticket may take it that signals are answered.
    let stop = shutdown::stop_signal(args.session.seconds)?;
    let budget;
    let publisher = match &args.listen {
        Some(listen) => {
            let listen: ListenUrl = listen.parse()?;
            let listener = Listener::bind(&listen, &offer.identity, Role::Viewer, metrics.clone())?;
            budget = listen.options.latency;
            let mut ticket = ticket_for(&listener, listen, args.host.as_deref(), peer)?;
            let admission = peers::publishers(&args, &listen)?;
            if args.publisher.is_none() {
                let hours = args.invite_hours;
                ticket.invite = Some(admission.invite(Terms { uses: 1, hours })?);
            }
            hand_out(&ticket, args.ticket_file.as_deref())?;
            PublisherAt::Listen { listener, admission }
        }
        None => {
            let ticket = ticket_in_force(configured.ticket.as_ref(), configured.ticket_file.as_deref())?;
            budget = Duration::from_millis(ticket.latency.unwrap_or(DEFAULT_LATENCY_MS).into());
            PublisherAt::Connect(ticket)
        }
    };
    let asked = args
        .latency
        .latency
        .map(|milliseconds| Duration::from_millis(milliseconds.into()));
    let sink_url = &configured.to;
    let sink = sink::open(sink_url).map_err(|failure| settings.placed("watch.to", failure))?;
    let observing = Observation::start("watch", build::observe(&settings)?, metrics).await?;
    let observation = observing.observation();
    observation.setting("sink", sink_url);
    observation.setting("peer", &peer.to_string());
    tracing::info!(peer = %peer, sink = sink_url, "viewer");
    let admission = match &publisher {
        PublisherAt::Listen { admission, .. } => Some(Arc::clone(admission)),
        PublisherAt::Connect(_) => None,
    };
    let options = WatchOptions {
        publisher,
        offer,
        sink,
        budget: asked.unwrap_or(budget),
        queue: QueueLimits::default(),
        reconnect: configured.reconnect,
    };
    let read_again = async {
        match hangups.zip(admission) {
            Some((hangups, admission)) => {
                peers::read_again(hangups, &admission, || peers::publishers_by_hand(&args)).await
            }
            None => std::future::pending().await,
        }
    };
    let outcome = tokio::select! {
        outcome = watch(options, observation, stop) => outcome,
        never = read_again => match never {},
    };
    observing.finish(outcome)
}

/// The ticket, given as text or in a file.
pub(super) fn ticket_in_force(ticket: Option<&String>, file: Option<&Path>) -> Result<Ticket> {
    match (ticket, file) {
        (Some(ticket), _) => build::ticket(ticket),
        (None, Some(path)) => build::ticket(&format!("@{}", path.display())),
        (None, None) => Err(Failure::new(
            FailureKind::Usage,
            "there is no ticket to watch with",
            "give the line that the publisher printed, or @FILE with it",
        )),
    }
}
