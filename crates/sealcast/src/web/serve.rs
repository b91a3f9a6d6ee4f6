//! Serves pages and metrics until their owner stops it. Clients that say nothing, or take nothing, do not keep others
//! out.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router, middleware};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::meter::labels::PeerQueue;
use crate::meter::metrics::Metrics;
use crate::meter::peer_bytes::Held;
use crate::meter::telling::Telling;
use crate::transport::{AddressLimits, Limits, Place};

/// Places of connections. Where they are taken, the oldest that had no answer yet but a refusal makes room.
const LIMITS: Limits = Limits {
    // A browser opens six, and a page of a few pictures as many more.
    per_address: 32,
    in_all: 64,
    per_second: 256,
};
/// Maximum length in bytes of a request line with its headers.
const MAX_REQUEST_HEAD: usize = 16 << 10;
/// Maximum of bytes that are read ahead, a request's head among them, and of those of an answer that wait to be taken.
/// Pictures and files that exist already wait where they are.
const MAX_BUFFER: usize = MAX_REQUEST_HEAD + (4 << 10);
const PATIENCE: Patience = Patience {
    head: Duration::from_secs(5),
    // Longer than a browser that is busy with something else.
    write: Duration::from_secs(60),
};
/// Pause after accept() fails (too many open files), to avoid a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Time for open connections to end when the server is stopped.
const GRACE: Duration = Duration::from_millis(300);

/// The client, for those handlers that ask for it.
#[derive(Clone)]
pub(crate) struct Remote {
    /// Its address.
    pub(crate) from: SocketAddr,
    turns: Turns,
}

impl Remote {
    /// The connection is no longer one of requests and answers: both ends speak when they like.
    pub(crate) fn upgrade(&self) {
        self.turns.0.store(true, Ordering::Relaxed);
    }
}

/// Whether a connection is read from while an answer waits to be taken: false as long as the two ends take turns.
#[derive(Clone, Default)]
struct Turns(Arc<AtomicBool>);

/// Times for which a client may do nothing.
#[derive(Clone, Copy)]
struct Patience {
    /// Time for the head of a request, and for the next request on a connection that is kept open.
    head: Duration,
    /// Time for the client to take something of an answer.
    write: Duration,
}

/// A port to serve at, within TLS or not.
pub(crate) struct Port {
    /// Where connections come in.
    pub(crate) listener: TcpListener,
    /// Keys and certificate; `None` for connections in clear.
    pub(crate) tls: Option<Arc<ServerConfig>>,
    /// Where answers are counted that wait to be taken, if the program has metrics.
    pub(crate) metrics: Option<Metrics>,
}

/// Serve `router` until `closed` completes; then connections have [`GRACE`] to end.
pub(crate) async fn serve_until(port: Port, router: Router, closed: impl Future<Output = ()>) {
    serve_with(PATIENCE, port, router, closed).await;
}

