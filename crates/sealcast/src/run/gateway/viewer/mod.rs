//! The viewer gateway: viewer of a sealed session, and RTSP server for players.

mod cameras;
mod latency;
mod link;
mod login_delays;
mod packet_order;
mod pictures;
mod player;
mod receive_handler;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sealcast_proto::rtsp::{Credentials, DigestAlgorithm};
use sealcast_proto::unit::Selection;
use sealcast_proto::wire::Ticket;
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinSet;

use self::login_delays::LoginDelays;
use super::MAX_REQUESTS;
use super::request_mux::Request;
use crate::failure::Result;
use crate::meter::labels::TurnedAway;
use crate::platform::service_manager;
use crate::run::retry::turned_on;
use crate::run::{Observation, Offer};
use crate::transport::tcp;

/// Maximum number of players at once.
const MAX_PLAYERS: usize = 64;
/// Maximum number of players at once that have not logged in, where a login is needed: the other places are kept for
/// those who know the password.
const MAX_NOT_LOGGED_IN: usize = MAX_PLAYERS / 4;
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
    login_delays: Mutex<LoginDelays>,
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
    let listener = tcp::listen("rtsp", options.rtsp)?;
    tracing::info!(address = %options.rtsp, "players are served");
    service_manager::ready();
    let (sender, requests) = mpsc::channel(MAX_REQUESTS);
    let shared = Arc::new(ViewerGateway {
        requests: sender,
        login: options.login,
        login_delays: Mutex::default(),
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

/// The places for players. A place is free again when it is dropped.
struct Places {
    all: Arc<Semaphore>,
    not_logged_in: Arc<Semaphore>,
}

/// A player's place.
struct Place {
    _any: OwnedSemaphorePermit,
    /// One of those for players that have not logged in, until this one has.
    not_logged_in: Option<OwnedSemaphorePermit>,
}

impl Places {
    fn new() -> Self {
        Self {
            all: Arc::new(Semaphore::new(MAX_PLAYERS)),
            not_logged_in: Arc::new(Semaphore::new(MAX_NOT_LOGGED_IN)),
        }
    }

    /// A place for a player that has just come, or the reason why there is none. `login`: whether it has to log in.
    fn take(&self, login: bool) -> Result<Place, &'static str> {
        let take = |places: &Arc<Semaphore>| Arc::clone(places).try_acquire_owned();
        let not_logged_in = login.then(|| take(&self.not_logged_in)).transpose();
        Ok(Place {
            not_logged_in: not_logged_in.map_err(|_| "too many are here that have not logged in")?,
            _any: take(&self.all).map_err(|_| "too many are here")?,
        })
    }
}

/// Accept players and serve each in a task of its own.
async fn accept(
    listener: &TcpListener,
    shared: &Arc<ViewerGateway>,
    players: &mut JoinSet<()>,
) -> std::convert::Infallible {
    let places = Places::new();
    let metrics = &shared.observation.metrics;
    let mut next_id = 0;
    loop {
        while players.try_join_next().is_some() {}
        let (stream, remote) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                let words = format!("a player could not be accepted: {error}");
                metrics.turned_away(TurnedAway::Broken, &"anybody", &words);
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let place = match places.take(shared.login.is_some()) {
            Ok(place) => place,
            Err(why) => {
                let words = format_args!("turned a player away: {why}");
                metrics.turned_away(TurnedAway::Crowded, &remote, &words);
                continue;
            }
        };
        let (shared, id) = (Arc::clone(shared), next_id);
        next_id += 1;
        players.spawn(player::serve(shared, id, tcp::prepare(stream), place));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn players_that_have_not_logged_in_hold_a_quarter_of_the_places() {
        let places = Places::new();
        let strangers: Vec<Place> = (0..MAX_NOT_LOGGED_IN).map_while(|_| places.take(true).ok()).collect();
        assert_eq!(strangers.len(), 16);
        assert_eq!(
            places.take(true).err(),
            Some("too many are here that have not logged in")
        );
        let mut here = Vec::new();
        for mut place in strangers {
            // It logs in.
            place.not_logged_in = None;
            here.push(place);
        }
        while let Ok(mut place) = places.take(true) {
            place.not_logged_in = None;
            here.push(place);
        }
        assert_eq!((here.len(), places.take(true).err()), (64, Some("too many are here")));
        drop(here);
        assert!(places.take(true).is_ok());
    }

    #[test]
    fn where_no_login_is_needed_all_places_are_for_everybody() {
        let places = Places::new();
        let here: Vec<Place> = std::iter::from_fn(|| places.take(false).ok()).collect();
        assert_eq!(here.len(), MAX_PLAYERS);
    }
}
