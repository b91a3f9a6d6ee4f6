//! Browsers: a page with our program for browsers, and beside it sessions over WebSockets and WebTransport on the same
//! port (protocol.md §11). Neither TLS nor who serves the page is what protects the stream: our own handshake and
//! records run inside.

mod altered;
mod certificate;
mod client;
mod names;
mod server;
mod stream;
mod url;
mod websocket;
mod webtransport;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use axum::Router;
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::version::{TLS12, TLS13};
use sealcast_proto::keys::{PeerId, Role};
use sealcast_proto::wire::{Address, Host, Ticket, TransportKind};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

pub use self::altered::Alteration;
use self::altered::AlteredStream;
use self::certificate::{Certificates, Origin};
pub(super) use self::client::connect;
use self::names::Names;
use self::server::Arrivals;
pub use self::stream::{BrowserTransport, WebStream};
pub use self::url::{DEFAULT_WEB_PORT, WebUrl};
use self::webtransport::{WebTransportStream, WebTransports};
use super::advertised::{Advertised, unbracketed};
use super::{StreamTransport, tcp};
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::files;
use crate::meter::metrics::Metrics;

/// WebSockets that wait to be accepted.
const MAX_ARRIVALS: usize = 16;
/// Number of times that two free ports with the same number are looked for, one of TCP and one of UDP.
const PORT_TRIES: usize = 16;

/// Accepts the sessions that browsers open.
pub struct WebListener {
    address: SocketAddr,
    arrivals: mpsc::Receiver<(WebStream, SocketAddr)>,
    page: Option<ServedPage>,
}

/// The page that a listener serves itself, and what it needs for that.
struct ServedPage {
    tls: bool,
    certificates: Arc<Certificates>,
    webtransports: WebTransports,
    names: Names,
    /// The server, which ends with this.
    _server: JoinSet<()>,
}

impl WebListener {
    /// Serve the page at the address of `url`, and listen there: on a port of TCP and the same port of UDP; port 0
    /// takes a free one. `advertised` is what stands in tickets, and `role` is that of this end.
    ///
    /// # Errors
    /// A port is taken, the address does not belong to this machine, or there is no usable certificate.
    pub fn bind(url: &WebUrl, advertised: &Advertised, role: Role, metrics: &Metrics) -> Result<Self> {
        let provider = Arc::new(default_provider());
        let origin = origin(url, advertised)?;
        let certificates = Certificates::open(origin, Arc::clone(&provider), SystemTime::now())?;
        let (listener, webtransports) = ports(url, || {
            (Arc::clone(&certificates), Arc::clone(&provider), role, metrics.clone())
        })?;
        let address = webtransports.address();
        let tls = url.tls.then(|| tls(provider, &certificates)).transpose()?;
        let (sender, arrivals) = mpsc::channel(MAX_ARRIVALS);
        let names = Names {
            advertised: advertised.hosts(),
            certificates: Some(Arc::clone(&certificates)),
        };
        let mut server = JoinSet::new();
        server.spawn(server::serve(
            listener,
            tls.map(Arc::new),
            Arrivals::new(sender),
            names.clone(),
            metrics.clone(),
        ));
        Ok(Self {
            address,
            arrivals,
            page: Some(ServedPage {
                tls: url.tls,
                certificates,
                webtransports,
                names,
                _server: server,
            }),
        })
    }

    /// The address that is listened at.
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// Function that makes the ticket of `peer`, without an invite, also when this listens elsewhere in the program:
    /// the certificate changes while it runs.
    pub fn way(&self, advertised: &Advertised, peer: PeerId) -> impl Fn() -> Result<Ticket> + Send + Sync + use<> {
        let (address, advertised) = (self.address, advertised.clone());
        let certificates = self.page.as_ref().map(|page| Arc::clone(&page.certificates));
        let tls = self.page.as_ref().is_some_and(|page| page.tls);
        move || {
            let hashes = certificates.as_ref().map(|made| made.hashes(SystemTime::now()));
            let mut ticket = Ticket {
                host: Host::V4(Ipv4Addr::UNSPECIFIED),
                port: address.port(),
                peer,
                transport: if tls { TransportKind::Https } else { TransportKind::Http },
                latency: None,
                cert_hashes: hashes.transpose()?.unwrap_or_default(),
                broadcast: None,
                others: Vec::new(),
                invite: None,
            };
            advertised.fill(&mut ticket, address);
            Ok(ticket)
        }
    }

