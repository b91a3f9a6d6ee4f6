//! One endpoint for many peers, and what strangers may do at it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use quinn::{Connection, Endpoint, Incoming, RecvStream, SendStream, TokioRuntime};
use sealcast_proto::keys::Identity;
use sealcast_proto::session::HANDSHAKE_TIMEOUT;
use sealcast_proto::unit::Unit;
use tokio::task::JoinSet;

use super::config;
use super::peer::QuicTransport;
use crate::failure::{Failure, FailureKind, Result};
use crate::meter::labels::{DatagramRefusal, DoorAnswer};
use crate::meter::metrics::Metrics;

/// Connections that may be in QUIC's own handshake at once.
const MAX_HANDSHAKES: usize = 64;

/// Accepts the connections that strangers open at one address.
pub struct QuicListener {
    endpoint: Endpoint,
    address: SocketAddr,
    handshakes: JoinSet<Option<Begun>>,
    metrics: Metrics,
}

/// A connection whose control stream is open.
struct Begun {
    connection: Connection,
    control: (SendStream, RecvStream),
}

/// Listen at an address; port 0 takes a free one, and `[::]` takes IPv4 as well. A stranger costs no memory until it
/// has shown, with the token of a Retry packet, that it receives at the address it writes from.
///
/// # Errors
/// The port is taken, the address is not ours, or there is no randomness.
pub(in crate::transport) fn listen(address: SocketAddr, identity: &Identity, metrics: Metrics) -> Result<QuicListener> {
    let config = config::server().map_err(|error| {
        let what = format!("QUIC cannot be set up ({error})");
        Failure::new(FailureKind::Internal, what, "please report this")
    })?;
    let endpoint_config = config::endpoint(Some(identity))?;
    let open = || {
        let socket = config::socket(address)?;
        let endpoint = Endpoint::new(endpoint_config, Some(config), socket, Arc::new(TokioRuntime))?;
        let address = endpoint.local_addr()?;
        Ok((endpoint, address))
    };
    let (endpoint, address) = open().map_err(|error: io::Error| {
        let hint = match error.kind() {
            io::ErrorKind::AddrInUse => "another program listens there: stop it or choose another port",
            io::ErrorKind::PermissionDenied => "choose a port above 1023",
            io::ErrorKind::AddrNotAvailable => "choose an address of this machine, or 0.0.0.0 or [::] for all",
            _ => "choose another address",
        };
        let what = format!("cannot listen at quic://{address} ({error})");
        Failure::new(FailureKind::Network, what, hint)
    })?;
    Ok(QuicListener {
        endpoint,
        address,
        handshakes: JoinSet::new(),
        metrics,
    })
}

impl QuicListener {
    /// The address listened at.
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// The next connection whose control stream is open, for an end that seals by `unit`. Cancel-safe.
    ///
    /// # Errors
    /// The endpoint has ended, which it does only with the program.
    pub async fn accept(&mut self, unit: Unit) -> io::Result<QuicTransport> {
        loop {
            tokio::select! {
                Some(begun) = self.handshakes.join_next() => {
                    // A handshake that failed has said so where it did.
                    if let Ok(Some(Begun { connection, control })) = begun {
                        let metrics = self.metrics.clone();
                        return Ok(QuicTransport::new(connection, control, None, unit, metrics));
                    }
                }
                incoming = self.endpoint.accept() => {
                    let gone = || io::Error::new(io::ErrorKind::BrokenPipe, "the QUIC endpoint has ended");
                    self.look_at(incoming.ok_or_else(gone)?);
                }
            }
        }
    }

    fn look_at(&mut self, incoming: Incoming) {
        if !incoming.remote_address_validated() {
            self.metrics.door_answered(DoorAnswer::Retry);
            if let Err(error) = incoming.retry() {
                // It came with a token that is none.
                error.into_incoming().ignore();
            }
        } else if self.handshakes.len() >= MAX_HANDSHAKES {
            tracing::debug!(from = %incoming.remote_address(), "turned a connection away: there are too many");
            self.metrics.datagrams_refused(DatagramRefusal::Busy, 1);
            incoming.refuse();
        } else {
            self.handshakes.spawn(begin(incoming));
        }
    }
}

/// QUIC's handshake, and the initiator's stream.
async fn begin(incoming: Incoming) -> Option<Begun> {
    let from = incoming.remote_address();
    let begin = async {
        let connection = incoming.accept()?.await?;
        let control = connection.accept_bi().await?;
        Ok(Begun { connection, control })
    };
    let outcome: std::result::Result<Begun, quinn::ConnectionError> =
        match tokio::time::timeout(HANDSHAKE_TIMEOUT, begin).await {
            Ok(outcome) => outcome,
            Err(_) => Err(quinn::ConnectionError::TimedOut),
        };
    outcome
        .inspect_err(|error| tracing::debug!(%from, "a QUIC handshake failed: {error}"))
        .ok()
}
