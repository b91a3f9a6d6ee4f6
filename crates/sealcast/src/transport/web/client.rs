//! The end that connects to a page's port without a page: over WebTransport, as a browser does (protocol.md §11).

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use quinn::crypto::rustls::QuicClientConfig;
use quinn::{Endpoint, EndpointConfig, TokioRuntime};
use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::version::TLS13;
use sealcast_proto::keys::Role;
use sealcast_proto::wire::{Host, Ticket};
use tokio::net::lookup_host;
use tokio::time::timeout;
use web_transport_quinn::Session;

use super::webtransport::WebTransportStream;
use super::{BrowserTransport, PATH};
use crate::failure::{Failure, FailureKind, Result};
use crate::transport::StreamTransport;
use crate::transport::quic::config;
use crate::transport::tls::AnyCertificate;

/// Connect timeout for each address.
const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
/// Maximum number of addresses of one name that are tried.
const MAX_CANDIDATES: usize = 4;

/// Connect to the first address of the ticket's host that answers. `role` is that of this end.
///
/// # Errors
/// The name is unknown, or no address answers.
pub(in crate::transport) async fn connect(ticket: &Ticket, role: Role) -> Result<BrowserTransport> {
    let (host, port) = (&ticket.host, ticket.port);
    let fail = |why: String, hint: &str| {
        let what = format!("cannot reach the page at {host}:{port} over WebTransport ({why})");
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
        match timeout(CONNECT_PATIENCE, connect_to(address, ticket, role)).await {
            Ok(Ok(stream)) => return Ok(StreamTransport::new(stream.into())),
            Ok(Err(why)) => last = why,
            Err(_) => last = format!("no answer within {} s", CONNECT_PATIENCE.as_secs()),
        }
    }
    let hint = "check that the other end runs, that UDP reaches its port, or ask for its other ticket";
    Err(fail(last, hint))
}

async fn connect_to(
    address: SocketAddr,
    ticket: &Ticket,
    role: Role,
) -> std::result::Result<WebTransportStream, String> {
    let any: SocketAddr = match address.is_ipv4() {
        true => (Ipv4Addr::UNSPECIFIED, 0).into(),
        false => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let tls = tls().map_err(|error| error.to_string())?;
    let socket = config::socket(any).map_err(|error| format!("no socket: {error}"))?;
    let endpoint = Endpoint::new(EndpointConfig::default(), None, socket, Arc::new(TokioRuntime));
    let endpoint = endpoint.map_err(|error| error.to_string())?;
    let name = ticket.host.to_string();
    let name = name.trim_start_matches('[').trim_end_matches(']');
    let connecting = endpoint.connect_with(config::browser_client(role, tls), address, name);
    let connection = connecting.map_err(|error| error.to_string())?;
    let connection = connection.await.map_err(|error| error.to_string())?;
    let url = format!("https://{}:{}{PATH}", ticket.host, ticket.port);
    let url = url::Url::parse(&url).map_err(|error| error.to_string())?;
    let session = Session::connect(connection, url).await;
    let session = session.map_err(|error| error.to_string())?;
    let (send, receive) = session.open_bi().await.map_err(|error| error.to_string())?;
    Ok(WebTransportStream::new(session, send, receive))
}

/// TLS that accepts any certificate: our own handshake authenticates the peer (keys.md).
fn tls() -> std::result::Result<QuicClientConfig, rustls::Error> {
    let provider = Arc::new(default_provider());
    let verifier = AnyCertificate(Arc::clone(&provider));
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![web_transport_quinn::ALPN.as_bytes().to_vec()];
    config.resumption = Resumption::disabled();
    QuicClientConfig::try_from(config).map_err(|_| rustls::Error::General("no cipher for QUIC".to_owned()))
}
