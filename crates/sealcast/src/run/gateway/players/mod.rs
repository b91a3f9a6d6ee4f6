//! RTSP players of this end, whatever gives them packets: a viewer gateway's cameras, or a stream that this program
//! makes packets of.

mod login_delays;
mod packet_order;
mod places;
mod player;
mod shared;
mod sink;
mod stream;
mod url;

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::task::JoinSet;

use self::places::Places;
pub(crate) use self::shared::Login;
pub(super) use self::shared::Players;
pub use self::sink::PlayersSink;
use crate::meter::labels::TurnedAway;
use crate::platform::addresses::reachable;
use crate::transport::tcp;

/// Pause after an error from accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The address by which players reach a gateway that serves them at `rtsp`: for every interface the first at which
/// others reach this machine.
pub fn players_address(rtsp: SocketAddr) -> SocketAddr {
    if !rtsp.ip().is_unspecified() {
        return rtsp;
    }
    let reachable = reachable(rtsp.is_ipv6()).first().copied();
    SocketAddr::new(reachable.unwrap_or(Ipv4Addr::LOCALHOST.into()), rtsp.port())
}

impl Players {
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
