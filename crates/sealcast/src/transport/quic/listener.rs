//! One QUIC endpoint for many peers, with limits for unauthenticated ones.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn::{Connection, ConnectionError, Endpoint, Incoming, RecvStream, Runtime, SendStream, TokioRuntime};
use sealcast_proto::keys::{Identity, Role, ticket_mac};
use sealcast_proto::session::HANDSHAKE_TIMEOUT;
use sealcast_proto::unit::Unit;
use tokio::task::JoinSet;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use super::config;
use super::door::Door;
use super::peer::QuicTransport;
use super::socket::GuardedSocket;
use crate::failure::{Failure, FailureKind, Result};
use crate::meter::labels::{DatagramRefusal, DoorAnswer};
use crate::meter::metrics::Metrics;
use crate::transport::{AddressLimits, Limits, Place};

/// Maximum of connections without a control stream: of all peers, of one address, and of new ones of an address in a
/// second.
const MAX_HANDSHAKES: usize = 64;
const MAX_HANDSHAKES_OF_ADDRESS: usize = 4;
const HANDSHAKES_PER_SECOND: u32 = 20;
/// Time for the control stream to open once QUIC's handshake is complete.
const CONTROL_PATIENCE: Duration = Duration::from_secs(1);

/// Accepts the connections that peers open at one address.
pub struct QuicListener {
    endpoint: Endpoint,
    address: SocketAddr,
    handshakes: JoinSet<Option<Begun>>,
    limits: AddressLimits,
    metrics: Metrics,
}

/// A connection whose control stream is open.
struct Begun {
    connection: Connection,
    control: (SendStream, RecvStream),
}

/// Listen at an address; port 0 takes a free port, and `[::]` also accepts IPv4. Who has no ticket gets no answer. Who
/// has one costs no memory until it has shown, with the token of a Retry packet, that it receives at its source
/// address. `identity` and `role` are those of this end.
///
/// # Errors
/// The port is taken, or the address does not belong to this machine.
pub(in crate::transport) fn listen(
    address: SocketAddr,
    identity: &Identity,
    role: Role,
    metrics: Metrics,
) -> Result<QuicListener> {
    let config = config::server(role).map_err(|error| {
        let what = format!("QUIC cannot be set up ({error})");
        Failure::new(FailureKind::Internal, what, "please report this")
    })?;
    let (endpoint_config, ids) = config::server_endpoint(identity);
    let door = Door::new(ticket_mac(&identity.peer_id()), ids);
    let open = || {
        let socket = TokioRuntime.wrap_udp_socket(config::socket(address)?)?;
        let socket = Arc::new(GuardedSocket::new(socket, door, metrics.clone()));
        let runtime = Arc::new(TokioRuntime);
        let endpoint = Endpoint::new_with_abstract_socket(endpoint_config, Some(config), socket, runtime)?;
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
        limits: AddressLimits::new(Limits {
            per_address: MAX_HANDSHAKES_OF_ADDRESS,
            in_all: MAX_HANDSHAKES,
            per_second: HANDSHAKES_PER_SECOND,
        }),
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
            return;
        }
        let from = incoming.remote_address();
        match self.limits.enter(from.ip(), Instant::now()) {
            Some(place) => {
                self.handshakes.spawn(begin(incoming, place));
            }
            None => {
                tracing::debug!(%from, "turned a connection away: there are too many");
                self.metrics.datagrams_refused(DatagramRefusal::Busy, 1);
                incoming.refuse();
            }
        }
    }
}

/// Completes the QUIC handshake and accepts the control stream, which the connecting end opens.
async fn begin(incoming: Incoming, place: Place) -> Option<Begun> {
    let from = incoming.remote_address();
    let begin = async {
        let connection = timeout(HANDSHAKE_TIMEOUT, incoming.accept()?).await??;
        let control = timeout(CONTROL_PATIENCE, control_stream(&connection)).await??;
        Ok(Begun { connection, control })
    };
    let outcome: std::result::Result<Begun, Refused> = tokio::select! {
        outcome = begin => outcome,
        () = place.evicted() => Err(Refused::Evicted),
    };
    outcome
        .inspect_err(|error| tracing::debug!(%from, "a QUIC handshake failed: {error}"))
        .ok()
}

/// Accepts the control stream, and drops datagrams that come before it.
async fn control_stream(connection: &Connection) -> std::result::Result<(SendStream, RecvStream), ConnectionError> {
    let drop_datagrams = async {
        while connection.read_datagram().await.is_ok() {}
        std::future::pending().await
    };
    tokio::select! {
        control = connection.accept_bi() => control,
        never = drop_datagrams => never,
    }
}

/// Reason for the end of a connection without a control stream.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("{0}")]
    Connection(#[from] ConnectionError),
    #[error("it took too long")]
    TooSlow(#[from] Elapsed),
    #[error("its place was given to another")]
    Evicted,
}
