//! What carries messages between two ends: the `Transport` seam, and the URLs that name its implementations.

mod any;
mod memory;
mod options;
mod quic;
mod stream;
pub(crate) mod tcp;
pub(crate) mod tls;
pub mod udp;
mod url;

use std::future::Future;
use std::io;
use std::time::Duration;

use sealcast_proto::wire::{Malformed, MessageLength, write_framed};

pub use any::{Accepted, AnyTransport, Listener, connect};
pub use memory::memory_pair;
pub use options::{DEFAULT_LATENCY_MS, Fec, Mtu, NetworkOptions};
pub use quic::{QuicListener, QuicTransport};
pub(crate) use stream::ByteStream;
pub use stream::StreamTransport;
pub use tcp::TcpTransport;
pub use url::{DEFAULT_PORT, ListenUrl};

/// What came of waiting for a carrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Bytes came.
    Read,
    /// Bytes left.
    Wrote,
    /// The other end has closed: nothing more will come.
    Closed,
}

/// Carries messages. Sealing appends to [`outgoing`](Self::outgoing) and opening works in the buffer that
/// [`message`](Self::message) lends, so that no message is copied in between.
pub trait Transport: Send {
    /// Wait until bytes came or queued ones left. Cancel-safe.
    fn wait(&mut self) -> impl Future<Output = io::Result<Progress>> + Send;

    /// Send what can be sent without waiting.
    ///
    /// # Errors
    /// The carrier failed.
    fn flush_now(&mut self) -> io::Result<()>;

    /// The next whole message, which is gone after this call.
    ///
    /// # Errors
    /// [`Malformed`]: framing is lost.
    fn message(&mut self, limit: MessageLength) -> Result<Option<&mut [u8]>, Malformed>;

    /// Where messages to send are appended, in the carrier's framing.
    fn outgoing(&mut self) -> &mut Vec<u8>;

    /// Bytes queued and not yet sent.
    fn backlog(&self) -> usize;

    /// How long a packet and its acknowledgement take, smoothed; none where the carrier does not tell.
    fn round_trip(&self) -> Option<Duration> {
        None
    }

    /// Send messages that lie one behind the other, all of `size` bytes but for the last, which may be shorter, without
    /// the carrier's framing. Whether they were taken: if not, the carrier is full; try again after
    /// [`wait`](Self::wait).
    ///
    /// # Errors
    /// The carrier failed.
    ///
    /// # Panics
    /// If `size` is 0.
    fn send_packets(&mut self, packets: &[u8], size: usize) -> io::Result<bool> {
        for packet in packets.chunks(size) {
            write_framed(self.outgoing(), packet);
        }
        Ok(true)
    }

    /// The peer is not there: what is still here of the media that was sent need not arrive any more.
    fn forget_media(&mut self) {}

    /// Nothing more will be sent: give what was sent time to arrive before the carrier goes. A stream of the system
    /// sees to that by itself, and of datagrams nobody knows.
    fn finish(&mut self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }

    /// The last message was authentic and newer than any before it: answers go from now on where it came from. A
    /// stream has one other end and nothing to do.
    fn follow(&mut self) {}

    /// Whether more had come than was taken at once, and the rest is about to be.
    fn is_behind(&self) -> bool {
        false
    }

    /// Whether messages travel in datagrams, which may be lost, doubled and reordered, and have no length before them.
    fn is_datagram(&self) -> bool {
        false
    }
}
