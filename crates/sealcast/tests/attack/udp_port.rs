//! Strangers before a UDP port: floods cost a MAC each and nothing that grows, nobody who watches notices, and who is
//! not let in is told in one sentence.

use std::fs;
use std::net::UdpSocket;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use sealcast_testkit::attack::{Home, Program, Proxy, Stage, total};

/// More than strangers may make a publisher hold, in KiB.
const MOST_GROWTH: u64 = 10 * 1024;
const ADDRESSES: usize = 100;

/// What the flood is about: a clip over UDP, repaired as long as nobody would notice.
fn stage() -> Stage {
    Stage::new(1500, |home, clip| {
        home.publish_udp(clip, "latency=1000", "--report report.json")
    })
}

/// Processor time of a process in ticks of 10 ms.
fn ticks(program: &Program) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", program.pid())).expect("it runs");
    let after_name = stat.rsplit_once(')').expect("a name").1;
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    // The fields of proc(5) from the third on: user and system time are the 14th and 15th.
    [fields[11], fields[12]]
        .iter()
        .map(|field| field.parse::<u64>().expect("a number"))
        .sum()
}

/// What strangers say: knocks, fragments without a cookie, records of nobody, noise, and parts of all that.
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

/// Flood a port from many addresses; `pause` lets so many through at once. How many datagrams left.
fn flood(port: u16, length: Duration, at_once: u32, pause: Duration) -> u64 {
    let random: Vec<u8> = (0..5000_u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let sockets: Vec<UdpSocket> = (0..ADDRESSES)
        .map(|host| UdpSocket::bind(format!("127.7.{}.1:0", host + 1)).expect("all of 127.0.0.0/8 is ours"))
        .collect();
    let (began, mut sent) = (Instant::now(), 0_u32);
    while began.elapsed() < length {
        for _ in 0..at_once {
            let socket = &sockets[sent as usize % ADDRESSES];
            // What the system does not take is lost.
            let _ = socket.send_to(&word(sent, &random), ("127.0.0.1", port));
            sent += 1;
        }
        if !pause.is_zero() {
            sleep(pause);
        }
    }
    u64::from(sent)
}

#[test]
fn a_flood_of_strangers_costs_no_frame_and_no_memory() {
    let stage = stage();
    let (memory, before) = (stage.publisher.rss(), ticks(&stage.publisher));
    let sent = flood(stage.port(), Duration::from_secs(8), 10, Duration::from_millis(1));
    let spent = ticks(&stage.publisher) - before;
    println!(
        "{sent} datagrams, {} us of the processor each, the stream's included",
        spent * 10_000 / sent
    );
    stage.assert_small(memory, MOST_GROWTH);
    let (missing, report) = stage.unharmed();
    assert_eq!(missing, 0, "frames are missing: {report}");
}

#[test]
fn a_flood_at_line_rate_costs_no_session_and_no_memory() {
    let stage = stage();
    let (memory, before) = (stage.publisher.rss(), ticks(&stage.publisher));
    let sent = flood(stage.port(), Duration::from_secs(5), 100, Duration::ZERO);
    let spent = ticks(&stage.publisher) - before;
    println!("{sent} datagrams in 5 s, {} ms of the processor", spent * 10);
    // What the socket cannot hold is lost, the viewer's words among it: frames may be missing, but not the session.
    stage.assert_small(memory, MOST_GROWTH);
    let (missing, _) = stage.unharmed();
    println!("{missing} frames are missing");
}

/// Get a cookie and begin a handshake with what is no hello, or with nothing more.
fn begins(socket: &UdpSocket, port: u16, connection: u32, part: &[u8]) -> bool {
    let connection = connection.to_be_bytes();
    let knock = [&connection[..], &[0x07], &[0x5A; 16], &[0; 43]].concat();
    let mut answer = [0; 100];
    if socket.send_to(&knock, ("127.0.0.1", port)).is_err() || socket.recv(&mut answer).is_err() {
        return false;
    }
    let fragment = [&connection[..], &[0x06], &answer[21..37], &[0, 0, 1], part].concat();
    socket.send_to(&fragment, ("127.0.0.1", port)).is_ok()
}

#[test]
fn a_thousand_strangers_with_cookies_are_bounded_and_time_out() {
    let stage = stage();
    let memory = stage.publisher.rss();
    let socket = UdpSocket::bind("127.0.0.8:0").expect("all of 127.0.0.0/8 is ours");
    socket
        .set_read_timeout(Some(Duration::from_millis(200)))
        .expect("a socket option");
    let begun = (0..1000)
        .filter(|&number| begins(&socket, stage.port(), 7_000_000 + number, &[1; 900]))
        .count();
    assert!(begun > 900, "{begun} began");
    stage.publisher.says("turned a connection away");
    stage.assert_small(memory, MOST_GROWTH);
    let (missing, report) = stage.unharmed();
    assert_eq!(missing, 0, "frames are missing: {report}");
}

#[test]
fn the_report_says_of_every_stranger_why_it_was_refused() {
    let home = Home::new();
    let (mut publisher, ticket) = home.publish_udp("test:320x240@25", "", "--report report.json");
    let port = Proxy::port_of(&ticket);
    let socket = UdpSocket::bind("127.0.0.8:0").expect("all of 127.0.0.0/8 is ours");
    // A knock, a fragment without a cookie of ours, a record of nobody, and what names no connection.
    let words: [(&[u8], usize, u64); 6] = [
        (&[9, 9, 9, 9, 0x07], 64, 40),
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
            sleep(Duration::from_millis(2));
        }
    }
    assert_eq!(publisher.stop(), 0);
    let report = home.report("report.json");
    let refused = |reason: &str| total(&report, "datagrams_refused", reason);
    let found = ["stranger", "unknown", "malformed", "busy", "queue", "foreign"].map(refused);
    assert_eq!(found, [30 + 5, 20, 10 + 7, 0, 0, 0], "{report}");
    let answered = ["cookie", "unknown", "retry"].map(|answer| total(&report, "door_answers", answer));
    assert_eq!(answered, [40, 20, 0], "{report}");
    publisher.says("what came and was refused");
    publisher.says("malformed 17, stranger 35, unknown 20");
}

