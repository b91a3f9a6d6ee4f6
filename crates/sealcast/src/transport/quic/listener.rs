//! One QUIC endpoint for many peers, with limits for unauthenticated ones.

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

/// Maximum of concurrent QUIC handshakes.
const MAX_HANDSHAKES: usize = 64;

/// Accepts the connections that peers open at one address.
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

/// Listen at an address; port 0 takes a free port, and `[::]` also accepts IPv4. An unknown sender costs no memory
/// until it has shown, with the token of a Retry packet, that it receives at its source address.
///
/// # Errors
/// The port is taken, the address does not belong to this machine, or there is no randomness.
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
    /// The address that is listened at.
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the next connection whose control stream is open. `unit` is the sealing unit of this end. Cancel-safe.
    ///
    /// # Errors
    /// The endpoint has ended, which happens only when the program ends.
    pub async fn accept(&mut self, unit: Unit) -> io::Result<QuicTransport> {
        loop {
            tokio::select! {
                Some(begun) = self.handshakes.join_next() => {
                    // A failed handshake has already been reported where it failed.
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
                // It came with an invalid token.
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

/// Completes the QUIC handshake and accepts the control stream, which the connecting end opens.
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
