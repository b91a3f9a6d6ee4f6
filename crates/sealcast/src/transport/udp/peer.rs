//! The datagrams of one peer as a transport of messages.

use std::io;
use std::net::SocketAddr;

use sealcast_proto::wire::{
    Address, LENGTH_PREFIX, MAX_DATAGRAM, Malformed, MessageLength, MulticastGroup, connection_of, message_length,
};
use tokio::task::coop::consume_budget;

use super::far_end::FarEnd;
use super::multicast::MulticastIn;
use super::place::Place;
use super::runs::{Path, Runs};
use super::socket::{DatagramSocket, Sent};
use crate::meter::labels::{DatagramRefusal, DatagramUnsent};
use crate::meter::metrics::Metrics;
use crate::transport::{Origin, Progress, ReceivedFrom, Transport};

/// Capacity of the send buffer that is kept after a burst.
const OUTGOING_KEPT: usize = 256 * 1024;

/// Datagrams between this end and one peer, over a socket of its own or over a listener's socket. Received messages
/// begin with the connection number, and queued messages must begin with it.
pub struct UdpTransport {
    way: PeerSocket,
    incoming: Runs,
    /// Receiver of a multicast group that is listened to.
    multicast: Option<Box<MulticastIn>>,
    /// The path on which the last message came.
    last: Option<Path>,
    /// Messages to send, each after its length; `outgoing[..sent]` has been sent.
    outgoing: Vec<u8>,
    sent: usize,
    /// The part of a run that a full socket did not take.
    rest: Vec<u8>,
    rest_sent: usize,
    rest_size: usize,
    /// True while the socket takes nothing.
    full: bool,
    metrics: Metrics,
}

/// The route of datagrams to the peer.
enum PeerSocket {
    Connected(FarEnd),
    Accepted {
        place: Place,
        /// The path that was proved last.
        path: Path,
    },
}

impl PeerSocket {
    fn socket(&self) -> &DatagramSocket {
        match self {
            Self::Connected(far) => &far.socket,
            Self::Accepted { place, .. } => place.socket(),
        }
    }

    /// True if datagrams are sent to another path than this.
    fn is_elsewhere(&self, from: Path) -> bool {
        matches!(self, Self::Accepted { path, .. } if *path != from)
    }

    fn send(&mut self, bytes: &[u8], segment: usize, metrics: &Metrics) -> Sent {
        let sent = match self {
            Self::Connected(far) => far.send(bytes, segment),
            Self::Accepted { place, path } => place.socket().try_send_run(*path, bytes, segment),
        };
        if sent.too_long > 0 {
            metrics.datagrams_unsent(DatagramUnsent::TooLong, sent.too_long as u64);
        }
        if sent.unreachable > 0 {
            metrics.datagrams_unsent(DatagramUnsent::Unreachable, sent.unreachable as u64);
        }
        sent
    }
}

impl UdpTransport {
    pub(super) fn connected(far: FarEnd, metrics: Metrics) -> Self {
        Self::new(PeerSocket::Connected(far), Runs::for_socket(), metrics)
    }

    pub(super) fn accepted(place: Place, path: Path, metrics: Metrics) -> Self {
        Self::new(PeerSocket::Accepted { place, path }, Runs::default(), metrics)
    }

    fn new(way: PeerSocket, incoming: Runs, metrics: Metrics) -> Self {
        Self {
            way,
            incoming,
            multicast: None,
            last: None,
            outgoing: Vec::new(),
            sent: 0,
            rest: Vec::new(),
            rest_sent: 0,
            rest_size: 1,
            full: false,
            metrics,
        }
    }

    /// The address that datagrams are currently sent to.
    pub fn remote(&self) -> SocketAddr {
        match &self.way {
            PeerSocket::Connected(far) => far.path().shown(),
            PeerSocket::Accepted { path, .. } => path.shown(),
        }
    }

    /// The address of our socket.
    pub fn local_address(&self) -> SocketAddr {
        self.way.socket().local_address()
    }

    /// Continue on a new socket, as after a change of networks; the session does not notice. It also happens
    /// automatically after 3 s in which nothing could be sent. A listener's socket stays as it is.
    ///
    /// # Errors
    /// No socket can be opened. The old one stays in use.
    pub fn rebind(&mut self) -> io::Result<()> {
        match &mut self.way {
            PeerSocket::Connected(far) => far.rebind(),
            PeerSocket::Accepted { .. } => Ok(()),
        }
    }

