//! The program over `udp://` on an unimpaired network: every frame arrives, the last ones included, and each end
//! notices when the other one leaves.

use std::collections::{BTreeMap, BTreeSet};

use sealcast::source::{FileOptions, FileSource, Source};
use sealcast_testkit::attack::{Clip, Direction, Home, Program, Proxy, Tap, excused, gaps, overflowed, record, until};
use sealcast_testkit::program::{self, free_port, home, publish, watch};
use sealcast_testkit::skips::has_ipv6;

/// Frames per second. At this rate a clip needs less than 2 Mbit/s, the initial rate on an unknown path.
const RATE: u32 = 50;
const CARD: &str = "test:320x240@25";
/// Bytes of a recording of the card that take at least a second.
const A_WHILE: u64 = 100_000;

/// A clip of `frames` frames, and the home of its publisher.
fn scene(frames: usize) -> (Home, Clip) {
    let home = Home::new();
    let clip = Clip::make(home.path(), frames);
    (home, clip)
}

/// Number of frames that may be missing, since a lost datagram is not always sent again.
fn unrepaired(ends: [(&Home, &Program); 2]) -> usize {
    if overflowed() { usize::MAX } else { excused(ends) }
}

/// Publishes a clip and watches it to its end, in a single session; both ends must succeed. Returns the viewer's home.
fn arrives_whole(home: &Home, clip: &Clip, options: &str, more: &str) -> Home {
    let more = format!("{more} --report report.json");
    let (mut publisher, ticket) = home.publish_udp(&clip.url(RATE, ""), options, &more);
    let (viewer_home, mut viewer) = record(&ticket, "");
    assert_eq!(viewer.ends(), 0, "{options} {more}: {}", viewer.said());
    assert_eq!(publisher.ends(), 0, "{options} {more}: {}", publisher.said());
    assert_eq!(viewer.count("INFO watching"), 1, "{options} {more}");
    let excused = unrepaired([(home, &publisher), (&viewer_home, &viewer)]);
    viewer_home.assert_whole_but_for(excused, clip, &format!("{options} {more}"));
    viewer_home
}

#[test]
fn a_clip_arrives_byte_for_byte_in_every_unit_and_under_every_selection() {
    let (home, clip) = scene(50);
    for unit in ["packet", "chunk:128", "chunk:512"] {
        arrives_whole(&home, &clip, "", &format!("--unit {unit}"));
    }
    for selection in [
        "none",
        "rate:30",
        "keyframes",
        "headers",
        "headers+keyframes",
        "level:2",
        "level:3",
    ] {
        arrives_whole(&home, &clip, "", &format!("--encrypt {selection} --encrypt-seed 7"));
    }
}

#[test]
fn a_clip_arrives_byte_for_byte_whatever_is_switched_off() {
    let (home, clip) = scene(50);
    for options in [
        "fec=off",
        "fec=50&rate=off",
        "nack=off",
        "rate=off",
        "pace=off",
        "latency=1000",
        "mtu=8972",
        "fec=off&nack=off&rate=off&pace=off",
    ] {
        arrives_whole(&home, &clip, options, "");
    }
}

#[test]
fn every_suite_protects_datagrams() {
    let (home, clip) = scene(50);
    for suite in ["aes-128-gcm", "aes-256-gcm", "chacha20-poly1305", "aegis-128x4"] {
        let viewer = arrives_whole(&home, &clip, "", &format!("--suite {suite}"));
        assert_eq!(viewer.report("report.json")["handshakes"][0]["suite"], suite);
    }
}

#[test]
fn a_clip_arrives_whole_over_ipv6() {
    if !has_ipv6() {
        return;
    }
    let (home, clip) = scene(50);
    let url = clip.url(RATE, "");
    let (mut publisher, ticket) = home.publish_at("udp://[::1]:0", &url, "--report report.json");
    assert!(ticket.starts_with("sealcast://[::1]:"), "{ticket}");
    let (viewer_home, mut viewer) = record(&ticket, "");
    assert_eq!((viewer.ends(), publisher.ends()), (0, 0), "{}", viewer.said());
    let excused = unrepaired([(&home, &publisher), (&viewer_home, &viewer)]);
    viewer_home.assert_whole_but_for(excused, &clip, "IPv6");
}

