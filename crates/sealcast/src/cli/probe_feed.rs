//! The ways to a camera that a probe measures.

use std::sync::Arc;
use std::time::Duration;

use sealcast_proto::session::RekeyPolicy;
use sealcast_proto::wire::Ticket;
use tokio::sync::watch::Receiver;

use super::args::ProbeArgs;
use super::build;
use super::publish_source::open_source;
use crate::config::Settings;
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::files::End;
use crate::keys::seen_groups::SeenGroups;
use crate::run::probe::feed;
use crate::run::{Observation, PublisherAt, QueueLimits, WatchOptions, watch};
use crate::sink::Sink;
use crate::transport::DEFAULT_LATENCY_MS;

/// Publisher or source that a probe measures.
#[derive(Clone)]
pub(super) enum From {
    Publisher(Ticket),
    Source(String),
}

/// Feeds a sink with what is measured until that ends or `stop` turns true. A publisher is connected to again when the
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
        data: Vec::new(),
    };
    watch(options, observation, stop).await
}

pub(super) fn panicked(error: &tokio::task::JoinError) -> Failure {
    let what = format!("the probe failed ({error})");
    Failure::new(FailureKind::Internal, what, "please report this")
}
