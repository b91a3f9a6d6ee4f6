//! Sending of packets to a player over UDP.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sealcast_proto::rtsp::Channel;

use super::arrivals::Arrivals;
use super::packet::Packet;
use super::packet_batch::PacketBatch;
use crate::meter::labels::DropCause;
use crate::meter::metrics::Metrics;
use crate::meter::stage::Stage;
use crate::rtsp::send_from;
use crate::transport::udp::{DatagramSocket, Path};

/// The local socket and the destination of a channel's packets.
pub(super) struct UdpRoute {
    pub(super) channel: Channel,
    pub(super) socket: Arc<DatagramSocket>,
    pub(super) path: Path,
}

/// The UDP routes to one player. While it is open, the task that delivers a packet also sends it here. That saves a
/// wake-up of the player's task, which polls much else.
#[derive(Default)]
pub(super) struct RtpSender {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: bool,
    routes: Vec<UdpRoute>,
    /// The packets to send next.
    batch: PacketBatch,
    /// The packets sent.
    handed: Arrivals,
    /// Number of packets that could not be sent.
    missed: usize,
}

impl RtpSender {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Each statement leaves the state consistent, so a panic in another thread does no harm.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replace the routes.
    pub(super) fn set_routes(&self, routes: Vec<UdpRoute>) {
        self.lock().routes = routes;
    }

    /// Open or close the direct path that bypasses the player's queue. Open it only while that queue is empty.
    pub(super) fn set_open(&self, open: bool) {
        self.lock().open = open;
    }

    /// Take a packet that was just delivered. It is returned if it has to be queued.
    pub(super) fn take(&self, packet: Packet) -> Result<(), Packet> {
        let mut state = self.lock();
        if !state.open || state.route(packet.channel).is_none() {
            return Err(packet);
        }
        state.put(packet);
        Ok(())
    }

    /// Add a packet from the player's queue.
    pub(super) fn put(&self, packet: Packet) {
        self.lock().put(packet);
    }

    /// Send the pending packets and update the metrics.
    pub(super) fn send(&self, metrics: &Metrics) {
        let state = &mut *self.lock();
        state.send_batch();
        state.handed.left(Stage::Deliver, metrics);
        let missed = std::mem::take(&mut state.missed);
        if missed > 0 {
            metrics.record_dropped(DropCause::Queue, missed as u64);
        }
    }
}

impl State {
    fn route(&self, channel: Channel) -> Option<&UdpRoute> {
        self.routes.iter().find(|route| route.channel == channel)
    }

    fn put(&mut self, packet: Packet) {
        if !self.batch.takes(&packet) {
            self.send_batch();
        }
        self.batch.put(packet);
    }

    fn send_batch(&mut self) {
        let routes = &self.routes;
        let leave = |channel, packets: &[u8], size| {
            let route = routes.iter().find(|route| route.channel == channel);
            route.map_or(0, |route| send_from(&route.socket, route.path, packets, size))
        };
        self.missed += self.batch.send(leave, &mut self.handed);
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::net::{IpAddr, Ipv4Addr, UdpSocket};
    use std::time::{Duration, Instant};

    use bytes::Bytes;
    use sealcast_proto::rtsp::Track;

    use super::*;
    use crate::meter::build_info::BuildInfo;
    use crate::rtsp::RtpPorts;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn packet(rtcp: bool, mark: u8) -> Packet {
        let track = Track::new(0).expect("a track");
        Packet {
            slot: 0,
            channel: Channel { track, rtcp },
            bytes: Bytes::from(vec![mark; 100]),
            arrived: Instant::now(),
        }
    }

    /// A sender with a route for RTP only, and our ports.
    fn rtp_sender(player: &UdpSocket) -> (RtpSender, RtpPorts) {
        let Packet { channel, .. } = packet(false, 0);
        let (rtp_sender, mut ports) = (RtpSender::default(), RtpPorts::default());
        ports
            .open(channel.track, HERE, HERE, |_, _, _| {}, || {})
            .expect("ports");
        let socket = Arc::clone(ports.socket(channel).expect("it was opened"));
        let path = Path::to(player.local_addr().expect("bound"));
        rtp_sender.set_routes(vec![UdpRoute { channel, socket, path }]);
        (rtp_sender, ports)
    }

    fn player() -> UdpSocket {
        let player = UdpSocket::bind((HERE, 0)).expect("a socket");
        player
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("an option of all systems");
        player
    }

    fn next(player: &UdpSocket) -> u8 {
        let mut room = [0; 200];
        assert_eq!(player.recv(&mut room).expect("it was sent"), 100);
        room[0]
    }

    #[tokio::test]
    async fn what_it_takes_while_it_is_open_leaves_and_the_rest_comes_back() {
        let (player, metrics) = (player(), Metrics::new(BuildInfo::default()));
        let (rtp_sender, _ports) = rtp_sender(&player);
        assert!(rtp_sender.take(packet(false, 1)).is_err(), "it is not open yet");
        rtp_sender.put(packet(false, 2));
        rtp_sender.send(&metrics);
        rtp_sender.set_open(true);
        assert!(rtp_sender.take(packet(true, 3)).is_err(), "reports have another route");
        for mark in [4, 5] {
            assert!(rtp_sender.take(packet(false, mark)).is_ok());
        }
        rtp_sender.send(&metrics);
        rtp_sender.set_open(false);
        assert!(rtp_sender.take(packet(false, 6)).is_err(), "it was closed");
        assert_eq!([next(&player), next(&player), next(&player)], [2, 4, 5]);
        assert_eq!(metrics.totals().all_frames_dropped(), 0);
    }

    #[tokio::test]
    async fn what_finds_no_way_is_counted_as_dropped() {
        let (player, metrics) = (player(), Metrics::new(BuildInfo::default()));
        let (rtp_sender, _ports) = rtp_sender(&player);
        rtp_sender.set_routes(Vec::new());
        rtp_sender.put(packet(false, 1));
        rtp_sender.send(&metrics);
        assert_eq!(metrics.totals().all_frames_dropped(), 1);
        player.set_nonblocking(true).expect("an option of all systems");
        let nothing = player.recv(&mut [0; 10]).map_err(|error| error.kind());
        assert_eq!(nothing, Err(ErrorKind::WouldBlock));
    }
}
