//! `sealcast watch`.

use std::path::Path;
use std::time::Duration;

use sealcast_proto::keys::{Invite, Role};
use sealcast_proto::session::RekeyPolicy;
use sealcast_proto::wire::Ticket;

use super::args::WatchArgs;
use super::publish::{hand_out, ticket_for};
use super::{build, shutdown};
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::entropy;
use crate::meter::metrics::Metrics;
use crate::run::{Observation, PublisherAt, QueueLimits, WatchOptions, build_info, watch};
use crate::sink;
use crate::transport::{DEFAULT_LATENCY_MS, ListenUrl, Listener};

pub(super) fn run(args: WatchArgs) -> Result<()> {
    shutdown::runtime()?.block_on(run_async(args))
}

async fn run_async(args: WatchArgs) -> Result<()> {
    let settings = build::settings(&args.session)?;
    let configured = &settings.config.watch;
    let sealing = build::Sealing::without_media(RekeyPolicy::default());
    let offer = build::own_offer(&args.session, sealing, &settings)?;
    let peer = offer.identity.peer_id();
    let metrics = Metrics::new(build_info());
    let budget;
    let publisher = match &args.listen {
        Some(listen) => {
            let listen: ListenUrl = listen.parse()?;
            let listener = Listener::bind(&listen, &offer.identity, Role::Viewer, metrics.clone())?;
            budget = listen.options.latency;
            let invite = Invite::new(entropy::random()?);
            let ticket = ticket_for(&listener, listen, args.host.as_deref(), peer, Some(invite.clone()))?;
            hand_out(&ticket, args.ticket_file.as_deref())?;
            let admission = build::admission(None, build::ALLOWED_PUBLISHERS, false)?;
            PublisherAt::Listen {
                listener,
                invite: Some(invite),
                admission,
            }
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
    let options = WatchOptions {
        publisher,
        offer,
        sink,
        budget: asked.unwrap_or(budget),
        queue: QueueLimits::default(),
        reconnect: configured.reconnect,
    };
    let outcome = watch(options, observation, shutdown::stop_signal(args.session.seconds)?).await;
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
