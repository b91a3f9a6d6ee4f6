//! The viewer gateway: viewer of a sealed session, and RTSP server for players.

mod cameras;
mod latency;
mod link;
mod pictures;
mod receive_handler;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use sealcast_proto::unit::Selection;
use sealcast_proto::wire::Ticket;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::players::{Login, Players};
use crate::failure::Result;
use crate::platform::service_manager;
use crate::run::session::observe::Observation;
use crate::run::session::offer::Offer;
use crate::run::session::retry::turned_on;
use crate::transport::tcp;

/// Time limit for the session to end when the gateway stops.
const STOP_PATIENCE: Duration = Duration::from_secs(2);

/// The settings of a viewer gateway.
pub struct ViewerGatewayOptions {
    /// The camera gateway's ticket.
    pub ticket: Ticket,
    /// Identity, suites, mechanisms.
    pub offer: Offer,
    /// Maximum delay of a packet over the fastest path, on carriers that may lose media.
    pub budget: Duration,
    /// The address at which to serve players.
    pub rtsp: SocketAddr,
    /// The login that players need; `None` admits anybody who can reach the address.
    pub login: Option<Login>,
}

/// Serve players until `stop` turns true.
///
/// # Errors
/// The address cannot be bound, or the camera gateway refuses us.
pub async fn viewer_gateway(
    options: ViewerGatewayOptions,
    observation: Arc<Observation>,
    mut stop: watch::Receiver<bool>,
) -> Result<()> {
    observation.selection(Selection::All);
    let listener = tcp::listen("rtsp", options.rtsp)?;
    tracing::info!(address = %options.rtsp, "players are served");
    service_manager::ready();
    let (players, requests) = Players::new(options.login, observation.clock, &observation.metrics, false);
    let (link_stop, link_stopped) = watch::channel(false);
    let asked = (options.rtsp, requests);
    let link = link::Link::new(options.ticket, options.offer, options.budget, observation, asked);
    // Run the link in a task of its own: waking the runtime's main task takes a system call.
    let mut linked = JoinSet::new();
    linked.spawn(link.keep(link_stopped));
    tokio::select! {
        outcome = outcome_of(&mut linked) => return outcome,
        never = players.serve(&listener) => match never {},
        _ = turned_on(&mut stop) => {}
    }
    // Sending fails if the link has already ended.
    let _ = link_stop.send(true);
    let outcome = tokio::time::timeout(STOP_PATIENCE, outcome_of(&mut linked)).await;
    outcome.unwrap_or(Ok(()))
}

async fn outcome_of(linked: &mut JoinSet<Result<()>>) -> Result<()> {
    match linked.join_next().await {
        Some(Ok(outcome)) => outcome,
        Some(Err(error)) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Ok(()),
        },
        None => Ok(()),
    }
}
