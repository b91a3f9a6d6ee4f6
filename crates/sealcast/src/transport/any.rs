//! The transport that a URL or a ticket names: one type for all of them, since the kind is known only at run time.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::select_all;
use sealcast_proto::group_media::SealedFrame;
use sealcast_proto::keys::{Identity, Role};
use sealcast_proto::session::Carrier;
use sealcast_proto::unit::Unit;
use sealcast_proto::wire::{Address, Malformed, MessageLength, MulticastGroup, TransportKind};
use tokio::io::DuplexStream;
use tokio::net::TcpListener;

use super::quic::{self, QuicListener, QuicTransport};
use super::relayed::RelayedListener;
use super::udp::{self, UdpListener, UdpTransport};
use super::web::{BrowserTransport, WebListener};
use super::{ListenUrl, Progress, ReceivedFrom, StreamTransport, TcpTransport, Transport, tcp};
use crate::failure::{Failure, FailureKind, Result};
use crate::meter::metrics::Metrics;

/// A connection over any transport.
pub enum AnyTransport {
    /// TCP.
    Tcp(TcpTransport),
    /// UDP.
    Udp(Box<UdpTransport>),
    /// Streams and datagrams of QUIC.
    Quic(Box<QuicTransport>),
    /// A WebSocket, or a stream of WebTransport.
    Browser(Box<BrowserTransport>),
    /// A byte stream through a relay.
    Relayed(Box<StreamTransport<DuplexStream>>),
}

/// Origin of a connection.
#[derive(Clone, Debug)]
pub enum Remote {
    /// This address.
    Address(SocketAddr),
    /// Somewhere behind this relay, one of those that the user named.
    Relay(Arc<str>),
}

impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => write!(f, "{address}"),
            Self::Relay(relay) => write!(f, "a viewer behind {relay}"),
        }
    }
}

/// An incoming connection.
pub struct Accepted {
    /// The transport of the connection.
    pub carriage: AnyTransport,
    /// The properties of the transport that the session must know.
    pub carrier: Carrier,
    /// Origin of the connection.
    pub remote: Remote,
}

/// Listens for incoming connections.
pub enum Listener {
    /// On a TCP port.
    Tcp(TcpListener),
    /// On a UDP port.
    Udp(UdpListener),
    /// On a UDP port, for QUIC.
    Quic(QuicListener),
    /// On a TCP and a UDP port, for browsers.
    Web(Box<WebListener>),
    /// Behind relays.
    Relayed(RelayedListener),
}

impl Listener {
    /// Listen at the address of `url`; port 0 takes a free port. `identity` and `role` are those of this end.
    ///
    /// # Errors
    /// The port is taken, or the address does not belong to this machine.
    pub fn bind(url: &ListenUrl, identity: &Identity, role: Role, metrics: Metrics) -> Result<Self> {
        match url.transport() {
            TransportKind::Tcp => tcp::listen("tcp", url.address).map(Self::Tcp),
            TransportKind::Udp => udp::listen(url.address, &identity.peer_id(), metrics).map(Self::Udp),
            TransportKind::Quic => quic::listen(url.address, identity, role, metrics).map(Self::Quic),
            // No URL for listening has these schemes.
            TransportKind::Http | TransportKind::Https | TransportKind::Relay => {
                let what = "nobody listens there like this";
                Err(Failure::new(FailureKind::Usage, what, "use tcp://, udp:// or quic://"))
            }
        }
    }

    /// The address that is listened at.
    ///
    /// # Errors
    /// The system cannot report it: the socket is broken.
    pub fn local_address(&self) -> Result<SocketAddr> {
        let address = match self {
            Self::Tcp(listener) => listener.local_addr(),
            Self::Udp(listener) => Ok(listener.local_address()),
            Self::Quic(listener) => Ok(listener.local_address()),
            Self::Web(listener) => Ok(listener.local_address()),
            Self::Relayed(_) => Err(io::ErrorKind::AddrNotAvailable.into()),
        };
        address.map_err(|error| {
            let what = format!("the listening socket is broken ({error})");
            Failure::new(FailureKind::Network, what, "try again")
        })
    }

    /// Returns the next connection. `unit` is the sealing unit of this end; over QUIC it decides how media travels.
    /// Cancel-safe.
    ///
    /// # Errors
    /// The system is out of a resource, or the connection broke before it was accepted. Both are temporary.
    pub async fn accept(&mut self, unit: Unit) -> io::Result<Accepted> {
        match self {
            Self::Tcp(listener) => {
                let (stream, remote) = listener.accept().await?;
                Ok(Accepted {
                    carriage: AnyTransport::Tcp(tcp::prepare(stream)),
                    carrier: Carrier::Stream,
                    remote: Remote::Address(remote),
                })
            }
            Self::Udp(listener) => {
                let (transport, entry) = listener.accept().await?;
                Ok(Accepted {
                    remote: Remote::Address(transport.remote()),
                    carriage: AnyTransport::Udp(Box::new(transport)),
                    carrier: Carrier::Datagrams(entry),
                })
            }
            Self::Quic(listener) => {
                let transport = listener.accept(unit).await?;
                Ok(Accepted {
                    remote: Remote::Address(transport.remote()),
                    carrier: Carrier::Quic(transport.media()),
                    carriage: AnyTransport::Quic(Box::new(transport)),
                })
            }
            Self::Web(listener) => {
                let (transport, remote) = listener.accept().await?;
                Ok(Accepted {
                    carriage: AnyTransport::Browser(Box::new(transport)),
                    carrier: Carrier::Stream,
                    remote: Remote::Address(remote),
                })
            }
            Self::Relayed(listener) => {
                let (transport, relay) = listener.accept().await?;
                Ok(Accepted {
                    carriage: AnyTransport::Relayed(Box::new(transport)),
                    carrier: Carrier::Stream,
                    remote: Remote::Relay(relay),
                })
            }
        }
    }
}

