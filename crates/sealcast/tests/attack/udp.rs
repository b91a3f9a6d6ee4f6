//! Attacks on sessions over `udp://` from the path between the ends: they are refused and counted, and no frame is
//! lost.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

use sealcast_testkit::attack::{
    Clip, Direction, Home, Program, Proxy, Tap, carries_media, carries_record, excused, kind, lacks, missing,
    order_looped, overflowed, record, total, until,
};
use serde_json::Value;

const HEADER: usize = 24;
/// Length of `connection u32`.
const CONNECTION: usize = 4;
/// Budget for repair that is long enough even on a busy machine.
const BUDGET: &str = "latency=2000";
const FRAMES: usize = 200;
const RATE: u32 = 60;

/// A publisher, a viewer, and a relay of ours between them.
struct Stage {
    publisher: Program,
    viewer: Program,
    homes: (Home, Home),
    clip: Clip,
    tap: Tap,
    ticket: String,
}

fn pass(_: Direction, _: usize, datagram: &[u8]) -> Vec<Vec<u8>> {
    vec![datagram.to_vec()]
}

impl Stage {
    /// Publishes a clip in a loop, and watches it.
    fn new(tamper: impl FnMut(Direction, usize, &[u8]) -> Vec<Vec<u8>> + Send + 'static) -> Self {
        let home = Home::new();
        let clip = Clip::make(home.path(), FRAMES);
        let (publisher, ticket) = home.publish_udp(&clip.url(RATE, "&loop"), BUDGET, "--report report.json");
        let tap = Tap::start(Proxy::port_of(&ticket), tamper);
        let (viewer_home, viewer) = record(&Proxy::redirect(&ticket, tap.port), "");
        Self {
            publisher,
            viewer,
            homes: (home, viewer_home),
            clip,
            tap,
            ticket,
        }
    }

    /// Waits until the stream flows.
    fn flows(&self) {
        self.homes.1.flows(&self.viewer);
    }

    /// Waits until `datagrams` more datagrams have passed in each direction.
    fn passes(&self, datagrams: usize) {
        let passed = |direction| self.tap.seen().iter().filter(|(this, _)| *this == direction).count();
        for direction in [Direction::Up, Direction::Down] {
            let before = passed(direction);
            until("datagrams pass", || {
                (passed(direction) >= before + datagrams).then_some(())
            });
        }
    }

    /// Checks that the stream still flows in its first session, and that every frame arrived.
    fn unharmed(self) -> Reports {
        self.homes.1.grows_by(self.clip.bytes.len() as u64 / 4);
        self.ends()
    }

    /// Stops both ends. Fails unless they had a single session and every frame arrived.
    fn ends(mut self) -> Reports {
        assert_eq!(self.viewer.stop(), 0, "{}", self.viewer.said());
        assert_eq!(self.publisher.stop(), 0, "{}", self.publisher.said());
        let ends = [(&self.homes.0, &self.publisher), (&self.homes.1, &self.viewer)];
        let excused = excused(ends);
        let [publisher, viewer] = ends.map(|(home, _)| home.report("report.json"));
        let frames = order_looped(&self.homes.1.recorded(), &self.clip.frames);
        println!(
            "{} frames, {} missing, {excused} excused",
            frames.len(),
            missing(&frames)
        );
        assert!(missing(&frames) <= excused, "frames are missing: {publisher}\n{viewer}");
        assert_eq!(self.viewer.count("INFO watching"), 1, "in one session");
        for (_, program) in ends {
            assert!(!program.said().contains("panicked"));
        }
        let wire: Vec<Vec<u8>> = self.tap.seen().into_iter().map(|(_, datagram)| datagram).collect();
        lacks(&wire.concat(), &self.clip.bytes);
        assert_eq!(total(&publisher, "handshakes", "established"), 1);
        Reports {
            publisher,
            viewer,
            said: [self.publisher.said(), self.viewer.said()],
            excused,
        }
    }
}

/// The reports and messages of both ends, and the number of frames that may be missing because the machine stood still.
struct Reports {
    publisher: Value,
    viewer: Value,
    said: [String; 2],
    excused: usize,
}

fn refused(report: &Value, reason: &str) -> u64 {
    total(report, "open_failures", reason)
}

