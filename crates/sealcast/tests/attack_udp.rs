//! Attacks on sessions over `udp://`, from the way between the ends: all is refused and counted, and no frame is lost.

mod attack;

use std::thread::sleep;
use std::time::Duration;

use attack::{Clip, Home, Program, Proxy, Tap, Way, carries_media, carries_record, kind, lacks, total};
use serde_json::Value;

const HEADER: usize = 24;
/// `connection u32`.
const CONNECTION: usize = 4;
/// Long enough for repair to come even if this machine does something else meanwhile.
const BUDGET: &str = "latency=2000";
const FRAMES: usize = 600;
const RATE: u32 = 60;

/// A publisher, a viewer, and us between them.
struct Stage {
    publisher: Program,
    viewer: Program,
    homes: (Home, Home),
    clip: Clip,
    tap: Tap,
    ticket: String,
}

fn pass(_: Way, _: usize, datagram: &[u8]) -> Vec<Vec<u8>> {
    vec![datagram.to_vec()]
}

impl Stage {
    fn new(frames: usize, tamper: impl FnMut(Way, usize, &[u8]) -> Vec<Vec<u8>> + Send + 'static) -> Self {
        let homes = (Home::new(), Home::new());
        let clip = Clip::make(homes.0.path(), frames);
        let (publisher, ticket) = homes.0.publish_udp(&clip.url(RATE, ""), BUDGET, "--report report.json");
        let tap = Tap::start(Proxy::port_of(&ticket), tamper);
        let through = Proxy::redirect(&ticket, tap.port);
        let viewer = homes.1.start(&format!(
            "watch {through} --to file:out.h264 --report report.json --no-reconnect"
        ));
        Self {
            publisher,
            viewer,
            homes,
            clip,
            tap,
            ticket,
        }
    }

    /// Wait until the stream flows.
    fn flows(&self) {
        self.homes.1.flows(&self.viewer);
    }

    /// Both ends come to the end of the stream in their first session, and every frame arrived. Their reports.
    fn unharmed(mut self) -> (Value, Value) {
        assert_eq!(self.viewer.ends(), 0, "{}", self.viewer.said());
        assert_eq!(self.publisher.ends(), 0, "{}", self.publisher.said());
        let sent = self.homes.0.report("report.json");
        self.homes
            .1
            .assert_whole(&self.clip, &format!("sent {}", sent["totals"]));
        assert_eq!(self.viewer.count("INFO watching"), 1, "in one session");
        for program in [&self.publisher, &self.viewer] {
            assert!(!program.said().contains("panicked") && !program.said().contains("heard again"));
        }
        let wire: Vec<Vec<u8>> = self.tap.seen().into_iter().map(|(_, datagram)| datagram).collect();
        lacks(&wire.concat(), &self.clip.bytes);
        let reports = (sent, self.homes.1.report("report.json"));
        assert_eq!(reports.0["totals"]["handshakes"]["established"], 1);
        reports
    }
}

fn refused(report: &Value, reason: &str) -> u64 {
    total(report, "open_failures", reason)
}

/// The places worth flipping: every bit of the connection, the header and the unit header, and some of the rest.
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
    let stage = Stage::new(FRAMES, |_, number, datagram| {
        if !carries_record(datagram) {
            return vec![datagram.to_vec()];
        }
        // The forgery comes before the datagram, and so has its number first.
        vec![flipped(number, datagram), datagram.to_vec()]
    });
    let (publisher, viewer) = stage.unharmed();
    for (end, report) in [("the publisher", &publisher), ("the viewer", &viewer)] {
        for reason in ["malformed", "unknown_epoch", "tag"] {
            assert!(refused(report, reason) > 0, "{end}: {reason}: {report}");
        }
    }
    assert!(refused(&viewer, "cleartext") > 0);
}

