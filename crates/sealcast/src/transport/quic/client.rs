//! The end that connects.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use quinn::{Connection, ConnectionId, Endpoint, RecvStream, SendStream, TokioRuntime};
use sealcast_proto::keys::{PeerId, Role, ticket_mac};
use sealcast_proto::unit::Unit;

use super::peer::QuicTransport;
use super::{config, tls};
use crate::keys::entropy;
use crate::meter::metrics::Metrics;

/// A connection with its stream for handshake and control.
pub(in crate::transport) struct Connected {
    connection: Connection,
    control: (SendStream, RecvStream),
    endpoint: Endpoint,
}

/// Connect to an address of `peer`. `role` is that of this end.
///
/// # Errors
/// Nobody who knows `peer` answers there, in words.
pub(in crate::transport) async fn connect(address: SocketAddr, role: Role, peer: &PeerId) -> Result<Connected, String> {
    let any: SocketAddr = if address.is_ipv4() {
        (Ipv4Addr::UNSPECIFIED, 0).into()
    } else {
        (Ipv6Addr::UNSPECIFIED, 0).into()
    };
    let ids = config::client_endpoint().map_err(|failure| failure.to_string())?;
    let first = entropy::random().map_err(|failure| failure.to_string())?;
    let first = ConnectionId::new(&ticket_mac(peer).quic_id(first));
    let config = config::client(role, first).map_err(|error| error.to_string())?;
    let socket = config::socket(any).map_err(|error| format!("no socket: {error}"))?;
    let endpoint = Endpoint::new(ids, None, socket, Arc::new(TokioRuntime)).map_err(|error| error.to_string())?;
    let connecting = endpoint.connect_with(config, address, tls::SERVER_NAME);
    let connection = connecting.map_err(|error| error.to_string())?;
    let connection = connection.await.map_err(|error| error.to_string())?;
    let control = connection.open_bi().await.map_err(|error| error.to_string())?;
    Ok(Connected {
        connection,
        control,
        endpoint,
    })
}

/// A connection as a transport. `unit` is the sealing unit of this end.
pub(in crate::transport) fn transport(connected: Connected, unit: Unit, metrics: Metrics) -> QuicTransport {
    let Connected {
        connection,
        control,
        endpoint,
    } = connected;
    QuicTransport::new(connection, control, Some(endpoint), unit, metrics)
}