#[test]
fn a_publisher_connects_to_a_viewer_that_listens() {
    let (home, clip) = scene(50);
    let viewer_home = Home::new();
    let listen = "--listen udp://127.0.0.1:0?latency=200 --ticket-file -";
    let mut viewer = viewer_home.start(&format!("watch {listen} --to file:out.h264 --report report.json"));
    let ticket = viewer.ticket();
    let url = clip.url(RATE, "");
    let mut publisher = home.start(&format!("publish {url} --to {ticket} --report report.json"));
    assert_eq!((publisher.ends(), viewer.ends()), (0, 0), "{}", viewer.said());
    let excused = unrepaired([(&home, &publisher), (&viewer_home, &viewer)]);
    viewer_home.assert_whole_but_for(excused, &clip, "to a viewer that listens");
}

#[test]
fn viewers_of_one_card_get_every_frame_and_the_same_ones() {
    let publisher_home = Home::new();
    let (mut publisher, ticket) = publisher_home.publish_udp(CARD, "", "--report report.json");
    let mut viewers: Vec<(Home, Program)> = (0..3).map(|_| record(&ticket, "")).collect();
    viewers.iter().for_each(|(home, viewer)| home.flows(viewer));
    viewers.iter().for_each(|(home, _)| home.grows_by(A_WHILE));
    viewers.iter_mut().for_each(|(_, viewer)| assert_eq!(viewer.stop(), 0));
    assert_eq!(publisher.stop(), 0);
    let mut known: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    for (home, viewer) in &viewers {
        let (numbers, frames) = (home.numbers(), frames(home));
        let excused = unrepaired([(&publisher_home, &publisher), (home, viewer)]);
        assert!(gaps(&numbers) <= excused, "{numbers:?}");
        assert_eq!(numbers.len(), frames.len());
        for (number, frame) in numbers.into_iter().zip(frames) {
            let other = known.entry(number).or_insert_with(|| frame.clone());
            assert!(*other == frame, "frame {number} is another one");
        }
    }
}

/// The frames of a recording.
fn frames(home: &Home) -> Vec<Vec<u8>> {
    let options = FileOptions {
        paced: false,
        ..FileOptions::default()
    };
    let mut source = FileSource::open(&home.file("out.h264"), options).expect("a recording that opens");
    let frames = std::iter::from_fn(|| source.next().expect("a frame"));
    frames.map(|frame| frame.data.to_vec()).collect()
}

#[test]
fn a_viewer_that_stands_still_holds_nobody_up_and_goes_on() {
    let publisher_home = Home::new();
    let (mut publisher, ticket) = publisher_home.publish_udp(CARD, "", "");
    let (mut slow, mut other) = (record(&ticket, ""), record(&ticket, ""));
    for (home, viewer) in [&slow, &other] {
        home.flows(viewer);
    }
    for _ in 0..3 {
        slow.1.signal("STOP");
        other.0.grows_by(A_WHILE);
        slow.1.signal("CONT");
        slow.0.grows_by(1);
    }
    assert_eq!((slow.1.stop(), other.1.stop(), publisher.stop()), (0, 0, 0));
    for (home, viewer) in [&slow, &other] {
        gaps(&home.numbers());
        assert_eq!(viewer.count("INFO watching"), 1, "in the same session");
    }
}

