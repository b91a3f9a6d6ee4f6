//! Packets that came in datagrams, and wait to be looked at.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use bytes::Bytes;
use sealcast_proto::rtsp::Channel;
use tokio::sync::mpsc;
use tokio::task::unconstrained;

/// Most packets that wait, and most bytes of them: what each port's task gives at once, of which there are four with
/// 512 KiB at most. All of it is taken before they run again, and the rest of a burst waits in the system's buffers.
const MAX_WAITING: (usize, usize) = (2048, 2 << 20);

/// A packet that came over UDP.
pub(in crate::source) struct Datagram {
    pub(in crate::source) channel: Channel,
    pub(in crate::source) packet: Bytes,
    pub(in crate::source) came: Instant,
}

/// The packets that came over UDP, on their way from the ports' tasks.
pub(in crate::source) struct Datagrams {
    sender: mpsc::Sender<Datagram>,
    receiver: mpsc::Receiver<Datagram>,
    /// Bytes of the packets that wait.
    waiting: Arc<AtomicUsize>,
}

impl Datagrams {
    /// None so far.
    pub(in crate::source) fn new() -> Self {
        let (sender, receiver) = mpsc::channel(MAX_WAITING.0);
        Self {
            sender,
            receiver,
            waiting: Arc::default(),
        }
    }

    /// Function that takes the packets of ports. What does not fit is dropped, as it could be on the way.
    pub(in crate::source) fn taker(&self) -> impl Fn(Channel, Bytes, Instant) + Clone + Send + 'static {
        let (sender, waiting) = (self.sender.clone(), Arc::clone(&self.waiting));
        move |channel, packet, came| {
            let bytes = packet.len();
            let before = waiting.fetch_add(bytes, Ordering::Relaxed);
            let fits = before + bytes <= MAX_WAITING.1;
            let datagram = Datagram { channel, packet, came };
            if !fits || sender.try_send(datagram).is_err() {
                waiting.fetch_sub(bytes, Ordering::Relaxed);
            }
        }
    }

    /// Waits for the next one. Those that are there are taken without a pause, in which the ports would give more.
    pub(in crate::source) async fn next(&mut self) -> Datagram {
        match unconstrained(self.receiver.recv()).await {
            Some(datagram) => self.taken(datagram),
            // There is always a sender.
            None => std::future::pending().await,
        }
    }

    fn taken(&self, datagram: Datagram) -> Datagram {
        self.waiting.fetch_sub(datagram.packet.len(), Ordering::Relaxed);
        datagram
    }
}