/// Flips one bit, chosen by `number`: one in the connection number, the header or the first bytes of the payload, or
/// every third time one near the end.
fn flipped(number: usize, datagram: &[u8]) -> Vec<u8> {
    let mut altered = datagram.to_vec();
    let bits = (CONNECTION + HEADER + 16) * 8;
    let bit = if number.is_multiple_of(3) {
        datagram.len() * 8 - 1 - number / 3 % 160
    } else {
        number * 7 % bits
    };
    if let Some(byte) = altered.get_mut(bit / 8) {
        *byte ^= 1 << (bit % 8);
    }
    altered
}

#[test]
fn a_flipped_bit_in_a_copy_of_every_datagram_changes_nothing() {
    let stage = Stage::new(|_, number, datagram| {
        if !carries_record(datagram) {
            return vec![datagram.to_vec()];
        }
        // The forgery is sent before the datagram, so that its record number arrives first.
        vec![flipped(number, datagram), datagram.to_vec()]
    });
    stage.passes(300);
    let Reports { publisher, viewer, .. } = stage.unharmed();
    for (end, report) in [("the publisher", &publisher), ("the viewer", &viewer)] {
        for reason in ["malformed", "unknown_epoch", "tag"] {
            assert!(refused(report, reason) > 0, "{end}: {reason}: {report}");
        }
    }
    assert!(refused(&viewer, "cleartext") > 0);
}

#[test]
fn every_datagram_again_later_and_to_its_sender_changes_nothing() {
    let stage = Stage::new(pass);
    stage.flows();
    let mut replayed = (0, 0);
    for _ in 0..3 {
        stage.passes(50);
        for (nth, (direction, datagram)) in stage.tap.seen().iter().enumerate() {
            stage.tap.to_viewer(datagram);
            stage.tap.to_publisher(datagram);
            if carries_record(datagram) {
                replayed.0 += u64::from(*direction == Direction::Up);
                replayed.1 += u64::from(*direction == Direction::Down);
            }
            // Only as fast as both ends can process them: lost datagrams are not the subject of this test.
            if nth % 8 == 0 {
                sleep(Duration::from_millis(1));
            }
        }
    }
    let Reports { publisher, viewer, .. } = stage.unharmed();
    assert!(replayed.0 > 50 && replayed.1 > 100, "{replayed:?}");
    for (end, report, replayed) in [("publisher", &publisher, replayed.0), ("viewer", &viewer, replayed.1)] {
        let found = refused(report, "replay");
        // Handshake messages are answered, everything else is refused. Records that return to their sender fit none of
        // its keys.
        assert!(
            found >= replayed * 9 / 10 || overflowed(),
            "{end}: {found} of {replayed}: {report}"
        );
        assert!(
            refused(report, "tag") + refused(report, "unknown_epoch") > 0,
            "{end}: {report}"
        );
    }
}

#[test]
fn every_datagram_twice_and_out_of_order_changes_nothing() {
    let mut held: Vec<Vec<u8>> = Vec::new();
    let stage = Stage::new(move |direction, number, datagram| {
        if direction == Direction::Up {
            return vec![datagram.to_vec(), datagram.to_vec()];
        }
        held.push(datagram.to_vec());
        // Only media is held back: a close message would wait for a datagram after it.
        if !carries_media(datagram) || number % 4 == 3 {
            let mut all: Vec<Vec<u8>> = held.drain(..).rev().collect();
            all.extend(all.clone());
            return all;
        }
        Vec::new()
    });
    stage.passes(100);
    let Reports { publisher, viewer, .. } = stage.unharmed();
    assert!(refused(&publisher, "replay") > 0 && refused(&viewer, "replay") > 50);
}