#[test]
fn every_datagram_again_later_and_to_its_sender_changes_nothing() {
    let stage = Stage::new(FRAMES, pass);
    stage.flows();
    let mut replayed = (0, 0);
    for _ in 0..3 {
        sleep(Duration::from_secs(1));
        for (nth, (way, datagram)) in stage.tap.seen().iter().enumerate() {
            stage.tap.to_viewer(datagram);
            stage.tap.to_publisher(datagram);
            if carries_record(datagram) {
                replayed.0 += u64::from(*way == Way::Up);
                replayed.1 += u64::from(*way == Way::Down);
            }
            // As fast as both ends can look at them: what overflows is lost, and that is another matter.
            if nth % 8 == 0 {
                sleep(Duration::from_millis(1));
            }
        }
    }
    let (publisher, viewer) = stage.unharmed();
    assert!(replayed.0 > 50 && replayed.1 > 500, "{replayed:?}");
    for (end, report, replayed) in [("publisher", &publisher, replayed.0), ("viewer", &viewer, replayed.1)] {
        let found = refused(report, "replay");
        // Handshakes are answered, the rest is refused. What went back to its sender fits no key of it.
        assert!(found >= replayed * 9 / 10, "{end}: {found} of {replayed}: {report}");
        assert!(
            refused(report, "tag") + refused(report, "unknown_epoch") > 0,
            "{end}: {report}"
        );
    }
}

#[test]
fn every_datagram_twice_and_out_of_order_changes_nothing() {
    let mut held: Vec<Vec<u8>> = Vec::new();
    let stage = Stage::new(FRAMES, move |way, number, datagram| {
        if way == Way::Up {
            return vec![datagram.to_vec(), datagram.to_vec()];
        }
        held.push(datagram.to_vec());
        // What is no media does not wait: the goodbye would have to wait for what follows it.
        if !carries_media(datagram) || number % 4 == 3 {
            let mut all: Vec<Vec<u8>> = held.drain(..).rev().collect();
            all.extend(all.clone());
            return all;
        }
        Vec::new()
    });
    let (publisher, viewer) = stage.unharmed();
    assert!(refused(&publisher, "replay") > 0 && refused(&viewer, "replay") > 500);
}

/// What somebody who knows the connection's number and the cookie can say without a key.
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
        // `unknown`, an alert, a knock and a cookie.
        bare(&[0x09]),
        bare(&[0x05, 1]),
        [&bare(&[0x07])[..], &[0x5A; 16], &[0; 43]].concat(),
        [&bare(&[0x08])[..], &[0x5A; 32]].concat(),
        // Repair records, media, a description, in clear and not; control.
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

/// The cookie of the handshake that passed.
fn cookie(tap: &Tap) -> Vec<u8> {
    let seen = tap.seen();
    let fragment = seen.iter().find(|(_, datagram)| kind(datagram) == Some(0x06));
    fragment.expect("a handshake in fragments").1[5..21].to_vec()
}

#[test]
fn forged_endings_repair_and_fragments_do_nothing_to_a_session_that_lives() {
    let stage = Stage::new(FRAMES, pass);
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
    // A keyframe-request is the one message of a viewer that is so long.
    let is_request = |(way, datagram): &&(Way, Vec<u8>)| *way == Way::Up && datagram.len() == 4 + HEADER + 5 + 16;
    let requests = stage.tap.seen().iter().filter(is_request).count();
    assert!(requests <= 1, "forgeries made the viewer ask for {requests} keyframes");
    let answered = stage
        .tap
        .seen()
        .iter()
        .filter(|(_, datagram)| kind(datagram) == Some(0x08))
        .count();
    assert!(
        answered <= 2,
        "a session's connection is nobody's door: {answered} cookies"
    );
    let (publisher, viewer) = stage.unharmed();
    for report in [&publisher, &viewer] {
        assert!(
            refused(report, "tag") > 100 && refused(report, "malformed") > 20,
            "{report}"
        );
    }
    // Nobody who holds no key can make the publisher work for a viewer.
    assert_eq!(publisher["totals"]["frames_dropped"]["queue"], 0);
}

