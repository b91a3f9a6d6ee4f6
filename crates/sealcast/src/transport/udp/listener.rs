//! One socket for many peers. It answers unknown senders without keeping state for them.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast_proto::keys::{PeerId, ticket_mac};
use sealcast_proto::session::Entry;
use sealcast_proto::wire::RetryCookies;
use tokio::sync::mpsc;
use tokio::time::{Interval, MissedTickBehavior, interval, sleep};

use super::demultiplexer::{Begun, Demultiplexer};
use super::peer::UdpTransport;
use super::place::{ListenerState, Place};
use super::runs::Runs;
use super::socket::{DatagramSocket, Fragments};
use crate::failure::Result;
use crate::keys::entropy;
use crate::meter::labels::{DatagramUnsent, DoorAnswer};
use crate::meter::metrics::Metrics;
use crate::meter::telling::Telling;
use crate::transport::url::cannot_listen;

/// Lifetime of the secret for retry cookies. A cookie stays valid for one more such period.
const SECRET_LIFE: Duration = Duration::from_secs(60);
/// Pause after a socket error.
const RETRY: Duration = Duration::from_millis(100);

/// Accepts the sessions that peers begin at one address.
pub struct UdpListener {
    new: mpsc::Receiver<Begun>,
    shared: Arc<ListenerState>,
    metrics: Metrics,
    /// The reader runs as long as a clone of this exists.
    alive: mpsc::Sender<Infallible>,
}

/// Listen at an address as `peer`; port 0 takes a free port, and `[::]` also accepts IPv4. A datagram of an unknown
/// sender costs two MACs at most and no memory, until the sender has shown that it receives at its source address. Who
/// has no ticket of `peer` gets no answer.
///
/// # Errors
/// The port is taken, the address does not belong to this machine, or there is no randomness.
pub fn listen(address: SocketAddr, peer: &PeerId, metrics: Metrics) -> Result<UdpListener> {
    let socket =
        DatagramSocket::bind(address, Fragments::Forbidden).map_err(|error| cannot_listen("udp", address, &error))?;
    let cookies = RetryCookies::new(ticket_mac(peer), entropy::random()?);
    let (door, new) = Demultiplexer::new(cookies, metrics.clone());
    let (alive, all_gone) = mpsc::channel(1);
    let shared = Arc::new(ListenerState {
        socket,
        peers: door.peers(),
    });
    let mut secrets = interval(SECRET_LIFE);
    secrets.set_missed_tick_behavior(MissedTickBehavior::Delay);
    secrets.reset();
    let reader = Reader {
        shared: Arc::clone(&shared),
        door,
        metrics: metrics.clone(),
    };
    tokio::spawn(reader.run(secrets, all_gone));
    Ok(UdpListener {
        new,
        shared,
        metrics,
        alive,
    })
}

impl UdpListener {
    /// Returns the next session and how it begins; the first datagram of its handshake is already queued in it.
    /// Cancel-safe.
    ///
    /// # Errors
    /// The socket's reader has ended, which happens only when the program ends.
    pub async fn accept(&mut self) -> io::Result<(UdpTransport, Entry)> {
        let gone = || io::Error::new(io::ErrorKind::BrokenPipe, "the reader of the UDP socket has ended");
        let begun = self.new.recv().await.ok_or_else(gone)?;
        let entry = Entry::Shown {
            connection: begun.connection,
            cookie: begun.cookie,
        };
        let place = Place {
            shared: Arc::clone(&self.shared),
            inbox: begun.inbox,
            connection: begun.connection,
            _alive: self.alive.clone(),
        };
        Ok((UdpTransport::accepted(place, begun.path, self.metrics.clone()), entry))
    }

    /// The address that is listened at.
    pub fn local_address(&self) -> SocketAddr {
        self.shared.socket.local_address()
    }
}

impl Drop for UdpListener {
    fn drop(&mut self) {
        self.shared.peers.accept_no_more();
        // Accepted sessions continue; the waiting ones will never be accepted.
        while let Ok(begun) = self.new.try_recv() {
            self.shared.peers.remove(begun.connection);
        }
    }
}

/// The task that reads the socket for all peers.
struct Reader {
    shared: Arc<ListenerState>,
    door: Demultiplexer,
    metrics: Metrics,
}

impl Reader {
    async fn run(mut self, mut secrets: Interval, mut all_gone: mpsc::Receiver<Infallible>) {
        let mut batch = Runs::for_socket();
        let shared = Arc::clone(&self.shared);
        let mut failed = Telling::default();
        loop {
            tokio::select! {
                () = shared.socket.readable() => match batch.receive(&shared.socket) {
                    Ok(_) => self.hand_out(&mut batch),
                    Err(error) => {
                        if let Some(total) = failed.count(Instant::now()) {
                            tracing::warn!(total, "datagrams could not be received: {error}");
                        }
                        sleep(RETRY).await;
                    }
                },
                _ = secrets.tick() => match entropy::random() {
                    Ok(secret) => self.door.rotate(secret),
                    Err(failure) => tracing::warn!("cookies keep their secret for another minute: {failure}"),
                },
                _ = all_gone.recv() => break,
            }
        }
    }

    fn hand_out(&mut self, batch: &mut Runs) {
        let (shared, metrics) = (&self.shared, &self.metrics);
        self.door.hand_out(batch, |path, answer| {
            let sent = shared.socket.try_send_run(path, answer, answer.len());
            if sent.bytes == 0 {
                metrics.datagrams_unsent(DatagramUnsent::Full, 1);
            } else if sent.unreachable > 0 {
                metrics.datagrams_unsent(DatagramUnsent::Unreachable, 1);
            } else {
                metrics.door_answered(DoorAnswer::Cookie);
            }
        });
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.shared.peers.close_all();
    }
}
