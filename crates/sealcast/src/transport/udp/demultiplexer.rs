//! Demultiplexer of the datagrams at a listener's socket: for an accepted session, a new one, or nobody. It has no
//! socket.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sealcast_proto::wire::{COOKIE_LEN, MAX_DATAGRAM, RetryCookies, Unconnected};
use tokio::sync::mpsc;

use super::inbox::Inbox;
use super::runs::{Path, Run, Runs};
use crate::meter::labels::DatagramRefusal;
use crate::meter::metrics::Metrics;

/// Maximum of concurrent sessions, those in their handshake included. The code that accepts them may set a lower
/// limit.
const MAX_PEERS: usize = 1024;
/// Maximum of new sessions waiting to be accepted.
pub(crate) const MAX_WAITING: usize = 64;

/// A session that waits to be accepted.
pub(crate) struct Begun {
    pub(crate) connection: u32,
    pub(crate) cookie: [u8; COOKIE_LEN],
    pub(crate) path: Path,
    pub(crate) inbox: Arc<Inbox>,
}

/// The sessions by connection number, shared by the reader and the peers' tasks.
#[derive(Default)]
pub(crate) struct PeerTable(Mutex<Peers>);

#[derive(Default)]
struct Peers {
    inboxes: BTreeMap<u32, Arc<Inbox>>,
    /// No more sessions are accepted.
    closed: bool,
}

impl PeerTable {
    fn lock(&self) -> MutexGuard<'_, Peers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session has ended, or will never be accepted.
    pub(crate) fn remove(&self, connection: u32) {
        self.lock().inboxes.remove(&connection);
    }

    /// Begin no more sessions.
    pub(super) fn accept_no_more(&self) {
        self.lock().closed = true;
    }

    /// Nothing more will be received.
    pub(super) fn close_all(&self) {
        for inbox in self.lock().inboxes.values() {
            inbox.close();
        }
    }

    /// The number of sessions, waiting ones included.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn len(&self) -> usize {
        self.lock().inboxes.len()
    }
}

/// Hands datagrams to their sessions, and begins sessions for who has shown a cookie.
pub(crate) struct Demultiplexer {
    peers: Arc<PeerTable>,
    cookies: RetryCookies,
    accept: mpsc::Sender<Begun>,
    metrics: Metrics,
}

impl Demultiplexer {
    /// A demultiplexer without sessions, and the queue of those that begin.
    pub(crate) fn new(cookies: RetryCookies, metrics: Metrics) -> (Self, mpsc::Receiver<Begun>) {
        let (accept, new) = mpsc::channel(MAX_WAITING);
        let door = Self {
            peers: Arc::default(),
            cookies,
            accept,
            metrics,
        };
        (door, new)
    }

    pub(crate) fn peers(&self) -> Arc<PeerTable> {
        Arc::clone(&self.peers)
    }

    /// Take a new secret for cookies; those made with the last one stay valid until the next.
    pub(crate) fn rotate(&mut self, secret: [u8; 32]) {
        self.cookies.rotate(secret);
    }

    /// Hands out all datagrams. `answer` sends to a path what strangers are told.
    pub(crate) fn hand_out(&mut self, batch: &mut Runs, mut answer: impl FnMut(Path, &[u8])) {
        let table = Arc::clone(&self.peers);
        let mut peers = table.lock();
        while let Some((connection, run)) = batch.next_of_connection() {
            let datagrams = batch.slice(run.start..run.end);
            let count = datagrams.len().div_ceil(run.stride) as u64;
            let Some(connection) = connection.filter(|_| run.stride <= MAX_DATAGRAM) else {
                self.metrics.datagrams_refused(DatagramRefusal::Malformed, count.max(1));
                continue;
            };
            if let Some(inbox) = peers.inboxes.get(&connection) {
                if !inbox.put(run.path, run.stride, datagrams) {
                    self.metrics.datagrams_refused(DatagramRefusal::Queue, count);
                }
                continue;
            }
            let address = run.path.bytes();
            for datagram in datagrams.chunks(run.stride) {
                match self.cookies.judge(&address, datagram) {
                    Unconnected::Begin { cookie, .. } => self.begin(&mut peers, (connection, cookie), run, datagram),
                    Unconnected::Retry(cookie) => answer(run.path, &cookie),
                    Unconnected::Unknown => self.metrics.datagrams_refused(DatagramRefusal::Unknown, 1),
                    Unconnected::Ignore => self.metrics.datagrams_refused(DatagramRefusal::Stranger, 1),
                }
            }
        }
    }

    /// Begins a session for a sender that has proven, with its cookie, that it receives at its source address.
    fn begin(&self, peers: &mut Peers, named: (u32, [u8; COOKIE_LEN]), run: Run, datagram: &[u8]) {
        let (connection, cookie) = named;
        if let Some(inbox) = peers.inboxes.get(&connection) {
            // An earlier datagram of the same run began the session.
            inbox.put(run.path, run.stride, datagram);
            return;
        }
        let free = !peers.closed && peers.inboxes.len() < MAX_PEERS;
        let Some(place) = free.then(|| self.accept.try_reserve().ok()).flatten() else {
            tracing::debug!(from = %run.path.shown(), "turned a session away: there are too many");
            self.metrics.datagrams_refused(DatagramRefusal::Busy, 1);
            return;
        };
        let inbox = Arc::new(Inbox::default());
        inbox.put(run.path, run.stride, datagram);
        peers.inboxes.insert(connection, Arc::clone(&inbox));
        place.send(Begun {
            connection,
            cookie,
            path: run.path,
            inbox,
        });
    }
}
