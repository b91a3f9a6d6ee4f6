//! One peer's connection as a carrier of messages.

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use quinn::{Connection, ConnectionError, Endpoint, RecvStream, SendStream, VarInt};
use sealcast_proto::session::QuicMedia;
use sealcast_proto::unit::Unit;
use sealcast_proto::wire::{Malformed, MessageLength};
use tokio::io::{Join, join};
use tokio::task::coop::consume_budget;

use super::datagrams::{Datagrams, longest};
use super::groups::Groups;
use super::incoming::Incoming;
use super::window::Watch;
use crate::meter::metrics::Metrics;
use crate::transport::{Progress, StreamTransport, Transport};

/// How often it is looked whether datagrams have left: quinn tells only of those that it had no room for.
const LOOK: Duration = Duration::from_millis(2);
/// Fewer bytes than this that have not left hold nobody up.
const LITTLE: usize = 4 << 10;
/// How a connection is closed whose session has ended, in words or without.
const ENDED: VarInt = VarInt::from_u32(0);

/// A QUIC connection between this end and one peer.
pub struct QuicTransport {
    connection: Connection,
    /// The connecting end has an endpoint of its own, which lives as long as its connection.
    endpoint: Option<Endpoint>,
    control: StreamTransport<Join<RecvStream, SendStream>>,
    media: QuicMedia,
    outgoing: Outgoing,
    incoming: Incoming,
    watch: Watch,
    /// Media is taken only once the session stands: it may overtake the handshake, and strangers have none.
    established: bool,
}

/// How media leaves.
enum Outgoing {
    Groups(Groups),
    Datagrams(Datagrams),
}

impl Outgoing {
    fn backlog(&self, connection: &Connection) -> usize {
        match self {
            Self::Groups(groups) => groups.backlog(),
            Self::Datagrams(datagrams) => datagrams.backlog(connection),
        }
    }
}

impl QuicTransport {
    /// `unit` is what this end seals at once: whole frames go on streams, shorter records in datagrams.
    pub(super) fn new(
        connection: Connection,
        (send, receive): (SendStream, RecvStream),
        endpoint: Option<Endpoint>,
        unit: Unit,
        metrics: Metrics,
    ) -> Self {
        let (media, outgoing) = match unit {
            Unit::Frame => (QuicMedia::Streams, Outgoing::Groups(Groups::new(metrics.clone()))),
            Unit::Packet | Unit::Chunk(_) => (
                QuicMedia::Datagrams(longest(&connection)),
                Outgoing::Datagrams(Datagrams::new(metrics.clone())),
            ),
        };
        // Control messages go before all media. It fails for a stream that is closed, which shows soon enough.
        let _ = send.set_priority(i32::MAX);
        Self {
            connection,
            endpoint,
            control: StreamTransport::new(join(receive, send)),
            media,
            outgoing,
            incoming: Incoming::new(metrics),
            watch: Watch::new(),
            established: false,
        }
    }

    /// Where the peer is at the moment: its address may change.
    pub fn remote(&self) -> SocketAddr {
        let address = self.connection.remote_address();
        SocketAddr::new(address.ip().to_canonical(), address.port())
    }

    /// How this end's media travels.
    pub fn media(&self) -> QuicMedia {
        self.media
    }
}

/// What the end of a connection means.
fn ended(reason: ConnectionError) -> io::Result<Progress> {
    match reason {
        ConnectionError::ApplicationClosed(_)
        | ConnectionError::ConnectionClosed(_)
        | ConnectionError::LocallyClosed => Ok(Progress::Closed),
        ConnectionError::Reset => Err(io::Error::new(
            io::ErrorKind::ConnectionReset,
            "the other end was started again and does not know this connection",
        )),
        error => Err(error.into()),
    }
}

impl Transport for QuicTransport {
    async fn wait(&mut self) -> io::Result<Progress> {
        // A peer that floods us must not keep the other tasks of this thread from their turn.
        consume_budget().await;
        let Self {
            connection,
            control,
            outgoing,
            incoming,
            watch,
            established,
            ..
        } = self;
        let connection = &*connection;
        let (mut opened, mut open) = (pin!(connection.accept_uni()), pin!(connection.open_uni()));
        let mut datagram = pin!(connection.read_datagram());
        let mut look = pin!(tokio::time::sleep(LOOK));
        let watched = matches!(outgoing, Outgoing::Datagrams(_)) && outgoing.backlog(connection) >= LITTLE;
        poll_fn(|context| {
            let written = control.poll_write(context);
            let mut wrote = matches!(written, Ok(true));
            wrote |= match outgoing {
                Outgoing::Groups(groups) => groups.poll_write(context, connection, open.as_mut()),
                Outgoing::Datagrams(datagrams) => datagrams.flush(connection),
            };
            watch.poll(context, connection);
            let came = control.poll_read(context);
            let mut read = matches!(came, Ok(true));
            if *established {
                read |= incoming.poll(context, connection, opened.as_mut(), datagram.as_mut());
            }
            // What came before the end is read before anybody hears of the end.
            if read {
                return Poll::Ready(Ok(Progress::Read));
            }
            if let Some(reason) = connection.close_reason() {
                return Poll::Ready(ended(reason));
            }
            if let Err(error) = written.and(came) {
                return Poll::Ready(Err(error));
            }
            if control.is_closed() {
                return Poll::Ready(Ok(Progress::Closed));
            }
            if wrote || (watched && look.as_mut().poll(context).is_ready()) {
                return Poll::Ready(Ok(Progress::Wrote));
            }
            Poll::Pending
        })
        .await
    }

    fn flush_now(&mut self) -> io::Result<()> {
        if let Outgoing::Datagrams(datagrams) = &mut self.outgoing {
            datagrams.flush(&self.connection);
        }
        // What broke is told by wait(), after the peer's last words.
        let _ = self.control.flush_now();
        Ok(())
    }

    fn message(&mut self, limit: MessageLength) -> Result<Option<&mut [u8]>, Malformed> {
        self.established |= limit == MessageLength::Record;
        if self.control.next_length(limit)?.is_some() {
            return self.control.message(limit);
        }
        self.incoming.message()
    }

    fn outgoing(&mut self) -> &mut Vec<u8> {
        self.control.outgoing()
    }

    fn backlog(&self) -> usize {
        self.control.backlog() + self.outgoing.backlog(&self.connection)
    }

    fn round_trip(&self) -> Option<Duration> {
        Some(self.connection.rtt())
    }

    fn send_packets(&mut self, packets: &[u8], size: usize) -> io::Result<bool> {
        match &mut self.outgoing {
            Outgoing::Groups(groups) => groups.send(&self.connection, packets, size),
            Outgoing::Datagrams(datagrams) => Ok(datagrams.send(&self.connection, packets, size)),
        }
    }

    fn forget_media(&mut self) {
        match &mut self.outgoing {
            Outgoing::Groups(groups) => groups.forget(),
            Outgoing::Datagrams(datagrams) => datagrams.forget(),
        }
    }

    async fn finish(&mut self) {
        if self.connection.close_reason().is_some() {
            return;
        }
        let send = self.control.inner_mut().writer_mut();
        // It fails where there is nothing to wait for.
        if send.finish().is_ok() {
            let _ = send.stopped().await;
        }
        self.connection.close(ENDED, b"");
        if let Some(endpoint) = &self.endpoint {
            endpoint.wait_idle().await;
        }
    }
}
