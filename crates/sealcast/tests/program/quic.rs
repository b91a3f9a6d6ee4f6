//! The program over `quic://` on a network that does nothing: every frame arrives, strangers change nothing, and both
//! ends notice when the other one goes.

use std::net::UdpSocket;
use std::thread::sleep;
use std::time::{Duration, Instant};

use sealcast_testkit::attack::{self, Clip, Home, Program, assert_no_gap, record, total, until};

const RATE: u32 = 50;
const CARD: &str = "test:320x240@25";

fn publish(home: &Home, source: &str, more: &str) -> (Program, String) {
    home.publish_at("quic://127.0.0.1:0", source, more)
}

/// Publish a clip and watch it to its end, in one session.
fn arrives_whole(home: &Home, clip: &Clip, more: &str) {
    let (mut publisher, ticket) = publish(home, &clip.url(RATE, ""), more);
    assert!(ticket.contains("?transport=quic"), "{ticket}");
    let (viewer_home, mut viewer) = record(&ticket, "");
    assert_eq!(viewer.ends(), 0, "{more}: {}", viewer.said());
    assert_eq!(publisher.ends(), 0, "{more}: {}", publisher.said());
    assert_eq!(viewer.count("INFO watching"), 1, "{more}");
    viewer_home.assert_whole(clip, more);
}

#[test]
fn a_clip_arrives_byte_for_byte_in_every_unit_and_under_every_selection() {
    let home = Home::new();
    let clip = Clip::make(home.path(), 100);
    for more in [
        "--unit frame",
        "--unit packet",
        "--unit chunk:256",
        "--encrypt headers",
        "--encrypt rate:30 --encrypt-seed 7",
        "--encrypt none --unit packet",
        "--rekey-seconds 1",
    ] {
        arrives_whole(&home, &clip, more);
    }
}

#[test]
fn a_publisher_connects_to_a_viewer_that_listens() {
    let home = Home::new();
    let clip = Clip::make(home.path(), 100);
    for unit in ["frame", "packet"] {
        let viewer_home = Home::new();
        let mut viewer = viewer_home.start("watch --listen quic://[::1]:0?latency=200 --to file:out.h264");
        let ticket = viewer.ticket();
        let publish = format!("publish {} --unit {unit} --to {ticket}", clip.url(RATE, ""));
        let mut publisher = home.start(&publish);
        assert_eq!((publisher.ends(), viewer.ends()), (0, 0), "{}", viewer.said());
        assert!(viewer_home.recorded() == clip.bytes, "{unit}");
    }
}

#[test]
fn a_publisher_that_is_not_the_one_of_the_ticket_is_not_watched() {
    let (home, other) = (Home::new(), Home::new());
    let (_publisher, ticket) = publish(&home, CARD, "");
    let (_other, false_ticket) = publish(&other, CARD, "");
    let key = |ticket: &str| ticket.rsplit('/').next().expect("a key").to_owned();
    let mixed = ticket.replace(&key(&ticket), &key(&false_ticket));
    let (_home, mut viewer) = record(&mixed, "");
    assert_eq!(viewer.ends(), 6, "{}", viewer.said());
    assert!(viewer.said().contains("do not trust that address"), "{}", viewer.said());
}

#[test]
fn a_viewer_without_the_invite_is_told_so() {
    let home = Home::new();
    let (_publisher, ticket) = publish(&home, CARD, "");
    let bare = ticket.split('#').next().expect("a ticket");
    let (_home, mut viewer) = record(bare, "");
    assert_eq!(viewer.ends(), 6, "{}", viewer.said());
    assert!(
        viewer.said().contains("ask the publisher for a ticket"),
        "{}",
        viewer.said()
    );
}

#[test]
fn garbage_on_the_port_changes_nothing() {
    let home = Home::new();
    let clip = Clip::make(home.path(), 150);
    let (mut publisher, ticket) = publish(&home, &clip.url(RATE, ""), "--report report.json");
    let port = attack::Proxy::port_of(&ticket);
    let before = publisher.rss();
    let (viewer_home, mut viewer) = record(&ticket, "");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("the loopback interface");
    let mut state = 1_u32;
    for round in 0..5_000_usize {
        let mut bytes: Vec<u8> = (0..round % 1500)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            })
            .collect();
        if let [first, version @ .., _] = bytes.as_mut_slice()
            && version.len() > 3
            && round % 2 == 0
        {
            // As far as that, it is the first packet of a QUIC connection.
            *first = 0xC3;
            version[..4].copy_from_slice(&[0, 0, 0, 1]);
        }
        // What a full buffer drops is not missed.
        let _ = socket.send_to(&bytes, ("127.0.0.1", port));
    }
    assert_eq!((viewer.ends(), before > 0), (0, true), "{}", viewer.said());
    viewer_home.assert_whole(&clip, "garbage");
    assert_eq!(publisher.ends(), 0, "{}", publisher.said());
    let report = home.report("report.json");
    assert_eq!(total(&report, "door_answers", "retry"), 1, "the viewer's: {report}");
}

#[test]
fn who_does_not_speak_quic_further_than_hello_holds_nobody_up() {
    let home = Home::new();
    let (mut publisher, ticket) = publish(&home, CARD, "--max-viewers 1");
    // A viewer of another carrier knocks, in vain.
    let udp = ticket.replace("transport=quic", "transport=udp");
    let (_home, stranger) = record(&udp, "");
    let (viewer_home, mut viewer) = record(&ticket, "--seconds 2");
    assert_eq!(viewer.ends(), 0, "{}", viewer.said());
    assert_no_gap(&viewer_home.numbers());
    assert_eq!(stranger.count("INFO watching"), 0);
    assert_eq!(publisher.stop(), 0);
}

#[test]
fn a_viewer_comes_back_to_a_publisher_that_was_killed_and_restarted() {
    let publisher_home = Home::new();
    let port = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let listen = format!("--listen quic://127.0.0.1:{}", port.expect("a free port").port());
    let first = publisher_home.start(&format!("publish {CARD} {listen}"));
    let (viewer_home, mut viewer) = record(&first.ticket(), "");
    viewer.says("watching");
    sleep(Duration::from_secs(1));
    first.signal("KILL");
    viewer.says("nothing was heard from the publisher");
    // The new one does not know the connection, and is believed when it says so.
    let second = publisher_home.start(&format!("publish {CARD} {listen}"));
    second.ticket();
    let restarted = Instant::now();
    until("it watches again", || {
        (viewer.count("INFO watching") == 2).then_some(())
    });
    assert!(
        restarted.elapsed() < Duration::from_secs(20),
        "sooner than by a timeout"
    );
    sleep(Duration::from_secs(1));
    assert_eq!(viewer.stop(), 0);
    let numbers = viewer_home.numbers();
    let restart = numbers.windows(2).position(|pair| pair[1] < pair[0]);
    let (before, after) = numbers.split_at(restart.expect("a new count") + 1);
    assert_no_gap(before);
    assert_no_gap(after);
}

#[test]
fn both_ends_leave_at_once_when_the_other_says_goodbye() {
    let home = Home::new();
    let (mut publisher, ticket) = publish(&home, CARD, "");
    let (_first, mut leaving) = record(&ticket, "--seconds 1");
    let (_second, mut staying) = record(&ticket, "--no-reconnect");
    assert_eq!(leaving.ends(), 0, "{}", leaving.said());
    publisher.says("the viewer left");
    assert_eq!(publisher.stop(), 0);
    assert_eq!(staying.ends(), 5, "{}", staying.said());
    assert!(staying.said().contains("the publisher stops"), "{}", staying.said());
}
