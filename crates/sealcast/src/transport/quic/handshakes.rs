//! The connections of a QUIC endpoint until they are ready for a session, with limits for unauthenticated peers.

use std::io;
use std::net::SocketAddr;
use std::time::Instant;

use quinn::{ConnectionError, Endpoint, Incoming};
use tokio::task::JoinSet;
use tokio::time::error::Elapsed;

use crate::meter::labels::{DatagramRefusal, DoorAnswer};
use crate::meter::metrics::Metrics;
use crate::transport::{AddressLimits, Limits, Place};

/// Maximum of connections that are not ready: of all peers, of one address, and of new ones of an address in a second.
const MAX_HANDSHAKES: usize = 64;
const MAX_HANDSHAKES_OF_ADDRESS: usize = 4;
const HANDSHAKES_PER_SECOND: u32 = 20;

/// An endpoint, and those of its connections that become a `T`. A peer costs no memory until it has shown, with the
/// token of a Retry packet, that it receives at its source address.
pub(in crate::transport) struct Handshakes<T> {
    endpoint: Endpoint,
    address: SocketAddr,
    tasks: JoinSet<Option<T>>,
    limits: AddressLimits,
    metrics: Metrics,
}

/// Reason for the end of a connection that is not ready.
#[derive(Debug, thiserror::Error)]
pub(in crate::transport) enum Refused {
    #[error("{0}")]
    Connection(#[from] ConnectionError),
    #[error("it took too long")]
    TooSlow(#[from] Elapsed),
    #[error("its place was given to another")]
    Evicted,
    #[error("it is no WebTransport session for this page ({0})")]
    Http(String),
}

impl<T: Send + 'static> Handshakes<T> {
    pub(in crate::transport) fn new(endpoint: Endpoint, metrics: Metrics) -> io::Result<Self> {
        Ok(Self {
            address: endpoint.local_addr()?,
            endpoint,
            tasks: JoinSet::new(),
            limits: AddressLimits::new(Limits {
                per_address: MAX_HANDSHAKES_OF_ADDRESS,
                in_all: MAX_HANDSHAKES,
                per_second: HANDSHAKES_PER_SECOND,
            }),
            metrics,
        })
    }

    /// The address that is listened at.
    pub(in crate::transport) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the next connection that is ready; `begin` makes it so. Cancel-safe.
    ///
    /// # Errors
    /// The endpoint has ended, which happens only when the program ends.
    pub(in crate::transport) async fn next<F>(&mut self, begin: impl Fn(Incoming) -> F) -> io::Result<T>
    where
        F: Future<Output = Result<T, Refused>> + Send + 'static,
    {
        loop {
            tokio::select! {
                Some(begun) = self.tasks.join_next() => {
                    // A failed handshake has already been reported where it failed.
                    if let Ok(Some(begun)) = begun {
                        return Ok(begun);
                    }
                }
                incoming = self.endpoint.accept() => {
                    let gone = || io::Error::new(io::ErrorKind::BrokenPipe, "the QUIC endpoint has ended");
                    self.look_at(incoming.ok_or_else(gone)?, &begin);
                }
            }
        }
    }

    fn look_at<F>(&mut self, incoming: Incoming, begin: impl Fn(Incoming) -> F)
    where
        F: Future<Output = Result<T, Refused>> + Send + 'static,
    {
        if !incoming.remote_address_validated() {
            self.metrics.door_answered(DoorAnswer::Retry);
            if let Err(error) = incoming.retry() {
                // It came with an invalid token.
                error.into_incoming().ignore();
            }
            return;
        }
        let from = incoming.remote_address();
        match self.limits.enter(from.ip(), Instant::now()) {
            Some(place) => {
                self.tasks.spawn(hold(place, from, begin(incoming)));
            }
            None => {
                tracing::debug!(%from, "turned a connection away: there are too many");
                self.metrics.datagrams_refused(DatagramRefusal::Busy, 1);
                incoming.refuse();
            }
        }
    }
}

/// Makes a connection ready as long as its place is not taken away.
async fn hold<T>(place: Place, from: SocketAddr, begin: impl Future<Output = Result<T, Refused>>) -> Option<T> {
    let outcome = tokio::select! {
        outcome = begin => outcome,
        () = place.evicted() => Err(Refused::Evicted),
    };
    outcome
        .inspect_err(|error| tracing::debug!(%from, "a QUIC handshake failed: {error}"))
        .ok()
}
