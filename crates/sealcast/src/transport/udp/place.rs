//! The place of a peer at a listener.

use std::convert::Infallible;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::demultiplexer::PeerTable;
use super::inbox::Inbox;
use super::socket::DatagramSocket;

/// State shared by the reader and the peers' tasks.
pub(super) struct ListenerState {
    pub(super) socket: DatagramSocket,
    pub(super) peers: Arc<PeerTable>,
}

/// A peer's entry in the listener's table; dropping it removes the entry.
pub(super) struct Place {
    pub(super) shared: Arc<ListenerState>,
    pub(super) inbox: Arc<Inbox>,
    pub(super) connection: u32,
    pub(super) _alive: mpsc::Sender<Infallible>,
}

impl Place {
    pub(super) fn socket(&self) -> &DatagramSocket {
        &self.shared.socket
    }

    pub(super) fn inbox(&self) -> &Inbox {
        &self.inbox
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.shared.peers.remove(self.connection);
    }
}
