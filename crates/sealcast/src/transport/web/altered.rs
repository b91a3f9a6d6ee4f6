//! A WebSocket on which somebody on the path alters a bit: for the demo, which shows what comes of it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::websocket::WebSocketStream;

/// Length in bytes from which on a piece has a frame in it and not a control message alone.
const LONG: usize = 600;

/// Asks for one bit of the next frame to be altered on its way.
#[derive(Clone, Default)]
pub struct Alteration(Arc<AtomicBool>);

impl Alteration {
    /// Alter a bit of the next frame that leaves.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The bytes as they travel on, if one of them is to be altered.
    fn altered(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        if bytes.len() < LONG || !self.0.swap(false, Ordering::Relaxed) {
            return None;
        }
        let mut bytes = bytes.to_vec();
        // In the middle: neither a length nor a header of the first record.
        let at = bytes.len() / 2;
        bytes[at] ^= 1;
        Some(bytes)
    }
}

/// The bytes of a WebSocket, altered when asked.
pub(super) struct AlteredStream {
    stream: WebSocketStream,
    alteration: Alteration,
}

impl AlteredStream {
    pub(super) fn new(stream: WebSocketStream, alteration: Alteration) -> Self {
        Self { stream, alteration }
    }
}

impl AsyncRead for AlteredStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for AlteredStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.alteration.altered(bytes) {
            None => Pin::new(&mut self.stream).poll_write(context, bytes),
            Some(altered) => {
                let written = Pin::new(&mut self.stream).poll_write(context, &altered);
                if written.is_pending() {
                    self.alteration.ask();
                }
                written
            }
        }
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

    #[test]
    fn one_bit_of_one_frame_is_altered_when_asked() {
        let alteration = Alteration::default();
        let (short, long) = (vec![7; LONG - 1], vec![7; 2 * LONG]);
        assert_eq!(alteration.altered(&long), None);
        alteration.clone().ask();
        assert_eq!(alteration.altered(&short), None);
        let altered = alteration.altered(&long).expect("it was asked for");
        let differ: Vec<_> = altered.iter().zip(&long).filter(|(a, b)| a != b).collect();
        assert_eq!((altered.len(), differ), (long.len(), vec![(&6, &7)]));
        assert_eq!(alteration.altered(&long), None, "once");
    }
}
