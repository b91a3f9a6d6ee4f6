//! The page and its WebSockets over HTTP, with or without TLS.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use sealcast_proto::session::HANDSHAKE_TIMEOUT;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::names::Names;
use super::stream::WebStream;
use super::websocket::{MAX_MESSAGE, MAX_UNREAD, SUBPROTOCOL, WebSocketStream};
use super::webtransport::PATH;
use crate::meter::metrics::Metrics;
use crate::meter::telling::Telling;
use crate::transport::{AddressLimits, Limits, Place, tcp};
use crate::web::serve::{Remote, Taken};
use crate::web::{app, serve};

/// Maximum of HTTP connections: of one address, of all, and of new ones of an address in a second. A browser opens six
/// for a page. A connection that became a session's does not count here any more.
const MAX_CONNECTIONS_OF_ADDRESS: usize = 32;
const MAX_CONNECTIONS: usize = 256;
const CONNECTIONS_PER_SECOND: u32 = 64;
/// Buffer for what comes on a WebSocket, bytes: all that is read at once.
const READ_BUFFER: usize = 16 << 10;
/// Pause after accept() fails (too many open files), to avoid a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A new WebSocket with the address of its browser.
type Arrival = (WebStream, SocketAddr);

/// Destination of new WebSockets: whoever listens.
#[derive(Clone)]
pub(super) struct Arrivals(Arc<Mutex<mpsc::Sender<Arrival>>>);

impl Arrivals {
    pub(super) fn new(listener: mpsc::Sender<Arrival>) -> Self {
        Self(Arc::new(Mutex::new(listener)))
    }

    /// Sends later ones to another listener.
    pub(super) fn replace(&self, listener: mpsc::Sender<Arrival>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = listener;
    }

    fn listener(&self) -> mpsc::Sender<Arrival> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Serves the page and its WebSockets for ever.
pub(super) async fn serve(
    listener: TcpListener,
    tls: Option<Arc<rustls::ServerConfig>>,
    arrivals: Arrivals,
    names: Names,
    metrics: Metrics,
) {
    let router = app::router().merge(websockets(arrivals, names, WebStream::from));
    let router = app::hardened(router);
    let tls = tls.map(TlsAcceptor::from);
    let limits = AddressLimits::new(Limits {
        per_address: MAX_CONNECTIONS_OF_ADDRESS,
        in_all: MAX_CONNECTIONS,
        per_second: CONNECTIONS_PER_SECOND,
    });
    let mut connections = JoinSet::new();
    let mut failed = Telling::default();
    loop {
        let accepted = tokio::select! {
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, from)) => match limits.enter(from.ip(), Instant::now()) {
                Some(place) => {
                    tcp::tune(&stream);
                    let connection = serve::bounded(stream, from, &metrics);
                    connections.spawn(serve_one(place, connection, tls.clone(), router.clone()));
                }
                None => tracing::debug!(%from, "turned a browser away: there are too many connections"),
            },
            Err(error) => {
                if let Some(total) = failed.count(Instant::now()) {
                    tracing::warn!(%error, total, "a browser could not connect");
                }
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Serves one connection until it ends, becomes a WebSocket, or its place is given to another.
async fn serve_one(
    place: Place,
    (stream, remote): (Taken<TcpStream>, Remote),
    tls: Option<TlsAcceptor>,
    router: Router,
) {
    let served = async {
        match tls {
            None => serve::connection(stream, remote, router).await,
            // Errors are those of the client, who gets no answer: a browser that does not trust the certificate yet
            // breaks off, and so does whoever speaks no TLS.
            Some(tls) => {
                if let Ok(Ok(stream)) = timeout(HANDSHAKE_TIMEOUT, tls.accept(stream)).await {
                    serve::connection(stream, remote, router).await;
                }
            }
        }
    };
    tokio::select! {
        () = served => {}
        () = place.evicted() => {}
    }
}

/// The route of WebSockets, which go to `arrivals` as the streams that `carry` makes of them.
pub(super) fn websockets(
    arrivals: Arrivals,
    names: Names,
    carry: impl Fn(WebSocketStream) -> WebStream + Clone + Send + Sync + 'static,
) -> Router {
    let carry: Carry = Arc::new(carry);
    Router::new()
        .route(PATH, get(open))
        .with_state((arrivals, names, carry))
}

type Carry = Arc<dyn Fn(WebSocketStream) -> WebStream + Send + Sync>;

/// Opens a WebSocket for the page that this server served.
async fn open(
    State((arrivals, names, carry)): State<(Arrivals, Names, Carry)>,
    Extension(remote): Extension<Remote>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    let host = headers.get(header::HOST).map(HeaderValue::to_str).and_then(Result::ok);
    if !names.are_of_this_page(&headers, host.unwrap_or_default()) {
        let text = "Only the page of this server may connect, at an address or under a name that --advertise or its \
                    certificate has.\n";
        return (StatusCode::FORBIDDEN, text).into_response();
    }
    let upgrade = upgrade
        .protocols([SUBPROTOCOL])
        .read_buffer_size(READ_BUFFER)
        // Each message goes to the network at once.
        .write_buffer_size(0)
        .max_write_buffer_size(MAX_UNREAD)
        .max_message_size(MAX_MESSAGE)
        .max_frame_size(MAX_MESSAGE);
    if upgrade.selected_protocol().is_none() {
        let text = format!("This server speaks {SUBPROTOCOL} alone.\n");
        return (StatusCode::BAD_REQUEST, text).into_response();
    }
    remote.upgrade();
    upgrade.on_upgrade(move |socket| async move {
        let stream = carry(WebSocketStream::new(socket));
        // It fails if nobody takes sessions any more; then the socket is closed.
        let _ = arrivals.listener().send((stream, remote.from)).await;
    })
}