/// Datagrams that somebody who knows the connection number and the cookie can send without a key.
fn forgeries(connection: [u8; 4], cookie: &[u8]) -> Vec<Vec<u8>> {
    let fragment = |cookie: &[u8], message: u8, index: u8, count: u8, part: &[u8]| {
        let mut out = [&connection[..], &[0x06], cookie, &[message, index, count], part].concat();
        out.truncate(1200);
        out
    };
    let bare = |bytes: &[u8]| [&connection[..], bytes].concat();
    let record = |kind: u8, flags: u8, length: usize| {
        let mut out = bare(&[kind, flags, 0, 0, 0, 0, 0, u8::from(kind == 0x10)]);
        out.extend_from_slice(&u64::from(u32::MAX >> 1).to_be_bytes());
        out.extend_from_slice(&[0x55; 8]);
        out.resize(length, 0xAA);
        out
    };
    let mut all = vec![
        bare(&[]),
        // A message of no kind, an alert, a cookie request without a ticket, and a cookie.
        bare(&[0x09]),
        bare(&[0x05, 1]),
        [&bare(&[0x07])[..], &[0x5A; 16], &[0; 43]].concat(),
        [&bare(&[0x08])[..], &[0x5A; 32]].concat(),
        // Repair records, media and a description, encrypted and in clear, and control records.
        record(0x10, 0x41, 1200),
        record(0x10, 0x0D, 1200),
        record(0x10, 0x0C, 300),
        record(0x10, 0x2D, 100),
        record(0x10, 0x10, 100),
        record(0x11, 0x01, 44),
        record(0x11, 0x01, 44 + 26),
        record(0x10, 0x41, 20),
    ];
    for cookie in [cookie, &[0; 16]] {
        for message in 0..4 {
            all.push(fragment(cookie, message, 0, 1, &[5, 1]));
            all.push(fragment(cookie, message, 0, 1, &[0x03; 1100]));
            all.push(fragment(cookie, message, 3, 4, &[0x02; 900]));
            all.push(fragment(cookie, message, 9, 4, &[1; 10]));
        }
    }
    all
}

/// The cookie of the handshake that passed the relay.
fn cookie(tap: &Tap) -> Vec<u8> {
    let seen = tap.seen();
    let fragment = seen.iter().find(|(_, datagram)| kind(datagram) == Some(0x06));
    fragment.expect("a handshake in fragments").1[5..21].to_vec()
}

#[test]
fn forged_endings_repair_and_fragments_do_nothing_to_a_session_that_lives() {
    let stage = Stage::new(pass);
    stage.flows();
    let forged = forgeries(stage.tap.connection(), &cookie(&stage.tap));
    for round in 0..60 {
        for datagram in &forged {
            stage.tap.to_viewer(datagram);
            stage.tap.to_publisher(datagram);
        }
        if round % 10 == 0 {
            assert_eq!(stage.viewer.count("WARN watching"), 0);
        }
        sleep(Duration::from_millis(50));
    }
    let seen = stage.tap.seen();
    // A keyframe request is the only message of the viewer with this length here. A probe-ack is as long, but no probes
    // are sent without `mtu=auto`.
    let is_request = |(direction, datagram): &&(Direction, Vec<u8>)| {
        *direction == Direction::Up && datagram.len() == 4 + HEADER + 5 + 16
    };
    let requests = seen.iter().filter(is_request).count();
    let is_of = |of: u8| move |(_, datagram): &&(Direction, Vec<u8>)| kind(datagram) == Some(of);
    let (knocks, cookies) = (
        seen.iter().filter(is_of(0x07)).count(),
        seen.iter().filter(is_of(0x08)).count(),
    );
    assert!(
        cookies <= knocks + 1,
        "a session's connection is nobody's door: {cookies} cookies for {knocks} knocks"
    );
    let reports = stage.unharmed();
    for report in [&reports.publisher, &reports.viewer] {
        assert!(
            refused(report, "tag") > 100 && refused(report, "malformed") > 20,
            "{report}"
        );
    }
    assert!(
        requests <= 1 || reports.excused > 0,
        "forgeries made the viewer ask for {requests} keyframes"
    );
}

