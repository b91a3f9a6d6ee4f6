//! Datagrams of sessions through a listener and a connecting end, on real sockets.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use sealcast::meter::labels::{DatagramRefusal, DoorAnswer};
use sealcast::meter::metrics::Metrics;
use sealcast::transport::udp::{UdpListener, UdpTransport, connect_any, listen};
use sealcast::transport::{Progress, Reach, Transport};
use sealcast_proto::keys::Role;
use sealcast_proto::unit::Unit;
use sealcast_proto::wire::{MessageLength, write_framed};
use sealcast_testkit::skips::has_ipv6;
use sealcast_testkit::udp::{PATIENCE, bare_socket, cookie_for, fragment, knock, metrics, receive, record, responder};
use tokio::time::timeout;

fn connect(port: u16, metrics: Metrics) -> UdpTransport {
    let far = connect_any(&[(Ipv4Addr::LOCALHOST, port).into()], metrics).expect("a socket");
    far.expect("this machine has the address")
}

fn open(address: &str) -> UdpListener {
    listen(address.parse().expect("an address"), &responder(), metrics()).expect("the loopback interface")
}

/// Begins a session from a bare socket.
async fn begin(listener: &mut UdpListener, socket: &UdpSocket, connection: u32) -> UdpTransport {
    let to = listener.local_address();
    let cookie = tokio::task::block_in_place(|| cookie_for(socket, to, connection));
    socket
        .send_to(&fragment(connection, &cookie, b"hello"), to)
        .expect("sent");
    accept(listener).await
}

async fn accept(listener: &mut UdpListener) -> UdpTransport {
    let accepted = timeout(PATIENCE, listener.accept()).await;
    let (transport, _) = accepted.expect("somebody comes").expect("the reader works");
    transport
}

async fn message(transport: &mut UdpTransport) -> Vec<u8> {
    loop {
        if let Ok(Some(message)) = transport.message(MessageLength::Record) {
            return message.to_vec();
        }
        let progress = timeout(PATIENCE, transport.wait()).await.expect("something comes");
        assert_ne!(progress.expect("the carrier works"), Progress::Closed);
    }
}