    /// Sends queued data until the socket is full; returns true if anything was sent.
    fn flush(&mut self) -> bool {
        let before = self.backlog();
        if before == 0 {
            return false;
        }
        self.full = false;
        // Send control messages before media: they are small, and a delayed one makes the peer wait longer still.
        self.flush_messages();
        if !self.full && self.rest_sent < self.rest.len() {
            let sent = self
                .way
                .send(&self.rest[self.rest_sent..], self.rest_size, &self.metrics);
            self.rest_sent += sent.bytes;
            self.full = self.rest_sent < self.rest.len();
        }
        if self.rest_sent == self.rest.len() {
            empty(&mut self.rest);
            self.rest_sent = 0;
        }
        self.backlog() < before
    }

    fn flush_messages(&mut self) {
        while !self.full {
            let queued = &self.outgoing[self.sent..];
            let Ok(Some(length)) = message_length(queued, MessageLength::Record) else {
                // Every queued message has a length prefix.
                debug_assert!(queued.is_empty(), "a message without its length");
                empty(&mut self.outgoing);
                self.sent = 0;
                return;
            };
            let datagram = &queued[LENGTH_PREFIX..LENGTH_PREFIX + length];
            let sent = self.way.send(datagram, length, &self.metrics);
            if sent.bytes == 0 {
                self.full = true;
            } else {
                self.sent += LENGTH_PREFIX + length;
            }
        }
    }

    fn receive(&mut self) -> io::Result<bool> {
        match &mut self.way {
            PeerSocket::Connected(far) => far.receive(&mut self.incoming),
            PeerSocket::Accepted { place, .. } => Ok(place.inbox().take(&mut self.incoming)),
        }
    }

    /// Takes what came from the multicast group. Where that socket is broken nothing more is heard from it, and the
    /// peer sends everything here.
    fn receive_multicast(&mut self) -> bool {
        match self.multicast.as_mut().map(|multicast| multicast.receive()) {
            Some(Ok(received)) => received,
            Some(Err(error)) => {
                tracing::warn!(%error, "nothing can be heard from the multicast group any more");
                self.multicast = None;
                false
            }
            None => false,
        }
    }

    /// Wait until something may have been received.
    async fn news(way: &PeerSocket) {
        match way {
            PeerSocket::Connected(far) => far.socket.readable().await,
            PeerSocket::Accepted { place, .. } => place.inbox().news().await,
        }
    }

    /// The reason to drop a datagram, or `None` if it may be delivered.
    fn refuse(&mut self, path: Path, length: usize, connection: Option<u32>) -> Option<DatagramRefusal> {
        let foreign = match &mut self.way {
            PeerSocket::Connected(far) => !far.recognises(path, connection),
            // The listener chose the session by the connection number; the address may change.
            PeerSocket::Accepted { .. } => false,
        };
        if foreign {
            Some(DatagramRefusal::Foreign)
        } else if connection.is_none() || length > MAX_DATAGRAM {
            Some(DatagramRefusal::Malformed)
        } else {
            None
        }
    }
}

/// Wait until something may have come from the multicast group.
async fn multicast_news(multicast: Option<&MulticastIn>) {
    match multicast {
        Some(multicast) => multicast.readable().await,
        None => std::future::pending().await,
    }
}

/// Empties a buffer, and releases the capacity that a burst added.
fn empty(buffer: &mut Vec<u8>) {
    buffer.clear();
    if buffer.capacity() > OUTGOING_KEPT {
        buffer.shrink_to(OUTGOING_KEPT);
    }
}

impl Transport for UdpTransport {
    async fn wait(&mut self) -> io::Result<Progress> {
        // Yield to the other tasks of this thread, even if a peer floods us.
        consume_budget().await;
        loop {
            if !self.full && self.flush() {
                return Ok(Progress::Wrote);
            }
            let received = !self.incoming.is_empty() || self.receive()?;
            if self.receive_multicast() || received {
                return Ok(Progress::Read);
            }
            if let PeerSocket::Accepted { place, .. } = &self.way
                && place.inbox().is_closed()
            {
                return Ok(Progress::Closed);
            }
            tokio::select! {
                () = Self::news(&self.way) => {}
                () = multicast_news(self.multicast.as_deref()) => {}
                () = self.way.socket().writable(), if self.full => {
                    self.full = false;
                    if self.backlog() == 0 {
                        // Nothing of ours is queued, but the caller may have packets to send.
                        return Ok(Progress::Wrote);
                    }
                }
            }
        }
    }

    fn flush_now(&mut self) -> io::Result<()> {
        self.flush();
        Ok(())
    }

    fn message(&mut self, limit: MessageLength) -> Result<Option<&mut [u8]>, Malformed> {
        Ok(self.message_from(limit)?.map(|(_, message)| message))
    }

