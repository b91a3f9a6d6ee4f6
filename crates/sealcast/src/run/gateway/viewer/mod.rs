//! The viewer gateway: viewer of a sealed session, and RTSP server for players.

mod cameras;
mod latency;
mod link;
mod player;
mod receive_handler;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use sealcast_proto::rtsp::{Credentials, DigestAlgorithm};
use sealcast_proto::unit::Selection;
use sealcast_proto::wire::Ticket;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;

use super::MAX_REQUESTS;
use super::request_mux::Request;
use crate::failure::Result;
use crate::run::retry::turned_on;
use crate::run::{Observation, Offer};
use crate::transport::tcp;

/// Maximum number of players at once.
const MAX_PLAYERS: usize = 64;
/// Pause after an error from accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
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
    pub login: Option<(Credentials, DigestAlgorithm)>,
}

/// State shared by the players.
struct ViewerGateway {
    /// Requests with the path of their camera.
    requests: mpsc::Sender<(String, Request)>,
    login: Option<(Credentials, DigestAlgorithm)>,
    observation: Arc<Observation>,
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
    let listener = tcp::listen(options.rtsp)?;
    tracing::info!(address = %options.rtsp, "players are served");
    let (sender, requests) = mpsc::channel(MAX_REQUESTS);
    let shared = Arc::new(ViewerGateway {
        requests: sender,
        login: options.login,
        observation: Arc::clone(&observation),
    });
    let (link_stop, link_stopped) = watch::channel(false);
    let link = link::Link::new(options.ticket, options.offer, options.budget, observation, requests);
    // Run the link in a task of its own: waking the runtime's main task takes a system call.
    let mut linked = JoinSet::new();
    linked.spawn(link.keep(link_stopped));
    let mut players = JoinSet::new();
    tokio::select! {
        outcome = outcome_of(&mut linked) => return outcome,
        never = accept(&listener, &shared, &mut players) => match never {},
        _ = turned_on(&mut stop) => {}
    }
    players.shutdown().await;
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

/// Accept players and serve each in a task of its own.
async fn accept(
    listener: &TcpListener,
    shared: &Arc<ViewerGateway>,
    players: &mut JoinSet<()>,
) -> std::convert::Infallible {
    let places = Arc::new(Semaphore::new(MAX_PLAYERS));
    let mut next_id = 0;
    loop {
        while players.try_join_next().is_some() {}
        let (stream, remote) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!("a player could not be accepted: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            tracing::warn!(from = %remote, max = MAX_PLAYERS, "turned a player away: too many are here");
            continue;
        };
        let (shared, id) = (Arc::clone(shared), next_id);
        next_id += 1;
        players.spawn(async move {
            player::serve(shared, id, tcp::prepare(stream)).await;
            drop(place);
        });
    }
}