fn say(transport: &mut UdpTransport, message: &[u8]) {
    write_framed(transport.outgoing(), message);
    transport.flush_now().expect("the carrier works");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_shows_a_cookie_gets_a_session_and_nobody_else_does() {
    let mut listener = open("127.0.0.1:0");
    let to = listener.local_address();
    let (honest, thief) = (bare_socket("127.0.0.1:0"), bare_socket("127.0.0.1:0"));
    let cookie = tokio::task::block_in_place(|| cookie_for(&honest, to, 7));
    thief.send_to(&fragment(7, &cookie, b"stolen"), to).expect("sent");
    honest
        .send_to(&fragment(8, &cookie, b"another connection"), to)
        .expect("sent");
    honest
        .send_to(&fragment(7, &[1; 16], b"a made-up cookie"), to)
        .expect("sent");
    honest.send_to(&fragment(7, &cookie, b"hello"), to).expect("sent");
    let mut transport = accept(&mut listener).await;
    assert_eq!(transport.remote(), honest.local_addr().expect("bound"));
    assert_eq!(message(&mut transport).await, fragment(7, &cookie, b"hello"));
    say(&mut transport, b"an answer");
    say(&mut transport, b"and another");
    assert_eq!(receive(&honest), (b"an answer".to_vec(), to));
    assert_eq!(receive(&honest).0, b"and another");
    // Packets back to back in one buffer are sent as separate datagrams.
    let packets: Vec<u8> = (0..60_u8).flat_map(|number| [number; 1200]).collect();
    assert!(
        transport
            .send_packets(&packets[..60 * 1200 - 1], 1200)
            .expect("the carrier works")
    );
    for number in 0..60 {
        let length = if number == 59 { 1199 } else { 1200 };
        assert_eq!(receive(&honest).0, vec![number; length]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_go_to_the_old_address_until_the_new_one_is_proved() {
    let mut listener = open("[::]:0");
    let to = SocketAddr::from((Ipv4Addr::LOCALHOST, listener.local_address().port()));
    let (before, after) = (bare_socket("127.0.0.1:0"), bare_socket("127.0.0.1:0"));
    let cookie = tokio::task::block_in_place(|| cookie_for(&before, to, 7));
    before.send_to(&fragment(7, &cookie, b"hello"), to).expect("sent");
    let mut transport = accept(&mut listener).await;
    message(&mut transport).await;
    after.send_to(&record(7, 50), to).expect("sent");
    assert_eq!(message(&mut transport).await, record(7, 50));
    transport.challenge(b"is it you?");
    say(&mut transport, b"to be sure");
    assert_eq!(receive(&before).0, b"to be sure");
    assert_eq!(receive(&after), (b"is it you?".to_vec(), to));
    assert_eq!(transport.follow(), Some(after.local_addr().expect("bound")));
    say(&mut transport, b"it is");
    assert_eq!(receive(&after), (b"it is".to_vec(), to));
    assert_eq!(transport.remote(), after.local_addr().expect("bound"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connecting_end_hears_only_whom_it_wrote_to() {
    let server = bare_socket("127.0.0.1:0");
    let port = server.local_addr().expect("bound").port();
    let counts = metrics();
    let mut transport = connect(port, counts.clone());
    say(&mut transport, &knock(3));
    let (knocked, client) = receive(&server);
    assert_eq!(knocked, knock(3));
    let stranger = bare_socket("127.0.0.1:0");
    stranger.send_to(&record(3, 100), client).expect("sent");
    server.send_to(b"abc", client).expect("sent");
    server.send_to(&record(3, 9000), client).expect("sent");
    server.send_to(&record(3, 101), client).expect("sent");
    assert_eq!(message(&mut transport).await, record(3, 101));
    assert_eq!(counts.datagrams_refused_for(DatagramRefusal::Foreign), 1);
    assert_eq!(counts.datagrams_refused_for(DatagramRefusal::Malformed), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_goes_on_from_a_new_socket() {
    let mut listener = open("127.0.0.1:0");
    let port = listener.local_address().port();
    let mut client = connect(port, metrics());
    say(&mut client, &knock(9));
    let cookie = message(&mut client).await[21..].to_vec();
    say(&mut client, &fragment(9, &cookie, b"hello"));
    let mut server = accept(&mut listener).await;
    message(&mut server).await;
    let before = client.local_address();
    client.rebind().expect("a socket");
    assert_ne!(client.local_address(), before);
    say(&mut client, &record(9, 60));
    assert_eq!(message(&mut server).await, record(9, 60));
    server.follow();
    say(&mut server, &record(9, 70));
    assert_eq!(message(&mut client).await, record(9, 70));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_several_addresses_the_one_that_answers_is_used() {
    let addresses = ["127.0.0.1:0", "[::1]:0"];
    for address in &addresses[..if has_ipv6() { 2 } else { 1 }] {
        let mut listener = open(address);
        let port = listener.local_address().port();
        let both = [(Ipv6Addr::LOCALHOST, port).into(), (Ipv4Addr::LOCALHOST, port).into()];
        let far = connect_any(&both, metrics()).expect("a socket");
        let mut client = far.expect("this machine has the addresses");
        // The first knock goes to the first address, and its repetition to both.
        say(&mut client, &knock(4));
        say(&mut client, &knock(4));
        let cookie = message(&mut client).await[21..].to_vec();
        assert_eq!(client.remote(), listener.local_address(), "settled");
        say(&mut client, &fragment(4, &cookie, b"hello"));
        let mut server = accept(&mut listener).await;
        assert_eq!(message(&mut server).await, fragment(4, &cookie, b"hello"));
    }
}

#[tokio::test]
async fn names_are_looked_up_and_unknown_ones_reported() {
    let connected = async |name: &str| {
        let ticket = format!("sealcast://{name}:9553/{}?transport=udp", responder());
        let mut reach = Reach::new(ticket.parse().expect("a ticket"));
        reach.connect(Role::Viewer, Unit::Packet, metrics()).await
    };
    assert_eq!(connected("localhost").await.expect("a socket").remote, "localhost:9553");
    let unknown = connected("nowhere.invalid").await;
    let failure = unknown.err().expect("no such name");
    assert!(
        failure.what.contains("nowhere.invalid:9553") && failure.hint.contains("name"),
        "{failure}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_slow_session_does_not_take_is_dropped_and_counted() {
    let counts = metrics();
    let address = "127.0.0.1:0".parse().expect("an address");
    let mut listener = listen(address, &responder(), counts.clone()).expect("a socket");
    let to = listener.local_address();
    let (flood, quiet) = (bare_socket("127.0.0.1:0"), bare_socket("127.0.0.1:0"));
    let mut slow = begin(&mut listener, &flood, 1).await;
    let mut other = begin(&mut listener, &quiet, 2).await;
    message(&mut slow).await;
    message(&mut other).await;
    let dropped = || counts.datagrams_refused_for(DatagramRefusal::Queue);
    let mut sent = 0;
    while dropped() == 0 {
        for _ in 0..50 {
            flood.send_to(&record(1, 1200), to).expect("sent");
            sent += 1;
        }
        // The flood does not affect other sessions. Once this record has arrived, all datagrams before it were
        // processed.
        quiet.send_to(&record(2, 300), to).expect("sent");
        assert_eq!(message(&mut other).await, record(2, 300));
        assert!(sent < 100_000, "the queue is bounded");
    }
    let mut taken = 0;
    while taken + dropped() < sent {
        assert_eq!(message(&mut slow).await, record(1, 1200));
        taken += 1;
    }
    assert!(taken > 0);
    assert_eq!(taken + dropped(), sent, "what was not dropped was handed over");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_and_records_of_lost_sessions_get_no_answer() {
    let counts = metrics();
    let address = "127.0.0.1:0".parse().expect("an address");
    let listener = listen(address, &responder(), counts.clone()).expect("a socket");
    let to = listener.local_address();
    let socket = bare_socket("127.0.0.1:0");
    let mut without_a_ticket = knock(7);
    without_a_ticket[30] ^= 1;
    for connection in 0..100_u64 {
        socket.send_to(&without_a_ticket, to).expect("sent");
        socket.send_to(&record(connection as u32, 40), to).expect("sent");
        let counted = async {
            while counts.datagrams_refused_for(DatagramRefusal::Unknown) <= connection {
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, counted).await.expect("every datagram is looked at");
    }
    assert_eq!(counts.datagrams_refused_for(DatagramRefusal::Stranger), 100);
    assert_eq!(counts.door_answers(DoorAnswer::Cookie), 0);
    // Who has a ticket is answered, and that answer is the first.
    let cookie = tokio::task::block_in_place(|| cookie_for(&socket, to, 7));
    assert_eq!(cookie.len(), 16);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_outlive_the_listener_and_those_that_waited_do_not() {
    let mut listener = open("127.0.0.1:0");
    let to = listener.local_address();
    let (early, late) = (bare_socket("127.0.0.1:0"), bare_socket("127.0.0.1:0"));
    let mut transport = begin(&mut listener, &early, 1).await;
    message(&mut transport).await;
    let cookie = tokio::task::block_in_place(|| cookie_for(&late, to, 2));
    drop(listener);
    late.send_to(&fragment(2, &cookie, b"hello"), to).expect("sent");
    // The answer is to the knock of a connection that does not exist.
    tokio::task::block_in_place(|| cookie_for(&late, to, 2));
    early.send_to(&record(1, 44), to).expect("sent");
    assert_eq!(message(&mut transport).await, record(1, 44));
    drop(transport);
    // The socket is closed with the last session.
    let free = async {
        while UdpSocket::bind(to).is_err() {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, free).await.expect("the address is free again");
}
