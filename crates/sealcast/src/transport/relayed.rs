//! Sessions that come through relays, as byte streams within this program.

use std::io;
use std::sync::Arc;

use tokio::io::DuplexStream;
use tokio::sync::mpsc;

use super::StreamTransport;

/// New sessions that wait to be accepted. More are turned away. As many as a relay's viewers may begin at once.
const MAX_WAITING: usize = 256;

/// A session that somebody opened through a relay.
pub(crate) struct RelayedStream {
    /// Its bytes.
    pub(crate) stream: DuplexStream,
    /// The relay, in words.
    pub(crate) relay: Arc<str>,
}

/// Accepts the sessions that come through relays.
pub struct RelayedListener(mpsc::Receiver<RelayedStream>);

/// Channel into which those who talk to relays put new sessions, and the listener that accepts them.
pub(crate) fn relayed_sessions() -> (mpsc::Sender<RelayedStream>, RelayedListener) {
    let (sender, receiver) = mpsc::channel(MAX_WAITING);
    (sender, RelayedListener(receiver))
}

impl RelayedListener {
    /// The next session. Cancel-safe.
    pub(super) async fn accept(&mut self) -> io::Result<(StreamTransport<DuplexStream>, Arc<str>)> {
        match self.0.recv().await {
            Some(RelayedStream { stream, relay }) => Ok((StreamTransport::new(stream), relay)),
            // Nobody talks to a relay any more.
            None => std::future::pending().await,
        }
    }
}
