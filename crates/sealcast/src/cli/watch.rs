//! `sealcast watch`.

use std::path::Path;
use std::time::Duration;

use sealcast_proto::keys::Invite;
use sealcast_proto::session::RekeyPolicy;

use super::args::WatchArgs;
use super::publish::{hand_out, ticket_for};
use super::{build, shutdown};
use crate::config::in_force;
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::entropy;
use crate::meter::metrics::Metrics;
use crate::run::{Observation, PublisherAt, QueueLimits, WatchOptions, build_info, watch};
use crate::sink;
use crate::transport::{DEFAULT_LATENCY_MS, Listener};

/// Where the picture goes when nothing is said.
const DEFAULT_SINK: &str = "http://127.0.0.1:9880";

pub(super) fn run(args: WatchArgs) -> Result<()> {
    shutdown::runtime()?.block_on(run_async(args))
}

async fn run_async(args: WatchArgs) -> Result<()> {
    let settings = build::settings(&args.observe)?;
    let config = &settings.config;
    let offer = build::own_offer(
        &args.offer,
        build::Sealing::without_media(RekeyPolicy::default()),
        config,
    )?;
    let peer = offer.identity.peer_id();
    let metrics = Metrics::new(build_info());
    let budget;
    let publisher = match &args.listen {
        Some(listen) => {
            let listen = build::listen_url(listen)?;
            let listener = Listener::bind(&listen, &offer.identity, metrics.clone())?;
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
            let watch = &config.watch;
            let ticket = ticket_in_force(
                args.ticket.as_ref(),
                watch.ticket.as_ref(),
                watch.ticket_file.as_deref(),
            )?;
            let ticket = build::ticket(&ticket)?;
            budget = Duration::from_millis(ticket.latency.unwrap_or(DEFAULT_LATENCY_MS).into());
            PublisherAt::Connect(ticket)
        }
    };
    let asked = args
        .latency
        .map(|milliseconds| Duration::from_millis(milliseconds.into()));
    let sink_url = in_force(args.to.clone(), config.watch.to.as_ref()).unwrap_or_else(|| DEFAULT_SINK.to_owned());
    let sink = sink::open(&sink_url)?;
    let observing = Observation::start("watch", build::observe(&args.observe, config)?, metrics).await?;
    let observation = observing.observation();
    observation.setting("sink", &sink_url);
    observation.setting("peer", &peer.to_string());
    tracing::info!(peer = %peer, sink = sink_url, "viewer");
    let reconnect = !args.no_reconnect && config.watch.reconnect.unwrap_or(true);
    let options = WatchOptions {
        publisher,
        offer,
        sink,
        budget: asked.unwrap_or(budget),
        queue: QueueLimits::default(),
        reconnect,
    };
    let outcome = watch(options, observation, shutdown::stop_signal(args.observe.seconds)?).await;
    observing.finish(outcome)
}

/// The ticket as typed, else as configured: itself, or the file that it is in.
pub(super) fn ticket_in_force(
    typed: Option<&String>,
    configured: Option<&String>,
    file: Option<&Path>,
) -> Result<String> {
    if let Some(ticket) = typed.or(configured) {
        return Ok(ticket.clone());
    }
    let path = file.ok_or_else(|| {
        Failure::new(
            FailureKind::Usage,
            "there is no ticket to watch with",
            "give the line that the publisher printed, or @FILE with it",
        )
    })?;
    Ok(format!("@{}", path.display()))
}
