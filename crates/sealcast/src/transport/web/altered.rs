//! A WebSocket on which somebody on the path alters a bit: for the demo, which shows what comes of it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::websocket::WebSocketStream;

/// Length in bytes from which on a message is a record of a frame and not a control message.
const LONG: usize = 600;
/// Bytes of the length before each message.
const PREFIX: usize = 4;

/// Asks for one bit of the next frame to be altered on its way.
#[derive(Clone, Default)]
pub struct Alteration(Arc<AtomicBool>);

impl Alteration {
    /// Alter a bit of the next frame that leaves.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn is_done(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Finds where messages begin in a byte stream that is written in pieces. One piece may have many of them, and an
/// altered length would end the session instead of one record.
#[derive(Clone, Default)]
struct Messages {
    /// Bytes of the current message that are still to come.
    left: usize,
    /// Bytes of the next length that have come, and their value.
    prefix: (usize, u32),
}

impl Messages {
    /// Takes the next bytes, and returns where the middle of the first long message that begins here is.
    fn advance(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        let mut found = None;
        while at < bytes.len() {
            if self.left > 0 {
                let step = self.left.min(bytes.len() - at);
                self.left -= step;
                at += step;
                continue;
            }
            let (count, value) = self.prefix;
            self.prefix = (count + 1, value << 8 | u32::from(bytes[at]));
            at += 1;
            if self.prefix.0 == PREFIX {
                self.left = self.prefix.1 as usize;
                self.prefix = (0, 0);
                let middle = at + self.left / 2;
                if self.left >= LONG && middle < bytes.len() {
                    found = found.or(Some(middle));
                }
            }
        }
        found
    }
}

/// The bytes of a WebSocket, altered when asked.
pub(super) struct AlteredStream {
    stream: WebSocketStream,
    alteration: Alteration,
    messages: Messages,
}

impl AlteredStream {
    pub(super) fn new(stream: WebSocketStream, alteration: Alteration) -> Self {
        Self {
            stream,
            alteration,
            messages: Messages::default(),
        }
    }

    /// Bytes that wait beneath this stream.
    pub(super) fn unread(&self) -> usize {
        self.stream.unread()
    }

    /// The bytes as they travel on, and which of them is altered, if one is to be.
    fn altered(&self, bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
        if !self.alteration.is_asked() {
            return None;
        }
        let at = self.messages.clone().advance(bytes)?;
        let mut bytes = bytes.to_vec();
        bytes[at] ^= 1;
        Some((bytes, at))
    }
}

impl AsyncRead for AlteredStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for AlteredStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let altered = self.altered(bytes);
        let travelling = altered.as_ref().map_or(bytes, |(altered, _)| altered);
        let count = ready!(Pin::new(&mut self.stream).poll_write(context, travelling))?;
        if altered.is_some_and(|(_, at)| at < count) {
            self.alteration.is_done();
        }
        self.messages.advance(&bytes[..count]);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(length: usize) -> Vec<u8> {
        let prefix = u32::try_from(length).expect("short").to_be_bytes();
        [&prefix[..], &vec![7; length]].concat()
    }

    #[test]
    fn the_middle_of_the_first_long_message_is_found_however_the_stream_is_cut() {
        let (short, long) = (message(LONG - 1), message(LONG));
        let stream = [&short[..], &short, &long, &long, &short].concat();
        let middle = 2 * short.len() + PREFIX + LONG / 2;
        assert_eq!(Messages::default().advance(&stream), Some(middle));
        for cut in 1..stream.len() {
            let mut messages = Messages::default();
            let found = [messages.advance(&stream[..cut]), messages.advance(&stream[cut..])];
            let places: Vec<_> = found
                .iter()
                .zip([0, cut])
                .filter_map(|(found, from)| Some((*found)? + from))
                .collect();
            let whole = [middle, middle + long.len()];
            assert!(
                !places.is_empty() && places.iter().all(|place| whole.contains(place)),
                "{cut}: {places:?}"
            );
            assert_eq!((messages.left, messages.prefix), (0, (0, 0)), "{cut}");
        }
    }

    #[test]
    fn short_messages_are_left_as_they_are() {
        let mut messages = Messages::default();
        assert_eq!(messages.advance(&message(LONG - 1).repeat(9)), None);
        assert_eq!(messages.advance(&[]), None);
    }
}
