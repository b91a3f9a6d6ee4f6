//! Packets that are sent to a player in one system call.

use sealcast_proto::rtsp::Channel;

use super::arrivals::Arrivals;
use super::packet::Packet;

/// Maximum number of packets and bytes in a batch: the kernel's limits for one segmented send.
const MAX_PACKETS: usize = 64;
const MAX_BYTES: usize = 65_507;

/// Packets of one channel. All are as long as the first, except that the last may be shorter.
#[derive(Default)]
pub(super) struct PacketBatch {
    packets: Vec<Packet>,
    /// The packets' bytes, concatenated; unused while there is only one packet.
    joined: Vec<u8>,
}

impl PacketBatch {
    /// True if the packet can be added to this batch.
    pub(super) fn takes(&self, packet: &Packet) -> bool {
        let (Some(first), Some(last)) = (self.packets.first(), self.packets.last()) else {
            return true;
        };
        let size = first.bytes.len();
        let goes_on = last.bytes.len() == size && (1..=size).contains(&packet.bytes.len());
        let bounded = self.packets.len() < MAX_PACKETS && (self.packets.len() + 1) * size <= MAX_BYTES;
        // RTCP reports are rare, and each is sent alone.
        packet.channel == first.channel && !packet.channel.rtcp && goes_on && bounded
    }

    /// Add a packet that the batch [takes](Self::takes).
    pub(super) fn put(&mut self, packet: Packet) {
        if let [first] = &self.packets[..] {
            self.joined.extend_from_slice(&first.bytes);
        }
        if !self.packets.is_empty() {
            self.joined.extend_from_slice(&packet.bytes);
        }
        self.packets.push(packet);
    }

    /// Send the batch with `leave`. It gets the channel, the bytes and the length of each packet (the last may be
    /// shorter), and returns the number of packets sent, which are added to `handed`. Returns the number of packets
    /// that were not sent.
    pub(super) fn send(&mut self, leave: impl FnOnce(Channel, &[u8], usize) -> usize, handed: &mut Arrivals) -> usize {
        let Some(first) = self.packets.first() else { return 0 };
        let bytes = if self.packets.len() == 1 {
            &first.bytes
        } else {
            &self.joined[..]
        };
        let sent = leave(first.channel, bytes, first.bytes.len());
        let missed = self.packets.len() - sent;
        for packet in self.packets.drain(..).take(sent) {
            handed.push(packet.arrived);
        }
        self.joined.clear();
        missed
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
    use std::time::{Duration, Instant};

    use bytes::Bytes;
    use sealcast_proto::rtsp::Track;

    use super::*;
    use crate::rtsp::RtpPorts;

    fn packet(rtcp: bool, mark: u8, length: usize) -> Packet {
        let track = Track::new(0).expect("a track");
        Packet {
            slot: 0,
            channel: Channel { track, rtcp },
            bytes: Bytes::from(vec![mark; length]),
            arrived: Instant::now(),
        }
    }

    #[test]
    fn packets_of_one_length_and_a_shorter_one_make_a_run() {
        let mut batch = PacketBatch::default();
        for _ in 0..2 {
            assert!(batch.takes(&packet(false, 1, 100)));
            batch.put(packet(false, 1, 100));
        }
        assert!(!batch.takes(&packet(true, 1, 100)), "it is for another port");
        let mut reports = PacketBatch::default();
        reports.put(packet(true, 1, 100));
        assert!(!reports.takes(&packet(true, 1, 100)), "a report is alone");
        assert!(!batch.takes(&packet(false, 1, 101)) && !batch.takes(&packet(false, 1, 0)));
        batch.put(packet(false, 1, 40));
        assert!(!batch.takes(&packet(false, 1, 40)), "a shorter one is the last");
    }

    #[test]
    fn neither_many_packets_nor_many_bytes_make_a_run_longer_than_the_kernel_takes() {
        for (length, most) in [(10, MAX_PACKETS), (1400, MAX_BYTES / 1400), (40_000, 1)] {
            let mut batch = PacketBatch::default();
            while batch.takes(&packet(false, 1, length)) {
                batch.put(packet(false, 1, length));
            }
            assert_eq!(batch.packets.len(), most, "of {length} bytes");
        }
    }

    #[tokio::test]
    async fn packets_arrive_as_they_were_put_in() {
        for here in [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()] {
            match UdpSocket::bind((here, 0)) {
                Ok(player) => send_to(here, &player),
                Err(error) => assert!(here.is_ipv6(), "no IPv4 on the loopback interface: {error}"),
            }
        }
    }

    fn send_to(here: IpAddr, player: &UdpSocket) {
        player
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("an option of all systems");
        let port = player.local_addr().expect("bound").port();
        let mut ports = RtpPorts::default();
        let track = Track::new(0).expect("a track");
        ports.open(track, here, here, |_, _, _| {}, || {}).expect("ports");
        let (mut batch, mut handed) = (PacketBatch::default(), Arrivals::default());
        let to = SocketAddr::new(here, port);
        let leave = |channel, packets: &[u8], size| ports.send(channel, to, packets, size);
        let lengths = [1200, 1200, 1200, 300, 9000, 9000, 60_000, 7];
        for (mark, length) in (0..).zip(lengths) {
            let packet = packet(false, mark, length);
            if !batch.takes(&packet) {
                assert_eq!(batch.send(leave, &mut handed), 0);
            }
            batch.put(packet);
        }
        assert_eq!(batch.send(leave, &mut handed), 0);
        assert_eq!(batch.send(leave, &mut handed), 0, "nothing is sent twice");
        assert_eq!(handed.count(), lengths.len() as u64);
        let mut room = vec![0; 65_536];
        for (mark, length) in (0..).zip(lengths) {
            let came = player.recv(&mut room).expect("it was sent");
            assert_eq!((came, room[0], room[came - 1]), (length, mark, mark));
        }
    }
}
