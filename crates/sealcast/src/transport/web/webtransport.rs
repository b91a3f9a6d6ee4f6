//! WebTransport over HTTP/3 (protocol.md §11): the browser opens one bidirectional stream, which carries everything.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Endpoint, EndpointConfig, Incoming, TokioRuntime};
use rustls::crypto::CryptoProvider;
use rustls::version::TLS13;
use sealcast_proto::keys::Role;
use sealcast_proto::session::HANDSHAKE_TIMEOUT;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::timeout;
use web_transport_quinn::http::StatusCode;
use web_transport_quinn::{RecvStream, Request, SendStream, Session};

use super::certificate::Certificates;
use super::names::Names;
use crate::failure::{Failure, FailureKind, Result};
use crate::meter::metrics::Metrics;
use crate::transport::quic::config;
use crate::transport::quic::handshakes::{Handshakes, Refused};
use crate::transport::url::cannot_listen;

/// Path of WebSockets and of WebTransport sessions.
pub(super) const PATH: &str = "/sealcast";

/// Time for what was sent to arrive before the connection is closed.
const GOODBYE_PATIENCE: Duration = Duration::from_secs(1);

/// The sessions that browsers open.
pub(super) type WebTransports = Handshakes<WebTransportStream>;

/// Listens with UDP at an address.
///
/// # Errors
/// The port is taken, or the address does not belong to this machine.
pub(super) fn listen(
    address: SocketAddr,
    certificates: Arc<Certificates>,
    provider: Arc<CryptoProvider>,
    role: Role,
    metrics: Metrics,
) -> Result<WebTransports> {
    let unusable = |error: &dyn std::fmt::Display| {
        let what = format!("WebTransport cannot be set up ({error})");
        Failure::new(FailureKind::Internal, what, "please report this")
    };
    let tls = rustls::ServerConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13]);
    let mut tls = tls
        .map_err(|error| unusable(&error))?
        .with_no_client_auth()
        .with_cert_resolver(certificates);
    tls.alpn_protocols = vec![web_transport_quinn::ALPN.as_bytes().to_vec()];
    let tls = QuicServerConfig::try_from(tls).map_err(|error| unusable(&error))?;
    let config = config::browser_server(role, tls);
    let open = || {
        let socket = config::socket(address)?;
        let endpoint = Endpoint::new(EndpointConfig::default(), Some(config), socket, Arc::new(TokioRuntime))?;
        Handshakes::new(endpoint, metrics)
    };
    open().map_err(|error: io::Error| cannot_listen("udp", address, &error))
}

/// Completes the handshake, and accepts the stream, which a browser opens with the first bytes on it.
pub(super) async fn begin(incoming: Incoming, names: Names) -> std::result::Result<WebTransportStream, Refused> {
    timeout(HANDSHAKE_TIMEOUT, open(incoming, &names)).await?
}

async fn open(incoming: Incoming, names: &Names) -> std::result::Result<WebTransportStream, Refused> {
    let connection = incoming.accept()?.await?;
    let no_session = |error: &dyn std::fmt::Display| Refused::Http(error.to_string());
    let request = Request::accept(connection).await.map_err(|error| no_session(&error))?;
    if request.url.path() != PATH {
        // The answer may not arrive: then the browser sees that the connection ends.
        let _ = request.reject(StatusCode::NOT_FOUND).await;
        return Err(Refused::Http("another path".to_owned()));
    }
    if !names.are_of_this_page(&request.headers, request.url.authority()) {
        let _ = request.reject(StatusCode::FORBIDDEN).await;
        return Err(Refused::Http("another page".to_owned()));
    }
    let session = request.ok().await.map_err(|error| no_session(&error))?;
    let (send, receive) = session.accept_bi().await.map_err(|error| no_session(&error))?;
    Ok(WebTransportStream::new(session, send, receive))
}

/// The one stream of a session. Dropping it ends the session.
pub(in crate::transport) struct WebTransportStream {
    session: Session,
    send: SendStream,
    receive: RecvStream,
}

impl WebTransportStream {
    pub(super) fn new(session: Session, send: SendStream, receive: RecvStream) -> Self {
        Self { session, send, receive }
    }

    /// Address of the browser.
    pub(super) fn remote(&self) -> SocketAddr {
        self.session.remote_address()
    }

    pub(super) fn admit(&self, receives_media: bool) {
        if receives_media {
            config::widen(&self.session);
        }
    }

    /// Nothing more will be sent: waits until sent data has had time to arrive.
    pub(in crate::transport) async fn finish(&mut self) {
        // It fails if there is nothing to wait for.
        if self.send.finish().is_ok() && timeout(GOODBYE_PATIENCE, self.send.stopped()).await.is_ok() {
            // When the session ends, a browser throws away what it has received and the page has not read. The page
            // ends the session itself once it has read the last message.
            let _ = timeout(GOODBYE_PATIENCE, self.session.closed()).await;
        }
    }
}

impl Drop for WebTransportStream {
    fn drop(&mut self) {
        self.session.close(0, b"");
    }
}

impl AsyncRead for WebTransportStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.receive).poll_read(context, into)
    }
}

impl AsyncWrite for WebTransportStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.send).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.send).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.send).poll_shutdown(context)
    }
}