    /// Returns the next session's transport and the browser's address. Cancel-safe.
    ///
    /// # Errors
    /// The listener has ended, which happens only when the program ends.
    pub async fn accept(&mut self) -> io::Result<(BrowserTransport, SocketAddr)> {
        let gone = || io::Error::new(io::ErrorKind::BrokenPipe, "the page's server has ended");
        let webtransports = self.page.as_mut().map(|page| (&mut page.webtransports, &page.names));
        let (stream, remote) = tokio::select! {
            arrived = self.arrivals.recv() => arrived.ok_or_else(gone)?,
            opened = next(webtransports) => {
                let opened = opened?;
                let remote = opened.remote();
                (opened.into(), remote)
            }
        };
        Ok((StreamTransport::new(stream), remote))
    }
}

/// The WebSockets of a page that somebody else serves at an address. Listeners for them come and go.
pub struct PageSessions {
    address: SocketAddr,
    arrivals: Arrivals,
}

impl PageSessions {
    /// For the page at `address`. Nobody listens yet: a WebSocket is closed as soon as it is open.
    pub fn new(address: SocketAddr) -> Self {
        let arrivals = Arrivals::new(mpsc::channel(MAX_ARRIVALS).0);
        Self { address, arrivals }
    }

    /// The routes for the page's server. What passes is altered when asked.
    pub fn routes(&self, alteration: Alteration) -> Router {
        let carry = move |stream| AlteredStream::new(stream, alteration.clone()).into();
        server::websockets(self.arrivals.clone(), Names::default(), carry)
    }

    /// Listen in place of who listened before.
    pub fn listen(&self) -> WebListener {
        let (sender, arrivals) = mpsc::channel(MAX_ARRIVALS);
        self.arrivals.replace(sender);
        WebListener {
            address: self.address,
            arrivals,
            page: None,
        }
    }
}

/// The next session of WebTransport; never, where there is none. Cancel-safe.
async fn next(webtransports: Option<(&mut WebTransports, &Names)>) -> io::Result<WebTransportStream> {
    match webtransports {
        Some((webtransports, names)) => {
            webtransports
                .next(|incoming| webtransport::begin(incoming, names.clone()))
                .await
        }
        None => std::future::pending().await,
    }
}

/// TLS with these files' certificate, or with the one that is made here for pages.
///
/// # Errors
/// The certificate cannot be read or made.
pub fn page_tls(address: SocketAddr, certificate: Option<(PathBuf, PathBuf)>) -> Result<Arc<rustls::ServerConfig>> {
    let url = WebUrl {
        address,
        tls: true,
        certificate,
    };
    let provider = Arc::new(default_provider());
    let certificates = Certificates::open(
        origin(&url, &Advertised::default())?,
        Arc::clone(&provider),
        SystemTime::now(),
    )?;
    tls(provider, &certificates).map(Arc::new)
}

/// Origin of the certificates: the URL's files, or this user's folder.
fn origin(url: &WebUrl, advertised: &Advertised) -> Result<Origin> {
    if let Some((chain, key)) = url.certificate.clone() {
        return Ok(Origin::Given { chain, key });
    }
    let mut names: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
    for Address { host, .. } in advertised.addresses(url.address) {
        let own = unbracketed(&host);
        if !names.contains(&own) {
            names.push(own);
        }
    }
    Ok(Origin::Made {
        folder: files::home()?.join("web"),
        names,
    })
}

/// Binds TCP and UDP at the same port.
fn ports(
    url: &WebUrl,
    parts: impl Fn() -> (Arc<Certificates>, Arc<CryptoProvider>, Role, Metrics),
) -> Result<(TcpListener, WebTransports)> {
    let scheme = if url.tls { "https" } else { "http" };
    let mut tries = if url.address.port() == 0 { PORT_TRIES } else { 1 };
    loop {
        let listener = tcp::listen(scheme, url.address)?;
        let broken = |error| {
            let what = format!("the listening socket is broken ({error})");
            Failure::new(FailureKind::Network, what, "try again")
        };
        let address = listener.local_addr().map_err(broken)?;
        let (certificates, provider, role, metrics) = parts();
        tries -= 1;
        match webtransport::listen(address, certificates, provider, role, metrics) {
            Ok(webtransports) => return Ok((listener, webtransports)),
            // The port of UDP with this number is taken.
            Err(failure) if tries == 0 => return Err(failure),
            Err(_) => {}
        }
    }
}

fn tls(provider: Arc<CryptoProvider>, certificates: &Arc<Certificates>) -> Result<rustls::ServerConfig> {
    let unusable = |error| {
        let what = format!("TLS cannot be set up for the page ({error})");
        Failure::new(FailureKind::Internal, what, "please report this")
    };
    let config = rustls::ServerConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13, &TLS12]);
    let mut config = config
        .map_err(unusable)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::<Certificates>::clone(certificates));
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
