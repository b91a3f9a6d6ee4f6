//! `sealcast watch`.

use std::time::Duration;

use sealcast_proto::keys::Invite;
use sealcast_proto::session::RekeyPolicy;

use super::args::WatchArgs;
use super::publish::{hand_out, ticket_for};
use super::{build, shutdown};
use crate::config::{FileConfig, in_force};
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::{entropy, files};
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
    let identity = in_force(args.offer.identity.clone(), config.identity.file.as_ref());
    let identity = files::identity_or_default(identity.as_deref())?;
    let peer = identity.peer_id();
    let rekey = RekeyPolicy::default();
    let offer = build::offer(
        identity,
        args.offer.suites.clone(),
        args.offer.mechanisms.clone(),
        build::Sealing::without_media(rekey),
        config,
    )?;
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
            let ticket = build::ticket(&typed_ticket(&args, config)?)?;
            budget = Duration::from_millis(ticket.latency.unwrap_or(DEFAULT_LATENCY_MS).into());
            PublisherAt::Connect(ticket)
        }
    };
    let asked = args
        .latency
        .map(|milliseconds| Duration::from_millis(milliseconds.into()));
    let sink_url = in_force(args.to.clone(), config.watch.to.as_ref()).unwrap_or_else(|| DEFAULT_SINK.to_owned());
    let sink = sink::open(&sink_url)?;
    let observing = Observation::start("watch", build::observe(&args.observe, config), metrics).await?;
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

fn typed_ticket(args: &WatchArgs, config: &FileConfig) -> Result<String> {
    if let Some(ticket) = in_force(args.ticket.clone(), config.watch.ticket.as_ref()) {
        return Ok(ticket);
    }
    match &config.watch.ticket_file {
        Some(path) => Ok(format!("@{}", path.display())),
        None => Err(Failure::new(
            FailureKind::Usage,
            "there is no ticket to watch with",
            "give the line that the publisher printed, or @FILE with it",
        )),
    }
}
