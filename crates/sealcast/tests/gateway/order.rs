//! Packets of a camera over UDP that come in another order, twice, or from odd ports. A player over TCP has them in
//! order and once, one over UDP as they come.

use sealcast_testkit::gateways::{Camera, Packet, Plain, Player, pair};
use sealcast_testkit::program::succeeds_once;

/// Packets of a picture. A gateway waits for a missing packet according to the time between two pictures, and a busy
/// machine may hold a packet up.
const PICTURE: u16 = 100;

/// RTP of two tracks, whose numbers wrap, and reports between. Each packet is another.
fn stream() -> Vec<Packet> {
    let mut packets = Vec::new();
    for at in 0..200_u16 {
        for track in 0..2_u8 {
            let number = at.wrapping_add(65_436 - u16::from(track) * 20);
            let time = u32::from(at / PICTURE) * 3600;
            let head = [&[0x80, 96 + track][..], &number.to_be_bytes(), &time.to_be_bytes()].concat();
            let length = 1 + usize::from(at) * 7 % 1200;
            packets.push((
                track * 2,
                [&head[..], &[0, 0, 0, track], &vec![at as u8; length]].concat(),
            ));
        }
        if at % 40 == 39 {
            packets.push((1, vec![0x80, 200, 0, 1, 0, 0, 0, at as u8]));
        }
    }
    packets
}

/// The packets of a channel.
fn of(packets: &[Packet], channel: u8) -> Vec<&[u8]> {
    let packets = packets.iter().filter(|packet| packet.0 == channel);
    packets.map(|packet| &packet.1[..]).collect()
}

/// The packets with neighbours of a channel swapped, from the first on, and each twice.
fn disordered(packets: &[Packet], swapped: bool, twice: bool) -> Vec<Packet> {
    let mut packets = packets.to_vec();
    for channel in [0, 2] {
        let places: Vec<usize> = (0..packets.len()).filter(|at| packets[*at].0 == channel).collect();
        for pair in places.chunks_exact(2).filter(|_| swapped) {
            packets.swap(pair[0], pair[1]);
        }
    }
    let copies = if twice { 2 } else { 1 };
    let copied = packets.iter().flat_map(|packet| {
        let copies = if packet.0 % 2 == 0 { copies } else { 1 };
        std::iter::repeat_n(packet.clone(), copies)
    });
    copied.collect()
}

/// Checks that a player has the packets that it is to have. Returns an error if some are missing: a datagram may be
/// lost, or held up for longer than it is waited for.
fn assert_has(player: &Player, expected: &[Packet]) -> Result<(), String> {
    let came = player.packets_that_come(expected.len());
    for channel in 0..4 {
        let mut rest = of(expected, channel).into_iter();
        for (at, packet) in of(&came, channel).into_iter().enumerate() {
            let is_next = rest.any(|expected| expected == packet);
            assert!(is_next, "channel {channel}: packet {at} is another than the next");
        }
    }
    if came.len() < expected.len() {
        return Err(format!("{} of {} packets came", came.len(), expected.len()));
    }
    assert!(player.receives_nothing(), "more came than was to come");
    Ok(())
}

/// Lets a player watch a camera over UDP. `expects`: what it is to have of the packets in order and of those sent.
fn watch<'a>(what: &str, sent: &'a [Packet], listen: &str, player: Plain, expected: &'a [Packet]) {
    let watches = || {
        let camera = Camera::start(Plain::Udp, sent.to_vec(), false);
        let gateways = pair(&camera.url(), &["--listen", listen], &[]);
        assert_has(&Player::watch(gateways.port, player), expected)
    };
    assert!(
        succeeds_once(what, watches),
        "{what}, {listen}: packets were missing every time"
    );
}

const ORDERS: [(&str, bool, bool); 3] = [
    ("swapped", true, false),
    ("twice", false, true),
    ("swapped and twice", true, true),
];

#[test]
fn a_player_over_tcp_has_the_packets_of_a_camera_over_udp_in_order_and_once() {
    let packets = stream();
    for (what, swapped, twice) in ORDERS {
        let sent = disordered(&packets, swapped, twice);
        for listen in ["tcp://127.0.0.1:0", "udp://127.0.0.1:0"] {
            watch(what, &sent, listen, Plain::Tcp, &packets);
        }
    }
}

#[test]
fn a_player_over_udp_has_the_packets_of_a_camera_over_udp_as_they_come() {
    for (what, swapped, twice) in ORDERS {
        let sent = disordered(&stream(), swapped, twice);
        watch(what, &sent, "tcp://127.0.0.1:0", Plain::Udp, &sent);
    }
}

#[test]
fn a_player_over_tcp_has_the_packets_of_a_camera_over_tcp_as_they_come() {
    // They are in order as they are, whatever their numbers say.
    let sent = disordered(&stream(), true, true);
    let camera = Camera::start(Plain::Tcp, sent.clone(), false);
    let gateways = pair(&camera.url(), &[], &[]);
    let came = Player::watch(gateways.port, Plain::Tcp).packets(sent.len());
    assert!(came == sent, "{} packets came", came.len());
}

#[test]
fn packets_come_from_a_camera_whatever_it_says_of_its_ports() {
    // Without reports: from a port that was named wrongly the first waits for the second, and all that is RTP goes by.
    let mut packets = stream();
    packets.retain(|packet| packet.0 % 2 == 0);
    for ports in [
        "",
        ";server_port=0-0",
        ";server_port={rtp}",
        ";source=camera.example;server_port={rtp}-{rtcp}",
    ] {
        let watches = || {
            let camera = Camera::start(Plain::Udp, packets.clone(), false);
            camera.names_ports(ports);
            let gateways = pair(&camera.url(), &[], &[]);
            assert_has(&Player::watch(gateways.port, Plain::Tcp), &packets)
        };
        assert!(
            succeeds_once(ports, watches),
            "{ports}: packets were missing every time"
        );
    }
}
