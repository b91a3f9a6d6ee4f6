//! Transport of messages between two ends: the `Transport` trait, and the URLs that name its implementations.

mod address_limits;
mod advertised;
mod any;
mod memory;
mod options;
mod outgoing;
pub(crate) mod quic;
mod race;
mod reach;
mod relayed;
mod stream;
pub(crate) mod tcp;
pub(crate) mod tls;
pub mod udp;
mod url;
mod web;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use sealcast_proto::group_media::SealedFrame;
use sealcast_proto::wire::{
    Address, AddressBytes, Malformed, MessageLength, MulticastGroup, TransportKind, write_framed,
};

pub use address_limits::{AddressLimits, Limits, Place};
pub use advertised::Advertised;
pub use any::{Accepted, AnyTransport, Listener, Remote, accept_any};
pub use memory::memory_pair;
pub use options::{DEFAULT_LATENCY_MS, Fec, Mtu, NetworkOptions};
pub use quic::{QuicListener, QuicTransport};
pub use reach::{Connected, Reach};
pub use relayed::RelayedListener;
pub(crate) use relayed::{RelayedStream, relayed_sessions};
pub(crate) use stream::ByteStream;
pub use stream::StreamTransport;
pub use tcp::TcpTransport;
pub use url::{DEFAULT_PORT, ListenUrl};
pub(crate) use url::{cannot_listen, parse_address, parse_local_address};
pub use web::{Alteration, BrowserTransport, DEFAULT_WEB_PORT, PageSessions, WebListener, WebStream, WebUrl, page_tls};

/// Result of waiting on a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Bytes were received.
    Read,
    /// Bytes were sent.
    Wrote,
    /// The other end closed the connection; nothing more will be received.
    Closed,
}

/// Origin of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The peer, as messages are sent to it.
    Peer,
    /// This address, to which messages are not sent.
    Elsewhere(AddressBytes),
    /// The multicast group that is listened to.
    Multicast,
}

/// Reason why a carrier ended a connection: the peer asks and does not read the answers.
#[derive(Debug, thiserror::Error)]
#[error("it asks and does not read the answers")]
pub struct Unread;

/// A message, and where it came from.
pub type ReceivedFrom<'a> = (Origin, &'a mut [u8]);

/// Carries messages. Records are sealed into the buffer [`outgoing`](Self::outgoing) and opened in place in the slice
/// that [`message`](Self::message) returns, so that no message is copied in between.
pub trait Transport: Send {
    /// Wait until bytes have been received or queued bytes have been sent. Cancel-safe.
    fn wait(&mut self) -> impl Future<Output = io::Result<Progress>> + Send;

    /// Send as much queued data as is possible without waiting.
    ///
    /// # Errors
    /// The connection failed.
    fn flush_now(&mut self) -> io::Result<()>;

    /// Returns the next complete message and removes it from the queue.
    ///
    /// # Errors
    /// [`Malformed`]: the framing is lost, so no further message can be found.
    fn message(&mut self, limit: MessageLength) -> Result<Option<&mut [u8]>, Malformed>;

    /// As [`message`](Self::message), with its origin. A stream has a fixed peer, so by default all is the peer's.
    ///
    /// # Errors
    /// As [`message`](Self::message).
    fn message_from(&mut self, limit: MessageLength) -> Result<Option<ReceivedFrom<'_>>, Malformed> {
        Ok(self.message(limit)?.map(|message| (Origin::Peer, message)))
    }

    /// The buffer to append outgoing messages to, in the transport's framing.
    fn outgoing(&mut self) -> &mut Vec<u8>;

    /// Queue a frame that was sealed for a group, after all that is queued already. By default it is copied.
    fn queue_frame(&mut self, frame: &Arc<SealedFrame>) {
        self.outgoing().extend_from_slice(&frame.bytes);
    }

    /// Bytes queued and not yet sent.
    fn backlog(&self) -> usize;

    /// Bytes that this program holds until the peer takes them: the backlog, and what waits beneath it.
    fn unread(&self) -> usize {
        self.backlog()
    }

    /// Smoothed round-trip time of a packet and its acknowledgement; `None` if the transport does not report it.
    fn round_trip(&self) -> Option<Duration> {
        None
    }

    /// Send messages stored back to back, without the transport's framing. All have `size` bytes except the last,
    /// which may be shorter. Returns false if the transport is full and took nothing; try again after
    /// [`wait`](Self::wait).
    ///
    /// # Errors
    /// The connection failed.
    ///
    /// # Panics
    /// If `size` is 0.
    fn send_packets(&mut self, packets: &[u8], size: usize) -> io::Result<bool> {
        for packet in packets.chunks(size) {
            write_framed(self.outgoing(), packet);
        }
        Ok(true)
    }

    /// The session is established, and `receives_media` if this end is its viewer. Until then a carrier takes no media
    /// and holds no more than a handshake needs. The default does nothing: a byte stream has no media of its own.
    fn admit(&mut self, _receives_media: bool) {}

    /// Drop media that is queued but not yet sent: the peer is gone, so it need not arrive any more.
    fn forget_media(&mut self) {}

    /// Nothing more will be sent: wait until sent data has had time to arrive before the connection is closed. The
    /// caller limits the time. The default does nothing: UDP offers no way to know.
    fn finish(&mut self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }

    /// Send this message to the address that the last message came from, at once. A stream has a fixed peer, so the
    /// default does nothing.
    fn challenge(&mut self, _message: &[u8]) {}

    /// The address that the last message came from is proved: send everything there from now on. Returns it for
    /// display. A stream has a fixed peer, so the default does nothing.
    fn follow(&mut self) -> Option<SocketAddr> {
        None
    }

    /// The address at which the other end answered, as it was given, where several were tried together. By default it
    /// is the one that was connected to.
    fn answered_at(&self) -> Option<&Address> {
        None
    }

    /// Also receive what is sent to a multicast group. By default that cannot be.
    ///
    /// # Errors
    /// This machine cannot, or this transport is not one of datagrams over UDP.
    fn hear_multicast(&mut self, _group: MulticastGroup) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Receive no more of it.
    fn leave_multicast(&mut self) {}

    /// True if more data had arrived than was read at once, and the rest is about to be read.
    fn is_behind(&self) -> bool {
        false
    }

    /// False if a publisher's frames go another way, through a relay.
    fn carries_media(&self) -> bool {
        true
    }

    /// The name of the carrier for people: `tcp`, `udp`, `quic`, `web` or `relay`. By default that of a byte stream.
    fn carrier(&self) -> &'static str {
        TransportKind::Tcp.name()
    }

    /// True if messages travel in datagrams, which may be lost, duplicated and reordered, and carry no length prefix.
    fn is_datagram(&self) -> bool {
        false
    }
}
