//! Strangers that send to a UDP port: each datagram of a flood costs a MAC and no memory, viewers are not disturbed,
//! and a viewer that is not admitted is told so in one sentence.

use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::thread::{self, sleep};
use std::time::Duration;

use sealcast_proto::keys::PeerId;
use sealcast_proto::wire::Ticket;
use sealcast_testkit::attack::{Home, PATIENCE, Program, Proxy, Stage, kind, total};
use sealcast_testkit::program::free_port;
use sealcast_testkit::udp::knock_to;

/// Limit for the growth of a publisher's memory because of strangers, in KiB.
const MOST_GROWTH: u64 = 10 * 1024;
const ADDRESSES: usize = 100;
/// Number of datagrams of a flood that is slow enough for each to be processed.
const DATAGRAMS: u32 = 40_000;

/// The stream that floods must not disturb: a clip over UDP with a long time for repair.
fn stage() -> Stage {
    Stage::new(|home, clip| home.publish_udp(clip, "latency=2000&rate=off", "-v --report report.json"))
}

/// Processor time of a process in ticks of 10 ms.
fn ticks(program: &Program) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", program.pid())).expect("it runs");
    let after_name = stat.rsplit_once(')').expect("a name").1;
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    // The list begins with the third field of proc(5); user and system time are the 14th and 15th field.
    [fields[11], fields[12]]
        .iter()
        .map(|field| field.parse::<u64>().expect("a number"))
        .sum()
}

/// A datagram of a stranger: a cookie request, a fragment without a valid cookie, a record of an unknown connection,
/// noise, or a part of one of these.
fn word(number: u32, random: &[u8]) -> Vec<u8> {
    let connection = number.wrapping_mul(0x9E37_79B9).to_be_bytes();
    let at = number as usize % (random.len() - 1200);
    let (kind, length) = match number % 8 {
        0..4 => (0x07, 64),
        4 => (0x06, 1000),
        5 => (0x10, 1100),
        6 => (0x11, 60),
        _ => (random[at], number as usize % 90),
    };
    let mut word = [&connection[..], &[kind], &random[at..at + 1195]].concat();
    if kind == 0x07 {
        word[21..].fill(0);
    }
    word.truncate(length);
    word
}