#[test]
fn the_report_lists_what_was_refused_by_reason_and_one_line_says_so() {
    let stage = Stage::new(pass);
    stage.flows();
    let connection = stage.tap.connection();
    let control = |epoch: u8| {
        let mut record = [&connection[..], &[0x11, 0x01, 0, epoch, 0, 0, 0, 0]].concat();
        record.extend_from_slice(&u64::from(u32::MAX >> 1).to_be_bytes());
        record.resize(CONNECTION + HEADER + 5 + 16, 0xAA);
        record
    };
    let cut = [&connection[..], &[0x11, 0x01, 0, 0]].concat();
    let elsewhere = UdpSocket::bind("127.0.0.9:0").expect("all of 127.0.0.0/8 is ours");
    let viewer = stage.tap.viewer();
    for _ in 0..25 {
        for datagram in [&control(0), &control(0), &control(9), &cut] {
            stage.tap.to_viewer(datagram);
            stage.tap.to_publisher(datagram);
        }
        // Too short for a connection number.
        stage.tap.to_viewer(&connection[..3]);
        stage.tap.to_publisher(&connection[..3]);
        elsewhere.send_to(&control(0), viewer).expect("sent");
        sleep(Duration::from_millis(1));
    }
    let reports = stage.unharmed();
    for (report, said) in [&reports.publisher, &reports.viewer].into_iter().zip(&reports.said) {
        let found = ["tag", "unknown_epoch", "malformed", "cleartext", "replay"].map(|reason| refused(report, reason));
        assert_eq!(found, [50, 25, 25, 0, 0], "{report}");
        assert_eq!(total(report, "datagrams_refused", "malformed"), 25, "{report}");
        let line = said.lines().find(|line| line.contains("what came and was refused"));
        let line = line.unwrap_or_else(|| panic!("no summary: {said}"));
        for part in ["malformed 25", "tag 50", "unknown_epoch 25"] {
            assert!(line.contains(part), "{part}: {line}");
        }
    }
    assert_eq!(
        total(&reports.viewer, "datagrams_refused", "foreign"),
        25,
        "{}",
        reports.viewer
    );
}

#[test]
fn a_forged_reply_that_wins_the_race_is_ignored() {
    let (mut held, mut forged) = (Vec::new(), false);
    let stage = Stage::new(move |direction, _, datagram| {
        if direction != Direction::Down || kind(datagram) != Some(0x06) || forged {
            return vec![datagram.to_vec()];
        }
        // The handshake fails if no valid reply follows the forgery within a second. So the real reply follows it at
        // once: its repetition could take longer on a busy machine.
        held.push(datagram.to_vec());
        let (index, count) = (datagram[22], datagram[23]);
        forged = index + 1 == count;
        if !forged {
            return Vec::new();
        }
        let reply = std::mem::take(&mut held);
        // The same format with an altered ciphertext and signature.
        let altered = reply.iter().map(|datagram| {
            let mut altered = datagram.clone();
            let at = altered.len() - 21;
            altered[at] ^= 0x40;
            altered
        });
        altered.chain(reply.clone()).collect()
    });
    stage.unharmed();
}

#[test]
fn a_forged_finish_that_wins_the_race_is_ignored() {
    let mut fragments = 0;
    let stage = Stage::new(move |direction, _, datagram| {
        if direction == Direction::Up && kind(datagram) == Some(0x06) {
            fragments += 1;
            let mut altered = datagram.to_vec();
            let at = altered.len() - 1 - fragments;
            altered[at] ^= 0x40;
            // No altered hello is sent: it would be a valid message of another initiator, and be answered.
            let message = datagram[21];
            if message == 1 {
                return vec![altered, datagram.to_vec()];
            }
        }
        vec![datagram.to_vec()]
    });
    stage.unharmed();
}

#[test]
fn from_another_address_a_captured_connection_is_of_no_use() {
    let stage = Stage::new(pass);
    stage.flows();
    stage.passes(100);
    let elsewhere = UdpSocket::bind("127.0.0.9:0").expect("all of 127.0.0.0/8 is ours");
    elsewhere
        .set_read_timeout(Some(Duration::from_millis(1)))
        .expect("a socket option");
    let port = Proxy::port_of(&stage.ticket);
    let (mut sent, mut answers) = (0, 0);
    for _ in 0..2 {
        for (nth, (direction, datagram)) in stage.tap.seen().iter().enumerate() {
            if *direction == Direction::Up || nth % 4 == 0 {
                elsewhere.send_to(datagram, ("127.0.0.1", port)).expect("sent");
                elsewhere
                    .send_to(&flipped(nth, datagram), ("127.0.0.1", port))
                    .expect("sent");
                sent += 2;
            }
            if nth % 8 == 0 {
                answers += usize::from(elsewhere.recv_from(&mut [0; 2000]).is_ok());
            }
        }
    }
    assert!(sent > 400, "{sent} datagrams");
    sleep(Duration::from_millis(100));
    // A flipped bit in the connection number gives an unknown connection, which is answered by a short message.
    let mut media = 0;
    let mut buffer = [0; 2000];
    while let Ok((length, _)) = elsewhere.recv_from(&mut buffer) {
        answers += 1;
        media += usize::from(carries_media(&buffer[..length]));
    }
    assert!(answers < sent, "{answers} answers to {sent}");
    assert_eq!(media, 0, "the stream does not follow who proves nothing");
    stage.unharmed();
}

