//! Carrier of a browser's session: a WebSocket, or a stream of WebTransport.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::altered::AlteredStream;
use super::websocket::WebSocketStream;
use super::webtransport::WebTransportStream;
use crate::transport::StreamTransport;

/// Carries the messages of a browser's session.
pub type BrowserTransport = StreamTransport<WebStream>;

/// The stream of bytes of a browser's session.
pub struct WebStream(Kind);

enum Kind {
    WebSocket(WebSocketStream),
    WebTransport(Box<WebTransportStream>),
    Altered(AlteredStream),
}

impl From<WebSocketStream> for WebStream {
    fn from(stream: WebSocketStream) -> Self {
        Self(Kind::WebSocket(stream))
    }
}

impl From<WebTransportStream> for WebStream {
    fn from(stream: WebTransportStream) -> Self {
        Self(Kind::WebTransport(Box::new(stream)))
    }
}

impl From<AlteredStream> for WebStream {
    fn from(stream: AlteredStream) -> Self {
        Self(Kind::Altered(stream))
    }
}

impl WebStream {
    /// The session is established, and `receives_media` if this end is its viewer.
    pub(in crate::transport) fn admit(&mut self, receives_media: bool) {
        if let Kind::WebTransport(stream) = &self.0 {
            stream.admit(receives_media);
        }
    }

    /// Bytes that wait beneath this stream for the browser to take them. What QUIC holds has the bound of its window.
    pub(crate) fn unread(&self) -> usize {
        match &self.0 {
            Kind::WebSocket(stream) => stream.unread(),
            Kind::Altered(stream) => stream.unread(),
            Kind::WebTransport(_) => 0,
        }
    }

    /// The stream if it is a WebTransport's, which ends otherwise than a connection of TCP.
    pub(in crate::transport) fn as_webtransport(&mut self) -> Option<&mut WebTransportStream> {
        match &mut self.0 {
            Kind::WebTransport(stream) => Some(stream),
            Kind::WebSocket(_) | Kind::Altered(_) => None,
        }
    }
}

impl AsyncRead for WebStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Kind::WebSocket(stream) => Pin::new(stream).poll_read(context, into),
            Kind::Altered(stream) => Pin::new(stream).poll_read(context, into),
            Kind::WebTransport(stream) => Pin::new(stream).poll_read(context, into),
        }
    }
}

impl AsyncWrite for WebStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.0 {
            Kind::WebSocket(stream) => Pin::new(stream).poll_write(context, bytes),
            Kind::Altered(stream) => Pin::new(stream).poll_write(context, bytes),
            Kind::WebTransport(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Kind::WebSocket(stream) => Pin::new(stream).poll_flush(context),
            Kind::Altered(stream) => Pin::new(stream).poll_flush(context),
            Kind::WebTransport(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Kind::WebSocket(stream) => Pin::new(stream).poll_shutdown(context),
            Kind::Altered(stream) => Pin::new(stream).poll_shutdown(context),
            Kind::WebTransport(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