/// Run a viewer that cannot succeed: its exit code, its last line, and how long it took.
fn turned_away(ticket: &str) -> (i32, String, Duration) {
    let home = Home::new();
    let began = Instant::now();
    let mut viewer = home.start(&format!("watch {ticket} --to null: --no-reconnect"));
    let code = viewer.ends();
    let last = viewer.said().lines().last().unwrap_or_default().to_owned();
    (code, last, began.elapsed())
}

#[test]
fn who_is_not_let_in_is_told_in_one_sentence_with_the_right_code() {
    const SOON: Duration = Duration::from_secs(8);
    let homes = (Home::new(), Home::new());
    let (_publisher, ticket) = homes.0.publish_udp("test:320x240@25", "", "");
    let (_other, other_ticket) = homes.1.publish_udp("test:320x240@25", "", "");
    let (uninvited, invite) = ticket.split_once('#').expect("an invite");
    let place = |ticket: &str| ticket.find("?transport").expect("a transport");
    let peer = |ticket: &str| ticket[place(ticket) - 52..place(ticket)].to_owned();
    let mistaken = ticket.replace(&peer(&ticket), &peer(&other_ticket));
    let other_invite = other_ticket.split_once('#').expect("an invite").1;
    let free = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let nobody = Proxy::redirect(&ticket, free.expect("a free port").port());
    let cases = [
        ("no invite", uninvited.to_owned(), 6, "not on the allow list"),
        (
            "another's invite",
            ticket.replace(invite, other_invite),
            6,
            "not on the allow list",
        ),
        ("another publisher", mistaken, 6, "do not trust that address"),
        ("nobody there", nobody, 5, "did not complete the handshake"),
    ];
    thread::scope(|scope| {
        for (what, ticket, expected, words) in &cases {
            scope.spawn(move || {
                let (code, last, took) = turned_away(ticket);
                assert_eq!(code, *expected, "{what}: {last}");
                assert!(last.starts_with("sealcast: ") && last.contains(words), "{what}: {last}");
                assert!(took < SOON, "{what}: {took:?}");
            });
        }
    });
}
