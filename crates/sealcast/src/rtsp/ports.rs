//! Pairs of UDP ports for RTP and RTCP, on the side of a camera or player.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Instant;

use bytes::Bytes;
use sealcast_proto::rtsp::{Channel, PortPair, Track};
use tokio::task::JoinSet;

use crate::transport::udp::{DatagramSocket, Fragments, Path, Runs};

/// Number of attempts to find two adjacent free ports.
const ATTEMPTS: usize = 64;

/// Packets of RTP that must come from a port which the other side did not name, before it counts: some name a wrong
/// one. They wait until then.
const UNNAMED: usize = 8;
/// The same of RTCP, which comes every few seconds.
const UNNAMED_REPORTS: usize = 1;

thread_local! {
    /// Receive buffers, shared by all ports, of which there are hundreds, so that they stay in the processor's caches.
    static CAME: RefCell<Runs> = RefCell::new(Runs::for_socket());
}

/// Passes the datagrams received on a socket to `take`, each with its sender and when it came.
fn receive(came: &mut Runs, socket: &DatagramSocket, mut take: impl FnMut(SocketAddr, &[u8], Instant)) {
    // Errors concern packets sent earlier.
    let _ = came.receive(socket);
    let arrived = Instant::now();
    while let Some((path, packet)) = came.next() {
        if !packet.is_empty() {
            take(path.remote, packet, arrived);
        }
    }
}

/// Passes all that comes to a socket to `take`, each datagram with its sender and when it came. Calls `passed` after
/// those that came together, when the tasks that were given them had their turn.
pub(crate) async fn each_datagram(
    socket: Arc<DatagramSocket>,
    mut take: impl FnMut(SocketAddr, &[u8], Instant),
    passed: impl Fn(),
) {
    loop {
        socket.readable().await;
        CAME.with_borrow_mut(|came| receive(came, &socket, &mut take));
        after_others().await;
        passed();
    }
}

