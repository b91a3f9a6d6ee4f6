//! The program over `quic://` on an unimpaired network: every frame arrives, strangers change nothing, and each end
//! notices when the other one leaves.

use std::net::UdpSocket;

use sealcast_testkit::attack::{self, Clip, Home, Program, excused, gaps, overflowed, record, total, until};
use sealcast_testkit::program::free_port;
use sealcast_testkit::skips::has_ipv6;

const RATE: u32 = 50;
const CARD: &str = "test:320x240@25";

fn publish(home: &Home, source: &str, more: &str) -> (Program, String) {
    home.publish_at("quic://127.0.0.1:0", source, more)
}

/// Publishes a clip and watches it to its end, in one session.
fn arrives_whole(home: &Home, clip: &Clip, more: &str) {
    let (mut publisher, ticket) = publish(home, &clip.url(RATE, ""), &format!("{more} --report report.json"));
    assert!(ticket.contains("?transport=quic"), "{ticket}");
    let (viewer_home, mut viewer) = record(&ticket, "");
    assert_eq!(viewer.ends(), 0, "{more}: {}", viewer.said());
    assert_eq!(publisher.ends(), 0, "{more}: {}", publisher.said());
    assert_eq!(viewer.count("INFO watching"), 1, "{more}");
    viewer_home.assert_whole_but_for(unrepaired([(home, &publisher), (&viewer_home, &viewer)]), clip, more);
}

/// Number of frames that may be missing, since a lost datagram is not always sent again and a group of pictures may be
/// given up.
fn unrepaired(ends: [(&Home, &Program); 2]) -> usize {
    if overflowed() { usize::MAX } else { excused(ends) }
}

#[test]
fn a_clip_arrives_byte_for_byte_in_every_unit_and_under_every_selection() {
    let home = Home::new();
    let clip = Clip::make(home.path(), 75);
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
    let clip = Clip::make(home.path(), 50);
    let host = if has_ipv6() { "[::1]" } else { "127.0.0.1" };
    for unit in ["frame", "packet"] {
        let viewer_home = Home::new();
        let listen = format!("--listen quic://{host}:0?latency=200 --ticket-file -");
        let mut viewer = viewer_home.start(&format!("watch {listen} --to file:out.h264 --report report.json"));
        let ticket = viewer.ticket();
        let url = clip.url(RATE, "");
        let mut publisher = home.start(&format!(
            "publish {url} --unit {unit} --to {ticket} --report report.json"
        ));
        assert_eq!((publisher.ends(), viewer.ends()), (0, 0), "{}", viewer.said());
        viewer_home.assert_whole_but_for(unrepaired([(&home, &publisher), (&viewer_home, &viewer)]), &clip, unit);
    }
}

#[test]
fn a_publisher_that_is_not_the_one_of_the_ticket_is_not_watched() {
    let (home, other) = (Home::new(), Home::new());
    let (_publisher, ticket) = publish(&home, CARD, "");
    let (_other, false_ticket) = publish(&other, CARD, "");
    let key = |ticket: &str| ticket.rsplit('/').next().expect("a key").to_owned();
    let mixed = ticket.replace(&key(&ticket), &key(&false_ticket));
    // It does not answer who asks for another.
    let (_home, mut viewer) = record(&mixed, "--no-reconnect");
    assert_eq!(viewer.ends(), 5, "{}", viewer.said());
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
    let clip = Clip::make(home.path(), 100);
    let (mut publisher, ticket) = publish(&home, &clip.url(RATE, ""), "--report report.json");
    let port = attack::Proxy::port_of(&ticket);
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
            // These bytes are those of the first packet of a QUIC connection.
            *first = 0xC3;
            version[..4].copy_from_slice(&[0, 0, 0, 1]);
        }
        // Datagrams that a full buffer drops do not matter.
        let _ = socket.send_to(&bytes, ("127.0.0.1", port));
    }
    assert_eq!(viewer.ends(), 0, "{}", viewer.said());
    assert_eq!(publisher.ends(), 0, "{}", publisher.said());
    viewer_home.assert_whole_but_for(
        unrepaired([(&home, &publisher), (&viewer_home, &viewer)]),
        &clip,
        "garbage",
    );
    let report = home.report("report.json");
    // Only the viewer gets a retry; more than one if it connects again because it heard nothing in time.
    let retries = total(&report, "door_answers", "retry");
    assert!((1..20).contains(&retries), "{report}");
    assert_eq!(total(&report, "handshakes", "established"), 1, "{report}");
}

#[test]
fn who_does_not_speak_quic_further_than_hello_holds_nobody_up() {
    let home = Home::new();
    let (mut publisher, ticket) = publish(&home, CARD, "--max-viewers 1 --report report.json");
    // A viewer that uses UDP without QUIC asks for a cookie, in vain.
    let udp = ticket.replace("transport=quic", "transport=udp");
    let (_home, stranger) = record(&udp, "");
    let (viewer_home, mut viewer) = record(&ticket, "");
    viewer_home.flows(&viewer);
    viewer_home.grows_by(50_000);
    assert_eq!(viewer.stop(), 0, "{}", viewer.said());
    assert_eq!(stranger.count("INFO watching"), 0);
    assert_eq!(publisher.stop(), 0);
    let excused = unrepaired([(&home, &publisher), (&viewer_home, &viewer)]);
    assert!(gaps(&viewer_home.numbers()) <= excused, "frames are missing");
}

#[test]
fn a_viewer_comes_back_to_a_publisher_that_was_killed_and_restarted() {
    let publisher_home = Home::new();
    let listen = format!("--listen quic://127.0.0.1:{} --ticket-file -", free_port());
    let first = publisher_home.start(&format!("publish {CARD} {listen}"));
    let (viewer_home, mut viewer) = record(&first.ticket(), "");
    viewer_home.flows(&viewer);
    first.signal("KILL");
    viewer.says("nothing was heard from the publisher");
    // The new publisher reports that it does not know the connection, and the viewer accepts that.
    let second = publisher_home.start(&format!("publish {CARD} {listen}"));
    second.ticket();
    until("it watches again", || {
        (viewer.count("INFO watching") == 2).then_some(())
    });
    // A timeout of the session would have printed this.
    assert!(!viewer.said().contains("for too long"), "{}", viewer.said());
    viewer_home.grows_by(1);
    assert_eq!(viewer.stop(), 0);
    let (before, after) = viewer_home.numbers_around_silence();
    // Each frame arrived in order and once.
    gaps(&before);
    gaps(&after);
}

#[test]
fn both_ends_leave_at_once_when_the_other_says_goodbye() {
    let home = Home::new();
    let (mut publisher, ticket) = publish(&home, CARD, "");
    let (first, mut leaving) = record(&ticket, "");
    let (second, mut staying) = record(&ticket, "--no-reconnect");
    first.flows(&leaving);
    second.flows(&staying);
    assert_eq!(leaving.stop(), 0, "{}", leaving.said());
    publisher.says("the viewer left");
    assert_eq!(publisher.stop(), 0);
    assert_eq!(staying.ends(), 5, "{}", staying.said());
    assert!(staying.said().contains("the publisher stops"), "{}", staying.said());
}
