//! Strangers at a QUIC port: who has no ticket gets no answer; who has one, and forges its source address, is answered
//! with fewer bytes than it sent; and nobody costs much memory or keeps others out.

use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

use sealcast_proto::keys::Role;
use sealcast_testkit::attack::{Home, PATIENCE, Program, Proxy, QuicAttacker, Stage, total, until};

/// Limit for the growth of a publisher's memory because of strangers, in KiB.
const MOST_GROWTH: u64 = 10 * 1024;
const VICTIMS: usize = 100;
const PACKETS: usize = 3000;
/// Limits for the memory that a stranger, and an admitted viewer, costs a publisher, in KiB.
const MOST_OF_STRANGER: u64 = 64;
const MOST_OF_VIEWER: u64 = 4 * 1024;
/// Memory for packets on their way through QUIC, however many peers there are, in KiB.
const PASSING: u64 = 2 * 1024;
/// Number of peers whose memory is measured together, so that noise does not decide.
const STRANGERS: u64 = 60;
const VIEWERS: u64 = 12;

fn stage() -> Stage {
    Stage::new(publish)
}

fn publish(home: &Home, clip: &str) -> (Program, String) {
    home.publish_at(
        "quic://127.0.0.1:0?latency=2000",
        clip,
        "--unit packet --report report.json",
    )
}

fn host(number: u64) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x7F01_0001 + u32::try_from(number).expect("few"))
}

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
    let stage = stage();
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

#[test]
fn who_has_no_ticket_gets_no_answer() {
    let stage = stage();
    let first = first_packet(&stage.ticket);
    let mut version = first.clone();
    version[1..5].copy_from_slice(&0x0a0a_0a0a_u32.to_be_bytes());
    // A first packet like any other, but the connection ID has no MAC: its last byte is wrong.
    let mut stranger = first.clone();
    stranger[25] ^= 1;
    let mut strange_version = version.clone();
    strange_version[25] ^= 1;
    let noise: Vec<u8> = (0..1200_u32).map(|at| (at * 151 + 77) as u8).collect();
    let mut short = noise.clone();
    short[0] = 0x43;
    let mut long = noise.clone();
    long[0] = 0xC3;
    let mut bare = long.clone();
    bare[5] = 0;
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    socket.set_read_timeout(Some(PATIENCE)).expect("a socket option");
    let to = ("127.0.0.1", stage.port());
    let strangers = [&stranger, &strange_version, &noise, &short, &long, &bare];
    for _ in 0..50 {
        for packet in strangers {
            socket.send_to(packet, to).expect("sent");
        }
    }
    // The first answer is that to the packet with the key, which came last.
    socket.send_to(&first, to).expect("sent");
    let mut answer = [0; 2000];
    let length = socket.recv(&mut answer).expect("an answer to the key");
    assert_eq!(
        &answer[1..5],
        &[0, 0, 0, 1],
        "a Retry of version 1: {:02x?}",
        &answer[..length]
    );
    socket.set_nonblocking(true).expect("a socket option");
    assert!(socket.recv(&mut answer).is_err(), "one answer to all");
    let report = stage.unharmed();
    let refused = total(&report, "datagrams_refused", "stranger");
    assert!(refused >= 50 * strangers.len() as u64, "{report}");
}

#[test]
fn a_client_without_the_key_waits_in_vain_and_one_with_it_gets_in() {
    let stage = stage();
    let stranger = QuicAttacker::new(&stage.ticket, false);
    let hopes = stranger.connects(host(0), Duration::from_secs(3));
    assert!(hopes.is_none(), "it was answered");
    let friend = QuicAttacker::new(&stage.ticket, true);
    assert!(friend.connects(host(1), PATIENCE).is_some());
    stage.unharmed();
}

#[test]
fn a_thousand_addresses_with_connections_without_a_stream_keep_nobody_out() {
    let stage = stage();
    let attacker = QuicAttacker::new(&stage.ticket, true);
    let silent: Vec<_> = (0..1000)
        .map(|number| attacker.connects(host(number), PATIENCE))
        .collect();
    assert!(silent.iter().all(Option::is_some));
    stage.admits_a_newcomer();
    drop(silent);
    let report = stage.unharmed();
    assert_eq!(total(&report, "datagrams_refused", "busy"), 0, "{report}");
}

#[test]
fn a_stranger_costs_little_memory() {
    let most = PASSING + STRANGERS * MOST_OF_STRANGER;
    // Frames that are kept for the viewer, because the machine stands still, add to it and never take away.
    let grown: Vec<u64> = (0..3)
        .map(|_| growth_by_strangers())
        .take_while(|grown| *grown >= most)
        .collect();
    assert!(grown.len() < 3, "the publisher grew by {grown:?} KiB");
}

/// By how many KiB a publisher grows by strangers that hold connections.
fn growth_by_strangers() -> u64 {
    let stage = stage();
    let attacker = QuicAttacker::new(&stage.ticket, true);
    let memory = stage.publisher.rss();
    let mut held = Vec::new();
    for number in 0..STRANGERS {
        let connection = attacker.connects(host(number), PATIENCE).expect("it listens");
        held.push(attacker.runtime.block_on(async {
            let (mut send, receive) = connection.open_bi().await.expect("a control stream");
            // All but the last byte of a hello, and datagrams.
            let words = [&[0, 0, 0x10, 0][..], &[1; 4095]].concat();
            send.write_all(&words).await.expect("a connection");
            for _ in 0..1000 {
                let _ = connection.send_datagram(vec![1; 100].into());
            }
            (connection, send, receive)
        }));
    }
    let streams = announce_on_streams(&attacker, held.iter().map(|(connection, ..)| connection));
    let grown = stage.grown(memory);
    drop((held, streams));
    stage.unharmed();
    grown
}

#[test]
fn an_admitted_viewer_costs_little_memory_whatever_it_announces() {
    let stage = stage();
    let attacker = QuicAttacker::new(&stage.ticket, true);
    let memory = stage.publisher.rss();
    let held: Vec<_> = (0..VIEWERS)
        .map(|number| attacker.enter(&stage.ticket, host(number), Role::Viewer))
        .collect();
    until("all watch", || {
        (stage.publisher.count("a viewer watches") > held.len()).then_some(())
    });
    let streams = announce_on_streams(&attacker, held.iter().map(|(connection, ..)| connection));
    stage.plays_a_round();
    stage.assert_small(memory, VIEWERS * MOST_OF_VIEWER);
    drop((held, streams));
    stage.unharmed();
}

/// On 32 media streams of each connection, as far as they may be opened, announces a record of 8 MiB. Returns the
/// streams, which must be kept open.
fn announce_on_streams<'a>(
    attacker: &QuicAttacker,
    connections: impl Iterator<Item = &'a quinn::Connection>,
) -> Vec<quinn::SendStream> {
    let mut streams = Vec::new();
    for connection in connections {
        let opened = attacker.runtime.block_on(async {
            let mut opened = Vec::new();
            let patience = Duration::from_millis(20);
            while let Ok(Ok(mut stream)) = tokio::time::timeout(patience, connection.open_uni()).await {
                let _ = stream.write_all(&[0, 0x80, 0, 0]).await;
                opened.push(stream);
            }
            opened
        });
        streams.extend(opened);
    }
    streams
}
