//! RTSP players of this end, whatever gives them packets: a viewer gateway's cameras, or a stream that this program
//! makes packets of.

mod login_delays;
mod packet_order;
mod player;
mod sink;
mod stream;
mod url;

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sealcast_proto::rtsp::{Credentials, DigestAlgorithm};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;

use self::login_delays::LoginDelays;
pub use self::sink::PlayersSink;
use super::MAX_REQUESTS;
use super::request_mux::Request;
use crate::meter::labels::TurnedAway;
use crate::meter::metrics::Metrics;
use crate::platform::addresses::reachable;
use crate::run::Clock;
use crate::transport::tcp;

/// Maximum number of players at once.
const MAX_PLAYERS: usize = 64;
/// Maximum number of players at once that have not logged in, where a login is needed: the other places are kept for
/// those who know the password.
const MAX_NOT_LOGGED_IN: usize = MAX_PLAYERS / 4;
/// Pause after an error from accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The login that players need.
pub(crate) type Login = (Credentials, DigestAlgorithm);

/// State shared by the players.
pub(super) struct Players {
    /// Requests with the path of their camera.
    requests: mpsc::Sender<(String, Request)>,
    login: Option<Login>,
    login_delays: Mutex<LoginDelays>,
    clock: Clock,
    metrics: Metrics,
    /// True if packets come faster than a player's socket holds them: over UDP they leave by and by.
    paces: bool,
}

/// The address by which players reach a gateway that serves them at `rtsp`: for every interface the first at which
/// others reach this machine.
pub fn players_address(rtsp: SocketAddr) -> SocketAddr {
    if !rtsp.ip().is_unspecified() {
        return rtsp;
    }
    let reachable = reachable(rtsp.is_ipv6()).first().copied();
    SocketAddr::new(reachable.unwrap_or(Ipv4Addr::LOCALHOST.into()), rtsp.port())
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

impl Players {
    /// Players that need this login, or none; `paces` if packets come faster than sockets hold them. Returns what they
    /// ask for, each with the path of a camera.
    pub(super) fn new(
        login: Option<Login>,
        clock: Clock,
        metrics: &Metrics,
        paces: bool,
    ) -> (Arc<Self>, mpsc::Receiver<(String, Request)>) {
        let (sender, requests) = mpsc::channel(MAX_REQUESTS);
        let players = Self {
            requests: sender,
            login,
            login_delays: Mutex::default(),
            clock,
            metrics: metrics.clone(),
            paces,
        };
        (Arc::new(players), requests)
    }

    /// Accept players and serve each in a task of its own. They end when this is dropped.
    pub(super) async fn serve(self: &Arc<Self>, listener: &TcpListener) -> Infallible {
        let (places, metrics) = (Places::new(), &self.metrics);
        let (mut players, mut next_id) = (JoinSet::new(), 0);
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
            let place = match places.take(self.login.is_some()) {
                Ok(place) => place,
                Err(why) => {
                    let words = format_args!("turned a player away: {why}");
                    metrics.turned_away(TurnedAway::Crowded, &remote, &words);
                    continue;
                }
            };
            let (shared, id) = (Arc::clone(self), next_id);
            next_id += 1;
            players.spawn(player::serve(shared, id, tcp::prepare(stream), place));
        }
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
