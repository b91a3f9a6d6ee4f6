//! Pairs of UDP ports for RTP and RTCP on a plain side.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Instant;

use bytes::Bytes;
use sealcast_proto::rtsp::{Channel, PortPair, Track};
use tokio::task::JoinSet;

use super::after_others;
use crate::transport::udp::{DatagramSocket, Fragments, Path, Runs};

/// Attempts at two neighbouring ports before none is said to be free.
const ATTEMPTS: usize = 64;

/// The ports of the tracks of one camera or player. Dropping it closes them.
#[derive(Default)]
pub(super) struct Ports {
    tracks: Vec<Pair>,
}

struct Pair {
    track: Track,
    /// For RTP and for RTCP.
    sockets: [Arc<DatagramSocket>; 2],
    /// The ports of the other side that are listened to; 0 for any.
    theirs: [Arc<AtomicU16>; 2],
    /// Ends with the pair.
    _receiving: JoinSet<()>,
}

impl Ports {
    /// Bind a pair for a track at `ip`, instead of any it had, and hand what comes `from` there to `take`.
    ///
    /// # Errors
    /// There is no pair to be had.
    pub(super) fn open(
        &mut self,
        track: Track,
        ip: IpAddr,
        from: IpAddr,
        take: impl Fn(Channel, Bytes, Instant) + Clone + Send + 'static,
    ) -> io::Result<PortPair> {
        let sockets = bind_pair(ip)?.map(Arc::new);
        let [rtp, rtcp] = sockets.each_ref().map(|socket| socket.local_address().port());
        let mut receiving = JoinSet::new();
        let theirs: [Arc<AtomicU16>; 2] = Default::default();
        for ((rtcp, socket), port) in [false, true].into_iter().zip(&sockets).zip(&theirs) {
            let channel = Channel { track, rtcp };
            let (socket, port, take) = (Arc::clone(socket), Arc::clone(port), take.clone());
            let expected = move |sender: SocketAddr| {
                let port = port.load(Ordering::Relaxed);
                sender.ip().to_canonical() == from && (port == 0 || port == sender.port())
            };
            receiving.spawn(async move {
                let mut came = Runs::for_socket();
                loop {
                    socket.readable().await;
                    // Errors are about packets sent before.
                    let _ = came.receive(&socket);
                    let arrived = Instant::now();
                    while let Some((path, packet)) = came.next() {
                        // Anybody can send anything here.
                        if expected(path.remote) && !packet.is_empty() {
                            take(channel, Bytes::copy_from_slice(packet), arrived);
                        }
                    }
                    after_others().await;
                }
            });
        }
        self.tracks.retain(|other| other.track != track);
        self.tracks.push(Pair {
            track,
            sockets,
            theirs,
            _receiving: receiving,
        });
        Ok(PortPair { rtp, rtcp })
    }

    /// Listen to nobody but these ports of the other side: another stream of the same machine may still be sent to a
    /// port that was its own before.
    pub(super) fn expect(&self, track: Track, theirs: PortPair) {
        for pair in self.tracks.iter().filter(|pair| pair.track == track) {
            pair.theirs[0].store(theirs.rtp, Ordering::Relaxed);
            pair.theirs[1].store(theirs.rtcp, Ordering::Relaxed);
        }
    }

    /// Send packets of `size` bytes, the last perhaps shorter, from the channel's port: how many were taken.
    pub(super) fn send(&self, channel: Channel, to: SocketAddr, packets: &[u8], size: usize) -> usize {
        let socket = self.socket(channel);
        socket.map_or(0, |socket| send_from(socket, Path::to(socket.fit(to)), packets, size))
    }

    /// The socket of a channel's port.
    pub(super) fn socket(&self, channel: Channel) -> Option<&Arc<DatagramSocket>> {
        let pair = self.tracks.iter().find(|pair| pair.track == channel.track)?;
        Some(&pair.sockets[usize::from(channel.rtcp)])
    }

    /// The tracks that have ports.
    pub(super) fn tracks(&self) -> impl Iterator<Item = Track> {
        self.tracks.iter().map(|pair| pair.track)
    }
}

/// Send packets of `size` bytes, the last perhaps shorter: how many were taken. What the socket does not take at once
/// is lost, as it may be on the way.
pub(super) fn send_from(socket: &DatagramSocket, path: Path, packets: &[u8], size: usize) -> usize {
    if size == 0 {
        return 0;
    }
    let sent = socket.try_send_run(path, packets, size);
    sent.bytes.div_ceil(size) - sent.too_long - sent.unreachable
}

/// Two neighbouring ports, the first even: players and cameras of old assume so.
fn bind_pair(ip: IpAddr) -> io::Result<[DatagramSocket; 2]> {
    // Packets of a camera that sends over TCP may be of any length.
    let bind = |port: u16| DatagramSocket::bind((ip, port).into(), Fragments::Allowed);
    for _ in 0..ATTEMPTS {
        let first = bind(0)?;
        let port = first.local_address().port();
        let Ok(second) = bind(port ^ 1) else { continue };
        return Ok(if port % 2 == 0 {
            [first, second]
        } else {
            [second, first]
        });
    }
    Err(io::ErrorKind::AddrInUse.into())
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use tokio::net::UdpSocket;
    use tokio::sync::mpsc;

    use super::*;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[tokio::test]
    async fn a_pair_is_two_neighbours_that_hear_only_whom_they_should() {
        let (sender, mut heard) = mpsc::unbounded_channel();
        let mut ports = Ports::default();
        let track = Track::new(3).expect("a track");
        let take = move |channel: Channel, bytes: Bytes, _| sender.send((channel, bytes)).expect("it listens");
        let pair = ports.open(track, HERE, HERE, take).expect("ports");
        assert_eq!((pair.rtp % 2, pair.rtcp), (0, pair.rtp + 1));
        let near = UdpSocket::bind((HERE, 0)).await.expect("a socket");
        let stranger = UdpSocket::bind((Ipv4Addr::new(127, 0, 0, 2), 0))
            .await
            .expect("a socket");
        stranger.send_to(b"strange", (HERE, pair.rtcp)).await.expect("sent");
        near.send_to(b"report", (HERE, pair.rtcp)).await.expect("sent");
        let channel = Channel { track, rtcp: true };
        assert_eq!(heard.recv().await, Some((channel, Bytes::from("report"))));

        let theirs = near.local_addr().expect("bound").port();
        ports.expect(
            track,
            PortPair {
                rtp: theirs - 1,
                rtcp: theirs,
            },
        );
        let other = UdpSocket::bind((HERE, 0)).await.expect("a socket");
        other.send_to(b"of old", (HERE, pair.rtcp)).await.expect("sent");
        near.send_to(b"another", (HERE, pair.rtcp)).await.expect("sent");
        assert_eq!(heard.recv().await, Some((channel, Bytes::from("another"))));

        let to = near.local_addr().expect("bound");
        assert_eq!(ports.send(channel, to, b"answer", 6), 1);
        let mut buffer = [0; 16];
        let (length, from) = near.recv_from(&mut buffer).await.expect("received");
        assert_eq!((&buffer[..length], from.port()), (&b"answer"[..], pair.rtcp));

        drop(ports);
        tokio::time::sleep(Duration::from_millis(50)).await;
        let again = std::net::UdpSocket::bind((HERE, pair.rtp));
        assert!(again.is_ok(), "its port is free again");
    }
}
