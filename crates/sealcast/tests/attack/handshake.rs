//! Publishers that are not those of the ticket, viewers that are not admitted, and handshakes that are altered on the
//! path: both ends refuse with one clear sentence, and no byte of video is sent.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use sealcast_proto::keys::{PeerId, ticket_mac};
use sealcast_testkit::attack::{
    self, Act, Clip, Direction, Home, LENGTH, PATIENCE, Program, Proxy, lacks, order_looped,
};

const CARD: &str = "test:320x240@25";
/// Said of who is neither invited nor listed.
const STRANGER: &str = "refused a viewer: not on the allow list and no valid invite";

/// The single line with which a program reported its failure.
fn last_words(program: &Program) -> String {
    let said = program.said();
    let lines: Vec<_> = said.lines().filter(|line| line.starts_with("sealcast: ")).collect();
    assert_eq!(lines.len(), 1, "one sentence: {said}");
    lines[0].to_owned()
}

/// Checks that watching fails with this exit code and these words, and writes no file.
fn is_refused(home: &Home, ticket: &str, code: i32, words: &[&str]) {
    let mut viewer = home.start(&format!("watch {ticket} --to file:out.h264 --no-reconnect"));
    assert_eq!(viewer.ends(), code, "{}", viewer.said());
    let last = last_words(&viewer);
    for word in words {
        assert!(last.contains(word), "'{word}' is missing: {last}");
    }
    assert!(!home.file("out.h264").exists(), "nothing is written");
}

fn peer_id(ticket: &str) -> &str {
    let (_, path) = ticket.rsplit_once('/').expect("a peer id");
    path.split('#').next().expect("a peer id")
}

#[test]
fn another_publisher_at_the_address_is_not_believed() {
    let (right, wrong, viewer) = (Home::new(), Home::new(), Home::new());
    let (_right, ticket) = right.publish(CARD, "");
    let (impostor, other) = wrong.publish(CARD, "");
    let redirected = Proxy::redirect(&ticket, Proxy::port_of(&other));
    // It does not know the ticket's peer id, so it does not even answer.
    let mut watching = viewer.start(&format!("watch {redirected} --to file:out.h264 --no-reconnect"));
    assert_eq!(watching.ends(), 5, "{}", watching.said());
    assert!(
        last_words(&watching).contains("without an answer"),
        "{}",
        watching.said()
    );
    assert!(!viewer.file("out.h264").exists(), "nothing is written");
    impostor.says("it has no ticket of this end");
    Home::can_watch(&other);
}

#[test]
fn who_is_neither_invited_nor_listed_stays_out_and_the_publisher_says_who() {
    let (publisher, viewer) = (Home::new(), Home::new());
    let (program, ticket) = publisher.publish(CARD, "-v");
    let (bare, _) = ticket.split_once('#').expect("an invite");
    is_refused(&viewer, bare, 6, &["not authorised", "ask the publisher for a ticket"]);
    program.says(STRANGER);
    let wrong = format!("{bare}#{}", "a".repeat(26));
    is_refused(
        &viewer,
        &wrong,
        6,
        &[
            "the invite or the enrolment is not known there any more",
            "ask the publisher for a new ticket",
        ],
    );
    program.says("the invite or the enrolment is not known");
    let refused = program.count(STRANGER);
    Home::can_watch(&ticket);
    assert_eq!(program.count(STRANGER), refused);
    let enrolled = publisher.file("publishers/camera/enrolled");
    let enrolled = fs::read_to_string(enrolled).expect("the one that was invited");
    let peers = enrolled.lines().filter(|line| !line.starts_with('#'));
    assert_eq!(peers.count(), 1, "{enrolled}");
}

