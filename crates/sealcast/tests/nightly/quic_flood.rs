//! Packets of QUIC that an attacker recorded and altered, sent from many addresses to a publisher's ports: the QUIC
//! library parses them in the program, where no fuzzer of ours reaches it. The program's memory stays, the viewer that
//! watches loses nothing, and one who comes afterwards gets in.

use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

use sealcast_testkit::attack::{Direction, Home, PATIENCE, Program, Proxy, QuicAttacker, Stage, Tap};

/// Number of altered packets for each port.
const PACKETS: usize = 200_000;
/// So many are sent before the program has answered an honest one: fewer than a socket's buffer holds, so that the
/// system drops none and each is looked at.
const BATCH: usize = 32;
/// Addresses from which they come.
const SOURCES: u8 = 50;
/// Limit for the growth of a publisher's memory, in KiB: as for the floods of whole packets.
const MOST_GROWTH: u64 = 16 * 1024;
/// Packets of each kind that are kept of a recording: those of a handshake come first.
const KEPT: usize = 300;
const LONGEST: usize = 2000;
/// An honest packet is sent again after this time, so often at most.
const LOOK: Duration = Duration::from_secs(1);
const TRIES: usize = 60;

/// Numbers that look random and are the same for the same seed.
struct Seed(u64);

impl Seed {
    fn next(&mut self) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize
    }

    fn below(&mut self, limit: usize) -> usize {
        self.next() % limit.max(1)
    }

    /// One of the packets, altered in one to four ways, most of them behind the number of the connection.
    fn altered(&mut self, packets: &[Vec<u8>]) -> Vec<u8> {
        let mut packet = packets[self.below(packets.len())].clone();
        for _ in 0..=self.below(4) {
            let at = self.below(packet.len());
            match self.below(8) {
                0 => packet.truncate(at.max(1)),
                1 => packet[at] = self.next() as u8,
                2 => packet.extend_from_slice(&packets[self.below(packets.len())]),
                3 => packet[0] ^= 1 << self.below(8),
                4 => {
                    let other = &packets[self.below(packets.len())];
                    let from = at.min(other.len());
                    packet.truncate(at.max(1));
                    packet.extend_from_slice(&other[from..]);
                }
                5 => {
                    // A length, a version or the like, at its extremes.
                    let extreme = [0, 0xff, 0x3f, 0x80][self.below(4)];
                    packet.iter_mut().skip(at).take(4).for_each(|byte| *byte = extreme);
                }
                6 => packet.rotate_left(at),
                _ => packet[at] ^= 1 << self.below(8),
            }
            packet.truncate(LONGEST);
        }
        packet
    }
}

/// Packets of a client that `connects` through a tap before this port.
fn recorded(port: u16, connects: impl FnOnce(u16)) -> Vec<Vec<u8>> {
    let tap = Tap::start(port, |_, _, datagram| vec![datagram.to_vec()]);
    connects(tap.port);
    let mut packets: Vec<Vec<u8>> = tap
        .seen()
        .into_iter()
        .filter(|(direction, _)| *direction == Direction::Up)
        .map(|(_, packet)| packet)
        .collect();
    packets.truncate(KEPT);
    assert!(packets.len() >= 3, "a handshake and more: {}", packets.len());
    packets
}

/// Floods this port with what becomes of the packets. The first of them, sent as it was, is answered: by that it is
/// known how far the program is.
fn flood(port: u16, packets: &[Vec<u8>], seed: u64) {
    println!("seed {seed:#x}, {} packets were recorded", packets.len());
    let mut seed = Seed(seed);
    let sources: Vec<UdpSocket> = (1..=SOURCES)
        .map(|host| UdpSocket::bind((Ipv4Addr::new(127, 9, host, 1), 0)).expect("all of 127.0.0.0/8 is ours"))
        .inspect(|source| source.set_read_timeout(Some(LOOK)).expect("a socket option"))
        .collect();
    let to = (Ipv4Addr::LOCALHOST, port);
    let mut answer = [0; LONGEST];
    for batch in 0..PACKETS / BATCH {
        let source = &sources[batch % sources.len()];
        for _ in 0..BATCH {
            // A packet that the system refuses is none.
            let _ = source.send_to(&seed.altered(packets), to);
        }
        // Whatever the altered ones were answered with is read along.
        source.set_nonblocking(true).expect("a socket option");
        while source.recv(&mut answer).is_ok() {}
        source.set_nonblocking(false).expect("a socket option");
        // The system may have had no room for it beside answers that came late.
        let answered = (0..TRIES).any(|_| {
            source.send_to(&packets[0], to).expect("sent");
            source.recv(&mut answer).is_ok()
        });
        assert!(answered, "an honest packet is answered");
    }
}

/// A QUIC client that opens a connection through the tap at this port, and says something on it.
fn says_something(client: &QuicAttacker) {
    let connection = client
        .connects(Ipv4Addr::new(127, 9, 0, 1), PATIENCE)
        .expect("it listens");
    client.runtime.block_on(async {
        let (mut send, _receive) = connection.open_bi().await.expect("a stream");
        for word in 0..20_u8 {
            let _ = send.write_all(&[word; 500]).await;
            let _ = connection.send_datagram(vec![word; 300].into());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        connection.close(0_u32.into(), b"enough");
    });
}

fn publish(listen: &str, more: &str) -> Stage {
    Stage::new(|home: &Home, clip: &str| -> (Program, String) {
        home.publish_at(listen, clip, &format!("--report report.json {more}"))
    })
}

#[test]
fn altered_packets_at_a_quic_port_take_no_memory_and_keep_nobody_out() {
    let stage = publish("quic://127.0.0.1:0?latency=2000", "--unit packet");
    let packets = recorded(stage.port(), |tap| {
        let ticket = Proxy::redirect(&stage.ticket, tap);
        let guest = Home::new();
        let viewer = guest.start(&format!("watch {ticket} --to file:out.h264"));
        guest.flows(&viewer);
    });
    let before = stage.publisher.rss();
    flood(stage.port(), &packets, 0x5eed_0000_0000_0001);
    stage.assert_small(before, MOST_GROWTH);
    stage.admits_a_newcomer();
    stage.unharmed();
}

#[test]
fn altered_packets_at_a_page_s_port_take_no_memory_and_keep_no_browser_out() {
    let stage = publish("tcp://127.0.0.1:0", "--web http://127.0.0.1:0");
    let link = stage.publisher.page_link();
    let port = link.split("127.0.0.1:").nth(1).and_then(|rest| rest.split('/').next());
    let port: u16 = port.and_then(|port| port.parse().ok()).expect("a port");
    let packets = recorded(port, |tap| says_something(&QuicAttacker::of_page(tap)));
    let before = stage.publisher.rss();
    flood(port, &packets, 0x5eed_0000_0000_0002);
    stage.assert_small(before, MOST_GROWTH);
    let browser = QuicAttacker::of_page(port);
    assert!(browser.connects(Ipv4Addr::new(127, 9, 0, 2), PATIENCE).is_some());
    stage.admits_a_newcomer();
    stage.unharmed();
}