/// Let the tasks that were just given packets run first: this task would only look for more packets.
pub(crate) async fn after_others() {
    let mut waited = false;
    poll_fn(|context| {
        if std::mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// The ports of the tracks of one camera or player. Dropping it closes them.
#[derive(Default)]
pub(crate) struct RtpPorts {
    tracks: Vec<Pair>,
}

/// The ports of the other side from which packets are accepted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Senders {
    /// The ports that the other side has named; another one if [`UNNAMED`] packets came from it and none from these.
    At(PortPair),
    /// On each socket, the port that the first packet comes from. For a side that named no ports but keeps to the
    /// same ones.
    First,
    /// Any port, even a different one for each packet, because of address translation on the way.
    Any,
}

struct Pair {
    track: Track,
    /// The sockets for RTP and for RTCP.
    sockets: [Arc<DatagramSocket>; 2],
    /// The accepted senders; nothing is accepted until they are set.
    senders: Arc<OnceLock<Senders>>,
    /// The receiving tasks, which end with the pair.
    _receiving: JoinSet<()>,
}

impl RtpPorts {
    /// Bind a pair for a track at `ip`, replacing any earlier pair of that track. Pass packets from the address
    /// `from` to `take`, once [`expect`](Self::expect) has set their senders. Call `passed` after those that came
    /// together, when the tasks that were given them had their turn.
    ///
    /// # Errors
    /// No pair of ports is available.
    pub(crate) fn open(
        &mut self,
        track: Track,
        ip: IpAddr,
        from: IpAddr,
        take: impl Fn(Channel, Bytes, Instant) + Clone + Send + 'static,
        passed: impl Fn() + Clone + Send + 'static,
    ) -> io::Result<PortPair> {
        let sockets = bind_pair(ip)?.map(Arc::new);
        let [rtp, rtcp] = sockets.each_ref().map(|socket| socket.local_address().port());
        let mut receiving = JoinSet::new();
        let senders: Arc<OnceLock<Senders>> = Arc::default();
        for (rtcp, socket) in [false, true].into_iter().zip(&sockets) {
            let channel = Channel { track, rtcp };
            let (socket, senders) = (Arc::clone(socket), Arc::clone(&senders));
            let (take, passed) = (take.clone(), passed.clone());
            let first = OnceLock::new();
            let mut named = Named::new(if rtcp { UNNAMED_REPORTS } else { UNNAMED });
            // Each packet has memory of its own: it may be kept longer than those beside it.
            let take = move |sender: SocketAddr, packet: &[u8], arrived: Instant| {
                // Drop datagrams from other senders: anybody can send to this port.
                let Some(senders) = senders.get().filter(|_| sender.ip().to_canonical() == from) else {
                    return;
                };
                match senders {
                    Senders::At(pair) => {
                        let port = if rtcp { pair.rtcp } else { pair.rtp };
                        let counts = |packet, arrived| take(channel, packet, arrived);
                        named.take(port, sender.port(), packet, arrived, counts);
                    }
                    Senders::First if *first.get_or_init(|| listen_to(channel, sender)) != sender.port() => {}
                    Senders::First | Senders::Any => take(channel, Bytes::copy_from_slice(packet), arrived),
                }
            };
            receiving.spawn(each_datagram(socket, take, passed));
        }
        self.tracks.retain(|other| other.track != track);
        self.tracks.push(Pair {
            track,
            sockets,
            senders,
            _receiving: receiving,
        });
        Ok(PortPair { rtp, rtcp })
    }

    /// Accept packets from now on, but only from `senders`. Earlier packets are dropped on purpose: another stream of
    /// the same machine may still be sent to a port that it used before.
    pub(crate) fn expect(&self, track: Track, senders: Senders) {
        for pair in self.tracks.iter().filter(|pair| pair.track == track) {
            // This is set again with each message of a camera and does not change, so an error means nothing.
            let _ = pair.senders.set(senders);
        }
    }

    /// Send packets of `size` bytes (the last may be shorter) from the channel's port. Returns the number sent.
    pub(crate) fn send(&self, channel: Channel, to: SocketAddr, packets: &[u8], size: usize) -> usize {
        let socket = self.socket(channel);
        socket.map_or(0, |socket| send_from(socket, Path::to(socket.fit(to)), packets, size))
    }

    /// The socket for a channel.
    pub(crate) fn socket(&self, channel: Channel) -> Option<&Arc<DatagramSocket>> {
        let pair = self.tracks.iter().find(|pair| pair.track == channel.track)?;
        Some(&pair.sockets[usize::from(channel.rtcp)])
    }

    /// The tracks that have ports.
    pub(crate) fn tracks(&self) -> impl Iterator<Item = Track> {
        self.tracks.iter().map(|pair| pair.track)
    }
}

/// State of a socket whose other side named the port that it sends from.
struct Named {
    /// Packets from another port that do not suffice for it to count.
    few: usize,
    heard: bool,
    /// Another port, and the packets that came from it in a row.
    other: u16,
    waiting: Vec<(Bytes, Instant)>,
    counts: bool,
}

impl Named {
    fn new(few: usize) -> Self {
        Self {
            few,
            heard: false,
            other: 0,
            waiting: Vec::new(),
            counts: false,
        }
    }

    /// Takes a packet that came from a port. Calls `counts` with it, if it counts, and with those before it that do
    /// now.
    fn take(&mut self, named: u16, port: u16, packet: &[u8], arrived: Instant, counts: impl Fn(Bytes, Instant)) {
        self.heard |= port == named;
        if self.heard || self.other != port {
            (self.other, self.counts) = (port, false);
            self.waiting = Vec::new();
        }
        if self.heard && port != named {
            return;
        }
        let packet = Bytes::copy_from_slice(packet);
        if !self.heard && !self.counts {
            self.waiting.push((packet, arrived));
            self.counts = self.waiting.len() > self.few;
            if self.counts {
                let waiting = std::mem::take(&mut self.waiting);
                waiting.into_iter().for_each(|(packet, came)| counts(packet, came));
            }
            return;
        }
        counts(packet, arrived);
    }
}

/// The port of the first sender; from then on only packets from it are accepted.
fn listen_to(channel: Channel, sender: SocketAddr) -> u16 {
    tracing::debug!(?channel, port = sender.port(), "listening to the first that sends");
    sender.port()
}

/// Send packets of `size` bytes; the last may be shorter. Returns the number sent. Packets that the socket does not
/// accept at once are dropped, as they could be on the way.
pub(crate) fn send_from(socket: &DatagramSocket, path: Path, packets: &[u8], size: usize) -> usize {
    if size == 0 {
        return 0;
    }
    let sent = socket.try_send_run(path, packets, size);
    sent.bytes.div_ceil(size) - sent.too_long - sent.unreachable
}

/// Bind two adjacent ports, the first of them even, as older players and cameras expect.
fn bind_pair(ip: IpAddr) -> io::Result<[DatagramSocket; 2]> {
    // A packet that the camera sent over TCP may have any length, so allow IP fragmentation.
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

    type Heard = mpsc::UnboundedReceiver<(Channel, Bytes)>;

    fn rtcp() -> Channel {
        let track = Track::new(3).expect("a track");
        Channel { track, rtcp: true }
    }

    /// A pair of ports, and a receiver of the packets that arrive there.
    fn opened() -> (RtpPorts, PortPair, Heard) {
        let (sender, heard) = mpsc::unbounded_channel();
        let mut ports = RtpPorts::default();
        let take = move |channel: Channel, bytes: Bytes, _| sender.send((channel, bytes)).expect("it listens");
        let pair = ports.open(rtcp().track, HERE, HERE, take, || {}).expect("ports");
        (ports, pair, heard)
    }

    async fn socket(ip: impl Into<IpAddr>) -> UdpSocket {
        UdpSocket::bind((ip.into(), 0)).await.expect("a socket")
    }

    #[tokio::test]
    async fn a_pair_is_two_neighbours_that_speak_and_are_free_when_it_is_dropped() {
        let (ports, pair, _heard) = opened();
        assert_eq!((pair.rtp % 2, pair.rtcp), (0, pair.rtp + 1));
        let near = socket(HERE).await;
        assert_eq!(ports.send(rtcp(), near.local_addr().expect("bound"), b"answer", 6), 1);
        let mut buffer = [0; 16];
        let (length, from) = near.recv_from(&mut buffer).await.expect("received");
        assert_eq!((&buffer[..length], from.port()), (&b"answer"[..], pair.rtcp));

        drop(ports);
        tokio::time::sleep(Duration::from_millis(50)).await;
        let again = std::net::UdpSocket::bind((HERE, pair.rtp));
        assert!(again.is_ok(), "its port is free again");
    }

    #[tokio::test]
    async fn a_pair_hears_nobody_before_it_is_known_who_speaks_and_then_only_those() {
        let (ports, pair, mut heard) = opened();
        let [near, other] = [socket(HERE).await, socket(HERE).await];
        near.send_to(b"too early", (HERE, pair.rtcp)).await.expect("sent");
        tokio::time::sleep(Duration::from_millis(50)).await;
        let port = near.local_addr().expect("bound").port();
        let theirs = PortPair {
            rtp: port - 1,
            rtcp: port,
        };
        ports.expect(rtcp().track, Senders::At(theirs));
        other.send_to(b"of old", (HERE, pair.rtcp)).await.expect("sent");
        near.send_to(b"report", (HERE, pair.rtcp)).await.expect("sent");
        assert_eq!(heard.recv().await, Some((rtcp(), Bytes::from("report"))));
    }

    #[test]
    fn a_port_that_was_named_wrongly_is_a_hint_and_no_packet_is_lost_for_it() {
        let heard = RefCell::new(Vec::new());
        let arrived = Instant::now();
        let say = |named: &mut Named, port, packet: u8| {
            named.take(6970, port, &[packet], arrived, |packet, _| {
                heard.borrow_mut().push(packet[0])
            });
        };
        let few = UNNAMED as u8;
        let mut named = Named::new(UNNAMED);
        (0..few).for_each(|number| say(&mut named, 7000, number));
        assert!(heard.borrow().is_empty(), "it may be of an earlier stream");
        say(&mut named, 7000, few);
        say(&mut named, 7000, few + 1);
        assert_eq!(
            heard.take(),
            (0..few + 2).collect::<Vec<_>>(),
            "all of them, in their order"
        );
        say(&mut named, 8000, 1);
        say(&mut named, 7000, 2);
        assert!(heard.borrow().is_empty(), "each is one of many");
        say(&mut named, 6970, 3);
        (0..=few).for_each(|number| say(&mut named, 7000, number));
        say(&mut named, 6970, 4);
        assert_eq!(heard.take(), [3, 4], "the right one is there");
    }

    #[tokio::test]
    async fn a_pair_whose_other_side_names_no_ports_hears_the_first_that_speaks_at_each_alone() {
        let (ports, pair, mut heard) = opened();
        ports.expect(rtcp().track, Senders::First);
        let rtp = Channel { rtcp: false, ..rtcp() };
        let [near, other, stranger] = [
            socket(HERE).await,
            socket(HERE).await,
            socket(Ipv4Addr::new(127, 0, 0, 2)).await,
        ];
        for (channel, port, first, second) in [(rtp, pair.rtp, &near, &other), (rtcp(), pair.rtcp, &other, &near)] {
            stranger.send_to(b"strange", (HERE, port)).await.expect("sent");
            first.send_to(b"first", (HERE, port)).await.expect("sent");
            assert_eq!(heard.recv().await, Some((channel, Bytes::from("first"))));
            second.send_to(b"another", (HERE, port)).await.expect("sent");
            first.send_to(b"again", (HERE, port)).await.expect("sent");
            assert_eq!(heard.recv().await, Some((channel, Bytes::from("again"))));
        }
    }

    #[tokio::test]
    async fn a_pair_that_listens_to_any_port_hears_no_other_machine() {
        let (ports, pair, mut heard) = opened();
        ports.expect(rtcp().track, Senders::Any);
        let [near, stranger] = [socket(HERE).await, socket(Ipv4Addr::new(127, 0, 0, 2)).await];
        stranger.send_to(b"strange", (HERE, pair.rtcp)).await.expect("sent");
        near.send_to(b"report", (HERE, pair.rtcp)).await.expect("sent");
        assert_eq!(heard.recv().await, Some((rtcp(), Bytes::from("report"))));
        let moved = socket(HERE).await;
        moved.send_to(b"moved", (HERE, pair.rtcp)).await.expect("sent");
        assert_eq!(heard.recv().await, Some((rtcp(), Bytes::from("moved"))));
    }
}