/// Sends `datagrams` datagrams from many addresses to a port, with a `pause` after every `at_once` of them.
fn flood(port: u16, datagrams: u32, at_once: u32, pause: Duration) {
    let random: Vec<u8> = (0..5000_u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let sockets: Vec<UdpSocket> = (0..ADDRESSES)
        .map(|host| UdpSocket::bind(format!("127.7.{}.1:0", host + 1)).expect("all of 127.0.0.0/8 is ours"))
        .collect();
    for number in 0..datagrams {
        let socket = &sockets[number as usize % ADDRESSES];
        // Datagrams that the system does not accept are lost.
        let _ = socket.send_to(&word(number, &random), ("127.0.0.1", port));
        if number % at_once == 0 && !pause.is_zero() {
            sleep(pause);
        }
    }
}

#[test]
fn a_flood_of_strangers_costs_no_frame_and_no_memory() {
    let stage = stage();
    let (memory, before) = (stage.publisher.rss(), ticks(&stage.publisher));
    flood(stage.port(), DATAGRAMS, 10, Duration::from_millis(1));
    let spent = ticks(&stage.publisher) - before;
    println!(
        "{DATAGRAMS} datagrams, {} us of the processor each, the stream's included",
        spent * 10_000 / u64::from(DATAGRAMS)
    );
    stage.assert_small(memory, MOST_GROWTH);
    stage.unharmed();
}

#[test]
fn a_flood_at_line_rate_costs_no_session_and_no_memory() {
    let stage = stage();
    let (memory, before) = (stage.publisher.rss(), ticks(&stage.publisher));
    flood(stage.port(), 10 * DATAGRAMS, 1, Duration::ZERO);
    let spent = ticks(&stage.publisher) - before;
    println!("{} datagrams, {} ms of the processor", 10 * DATAGRAMS, spent * 10);
    // Datagrams that the socket's buffer cannot hold are lost, the viewer's included. So frames may be missing, but the
    // session must survive.
    stage.assert_small(memory, MOST_GROWTH);
    stage.harmed();
}

/// The end that issued a ticket.
fn peer_of(ticket: &str) -> PeerId {
    ticket.parse::<Ticket>().expect("a ticket").peer
}

/// Requests a retry cookie and waits for it. Once it has arrived, all datagrams sent before it were processed.
fn cookie(responder: &PeerId, socket: &UdpSocket, port: u16, connection: [u8; 4]) -> [u8; 16] {
    let knock = knock_to(responder, u32::from_be_bytes(connection));
    socket.send_to(&knock, ("127.0.0.1", port)).expect("sent");
    let mut answer = [0; 100];
    loop {
        let length = socket.recv(&mut answer).expect("a cookie");
        if kind(&answer[..length]) == Some(0x08) && answer[..4] == connection {
            return answer[21..37].try_into().expect("sixteen bytes");
        }
    }
}

/// Gets a cookie and begins a handshake with a fragment that contains `part`, which is no hello.
fn begin(ticket: &str, socket: &UdpSocket, connection: u32, part: &[u8]) {
    let port = Proxy::port_of(ticket);
    let connection = connection.to_be_bytes();
    let cookie = cookie(&peer_of(ticket), socket, port, connection);
    let fragment = [&connection[..], &[0x06], &cookie, &[0, 0, 1], part].concat();
    socket.send_to(&fragment, ("127.0.0.1", port)).expect("sent");
}

#[test]
fn a_thousand_strangers_with_cookies_are_bounded_and_time_out() {
    let stage = stage();
    let memory = stage.publisher.rss();
    let socket = UdpSocket::bind("127.0.0.8:0").expect("all of 127.0.0.0/8 is ours");
    socket.set_read_timeout(Some(PATIENCE)).expect("a socket option");
    for number in 0..1000 {
        begin(&stage.ticket, &socket, 7_000_000 + number, &[1; 900]);
    }
    stage.publisher.says("turned a connection away");
    stage.assert_small(memory, MOST_GROWTH);
    stage.unharmed();
}

#[test]
fn a_thousand_addresses_with_cookies_keep_nobody_out() {
    let stage = stage();
    let memory = stage.publisher.rss();
    let strangers: Vec<UdpSocket> = (0..1000_u32)
        .map(|host| {
            let from = Ipv4Addr::from_bits(0x7F02_0001 + host);
            let socket = UdpSocket::bind((from, 0)).expect("all of 127.0.0.0/8 is ours");
            socket.set_read_timeout(Some(PATIENCE)).expect("a socket option");
            socket
        })
        .collect();
    for (number, socket) in (8_000_000..).zip(&strangers) {
        begin(&stage.ticket, socket, number, &[1; 900]);
    }
    stage.admits_a_newcomer();
    stage.assert_small(memory, MOST_GROWTH);
    stage.unharmed();
}

#[test]
fn the_report_says_of_every_stranger_why_it_was_refused() {
    let home = Home::new();
    let (mut publisher, ticket) = home.publish_udp("test:320x240@25", "", "--report report.json");
    let port = Proxy::port_of(&ticket);
    let socket = UdpSocket::bind("127.0.0.8:0").expect("all of 127.0.0.0/8 is ours");
    socket.set_read_timeout(Some(PATIENCE)).expect("a socket option");
    // Datagrams of a stranger (a fragment without a valid cookie, an unknown message), records of unknown connections,
    // and malformed datagrams. After each follows a cookie request.
    let words: [(&[u8], usize, u64); 5] = [
        (&[9, 9, 9, 9, 0x06], 900, 30),
        (&[9, 9, 9, 9, 0x55], 200, 5),
        (&[9, 9, 9, 9, 0x11], 60, 20),
        (&[9], 3, 10),
        (&[9, 9, 9, 9, 0x10], 20_000, 7),
    ];
    for (begin, length, count) in words {
        let mut word = begin.to_vec();
        word.resize(length, 0);
        for _ in 0..count {
            socket.send_to(&word, ("127.0.0.1", port)).expect("sent");
            cookie(&peer_of(&ticket), &socket, port, [9; 4]);
        }
    }
    assert_eq!(publisher.stop(), 0);
    let report = home.report("report.json");
    let refused = |reason: &str| total(&report, "datagrams_refused", reason);
    let found = ["stranger", "unknown", "malformed", "busy", "queue", "foreign"].map(refused);
    assert_eq!(found, [30 + 5, 20, 10 + 7, 0, 0, 0], "{report}");
    let answered = ["cookie", "retry"].map(|answer| total(&report, "door_answers", answer));
    assert_eq!(answered, [30 + 5 + 20 + 10 + 7, 0], "{report}");
    publisher.says("what came and was refused");
    publisher.says("malformed 17, stranger 35, unknown 20");
}

/// Runs a viewer that cannot succeed, and is told not to try again for ever. Returns its exit code and its last line.
fn turned_away(ticket: &str) -> (i32, String) {
    let home = Home::new();
    let mut viewer = home.start(&format!("watch {ticket} --to null: --no-reconnect"));
    let code = viewer.ends();
    let last = viewer.said().lines().last().unwrap_or_default().to_owned();
    (code, last)
}

#[test]
fn who_is_not_let_in_is_told_in_one_sentence_with_the_right_code() {
    let homes = (Home::new(), Home::new());
    let (_publisher, ticket) = homes.0.publish_udp("test:320x240@25", "", "");
    let (_other, other_ticket) = homes.1.publish_udp("test:320x240@25", "", "");
    let (uninvited, invite) = ticket.split_once('#').expect("an invite");
    let place = |ticket: &str| ticket.find("?transport").expect("a transport");
    let peer = |ticket: &str| ticket[place(ticket) - 52..place(ticket)].to_owned();
    let mistaken = ticket.replace(&peer(&ticket), &peer(&other_ticket));
    let other_invite = other_ticket.split_once('#').expect("an invite").1;
    let nobody = Proxy::redirect(&ticket, free_port());
    let cases = [
        ("no invite", uninvited.to_owned(), 6, "not on the allow list"),
        (
            "another's invite",
            ticket.replace(invite, other_invite),
            6,
            "is not known there any more",
        ),
        ("another publisher", mistaken, 5, "did not complete the handshake"),
        ("nobody there", nobody, 5, "did not complete the handshake"),
    ];
    thread::scope(|scope| {
        for (what, ticket, expected, words) in &cases {
            scope.spawn(move || {
                let (code, last) = turned_away(ticket);
                assert_eq!(code, *expected, "{what}: {last}");
                assert!(last.starts_with("sealcast: ") && last.contains(words), "{what}: {last}");
            });
        }
    });
}
