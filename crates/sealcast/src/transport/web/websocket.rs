//! A WebSocket as a stream of bytes (protocol.md §11): where one message ends means nothing.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::extract::ws::{Message, WebSocket};
use bytes::{Buf, Bytes};
use futures_util::{Sink, Stream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::transport::Unread;

/// The subprotocol, which both ends name.
pub(super) const SUBPROTOCOL: &str = "sealcast.3";
/// Maximum length in bytes of a message, either way. More is never held for one.
pub(super) const MAX_MESSAGE: usize = 64 << 10;
/// Maximum of bytes that wait for a browser to take them: a message, and answers to pings beside it. The library's own
/// bound, should ours fail.
pub(super) const MAX_UNREAD: usize = 2 * MAX_MESSAGE;

/// The bytes of a WebSocket's binary messages.
pub(super) struct WebSocketStream {
    socket: WebSocket,
    /// The rest of the message that is being read.
    rest: Bytes,
    /// Bytes of the last message, until all of it and what came before it has been sent.
    unread: usize,
    /// The answer to a ping waits behind them.
    pong_waits: bool,
}

impl WebSocketStream {
    pub(super) fn new(socket: WebSocket) -> Self {
        Self {
            socket,
            rest: Bytes::new(),
            unread: 0,
            pong_waits: false,
        }
    }

    /// Bytes that wait for the browser to take them.
    pub(super) fn unread(&self) -> usize {
        self.unread
    }

    /// Sends what waits. Ready once nothing does.
    fn poll_sent(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.socket().poll_flush(context)).map_err(broken)?;
        (self.unread, self.pong_waits) = (0, false);
        Poll::Ready(Ok(()))
    }

    /// A ping came, and the library has its answer ready. One may wait to be sent, and no second one.
    fn answer(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        if self.pong_waits {
            return Err(io::Error::new(io::ErrorKind::ConnectionAborted, Unread));
        }
        self.pong_waits = true;
        match self.poll_sent(context) {
            Poll::Ready(Err(error)) => Err(error),
            Poll::Ready(Ok(())) | Poll::Pending => Ok(()),
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
            if self.pong_waits
                && let Poll::Ready(Err(error)) = self.poll_sent(context)
            {
                return Poll::Ready(Err(error));
            }
            match ready!(self.socket().poll_next(context)) {
                Some(Ok(Message::Binary(bytes))) => self.rest = bytes,
                Some(Ok(Message::Ping(_))) => self.answer(context)?,
                Some(Ok(Message::Pong(_))) => {}
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
        ready!(self.poll_sent(context))?;
        let count = bytes.len().min(MAX_MESSAGE);
        let message = Message::Binary(Bytes::copy_from_slice(&bytes[..count]));
        self.socket().start_send(message).map_err(broken)?;
        self.unread = count;
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_sent(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket().poll_close(context).map_err(broken)
    }
}
