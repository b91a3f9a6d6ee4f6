//! The end that connects.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use quinn::{Connection, ConnectionId, Endpoint, RecvStream, SendStream, TokioRuntime};
use sealcast_proto::keys::{Role, ticket_mac};
use sealcast_proto::unit::Unit;
use sealcast_proto::wire::{Host, Ticket, TicketMac};
use tokio::net::lookup_host;

use super::peer::QuicTransport;
use super::{config, tls};
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::entropy;
use crate::meter::metrics::Metrics;

/// Connect timeout for each address.
const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
/// Maximum number of addresses of one name that are tried.
const MAX_CANDIDATES: usize = 4;

struct Connected {
    connection: Connection,
    control: (SendStream, RecvStream),
    endpoint: Endpoint,
}

/// Connect to the first address of the ticket's host that answers. `role` is that of this end, and `unit` its sealing
/// unit.
///
/// # Errors
/// The name is unknown, or no address answers.
pub(in crate::transport) async fn connect(
    ticket: &Ticket,
    role: Role,
    unit: Unit,
    metrics: Metrics,
) -> Result<QuicTransport> {
    let (host, port, mac) = (&ticket.host, ticket.port, ticket_mac(&ticket.peer));
    let fail = |why: String, hint: &str| {
        let what = format!("cannot reach {host}:{port} over QUIC ({why})");
        Failure::new(FailureKind::Network, what, hint)
    };
    let addresses: Vec<SocketAddr> = match host {
        Host::V4(address) => vec![(*address, port).into()],
        Host::V6(address) => vec![(*address, port).into()],
        Host::Name(name) => lookup_host((name.as_str(), port))
            .await
            .map_err(|error| fail(error.to_string(), "check the name and the network"))?
            .take(MAX_CANDIDATES)
            .collect(),
    };
    let mut last = "the name has no address".to_owned();
    for address in addresses {
        match tokio::time::timeout(CONNECT_PATIENCE, connect_to(address, role, &mac)).await {
            Ok(Ok(connected)) => {
                let Connected {
                    connection,
                    control,
                    endpoint,
                } = connected;
                return Ok(QuicTransport::new(connection, control, Some(endpoint), unit, metrics));
            }
            Ok(Err(why)) => last = why,
            Err(_) => last = format!("no answer within {} s", CONNECT_PATIENCE.as_secs()),
        }
    }
    Err(fail(
        last,
        "check that the other end runs, listens at quic://, and that a firewall lets you through",
    ))
}

async fn connect_to(address: SocketAddr, role: Role, mac: &TicketMac) -> std::result::Result<Connected, String> {
    let any: SocketAddr = if address.is_ipv4() {
        (Ipv4Addr::UNSPECIFIED, 0).into()
    } else {
        (Ipv6Addr::UNSPECIFIED, 0).into()
    };
    let ids = config::client_endpoint().map_err(|failure| failure.to_string())?;
    let first = entropy::random().map_err(|failure| failure.to_string())?;
    let first = ConnectionId::new(&mac.quic_id(first));
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
