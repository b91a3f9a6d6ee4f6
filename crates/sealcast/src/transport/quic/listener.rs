//! One QUIC endpoint for many peers.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use quinn::{Connection, ConnectionError, Endpoint, Incoming, RecvStream, Runtime, SendStream, TokioRuntime};
use sealcast_proto::keys::{Identity, Role, ticket_mac};
use sealcast_proto::session::HANDSHAKE_TIMEOUT;
use sealcast_proto::unit::Unit;
use tokio::time::timeout;

use super::config;
use super::door::Door;
use super::handshakes::{Handshakes, Refused};
use super::peer::QuicTransport;
use super::socket::GuardedSocket;
use crate::failure::{Failure, FailureKind, Result};
use crate::meter::metrics::Metrics;
use crate::transport::url::cannot_listen;

/// Time for the control stream to open once QUIC's handshake is complete.
const CONTROL_PATIENCE: Duration = Duration::from_secs(1);

/// Accepts the connections that peers open at one address.
pub struct QuicListener {
    handshakes: Handshakes<Begun>,
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
        Handshakes::new(endpoint, metrics.clone())
    };
    let handshakes = open().map_err(|error: io::Error| cannot_listen("quic", address, &error))?;
    Ok(QuicListener { handshakes, metrics })
}

impl QuicListener {
    /// The address that is listened at.
    pub fn local_address(&self) -> SocketAddr {
        self.handshakes.address()
    }

    /// Returns the next connection whose control stream is open. `unit` is the sealing unit of this end. Cancel-safe.
    ///
    /// # Errors
    /// The endpoint has ended, which happens only when the program ends.
    pub async fn accept(&mut self, unit: Unit) -> io::Result<QuicTransport> {
        let Begun { connection, control } = self.handshakes.next(begin).await?;
        Ok(QuicTransport::new(
            connection,
            control,
            None,
            unit,
            self.metrics.clone(),
        ))
    }
}

/// Completes the QUIC handshake and accepts the control stream, which the connecting end opens.
async fn begin(incoming: Incoming) -> std::result::Result<Begun, Refused> {
    let connection = timeout(HANDSHAKE_TIMEOUT, incoming.accept()?).await??;
    let control = timeout(CONTROL_PATIENCE, control_stream(&connection)).await??;
    Ok(Begun { connection, control })
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
