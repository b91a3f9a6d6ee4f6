//! The end that connects to a page's port without a page: over WebTransport, as a browser does (protocol.md §11).

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use quinn::{Endpoint, EndpointConfig, TokioRuntime};
use rustls::crypto::aws_lc_rs::default_provider;
use sealcast_proto::keys::Role;
use web_transport_quinn::Session;

use super::webtransport::PATH;
use super::webtransport::WebTransportStream;
use crate::transport::quic::config;
use crate::transport::race::Place;
use crate::transport::tls::quic_client;

/// Connect to a place of the other end. `role` is that of this end.
///
/// # Errors
/// Nobody answers there, in words.
pub(in crate::transport) async fn connect(
    Place { at, address }: Place,
    role: Role,
) -> Result<WebTransportStream, String> {
    let any: SocketAddr = match at.is_ipv4() {
        true => (Ipv4Addr::UNSPECIFIED, 0).into(),
        false => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let tls = quic_client(Arc::new(default_provider()), web_transport_quinn::ALPN.as_bytes());
    let tls = tls.map_err(|error| error.to_string())?;
    let socket = config::socket(any).map_err(|error| format!("no socket: {error}"))?;
    let endpoint = Endpoint::new(EndpointConfig::default(), None, socket, Arc::new(TokioRuntime));
    let endpoint = endpoint.map_err(|error| error.to_string())?;
    let name = address.host.to_string();
    let name = name.trim_start_matches('[').trim_end_matches(']');
    let connecting = endpoint.connect_with(config::browser_client(role, tls), at, name);
    let connection = connecting.map_err(|error| error.to_string())?;
    let connection = connection.await.map_err(|error| error.to_string())?;
    let url = format!("https://{address}{PATH}");
    let url = url::Url::parse(&url).map_err(|error| error.to_string())?;
    let session = Session::connect(connection, url).await;
    let session = session.map_err(|error| error.to_string())?;
    let (send, receive) = session.open_bi().await.map_err(|error| error.to_string())?;
    Ok(WebTransportStream::new(session, send, receive))
}