#[test]
fn a_viewer_comes_back_to_a_publisher_that_was_killed_and_restarted() {
    let publisher_home = Home::new();
    let listen = format!("--listen udp://127.0.0.1:{} --ticket-file -", free_port());
    let first = publisher_home.start(&format!("publish {CARD} {listen}"));
    let (viewer_home, mut viewer) = record(&first.ticket(), "");
    viewer_home.flows(&viewer);
    first.signal("KILL");
    viewer.says("nothing was heard from the publisher");
    // The new publisher reports that it does not know the session. It admits the viewer without the old invite.
    let second = publisher_home.start(&format!("publish {CARD} {listen}"));
    second.ticket();
    until("it watches again", || {
        (viewer.count("INFO watching") == 2).then_some(())
    });
    viewer_home.grows_by(1);
    assert_eq!(second.count("enrolled"), 0);
    assert_eq!(viewer.stop(), 0);
    let (before, after) = viewer_home.numbers_around_silence();
    // Each frame arrived in order and once.
    gaps(&before);
    gaps(&after);
}

#[test]
fn the_place_of_a_viewer_that_was_killed_is_free_once_it_is_silent() {
    let publisher_home = Home::new();
    let (publisher, ticket) = publisher_home.publish_udp(CARD, "", "--max-viewers 1");
    let (home, viewer) = record(&ticket, "");
    home.flows(&viewer);
    let (_home, mut early) = record(&ticket, "");
    assert_eq!(early.ends(), 6);
    assert!(early.said().contains("too many viewers"), "{}", early.said());
    viewer.signal("KILL");
    publisher.says("nothing was heard from the viewer");
    Home::can_watch(&ticket);
}

#[test]
fn a_viewer_says_that_its_disk_is_full_and_the_publisher_goes_on() {
    let publisher_home = Home::new();
    let (mut publisher, ticket) = publisher_home.publish_udp(CARD, "", "");
    let home = Home::new();
    std::os::unix::fs::symlink("/dev/full", home.file("full.h264")).expect("a link");
    let mut viewer = home.start(&format!("watch {ticket} --to file:full.h264"));
    assert_eq!(viewer.ends(), 4);
    assert!(viewer.said().contains("is full"), "{}", viewer.said());
    Home::can_watch(&ticket);
    assert!(publisher.running());
    assert_eq!(publisher.stop(), 0);
}

/// True for a line of the program's own log: a time, and a level.
fn is_own(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let time = words
        .next()
        .is_some_and(|word| word.starts_with("20") && word.ends_with('Z'));
    time && matches!(words.next(), Some("ERROR" | "WARN" | "INFO"))
}

/// Libraries write there unless they are told not to: OpenH264 a line with an address in memory at each start.
#[test]
fn while_the_encoder_follows_a_bad_path_only_the_program_writes_to_the_terminal() {
    let homes = [home(), home()];
    let options = ["--listen", "udp://127.0.0.1:0", "--metrics", "127.0.0.1:0"];
    let publisher = publish(homes[0].path(), "test:640x360@30?bitrate=4M", &options);
    // The path loses every seventh datagram, and in every other run of 200 half of them.
    let tap = Tap::start(Proxy::port_of(&publisher.ticket), |direction, number, datagram| {
        let bad = number / 200 % 2 == 1 && number.is_multiple_of(2);
        let lost = direction == Direction::Down && number > 50 && (bad || number.is_multiple_of(7));
        if lost { Vec::new() } else { vec![datagram.to_vec()] }
    });
    let ticket = Proxy::redirect(&publisher.ticket, tap.port);
    let viewer = watch(homes[1].path(), &ticket, &["--to", "http://127.0.0.1:0"]);
    publisher.program.says("INFO metrics", program::PATIENCE);
    let mut targets = BTreeSet::new();
    program::until("the encoder has followed the path", || {
        targets.insert(publisher.program.counts("sealcast_source_target_bits_per_second") as u64);
        targets.len() > 3
    });
    for program in [publisher.program, viewer] {
        let said = program.said();
        let foreign: Vec<&str> = said.lines().filter(|line| !is_own(line)).collect();
        assert!(foreign.is_empty(), "{foreign:?}");
        assert!(said.lines().any(is_own), "it said nothing: {said}");
    }
}
