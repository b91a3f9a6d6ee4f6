//! A WebSocket as a stream of bytes (protocol.md §11): where one message ends means nothing.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::extract::ws::{Message, WebSocket};
use bytes::{Buf, Bytes};
use futures_util::{Sink, Stream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The subprotocol, which both ends name.
pub(super) const SUBPROTOCOL: &str = "sealcast.3";
/// Maximum length in bytes of a message, either way. More is never held for one.
pub(super) const MAX_MESSAGE: usize = 64 << 10;

/// The bytes of a WebSocket's binary messages.
pub(super) struct WebSocketStream {
    socket: WebSocket,
    /// The rest of the message that is being read.
    rest: Bytes,
}

impl WebSocketStream {
    pub(super) fn new(socket: WebSocket) -> Self {
        Self {
            socket,
            rest: Bytes::new(),
        }
    }

    fn socket(&mut self) -> Pin<&mut WebSocket> {
        Pin::new(&mut self.socket)
    }
}

fn broken(error: axum::Error) -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, error)
}

impl AsyncRead for WebSocketStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        while self.rest.is_empty() {
            match ready!(self.socket().poll_next(context)) {
                Some(Ok(Message::Binary(bytes))) => self.rest = bytes,
                // The library answers pings itself.
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Close(_))) | None => return Poll::Ready(Ok(())),
                Some(Ok(Message::Text(_))) => {
                    return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, "a text message came")));
                }
                Some(Err(error)) => return Poll::Ready(Err(broken(error))),
            }
        }
        let count = self.rest.len().min(into.remaining());
        into.put_slice(&self.rest[..count]);
        self.rest.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for WebSocketStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        // One message at most waits beneath; what is older than that can no longer be dropped.
        ready!(self.socket().poll_ready(context)).map_err(broken)?;
        let count = bytes.len().min(MAX_MESSAGE);
        let message = Message::Binary(Bytes::copy_from_slice(&bytes[..count]));
        self.socket().start_send(message).map_err(broken)?;
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket().poll_flush(context).map_err(broken)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket().poll_close(context).map_err(broken)
    }
}