/// Returns the next connection of any of these listeners. Cancel-safe.
///
/// # Errors
/// As [`Listener::accept`].
pub async fn accept_any(listeners: &mut [Listener], unit: Unit) -> io::Result<Accepted> {
    let accepting = listeners.iter_mut().map(|listener| Box::pin(listener.accept(unit)));
    select_all(accepting).await.0
}

/// Evaluates the same expression for every transport.
macro_rules! each {
    ($carriage:expr, $transport:ident => $what:expr) => {
        match $carriage {
            AnyTransport::Tcp($transport) => $what,
            AnyTransport::Udp($transport) => $what,
            AnyTransport::Quic($transport) => $what,
            AnyTransport::Browser($transport) => $what,
            AnyTransport::Relayed($transport) => $what,
        }
    };
}

impl AnyTransport {
    /// The transports of tickets by which the other end may have come.
    pub(crate) fn of_tickets(&self) -> &'static [TransportKind] {
        match self {
            Self::Tcp(_) => &[TransportKind::Tcp],
            Self::Udp(_) => &[TransportKind::Udp],
            Self::Quic(_) => &[TransportKind::Quic],
            Self::Browser(_) => &[TransportKind::Http, TransportKind::Https],
            Self::Relayed(_) => &[],
        }
    }
}

impl Transport for AnyTransport {
    async fn wait(&mut self) -> io::Result<Progress> {
        each!(self, transport => transport.wait().await)
    }

    fn flush_now(&mut self) -> io::Result<()> {
        each!(self, transport => transport.flush_now())
    }

    fn message(&mut self, limit: MessageLength) -> std::result::Result<Option<&mut [u8]>, Malformed> {
        each!(self, transport => transport.message(limit))
    }

    fn message_from(&mut self, limit: MessageLength) -> std::result::Result<Option<ReceivedFrom<'_>>, Malformed> {
        each!(self, transport => transport.message_from(limit))
    }

    fn outgoing(&mut self) -> &mut Vec<u8> {
        each!(self, transport => transport.outgoing())
    }

    fn queue_frame(&mut self, frame: &Arc<SealedFrame>) {
        each!(self, transport => transport.queue_frame(frame));
    }

    fn backlog(&self) -> usize {
        each!(self, transport => transport.backlog())
    }

    fn unread(&self) -> usize {
        match self {
            Self::Browser(transport) => transport.backlog() + transport.inner().unread(),
            other => other.backlog(),
        }
    }

    fn round_trip(&self) -> Option<Duration> {
        each!(self, transport => transport.round_trip())
    }

    fn send_packets(&mut self, packets: &[u8], size: usize) -> io::Result<bool> {
        each!(self, transport => transport.send_packets(packets, size))
    }

    fn admit(&mut self, receives_media: bool) {
        match self {
            Self::Browser(transport) => {
                transport.inner_mut().admit(receives_media);
                transport.admit(receives_media);
            }
            other => each!(other, transport => transport.admit(receives_media)),
        }
    }

    fn forget_media(&mut self) {
        each!(self, transport => transport.forget_media());
    }

    async fn finish(&mut self) {
        match self {
            Self::Browser(transport) => match transport.inner_mut().as_webtransport() {
                Some(stream) => stream.finish().await,
                None => transport.finish().await,
            },
            other => each!(other, transport => transport.finish().await),
        }
    }

    fn challenge(&mut self, message: &[u8]) {
        each!(self, transport => transport.challenge(message));
    }

    fn follow(&mut self) -> Option<SocketAddr> {
        each!(self, transport => transport.follow())
    }

    fn answered_at(&self) -> Option<&Address> {
        each!(self, transport => transport.answered_at())
    }

    fn hear_multicast(&mut self, group: MulticastGroup) -> io::Result<()> {
        each!(self, transport => transport.hear_multicast(group))
    }

    fn leave_multicast(&mut self) {
        each!(self, transport => transport.leave_multicast());
    }

    fn is_behind(&self) -> bool {
        each!(self, transport => transport.is_behind())
    }

    fn carries_media(&self) -> bool {
        !matches!(self, Self::Relayed(_))
    }

    fn carrier(&self) -> &'static str {
        match self {
            Self::Tcp(_) => TransportKind::Tcp.name(),
            Self::Udp(_) => TransportKind::Udp.name(),
            Self::Quic(_) => TransportKind::Quic.name(),
            Self::Browser(_) => "web",
            Self::Relayed(_) => TransportKind::Relay.name(),
        }
    }

    fn is_datagram(&self) -> bool {
        each!(self, transport => transport.is_datagram())
    }
}