async fn serve_with(patience: Patience, port: Port, router: Router, closed: impl Future<Output = ()>) {
    let Port { listener, tls, metrics } = port;
    let tls = tls.map(TlsAcceptor::from);
    let (stop, stopping) = watch::channel(false);
    let limits = AddressLimits::new(LIMITS);
    let mut connections = JoinSet::new();
    let mut failed = Telling::default();
    tokio::pin!(closed);
    loop {
        tokio::select! {
            () = &mut closed => break,
            Some(_) = connections.join_next() => {}
            // One more than there are places takes that of another, which ends before the next one comes.
            accepted = listener.accept(), if connections.len() <= LIMITS.in_all => match accepted {
                Ok((stream, from)) => {
                    // Who gets no place has enough that are answered, or comes too often.
                    let Some(place) = limits.enter(from.ip(), Instant::now()) else { continue };
                    let (tls, router) = (tls.clone(), router.clone());
                    // Pictures are written in one piece; Nagle's algorithm would only delay the last segment of each.
                    let _ = stream.set_nodelay(true);
                    let stream = Taken::new(stream, patience.write, held_in(metrics.as_ref()));
                    connections.spawn(serve_placed(patience, (stream, from), place, tls, router, stopping.clone()));
                }
                Err(error) => {
                    if let Some(total) = failed.count(Instant::now()) {
                        tracing::warn!(%error, total, "a browser could not connect");
                    }
                    sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    let _ = stop.send(true);
    // Those that are left end with the set.
    let _ = timeout(GRACE, async { while connections.join_next().await.is_some() {} }).await;
}

/// Serve one connection as [`serve_one`] does, or until its place is taken away. From its first answer on that is no
/// refusal it keeps the place.
async fn serve_placed(
    patience: Patience,
    connection: (Taken<TcpStream>, SocketAddr),
    place: Place,
    tls: Option<TlsAcceptor>,
    router: Router,
    stopping: watch::Receiver<bool>,
) {
    let place = Arc::new(place);
    let answered = Arc::clone(&place);
    let router = router.layer(middleware::map_response(move |answer: Response| {
        if !answer.status().is_client_error() {
            answered.speaks();
        }
        std::future::ready(answer)
    }));
    tokio::select! {
        () = place.evicted() => {}
        () = serve_one(patience, connection, tls, router, stopping) => {}
    }
}

/// Serve one connection until it ends, or until `stopping` turns true and its present answer is complete.
async fn serve_one(
    patience: Patience,
    (stream, from): (Taken<TcpStream>, SocketAddr),
    tls: Option<TlsAcceptor>,
    router: Router,
    stopping: watch::Receiver<bool>,
) {
    let router = router.layer(Extension(stream.remote(from)));
    match tls {
        None => serve_http(patience, stream, router, stopping).await,
        // Errors are those of the client, who gets no answer.
        Some(tls) => {
            if let Ok(Ok(stream)) = timeout(patience.head, tls.accept(stream)).await {
                serve_http(patience, stream, router, stopping).await;
            }
        }
    }
}

async fn serve_http(
    patience: Patience,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    mut stopping: watch::Receiver<bool>,
) {
    let connection = http(patience).serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let connection = connection.with_upgrades();
    tokio::pin!(connection);
    // Errors are those of the client, who does not get an answer.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stopping.wait_for(|stop| *stop) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}

/// Serve one connection of a client, with TLS or without, until it ends or becomes a WebSocket.
pub(crate) async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    remote: Remote,
    router: Router,
) {
    let router = router.layer(Extension(remote));
    let connection = http(PATIENCE)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .with_upgrades();
    // Errors are those of the client, who does not get an answer.
    let _ = connection.await;
}

/// Serve one connection over a pipe.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) async fn over_pipe(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    from: SocketAddr,
    router: Router,
) {
    let stream = Taken::new(stream, PATIENCE.write, Arc::default());
    let remote = stream.remote(from);
    connection(stream, remote, router).await;
}

/// A connection that breaks if the client takes nothing for a minute, and who that is. What waits for the client is
/// counted in `metrics`.
pub(crate) fn bounded(stream: TcpStream, from: SocketAddr, metrics: &Metrics) -> (Taken<TcpStream>, Remote) {
    let stream = Taken::new(stream, PATIENCE.write, held_in(Some(metrics)));
    let remote = stream.remote(from);
    (stream, remote)
}

/// The count of what waits for one client.
fn held_in(metrics: Option<&Metrics>) -> Arc<Held> {
    metrics.map_or_else(Arc::default, |metrics| metrics.held(PeerQueue::Answer))
}

fn http(patience: Patience) -> http1::Builder {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(patience.head)
        .max_header_size(MAX_REQUEST_HEAD)
        .max_buf_size(MAX_BUFFER);
    http
}

/// A connection that breaks if the client takes nothing for too long. Until then nothing more is read from who does not
/// take the answers: the library reads on, and keeps those to requests that expect to be told to continue.
pub(crate) struct Taken<S> {
    stream: S,
    patience: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
    turns: Turns,
    /// Waker of the reader, which would read meanwhile.
    reader: Option<Waker>,
    /// Bytes that were offered to the system, and that it has not taken.
    held: Arc<Held>,
}

impl<S> Taken<S> {
    fn new(stream: S, patience: Duration, held: Arc<Held>) -> Self {
        Self {
            stream,
            patience,
            stalled: None,
            turns: Turns::default(),
            reader: None,
            held,
        }
    }

    fn remote(&self, from: SocketAddr) -> Remote {
        Remote {
            from,
            turns: self.turns.clone(),
        }
    }

    fn in_time(
        &mut self,
        cx: &mut Context<'_>,
        offered: usize,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let taken = match written {
            Poll::Pending => 0,
            Poll::Ready(Ok(taken)) => taken,
            Poll::Ready(Err(_)) => offered,
        };
        // What waits in a WebSocket is counted by its session.
        let upgraded = self.turns.0.load(Ordering::Relaxed);
        self.held.set(if upgraded { 0 } else { offered.saturating_sub(taken) });
        if written.is_ready() {
            self.stalled = None;
            self.reader.take().into_iter().for_each(Waker::wake);
            return written;
        }
        let patience = self.patience;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Taken<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.stalled.is_some() && !self.turns.0.load(Ordering::Relaxed) {
            self.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Taken<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.in_time(cx, buf.len(), written)
    }
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.in_time(cx, bufs.iter().map(|piece| piece.len()).sum(), written)
    }
    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// A response with static text.
pub(crate) fn text(kind: &'static str, text: &'static str) -> Response {
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;
    use axum::routing::{get, post};
    use bytes::Bytes;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::oneshot;

    use super::*;
    use crate::meter::build_info::BuildInfo;

    /// Length in bytes of a pipe, which an eager server would empty.
    const PIPE: usize = 256 << 10;
    /// More than is in the pipe, and what it takes to fill the other direction with answers, of 100 bytes or more.
    const MOST: usize = 8 << 20;
    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

    /// Tests do not wait for seconds. What a client has sent in time is answered however late it is seen.
    const SHORT: Patience = Patience {
        head: Duration::from_millis(300),
        write: Duration::from_millis(300),
    };

    /// A server of this content on a free port; it stops when the sender is dropped.
    async fn serving(content: Bytes) -> (SocketAddr, oneshot::Sender<()>, tokio::task::JoinHandle<()>) {
        serving_with(SHORT, content).await
    }

    async fn serving_with(
        patience: Patience,
        content: Bytes,
    ) -> (SocketAddr, oneshot::Sender<()>, tokio::task::JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let router = Router::new().route("/", get(|| async move { content.clone() }));
        let (stop, stopped) = oneshot::channel();
        let port = Port {
            listener,
            tls: None,
            metrics: None,
        };
        let task = tokio::spawn(serve_with(patience, port, router, async { drop(stopped.await) }));
        (address, stop, task)
    }

    #[tokio::test]
    async fn a_connection_without_a_request_is_closed_also_after_an_answer() {
        let (address, _stop, _task) = serving(Bytes::from_static(b"content")).await;
        let mut silent = TcpStream::connect(address).await.expect("a connection");
        let mut half = TcpStream::connect(address).await.expect("a connection");
        half.write_all(&REQUEST[..20]).await.expect("written");
        let mut kept = TcpStream::connect(address).await.expect("a connection");
        kept.write_all(REQUEST).await.expect("written");
        for (stream, answer) in [(&mut silent, ""), (&mut half, ""), (&mut kept, "content")] {
            let mut heard = String::new();
            stream.read_to_string(&mut heard).await.expect("an end");
            assert!(
                heard.ends_with(answer) && heard.is_empty() == answer.is_empty(),
                "{heard}"
            );
        }
    }

    /// Bytes that a server takes from a client that repeats `request` and reads nothing, over a [`PIPE`], until it
    /// takes no more for a thousand turns of everybody.
    async fn taken_unread(vectored: bool, request: &[u8]) -> (usize, bool) {
        let router = Router::new()
            .route("/", get(|| async { vec![b'x'; 10_000] }))
            .route("/none", get(|| async { StatusCode::NO_CONTENT }))
            .route("/take", post(|_: Bytes| async { "taken" }));
        let (mut client, server) = tokio::io::duplex(PIPE);
        let from = ([127, 0, 0, 1], 1).into();
        let task = tokio::spawn(over_pipe(Vectored(server, vectored), from, router));
        let (mut taken, mut idle) = (0, 0);
        let mut rest = request;
        while idle < 1000 && taken < MOST {
            match std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut client).poll_write(cx, rest))).await {
                Poll::Ready(Ok(count)) => {
                    (taken, idle) = (taken + count, 0);
                    rest = if rest.len() > count { &rest[count..] } else { request };
                }
                Poll::Ready(Err(_)) => break,
                Poll::Pending => {
                    idle += 1;
                    tokio::task::yield_now().await;
                }
            }
        }
        (taken, task.is_finished())
    }

    /// A pipe that takes several pieces at once, as a socket does, or one at a time, as TLS does.
    struct Vectored(tokio::io::DuplexStream, bool);

    impl AsyncRead for Vectored {
        fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_read(cx, buf)
        }
    }

    impl AsyncWrite for Vectored {
        fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
            Pin::new(&mut self.0).poll_write(cx, buf)
        }
        fn is_write_vectored(&self) -> bool {
            self.1
        }
        fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_flush(cx)
        }
        fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_shutdown(cx)
        }
    }

    #[tokio::test]
    async fn a_client_that_asks_and_reads_nothing_is_soon_asked_to_wait() {
        let post = [
            b"POST /take HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n".as_slice(),
            &[b'x'; 1000],
        ];
        let chunk = b"POST /take HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";
        let expects = b"POST /take HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx";
        let unread = b"POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx";
        let h2 = [
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".as_slice(),
            &[0, 0, 8, 6, 0, 0, 0, 0, 0].repeat(1000),
        ];
        for (name, request) in [
            ("GET", REQUEST),
            ("GET without content", b"GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            ("HEAD", b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            ("no such path", b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            ("no such method", b"BREW / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            ("POST", &post.concat()),
            ("POST in chunks", chunk),
            ("100-continue", expects),
            ("100-continue that nobody reads", unread),
            ("empty lines", b"\r\n"),
            ("HTTP/2 and its frames", &h2.concat()),
        ] {
            for vectored in [true, false] {
                let (taken, ended) = taken_unread(vectored, request).await;
                println!("{name}, vectored {vectored}: {taken} bytes, ended {ended}");
                assert!(taken < MOST, "{name}, vectored {vectored}: it takes everything");
            }
        }
    }

    #[tokio::test]
    async fn what_a_client_does_not_take_is_counted_until_it_is_gone() {
        let metrics = Metrics::new(BuildInfo::default());
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        // More than the buffers of both sockets hold.
        let content = Bytes::from(vec![b'x'; 32 << 20]);
        let router = Router::new().route("/", get(|| async move { content.clone() }));
        let port = Port {
            listener,
            tls: None,
            metrics: Some(metrics.clone()),
        };
        let serving = tokio::spawn(serve_with(PATIENCE, port, router, std::future::pending()));
        let held = || metrics.peer_bytes_in(PeerQueue::Answer);
        assert_eq!(held(), 0);
        let mut deaf = TcpStream::connect(address).await.expect("a connection");
        deaf.write_all(REQUEST).await.expect("written");
        while held() == 0 {
            sleep(Duration::from_millis(10)).await;
        }
        drop(deaf);
        while held() > 0 {
            sleep(Duration::from_millis(10)).await;
        }
        serving.abort();
    }

    /// A connection from this address of the loopback.
    async fn connected(from: [u8; 4], to: SocketAddr) -> TcpStream {
        let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
        socket.bind((from, 0).into()).expect("an address of the loopback");
        socket.connect(to).await.expect("a connection")
    }

    /// Asks, and hears the whole answer.
    async fn hear(stream: &mut TcpStream) {
        stream.write_all(REQUEST).await.expect("it is open");
        let mut heard = Vec::new();
        while !heard.ends_with(b"content") {
            assert!(stream.read_buf(&mut heard).await.expect("an answer") > 0, "{heard:?}");
        }
    }

    /// Whether a request from there is answered.
    async fn is_answered(from: [u8; 4], to: SocketAddr) -> bool {
        let mut stream = connected(from, to).await;
        let mut head = [0; 15];
        let asked = stream.write_all(REQUEST).await;
        asked.is_ok() && stream.read_exact(&mut head).await.is_ok() && &head == b"HTTP/1.1 200 OK"
    }

    #[tokio::test]
    async fn idle_connections_of_an_address_keep_nobody_out_and_nobody_who_was_answered_loses_his() {
        let long = Patience {
            head: Duration::from_secs(600),
            write: Duration::from_secs(600),
        };
        let (address, _stop, _task) = serving_with(long, Bytes::from_static(b"content")).await;
        let (bad, good) = ([127, 0, 0, 2], [127, 0, 0, 1]);
        let mut kept = connected(bad, address).await;
        hear(&mut kept).await;
        let mut idle = Vec::new();
        for _ in 0..3 * LIMITS.per_address {
            idle.push(connected(bad, address).await);
        }
        for from in [good, bad] {
            assert!(is_answered(from, address).await, "{from:?}");
        }
        hear(&mut kept).await;
    }

    #[tokio::test]
    async fn a_client_that_takes_nothing_does_not_hold_its_place() {
        // More than the buffers of both sockets hold.
        let (address, stop, task) = serving(vec![b'x'; 32 << 20].into()).await;
        let mut deaf = Vec::new();
        for _ in 0..LIMITS.per_address {
            let mut stream = TcpStream::connect(address).await.expect("a connection");
            stream.write_all(REQUEST).await.expect("written");
            deaf.push(stream);
        }
        while !is_answered([127, 0, 0, 1], address).await {
            sleep(Duration::from_millis(10)).await;
        }
        drop(stop);
        task.await.expect("it stops although answers are not taken");
    }
}
