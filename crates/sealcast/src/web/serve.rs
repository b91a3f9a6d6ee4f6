//! Serves pages and metrics until their owner stops it. Clients that say nothing, or take nothing, do not keep others
//! out.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep};

/// Maximum of concurrent connections; further ones wait in the system's backlog.
const MAX_CONNECTIONS: usize = 64;
/// Maximum length in bytes of a request line with its headers.
const MAX_REQUEST_HEAD: usize = 16 << 10;
const PATIENCE: Patience = Patience {
    head: Duration::from_secs(5),
    // Longer than a browser that is busy with something else.
    write: Duration::from_secs(60),
};
/// Pause after accept() fails (too many open files), to avoid a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Time for open connections to end when the server is stopped.
const GRACE: Duration = Duration::from_millis(300);

/// The client's address, for those handlers that ask for it.
#[derive(Clone, Copy)]
pub(crate) struct Remote(pub(crate) SocketAddr);

/// How long a client may do nothing.
#[derive(Clone, Copy)]
struct Patience {
    /// Time for the head of a request, and for the next request on a connection that is kept open.
    head: Duration,
    /// Time for the client to take something of an answer.
    write: Duration,
}

/// Serve `router` until `closed` completes; then connections have [`GRACE`] to end.
pub(crate) async fn serve_until(listener: TcpListener, router: Router, closed: impl Future<Output = ()>) {
    serve_with(PATIENCE, listener, router, closed).await;
}

async fn serve_with(patience: Patience, listener: TcpListener, router: Router, closed: impl Future<Output = ()>) {
    let (stop, stopping) = watch::channel(false);
    let mut connections = JoinSet::new();
    tokio::pin!(closed);
    loop {
        tokio::select! {
            () = &mut closed => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if connections.len() < MAX_CONNECTIONS => match accepted {
                Ok((stream, from)) => {
                    let router = router.clone().layer(Extension(Remote(from)));
                    connections.spawn(serve_one(patience, stream, router, stopping.clone()));
                }
                Err(error) => {
                    tracing::warn!(%error, "a browser could not connect");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    let _ = stop.send(true);
    // Those that are left end with the set.
    let _ = tokio::time::timeout(GRACE, async { while connections.join_next().await.is_some() {} }).await;
}

/// Serve one connection until it ends, or until `stopping` turns true and its present answer is complete.
async fn serve_one(patience: Patience, stream: TcpStream, router: Router, mut stopping: watch::Receiver<bool>) {
    // Pictures are written in one piece; Nagle's algorithm would only delay the last segment of each.
    let _ = stream.set_nodelay(true);
    let connection = http(patience).serve_connection(
        TokioIo::new(Taken::new(stream, patience.write)),
        TowerToHyperService::new(router),
    );
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

/// Serve one connection of a client at `from`, with TLS or without, until it ends or becomes a WebSocket.
pub(crate) async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    from: SocketAddr,
    router: Router,
) {
    let router = router.layer(Extension(Remote(from)));
    let connection = http(PATIENCE)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .with_upgrades();
    // Errors are those of the client, who does not get an answer.
    let _ = connection.await;
}

/// A connection that breaks if the client takes nothing for a minute.
pub(crate) fn bounded(stream: TcpStream) -> Taken {
    Taken::new(stream, PATIENCE.write)
}

fn http(patience: Patience) -> http1::Builder {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(patience.head)
        .max_header_size(MAX_REQUEST_HEAD);
    http
}

/// A connection that breaks if the client takes nothing for too long.
pub(crate) struct Taken {
    stream: TcpStream,
    patience: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Taken {
    fn new(stream: TcpStream, patience: Duration) -> Self {
        Self {
            stream,
            patience,
            stalled: None,
        }
    }

    fn in_time(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let patience = self.patience;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Taken {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Taken {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.in_time(cx, written)
    }
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.in_time(cx, written)
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
    use axum::routing::get;
    use bytes::Bytes;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::oneshot;

    use super::*;

    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

    /// Tests do not wait for seconds. What a client has sent in time is answered however late it is seen.
    const SHORT: Patience = Patience {
        head: Duration::from_millis(300),
        write: Duration::from_millis(300),
    };

    /// A server of this content on a free port; it stops when the sender is dropped.
    async fn serving(content: Bytes) -> (SocketAddr, oneshot::Sender<()>, tokio::task::JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let router = Router::new().route("/", get(|| async move { content.clone() }));
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(serve_with(SHORT, listener, router, async { drop(stopped.await) }));
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

    #[tokio::test]
    async fn a_client_that_takes_nothing_does_not_hold_its_place() {
        // More than the buffers of both sockets hold.
        let (address, stop, task) = serving(vec![b'x'; 32 << 20].into()).await;
        let mut deaf = Vec::new();
        for _ in 0..MAX_CONNECTIONS {
            let mut stream = TcpStream::connect(address).await.expect("a connection");
            stream.write_all(REQUEST).await.expect("written");
            deaf.push(stream);
        }
        let mut honest = TcpStream::connect(address).await.expect("a connection");
        honest.write_all(REQUEST).await.expect("written");
        let mut head = [0; 15];
        honest.read_exact(&mut head).await.expect("an answer");
        assert_eq!(&head, b"HTTP/1.1 200 OK");
        drop(stop);
        task.await.expect("it stops although answers are not taken");
    }
}
