//! RTSP players of this end, whatever gives them packets: a viewer gateway's cameras, or a stream that this program
//! makes packets of.

mod login_delays;
mod packet_order;
mod player;
mod sink;
mod stream;
mod url;

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

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
use crate::run::clock::Clock;
use crate::transport::{AddressLimits, Limits, Place as NotLoggedIn, tcp};

/// Maximum number of players at once.
const MAX_PLAYERS: usize = 64;
/// Maximum number of players at once that have not logged in, where a login is needed: the other places are kept for
/// those who know the password.
const MAX_NOT_LOGGED_IN: usize = MAX_PLAYERS / 4;
/// Maximum of those places that one address takes in a second: a recorder comes with all its connections at once.
const COMES_PER_SECOND: u32 = 32;
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
    not_logged_in: AddressLimits,
}

/// A player's place.
struct Place {
    _any: OwnedSemaphorePermit,
    /// One of those for players that have not logged in, until this one has. It may be taken away before.
    not_logged_in: Option<NotLoggedIn>,
}

impl Places {
    fn new() -> Self {
        Self {
            all: Arc::new(Semaphore::new(MAX_PLAYERS)),
            not_logged_in: AddressLimits::new(Limits {
                per_address: MAX_NOT_LOGGED_IN,
                in_all: MAX_NOT_LOGGED_IN,
                per_second: COMES_PER_SECOND,
            }),
        }
    }

    /// A place for a player that has just come, or the reason why there is none. `login`: whether it has to log in. If
    /// the places for those are taken, the oldest of the address that has most of them gives its own up.
    fn take(&self, login: bool, from: IpAddr, now: Instant) -> Result<Place, &'static str> {
        let any = Arc::clone(&self.all).try_acquire_owned();
        let any = any.map_err(|_| "too many are here")?;
        let not_logged_in = login.then(|| self.not_logged_in.enter(from, now).ok_or("too many come from there"));
        Ok(Place {
            not_logged_in: not_logged_in.transpose()?,
            _any: any,
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
            let place = match places.take(self.login.is_some(), remote.ip(), Instant::now()) {
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
        let (places, now) = (Places::new(), Instant::now());
        let take = |host: u8| places.take(true, [192, 0, 2, host].into(), now);
        let is_evicted = |place: &Place| {
            let place = place.not_logged_in.as_ref().expect("it has not logged in");
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            std::pin::pin!(place.evicted()).poll(&mut context).is_ready()
        };
        let mut here: Vec<Place> = (0..16).map(|_| take(1).expect("a place")).collect();
        // Another address finds a place all the same, and that of who came first is the one.
        here.push(take(2).expect("a place"));
        let evicted: Vec<bool> = here.iter().map(is_evicted).collect();
        assert_eq!(evicted.iter().filter(|evicted| **evicted).count(), 1);
        assert!(evicted[0]);
        here.remove(0);
        let come: Vec<Place> = (0..30).map_while(|_| take(1).ok()).collect();
        assert_eq!(take(1).err(), Some("too many come from there"), "in this second");
        assert!(come.len() < 17, "{}", come.len());
        drop(come);
        for place in &mut here {
            // It logs in.
            place.not_logged_in = None;
        }
        for host in 3..60 {
            here.extend(take(host).map(|place| Place {
                not_logged_in: None,
                ..place
            }));
        }
        assert_eq!((here.len(), take(3).err()), (64, Some("too many are here")));
        drop(here);
        assert!(take(3).is_ok());
    }

    #[test]
    fn where_no_login_is_needed_all_places_are_for_everybody() {
        let places = Places::new();
        let (from, now) = ([192, 0, 2, 1].into(), Instant::now());
        let here: Vec<Place> = std::iter::from_fn(|| places.take(false, from, now).ok()).collect();
        assert_eq!(here.len(), MAX_PLAYERS);
    }
}