    // A message too long for a datagram cannot arrive, and a datagram marks its own end: no limit is needed.
    fn message_from(&mut self, _limit: MessageLength) -> Result<Option<ReceivedFrom<'_>>, Malformed> {
        while let Some((path, range)) = self.incoming.next_range() {
            let connection = connection_of(self.incoming.slice(range.clone()));
            match self.refuse(path, range.len(), connection) {
                Some(reason) => self.metrics.datagrams_refused(reason, 1),
                None => {
                    self.last = Some(path);
                    let origin = match self.way.is_elsewhere(path) {
                        true => Origin::Elsewhere(path.bytes()),
                        false => Origin::Peer,
                    };
                    return Ok(Some((origin, self.incoming.slice(range))));
                }
            }
        }
        Ok(self.multicast.as_mut().and_then(|multicast| {
            let range = multicast.next_range()?;
            Some((Origin::Multicast, multicast.slice(range)))
        }))
    }

    fn outgoing(&mut self) -> &mut Vec<u8> {
        &mut self.outgoing
    }

    fn backlog(&self) -> usize {
        self.outgoing.len() - self.sent + self.rest.len() - self.rest_sent
    }

    fn send_packets(&mut self, packets: &[u8], size: usize) -> io::Result<bool> {
        if self.full || !self.rest.is_empty() {
            return Ok(false);
        }
        let sent = self.way.send(packets, size, &self.metrics);
        if sent.bytes == packets.len() {
            return Ok(true);
        }
        self.full = true;
        if sent.bytes == 0 {
            return Ok(false);
        }
        // Part of the run has been sent and must not be sent twice, so the rest is copied and sent later.
        self.rest.extend_from_slice(&packets[sent.bytes..]);
        self.rest_size = size;
        Ok(true)
    }

    fn challenge(&mut self, message: &[u8]) {
        // Like any datagram it may be lost, and so it may as well be when the socket is full.
        if let (PeerSocket::Accepted { place, .. }, Some(last)) = (&self.way, self.last) {
            place.socket().try_send_run(last, message, message.len());
        }
    }

    fn follow(&mut self) -> Option<SocketAddr> {
        let (PeerSocket::Accepted { path, .. }, Some(last)) = (&mut self.way, self.last) else {
            return None;
        };
        *path = last;
        Some(last.shown())
    }

    fn answered_at(&self) -> Option<&Address> {
        match &self.way {
            PeerSocket::Connected(far) => far.answered_at(),
            PeerSocket::Accepted { .. } => None,
        }
    }

    fn hear_multicast(&mut self, group: MulticastGroup) -> io::Result<()> {
        self.multicast = Some(Box::new(MulticastIn::open(group, self.remote())?));
        Ok(())
    }

    fn leave_multicast(&mut self) {
        self.multicast = None;
    }

    fn is_behind(&self) -> bool {
        self.incoming.is_full() || self.multicast.as_ref().is_some_and(|multicast| multicast.is_full())
    }

    fn is_datagram(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::time::Duration;

    use super::*;
    use crate::meter::build_info::BuildInfo;
    use crate::transport::udp::connect_any;

    fn lengths(socket: &UdpSocket, count: usize) -> Vec<usize> {
        let mut room = [0; 2000];
        (0..count)
            .map(|_| socket.recv(&mut room).expect("a datagram arrives"))
            .collect()
    }

    // The loopback interface takes everything, so the test only pretends that the socket is full.
    #[tokio::test]
    async fn a_full_socket_takes_no_run_and_the_rest_of_one_goes_before_the_next() {
        let far = UdpSocket::bind("127.0.0.1:0").expect("the loopback interface");
        far.set_read_timeout(Some(Duration::from_secs(60)))
            .expect("an option of all systems");
        let metrics = Metrics::new(BuildInfo::default());
        let transport = connect_any(&[far.local_addr().expect("bound")], metrics).expect("a socket");
        let mut transport = transport.expect("this machine has the address");
        transport.full = true;
        assert!(!transport.send_packets(&[1; 3000], 1200).expect("works"));
        assert_eq!(
            (transport.wait().await.expect("works"), transport.backlog()),
            (Progress::Wrote, 0)
        );
        transport.full = true;
        transport.rest = vec![2; 2500];
        transport.rest_size = 1200;
        assert!(!transport.send_packets(&[3; 3000], 1200).expect("works"));
        assert_eq!(
            (transport.wait().await.expect("works"), transport.backlog()),
            (Progress::Wrote, 0)
        );
        assert!(transport.send_packets(&[3; 3000], 1000).expect("works"));
        assert_eq!(lengths(&far, 6), [1200, 1200, 100, 1000, 1000, 1000]);
    }
}
