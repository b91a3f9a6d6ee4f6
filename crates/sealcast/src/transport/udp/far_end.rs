//! The peer of a connecting end, at one of several addresses.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use sealcast_proto::wire::Address;

use super::runs::{Path, Runs};
use super::socket::{DatagramSocket, Sent, bind_any};
use crate::transport::race::{Place, Stood};

/// If nothing could be sent for this long, open a new socket: the network of the old one is probably gone.
const REBIND_AFTER: Duration = Duration::from_secs(3);

/// The peer as the connecting end sees it: one address, which may still have to be found out of several.
pub(super) struct FarEnd {
    pub(super) socket: DatagramSocket,
    /// Possible addresses of the peer; only one remains after it has answered.
    candidates: Vec<Candidate>,
    /// Number of them that are sent to, of those that can be, from the front.
    open: usize,
    /// The one that answered.
    stood: Stood,
    /// The connection number of the datagrams sent; an answer carries the same one.
    connection: Option<u32>,
    /// Start of the time in which nothing could be sent.
    failing: Option<Instant>,
}

/// A possible address of the peer.
struct Candidate {
    /// Its address for the socket that there is.
    to: SocketAddr,
    place: Place,
}

impl FarEnd {
    pub(super) fn open(places: &[Place], stood: Stood) -> io::Result<Option<Self>> {
        let socket = bind_any(places.iter().any(|place| place.at.is_ipv6()))?;
        let candidate = |place: &Place| Candidate {
            to: socket.fit(place.at),
            place: place.clone(),
        };
        let mut candidates: Vec<Candidate> = places.iter().map(candidate).collect();
        // Without IPv6 on this machine the socket can only use the IPv4 addresses.
        candidates.retain(|candidate| candidate.to.is_ipv4() == socket.local_address().is_ipv4());
        Ok((!candidates.is_empty()).then_some(Self {
            socket,
            candidates,
            open: 0,
            stood,
            connection: None,
            failing: None,
        }))
    }

    /// Continue from a new port and, after a change of networks, from a new local address.
    pub(super) fn rebind(&mut self) -> io::Result<()> {
        self.socket = bind_any(self.socket.local_address().is_ipv6())?;
        for candidate in &mut self.candidates {
            candidate.to = self.socket.fit(candidate.place.at);
        }
        Ok(())
    }

    /// The peer's address, as far as it is known.
    pub(super) fn path(&self) -> Path {
        Path::to(self.candidates[0].to)
    }

    /// The address at which it answered, as it was given; `None` until it does.
    pub(super) fn answered_at(&self) -> Option<&Address> {
        self.stood.get().map(|place| &place.address)
    }

    pub(super) fn send(&mut self, bytes: &[u8], segment: usize) -> Sent {
        self.connection = sealcast_proto::wire::connection_of(bytes);
        self.open = (self.open + 1).min(self.candidates.len());
        let (mut sent, mut left) = (Sent::default(), self.open);
        // Report the result of the first address that can be sent to.
        for (nth, candidate) in self.candidates.iter().enumerate() {
            let tried = self.socket.try_send_run(Path::to(candidate.to), bytes, segment);
            if nth == 0 || sent.unreachable > 0 {
                sent = tried;
            }
            // One that cannot be sent to stands for none.
            left -= usize::from(tried.unreachable == 0);
            if left == 0 {
                break;
            }
        }
        self.note_failures(sent);
        sent
    }

    fn note_failures(&mut self, sent: Sent) {
        if sent.bytes == 0 {
            return;
        }
        if sent.unreachable == 0 {
            self.failing = None;
            return;
        }
        let now = Instant::now();
        let since = *self.failing.get_or_insert(now);
        if now.duration_since(since) >= REBIND_AFTER {
            self.failing = Some(now);
            match self.rebind() {
                Ok(()) => tracing::info!(to = %self.path().shown(), "nothing could be sent: using a new socket"),
                Err(error) => tracing::warn!("nothing can be sent, and no new socket can be had ({error})"),
            }
        }
    }

    /// True if a datagram comes from an address that we sent to. The first one with our connection number decides
    /// which of the addresses is the peer's.
    pub(super) fn recognises(&mut self, path: Path, connection: Option<u32>) -> bool {
        let Some(nth) = self.candidates.iter().position(|candidate| candidate.to == path.remote) else {
            return false;
        };
        if self.stood.get().is_none() && connection.is_some() && connection == self.connection {
            self.candidates.swap(0, nth);
            self.candidates.truncate(1);
            let _ = self.stood.set(self.candidates[0].place.clone());
        }
        true
    }

    pub(super) fn receive(&mut self, runs: &mut Runs) -> io::Result<bool> {
        runs.receive(&self.socket)
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::sync::Arc;

    use super::*;

    /// The marks of what arrives at a socket, up to the mark 0.
    fn marks(socket: &UdpSocket) -> Vec<u8> {
        let mut room = [0; 16];
        let marks = std::iter::from_fn(|| {
            let length = socket.recv(&mut room).expect("a datagram arrives");
            Some(room[length - 1]).filter(|mark| *mark > 0)
        });
        marks.collect()
    }

    #[tokio::test]
    async fn each_repetition_goes_to_one_place_more_until_somebody_answers() {
        let bind = || UdpSocket::bind("127.0.0.1:0").expect("the loopback interface");
        let (sockets, other) = ([bind(), bind(), bind()], bind());
        let addresses = sockets.each_ref().map(|socket| socket.local_addr().expect("bound"));
        let stood = Stood::default();
        let far = FarEnd::open(&addresses.map(Place::of), Arc::clone(&stood)).expect("a socket");
        let mut far = far.expect("this machine has the addresses");
        let send = |far: &mut FarEnd, mark| {
            let datagram = [0, 0, 0, 7, mark];
            assert_eq!(far.send(&datagram, datagram.len()).bytes, datagram.len());
        };
        (1..=4).for_each(|mark| send(&mut far, mark));
        // Another connection's answer decides nothing, nor does one from elsewhere.
        assert!(far.recognises(Path::to(addresses[0]), Some(8)));
        assert!(!far.recognises(Path::to(other.local_addr().expect("bound")), Some(7)));
        send(&mut far, 5);
        assert!(far.recognises(Path::to(addresses[1]), Some(7)));
        send(&mut far, 6);
        for address in addresses {
            other.send_to(&[0], address).expect("sent");
        }
        let arrived = sockets.each_ref().map(marks);
        assert_eq!(arrived, [vec![1, 2, 3, 4, 5], vec![2, 3, 4, 5, 6], vec![3, 4, 5]]);
        assert_eq!(stood.get(), Some(&Place::of(addresses[1])));
    }
}