#[test]
fn the_report_lists_what_was_refused_by_reason_and_one_line_says_so() {
    let mut stage = Stage::new(FRAMES, pass);
    stage.flows();
    let connection = stage.tap.connection();
    let control = |epoch: u8| {
        let mut record = [&connection[..], &[0x11, 0x01, 0, epoch, 0, 0, 0, 0]].concat();
        record.extend_from_slice(&u64::from(u32::MAX >> 1).to_be_bytes());
        record.resize(CONNECTION + HEADER + 5 + 16, 0xAA);
        record
    };
    let cut = [&connection[..], &[0x11, 0x01, 0, 0]].concat();
    let elsewhere = std::net::UdpSocket::bind("127.0.0.9:0").expect("all of 127.0.0.0/8 is ours");
    let viewer = stage.tap.viewer();
    for _ in 0..25 {
        for datagram in [&control(0), &control(0), &control(9), &cut] {
            stage.tap.to_viewer(datagram);
            stage.tap.to_publisher(datagram);
        }
        // Too short to name a connection.
        stage.tap.to_viewer(&connection[..3]);
        stage.tap.to_publisher(&connection[..3]);
        elsewhere.send_to(&control(0), viewer).expect("sent");
        sleep(Duration::from_millis(1));
    }
    assert_eq!((stage.viewer.ends(), stage.publisher.ends()), (0, 0));
    let said = (stage.publisher.said(), stage.viewer.said());
    let reports = stage.unharmed();
    for (report, said) in [(&reports.0, said.0), (&reports.1, said.1)] {
        let found = ["tag", "unknown_epoch", "malformed", "cleartext", "replay"].map(|reason| refused(report, reason));
        assert_eq!(found, [50, 25, 25, 0, 0], "{report}");
        assert_eq!(total(report, "datagrams_refused", "malformed"), 25, "{report}");
        let line = said.lines().find(|line| line.contains("what came and was refused"));
        let line = line.unwrap_or_else(|| panic!("no summary: {said}"));
        for part in ["malformed 25", "tag 50", "unknown_epoch 25"] {
            assert!(line.contains(part), "{part}: {line}");
        }
    }
    assert_eq!(total(&reports.1, "datagrams_refused", "foreign"), 25, "{}", reports.1);
}

#[test]
fn a_forged_reply_that_wins_the_race_is_ignored() {
    let mut forged = 0;
    let stage = Stage::new(120, move |way, _, datagram| {
        if way == Way::Down && kind(datagram) == Some(0x06) && forged < 4 {
            forged += 1;
            // The same form, another ciphertext or another signature.
            let mut altered = datagram.to_vec();
            let at = altered.len() - 1 - forged * 20;
            altered[at] ^= 0x40;
            return vec![altered, datagram.to_vec()];
        }
        vec![datagram.to_vec()]
    });
    stage.unharmed();
}

#[test]
fn a_forged_finish_that_wins_the_race_is_ignored() {
    let mut fragments = 0;
    let stage = Stage::new(120, move |way, _, datagram| {
        if way == Way::Up && kind(datagram) == Some(0x06) {
            fragments += 1;
            let mut altered = datagram.to_vec();
            let at = altered.len() - 1 - fragments;
            altered[at] ^= 0x40;
            // The hello is left as it is: an altered one is another's, and answered.
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
    let stage = Stage::new(FRAMES, pass);
    stage.flows();
    sleep(Duration::from_secs(2));
    let elsewhere = std::net::UdpSocket::bind("127.0.0.9:0").expect("all of 127.0.0.0/8 is ours");
    elsewhere
        .set_read_timeout(Some(Duration::from_millis(1)))
        .expect("a socket option");
    let port = Proxy::port_of(&stage.ticket);
    let (mut sent, mut answers) = (0, 0);
    for _ in 0..2 {
        for (nth, (way, datagram)) in stage.tap.seen().iter().enumerate() {
            if *way == Way::Up || nth % 4 == 0 {
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
    assert!(sent > 200, "{sent} datagrams");
    sleep(Duration::from_millis(100));
    // A bit flipped in the connection's number makes it another's, of whom nobody knows: that is said, shortly.
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

    let stage = Stage::new(FRAMES, pass);
    stage.flows();
    let connection = stage.tap.connection();
    for (nth, (_, datagram)) in words.iter().enumerate().filter(|(_, (_, datagram))| datagram.len() > 4) {
        // Its goodbye is among them, in the right form and of the right epoch.
        let moved = [&connection[..], &datagram[CONNECTION..]].concat();
        stage.tap.to_viewer(&moved);
        stage.tap.to_publisher(&moved);
        if nth % 8 == 0 {
            sleep(Duration::from_millis(1));
        }
    }
    stage.unharmed();
}