#[test]
fn stripped_offers_are_refused_at_both_ends() {
    let publisher = Home::new();
    let offers = "--mech x25519-mlkem768,x25519 --suite aes-256-gcm,aes-128-gcm";
    let (program, ticket) = publisher.publish(CARD, &format!("{offers} --open -v"));
    let port = Proxy::port_of(&ticket);
    // Without a pre-shared key: its binder covers the offers, too, and a hello with an altered one is refused before.
    assert!(
        !ticket.contains('#'),
        "where everybody is admitted a ticket has no invite"
    );
    // Offset of the suites, which follow kind, version, role and random; the mechanisms follow the suites.
    let suites = LENGTH + 1 + 1 + 1 + 32;
    type Strip = fn(&mut Vec<u8>, usize);
    let strips: [(&str, Strip); 3] = [
        ("the better suite", |hello, at| strip(hello, at)),
        ("the better mechanism", |hello, at| {
            let mechanisms = at + 1 + usize::from(hello[at]);
            hello[mechanisms + 1..mechanisms + 3].swap(0, 1);
        }),
        ("all suites but one", |hello, at| {
            while hello[at] > 1 {
                strip(hello, at);
            }
        }),
    ];
    let peer = PeerId::parse(peer_id(&ticket)).expect("a peer id");
    for (number, (what, change)) in strips.into_iter().enumerate() {
        let mac = ticket_mac(&peer);
        let proxy = Proxy::start(port, move |seen, mut message| {
            if seen.direction == Direction::Up && seen.number == 0 {
                change(&mut message, suites);
                // The attacker has a ticket as well.
                mac.renew(&mut message[LENGTH..]);
            }
            Act::pass(message)
        });
        let viewer = Home::new();
        let mut watching = viewer.start(&format!(
            "watch {} --to file:out.h264 --no-reconnect --mech x25519-mlkem768,x25519 --suite aes-256-gcm,aes-128-gcm",
            proxy.ticket(&ticket)
        ));
        assert_eq!(watching.ends(), 6, "{what}: {}", watching.said());
        let last = last_words(&watching);
        assert!(last.contains("altered on the way"), "{what}: {last}");
        assert!(!viewer.file("out.h264").exists(), "{what}");
        attack::until("the publisher says so", || {
            (program.count("the handshake failed: it refused the handshake") > number).then_some(())
        });
    }
    Home::can_watch(&ticket);
}

/// Removes the first identifier from a list of one-byte identifiers.
fn strip(hello: &mut Vec<u8>, at: usize) {
    hello[at] -= 1;
    hello.remove(at + 1);
    let length = (hello.len() - LENGTH) as u32;
    hello[..LENGTH].copy_from_slice(&length.to_be_bytes());
}

#[test]
fn a_flipped_bit_in_any_handshake_message_is_refused() {
    let publisher = Home::new();
    let (program, ticket) = publisher.publish(CARD, "");
    let port = Proxy::port_of(&ticket);
    // Direction and number of the message, and the offset in it.
    let flips = [
        (Direction::Up, 0, 0),
        (Direction::Up, 0, 9),
        (Direction::Up, 0, 10),
        (Direction::Up, 0, 20),
        (Direction::Up, 0, 44),
        (Direction::Up, 0, 700),
        (Direction::Down, 0, 1),
        (Direction::Down, 0, 2),
        (Direction::Down, 0, 20),
        (Direction::Down, 0, 35),
        (Direction::Down, 0, 36),
        (Direction::Down, 0, 500),
        (Direction::Down, 0, 1240),
        (Direction::Up, 1, 0),
        (Direction::Up, 1, 2),
        (Direction::Up, 1, 40),
        (Direction::Up, 1, 140),
    ];
    for (direction, number, at) in flips {
        let proxy = Proxy::start(port, move |seen, mut message| {
            if (seen.direction, seen.number) == (direction, number) {
                message[LENGTH + at] ^= 0x04;
            }
            Act::pass(message)
        });
        let viewer = Home::new();
        let mut watching = viewer.start(&format!(
            "watch {} --to file:out.h264 --no-reconnect",
            proxy.ticket(&ticket)
        ));
        let code = watching.ends();
        assert!(
            matches!(code, 5 | 6),
            "{direction:?} {number} at {at}: {code}\n{}",
            watching.said()
        );
        last_words(&watching);
        assert!(!viewer.file("out.h264").exists(), "{direction:?} {number} at {at}");
    }
    assert_eq!(program.count("a viewer watches"), 0);
    Home::can_watch(&ticket);
}