#[test]
fn words_of_another_session_end_nothing() {
    let home = Home::new();
    let clip = Clip::make(home.path(), 30);
    let (_other, ticket) = home.publish_udp(&clip.url(60, ""), "", "");
    let tap = Tap::start(Proxy::port_of(&ticket), pass);
    let other_home = Home::new();
    let through = Proxy::redirect(&ticket, tap.port);
    let mut other = other_home.start(&format!("watch {through} --to null:"));
    assert_eq!(other.ends(), 0, "{}", other.said());
    let words = tap.seen();

    let stage = Stage::new(pass);
    stage.flows();
    let connection = stage.tap.connection();
    for (nth, (_, datagram)) in words.iter().enumerate().filter(|(_, (_, datagram))| datagram.len() > 4) {
        // The other session's close message is among them, in the right format and of the right epoch.
        let moved = [&connection[..], &datagram[CONNECTION..]].concat();
        stage.tap.to_viewer(&moved);
        stage.tap.to_publisher(&moved);
        if nth % 8 == 0 {
            sleep(Duration::from_millis(1));
        }
    }
    stage.unharmed();
}

/// An admitted viewer can put any address on a valid record, and aim the stream at somebody who never asked for it.
#[test]
fn an_address_that_answers_nothing_gets_challenges_and_no_media() {
    let stage = Stage::new(pass);
    stage.flows();
    let victim = UdpSocket::bind("127.0.0.66:0").expect("all of 127.0.0.0/8 is ours");
    victim.set_nonblocking(true).expect("a socket option");
    let (forger, sent) = (victim.try_clone().expect("a socket"), Arc::new(AtomicUsize::new(0)));
    let (port, bytes) = (Proxy::port_of(&stage.ticket), Arc::clone(&sent));
    stage.tap.tamper(move |direction, number, datagram| {
        if direction == Direction::Down || !carries_record(datagram) || number % 4 > 0 {
            return vec![datagram.to_vec()];
        }
        forger.send_to(datagram, ("127.0.0.1", port)).expect("sent");
        bytes.fetch_add(datagram.len(), Ordering::Relaxed);
        Vec::new()
    });
    stage.passes(800);
    stage.tap.tamper(pass);
    let (mut challenges, mut received, mut buffer) = (0, 0, [0; 2000]);
    while let Ok((length, _)) = victim.recv_from(&mut buffer) {
        assert!(
            !carries_media(&buffer[..length]),
            "the stream follows before the address is proved"
        );
        challenges += 1;
        received += length;
    }
    let sent = sent.load(Ordering::Relaxed);
    println!("{sent} bytes from the address, {challenges} challenges of {received} bytes to it");
    assert!(challenges > 0 && received < 3 * sent, "{received} bytes for {sent}");
    stage.unharmed();
}

#[test]
fn a_viewer_that_answers_from_its_new_address_is_followed_there() {
    let stage = Stage::new(pass);
    stage.flows();
    for address in ["127.0.0.2:0", "127.0.0.3:0"] {
        stage.tap.move_to(address);
        stage.homes.1.grows_by(stage.clip.bytes.len() as u64 / 4);
    }
    stage.unharmed();
}

#[test]
fn a_first_handshake_survives_an_altered_datagram_whichever_it_is() {
    let home = Home::new();
    let (mut publisher, ticket) = home.publish_udp("test:320x240@25", "", "");
    // Up: a knock, the hello and the finish. Down: a cookie, the reply and the welcome.
    for (way, altered) in [Direction::Up, Direction::Down]
        .into_iter()
        .flat_map(|way| [0, 1, 2].map(|number| (way, number)))
    {
        let tap = Tap::start(Proxy::port_of(&ticket), move |direction, number, datagram| {
            let mut datagram = datagram.to_vec();
            if direction == way
                && number == altered
                && let Some(last) = datagram.last_mut()
            {
                *last ^= 1;
            }
            vec![datagram]
        });
        let (viewer_home, mut viewer) = record(&Proxy::redirect(&ticket, tap.port), "--no-reconnect");
        viewer_home.flows(&viewer);
        assert_eq!(viewer.stop(), 0, "{way:?} {altered}: {}", viewer.said());
        assert_eq!(viewer.count("INFO watching"), 1);
    }
    assert_eq!(publisher.stop(), 0);
}
