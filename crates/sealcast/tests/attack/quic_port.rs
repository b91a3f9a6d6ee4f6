//! Strangers that send to a QUIC port from forged source addresses: each packet is answered with fewer bytes than it
//! had, and nothing is kept.

use std::net::UdpSocket;

use sealcast_testkit::attack::{Home, PATIENCE, Proxy, Stage, total};

/// Limit for the growth of a publisher's memory because of strangers, in KiB.
const MOST_GROWTH: u64 = 10 * 1024;
const VICTIMS: usize = 100;
const PACKETS: usize = 3000;

/// The first packet that a viewer sends to open a QUIC connection to such a publisher.
fn first_packet(ticket: &str) -> Vec<u8> {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    socket.set_read_timeout(Some(PATIENCE)).expect("a socket option");
    let port = socket.local_addr().expect("bound").port();
    let home = Home::new();
    let _viewer = home.start(&format!("watch {} --to null:", Proxy::redirect(ticket, port)));
    let mut packet = vec![0; 2000];
    let length = socket.recv(&mut packet).expect("a packet");
    packet.truncate(length);
    packet
}

#[test]
fn first_packets_from_forged_addresses_get_a_shorter_retry_each_and_nothing_is_kept() {
    let stage = Stage::new(|home, clip| {
        let more = "--unit packet --report report.json";
        home.publish_at("quic://127.0.0.1:0?latency=2000", clip, more)
    });
    let packet = first_packet(&stage.ticket);
    assert!(packet.len() >= 1200, "{} bytes", packet.len());
    let memory = stage.publisher.rss();
    // For the publisher these sockets may be victims of forged addresses. Here they count the answers.
    let victims: Vec<UdpSocket> = (0..VICTIMS)
        .map(|host| UdpSocket::bind(format!("127.8.{}.1:0", host + 1)).expect("all of 127.0.0.0/8 is ours"))
        .inspect(|victim| victim.set_read_timeout(Some(PATIENCE)).expect("a socket option"))
        .collect();
    let (mut answers, mut bytes) = (0_u64, 0);
    let mut buffer = [0; 2000];
    for _ in 0..PACKETS / VICTIMS {
        for victim in &victims {
            victim.send_to(&packet, ("127.0.0.1", stage.port())).expect("sent");
            // Wait for each answer: otherwise the packets, which are all equal, could be processed as copies of one.
            let length = victim.recv(&mut buffer).expect("an answer to each");
            (answers, bytes) = (answers + 1, bytes + length);
        }
    }
    let sent = packet.len() * PACKETS;
    println!("{sent} bytes, {bytes} in answer");
    assert!(bytes < sent, "{bytes} bytes for {sent}");
    for victim in &victims {
        victim.set_nonblocking(true).expect("a socket option");
        assert!(victim.recv(&mut buffer).is_err(), "more than one answer");
    }
    stage.assert_small(memory, MOST_GROWTH);
    let report = stage.unharmed();
    // Besides these, one for each of the two viewers, or more if a viewer heard nothing in time and connected again.
    assert!(total(&report, "door_answers", "retry") >= answers + 2, "{report}");
}