#[test]
fn a_recorded_session_gains_nothing_when_it_is_played_again() {
    let (publisher, viewer) = (Home::new(), Home::new());
    let clip = Clip::make(publisher.path(), 100);
    let (program, ticket) = publisher.publish(&clip.url(25, "&loop"), "");
    let proxy = Proxy::start(Proxy::port_of(&ticket), |_, message| Act::pass(message));
    let mut watching = viewer.start(&format!("watch {} --to file:out.h264", proxy.ticket(&ticket)));
    viewer.flows(&watching);
    assert_eq!(watching.stop(), 0);
    assert!(!order_looped(&viewer.recorded(), &clip.frames).is_empty());
    let of = |wanted| {
        proxy
            .wire()
            .into_iter()
            .find(|(direction, _)| *direction == wanted)
            .expect("recorded")
            .1
    };
    let (up, down) = (of(Direction::Up), of(Direction::Down));

    let answer = to_publisher(Proxy::port_of(&ticket), &up);
    program.says("the handshake failed: a sealed part of the handshake was altered on the way");
    assert!(answer.len() < 2500, "a reply and an alert: {} bytes", answer.len());
    // The hello alone, repeatedly.
    let hello = &up[..LENGTH + u32::from_be_bytes([up[0], up[1], up[2], up[3]]) as usize];
    for _ in 0..3 {
        let again = to_publisher(Proxy::port_of(&ticket), &[hello, hello].concat());
        assert!(again.len() < 2500 && again[..64] != answer[..64], "fresh randomness");
        lacks(&again, &clip.bytes);
    }
    let port = replay_to_viewer(down.clone());
    let second = Home::new();
    is_refused(&second, &Proxy::redirect(&ticket, port), 6, &["altered on the way"]);
    let port = replay_to_viewer(up.clone());
    is_refused(
        &second,
        &Proxy::redirect(&ticket, port),
        6,
        &["does not speak the sealcast handshake"],
    );
    for wire in [up, down] {
        lacks(&wire, &clip.bytes);
    }
    Home::can_watch(&ticket);
}

fn to_publisher(port: u16, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let mut answer = Vec::new();
    // The publisher may close the connection before everything is sent.
    let _ = stream.write_all(bytes);
    let _ = stream.read_to_end(&mut answer);
    answer
}

/// A false publisher that sends a recording to every viewer.
fn replay_to_viewer(recorded: Vec<u8>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut hello = [0; 16];
            let sent = stream.read_exact(&mut hello).and_then(|()| stream.write_all(&recorded));
            // The viewer may have closed the connection.
            drop(sent);
        }
    });
    port
}

#[test]
fn refusals_that_anybody_can_send_before_the_first_session_end_no_program() {
    const REFUSED: [u8; 6] = [0, 0, 0, 2, 5, 1];
    const NO_PSK: [u8; 6] = [0, 0, 0, 2, 5, 2];
    let garbage = [0, 0, 0, 3, 9, 9, 9];
    for refusal in [&REFUSED[..], &NO_PSK, &garbage] {
        let (publisher, viewer) = (Home::new(), Home::new());
        let (program, ticket) = publisher.publish(CARD, "");
        let refusals = Arc::new(AtomicU32::new(0));
        let (sent, refusal) = (Arc::clone(&refusals), refusal.to_vec());
        let proxy = Proxy::start(Proxy::port_of(&ticket), move |seen, message| {
            let hello = (seen.direction, seen.number) == (Direction::Up, 0);
            if hello && sent.fetch_add(1, Ordering::Relaxed) < 2 {
                return Act {
                    back: vec![refusal.clone()],
                    ..Act::default()
                };
            }
            Act::pass(message)
        });
        let mut watching = viewer.start(&format!("watch {} --to null:", proxy.ticket(&ticket)));
        watching.says("WARN");
        program.says("a viewer watches");
        assert_eq!(watching.stop(), 0);
        assert!(refusals.load(Ordering::Relaxed) >= 3, "{}", watching.said());
    }
}

#[test]
fn a_hello_that_comes_back_is_not_taken_for_a_publisher() {
    let publisher = Home::new();
    let (_program, ticket) = publisher.publish(CARD, "");
    let proxy = Proxy::start(Proxy::port_of(&ticket), |_, message| Act {
        back: vec![message],
        ..Act::default()
    });
    is_refused(
        &Home::new(),
        &proxy.ticket(&ticket),
        6,
        &["does not speak the sealcast handshake"],
    );
    // With the publisher's identity nobody can watch its ticket either, and is told what to do.
    let own = "--identity publishers/camera/identity --no-reconnect";
    let mut viewer = publisher.start(&format!("watch {ticket} --to null: {own}"));
    assert_eq!(viewer.ends(), 6);
    let words = last_words(&viewer);
    for part in [
        "has the same identity as this end",
        "leave --identity",
        "sealcast keygen FILE",
    ] {
        assert!(words.contains(part), "no \"{part}\" in {words}");
    }
}
