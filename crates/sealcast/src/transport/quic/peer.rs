//! The QUIC connection of one peer as a transport of messages.

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

use super::config;
use super::datagrams::{Datagrams, longest};
use super::groups::Groups;
use super::incoming::{Incoming, Reading};
use super::window::Watch;
use crate::meter::metrics::Metrics;
use crate::transport::{Progress, StreamTransport, Transport};

/// Interval for checking whether queued datagrams have been sent: quinn gives no notice of that, except after its
/// queue was full.
const LOOK: Duration = Duration::from_millis(2);
/// Before that it is checked so often each time that other tasks had their turn: one of them is quinn's, which mostly
/// sends all at once. Otherwise a long frame would leave in parts, each of which waits for the timer.
const TURNS: u32 = 8;
/// A backlog below this many bytes is not worth waiting for.
const LITTLE: usize = 4 << 10;
/// Error code for closing the connection of a session that has ended, with a final message or without.
const ENDED: VarInt = VarInt::from_u32(0);

/// A QUIC connection between this end and one peer.
pub struct QuicTransport {
    connection: Connection,
    /// The endpoint of the connecting end, which must live as long as the connection.
    endpoint: Option<Endpoint>,
    control: StreamTransport<Join<RecvStream, SendStream>>,
    media: QuicMedia,
    outgoing: Outgoing,
    incoming: Incoming,
    watch: Watch,
    /// The media that may be read.
    reading: Reading,
}

/// Queue for outgoing media: on streams or in datagrams.
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
    /// `unit` is the sealing unit of this end: whole frames go on streams, shorter records in datagrams.
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
        // Control messages go before all media. It fails for a closed stream, which wait() reports.
        let _ = send.set_priority(i32::MAX);
        Self {
            connection,
            endpoint,
            control: StreamTransport::new(join(receive, send)),
            media,
            outgoing,
            incoming: Incoming::new(metrics),
            watch: Watch::new(),
            reading: Reading::Early,
        }
    }

    /// The peer's current address, which may change.
    pub fn remote(&self) -> SocketAddr {
        let address = self.connection.remote_address();
        SocketAddr::new(address.ip().to_canonical(), address.port())
    }

    /// The way that this end's media is sent: on streams or in datagrams.
    pub fn media(&self) -> QuicMedia {
        self.media
    }
}

/// Translates the reason why the connection ended.
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
        // Yield to the other tasks of this thread, even if a peer floods us.
        consume_budget().await;
        let Self {
            connection,
            control,
            outgoing,
            incoming,
            watch,
            reading,
            ..
        } = self;
        let connection = &*connection;
        let (mut opened, mut open) = (pin!(connection.accept_uni()), pin!(connection.open_uni()));
        let mut datagram = pin!(connection.read_datagram());
        let mut look = pin!(tokio::time::sleep(LOOK));
        let watched = matches!(outgoing, Outgoing::Datagrams(_)) && outgoing.backlog(connection) >= LITTLE;
        let mut turns = if watched { TURNS } else { 0 };
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
            read |= incoming.poll_datagrams(context, connection, datagram.as_mut(), *reading);
            if *reading == Reading::Media {
                read |= incoming.poll_streams(context, connection, opened.as_mut());
            }
            // Deliver everything that was received before reporting the end.
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
            let sent = watched && outgoing.backlog(connection) < LITTLE;
            if wrote || sent || (watched && look.as_mut().poll(context).is_ready()) {
                return Poll::Ready(Ok(Progress::Wrote));
            }
            if turns > 0 {
                turns -= 1;
                context.waker().wake_by_ref();
            }
            Poll::Pending
        })
        .await
    }

    fn flush_now(&mut self) -> io::Result<()> {
        if let Outgoing::Datagrams(datagrams) = &mut self.outgoing {
            datagrams.flush(&self.connection);
        }
        // wait() reports the error, after the peer's last messages.
        let _ = self.control.flush_now();
        Ok(())
    }

    fn message(&mut self, limit: MessageLength) -> Result<Option<&mut [u8]>, Malformed> {
        if self.control.next_length(limit)?.is_some() {
            return self.control.message(limit);
        }
        match self.reading {
            Reading::Media => self.incoming.message(),
            Reading::Early | Reading::Nothing => Ok(None),
        }
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

    fn admit(&mut self, receives_media: bool) {
        self.reading = Reading::Nothing;
        if receives_media {
            self.reading = Reading::Media;
            config::admit(&self.connection);
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
        // It fails if there is nothing to wait for.
        if send.finish().is_ok() {
            let _ = send.stopped().await;
        }
        self.connection.close(ENDED, b"");
        if let Some(endpoint) = &self.endpoint {
            endpoint.wait_idle().await;
        }
    }
}
