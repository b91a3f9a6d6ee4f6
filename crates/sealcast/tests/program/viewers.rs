//! Viewers that connect, leave, fall behind, and lose their publisher.

use std::path::Path;

use sealcast::failure::FailureKind;
use sealcast::source::Source;
use sealcast_testkit::gateways::{camera_gateway, unlinked_gateway};
use sealcast_testkit::media::{STREET, clip, path, unpaced};
use sealcast_testkit::program::{
    PATIENCE, Program, assert_accounted, beginning, file_url, free_port, home, publish, report, sealcast, unbroken,
    until, watch,
};
use sealcast_testkit::skips::has_ipv6;
use sealcast_testkit::words::accusation;
use tempfile::TempDir;

/// Printed by an end when the other one is silent for too long.
const SILENCE: &str = "nothing was heard from the peer for too long";
const CARD: &str = "test:320x240@25";

/// The URL of one second of the street clip, and its frames.
fn second(dir: &Path) -> (String, Vec<Vec<u8>>) {
    let whole = dir.join("whole");
    std::fs::create_dir(&whole).expect("a directory");
    let clip = beginning(&clip(STREET, &whole), 1, dir);
    (file_url(&clip), frames(&clip))
}

fn frames(file: &Path) -> Vec<Vec<u8>> {
    let mut source = unpaced(file);
    std::iter::from_fn(|| source.next().expect("a frame"))
        .map(|frame| frame.data.to_vec())
        .collect()
}

/// A viewer that logs every frame until it is stopped.
struct Watching {
    home: TempDir,
    program: Program,
}

fn watching(ticket: &str) -> Watching {
    let home = home();
    let (logs, seen) = (home.path().join("logs"), home.path().join("report.json"));
    let observe = [
        "--log-dir",
        path(&logs),
        "--report",
        path(&seen),
        "--metrics",
        "127.0.0.1:0",
    ];
    let program = watch(home.path(), ticket, &[&["--to", "null:"], &observe[..]].concat());
    Watching { home, program }
}

impl Watching {
    fn watches(&self) {
        self.program.says("watching", PATIENCE);
    }

    /// Waits until some more frames have arrived.
    fn goes_on(&self) {
        let frames = "sealcast_frames_total{dir=\"in\"}";
        let before = self.program.counts(frames);
        self.program.has_counted(frames, before + 10.0);
    }

    /// Stops it. Fails if frames are missing between those that arrived and were not counted as missing.
    fn stops(mut self) {
        self.program.stop();
        let mut log = csv::Reader::from_path(self.home.path().join("logs/frames_latency.csv")).expect("a log");
        let numbers = log
            .records()
            .map(|row| row.expect("a row")[2].parse().expect("a number"));
        assert_accounted(
            &numbers.collect::<Vec<u64>>(),
            &report(&self.home.path().join("report.json")),
        );
    }
}

#[test]
fn a_clip_arrives_whole_over_ipv6() {
    if !has_ipv6() {
        return;
    }
    let (dir, publisher_home, viewer_home) = (home(), home(), home());
    let (source, sent) = second(dir.path());
    let out = dir.path().join("out.h264");
    let to = file_url(&out) + "?overwrite";
    unbroken(|| {
        let mut publisher = publish(publisher_home.path(), &source, &["--listen", "tcp://[::1]:0"]);
        let ticket = &publisher.ticket;
        assert!(ticket.starts_with("sealcast://[::1]:"), "{ticket}");
        let mut viewer = watch(viewer_home.path(), ticket, &["--to", &to, "--no-reconnect"]);
        let code = viewer.ends(PATIENCE);
        publisher.program.succeeds(PATIENCE);
        (code != i32::from(FailureKind::Network.exit_code())).then(|| assert_eq!(code, 0))
    });
    assert!(frames(&out) == sent);
}

#[test]
fn a_publisher_connects_to_a_viewer_that_listens() {
    let (dir, publisher_home, viewer_home) = (home(), home(), home());
    let (source, sent) = second(dir.path());
    let out = dir.path().join("out.h264");
    let to = file_url(&out) + "?overwrite";
    unbroken(|| {
        let mut command = sealcast(viewer_home.path());
        command.args([
            "watch",
            "--listen",
            "tcp://127.0.0.1:0",
            "--ticket-file",
            "-",
            "--to",
            &to,
        ]);
        let mut viewer = Program::run("the viewer", command);
        let ticket = viewer.line();
        let mut command = sealcast(publisher_home.path());
        command.args(["publish", &source, "--to", &ticket]);
        let mut publisher = Program::run("the publisher", command);
        publisher.succeeds(PATIENCE);
        viewer.succeeds(PATIENCE);
        (!viewer.said().contains(SILENCE) && !publisher.said().contains(SILENCE)).then_some(())
    });
    assert!(frames(&out) == sent);
}

#[test]
fn one_viewer_too_many_is_turned_away_and_disturbs_nobody() {
    let homes = [home(), home()];
    let publisher = publish(homes[0].path(), CARD, &["--max-viewers", "1"]);
    let first = watching(&publisher.ticket);
    first.watches();
    let mut second = watch(homes[1].path(), &publisher.ticket, &["--to", "null:"]);
    assert_eq!(second.ends(PATIENCE), 6);
    assert!(second.said().contains("too many viewers"), "{}", second.said());
    first.goes_on();
    first.stops();
    publisher.program.says("the viewer left", PATIENCE);
    let third = watching(&publisher.ticket);
    third.watches();
}

#[test]
fn who_asks_for_what_is_not_there_is_told_in_words() {
    let homes = [home(), home(), home()];
    let publisher = publish(homes[0].path(), CARD, &[]);
    let gateway = camera_gateway(homes[1].path(), "rtsp://127.0.0.1:9/front", &[]);
    for (mut program, words) in [
        (
            unlinked_gateway(homes[2].path(), &publisher.ticket, free_port(), &[]),
            "`sealcast watch TICKET --to rtsp://127.0.0.1:8554/NAME` serves players",
        ),
        (
            watch(homes[2].path(), &gateway.ticket, &["--to", "null:"]),
            "take its ticket to `sealcast gateway viewer`",
        ),
    ] {
        assert_eq!(program.ends(PATIENCE), 6);
        let said = program.said();
        assert!(said.contains("not offered") && said.contains(words), "{said}");
    }
    publisher.program.says("refused a viewer", PATIENCE);
    gateway.program.says("refused a viewer", PATIENCE);
    // It has used nothing up, and watches.
    watch(homes[2].path(), &publisher.ticket, &["--to", "null:"]).says("watching", PATIENCE);
}

#[test]
fn no_viewer_keeps_others_out_by_many_sessions() {
    let publisher_home = home();
    let publisher = publish(publisher_home.path(), CARD, &["--max-viewers", "9"]);
    let greedy = home();
    let begin = || watch(greedy.path(), &publisher.ticket, &["--to", "null:"]);
    let sessions: Vec<_> = (0..8).map(|_| begin()).collect();
    for session in &sessions {
        session.says("watching", PATIENCE);
    }
    // Its further sessions replace one of its own, once, and leave a place free.
    let ninth = begin();
    ninth.says("watching", PATIENCE);
    let cut = |sessions: &[Program]| sessions.iter().filter(|one| one.said().contains("replaced")).count();
    let mut tenth = begin();
    assert_eq!(tenth.ends(PATIENCE), 6);
    assert!(tenth.said().contains("too many viewers"), "{}", tenth.said());
    assert_eq!(cut(&sessions), 1);
    // Two others come: one finds a place, the other gets one of the greedy viewer's.
    let others = [watching(&publisher.ticket), watching(&publisher.ticket)];
    for other in &others {
        other.watches();
        other.goes_on();
    }
    publisher
        .program
        .says("another session has the place of this one", PATIENCE);
    for other in &others {
        other.goes_on();
    }
    assert_eq!(cut(&sessions) + cut(&[ninth]), 2);
}

/// A session of one identity, which has several.
fn one_of(home: &Path, ticket: &str) -> Program {
    let session = watch(home, ticket, &["--to", "null:"]);
    session.says("watching", PATIENCE);
    session
}

fn was_replaced(session: &Program) -> bool {
    session.said().contains("replaced")
}

#[test]
fn two_tabs_and_a_reload_of_one_peer_throw_nobody_else_out() {
    // With places that are free, with as many as they take together, and with one too few for the moment of the reload.
    for places in ["16", "4", "3"] {
        let (publisher_home, browser) = (home(), home());
        let publisher = publish(publisher_home.path(), CARD, &["--max-viewers", places]);
        let other = watching(&publisher.ticket);
        other.watches();
        let tabs = [(); 2].map(|()| one_of(browser.path(), &publisher.ticket));
        // The page is loaded again, and its old connection is not missed yet.
        let reloaded = one_of(browser.path(), &publisher.ticket);
        let replaced = usize::from(places == "3");
        until("who has no place was told", || {
            tabs.iter().filter(|tab| was_replaced(tab)).count() == replaced
        });
        let [_, mut old] = tabs;
        old.stop();
        other.goes_on();
        assert!(!was_replaced(&reloaded), "{}", reloaded.said());
        assert_eq!(
            other.program.said().matches("INFO watching").count(),
            1,
            "{}",
            other.program.said()
        );
    }
}

#[test]
fn a_recorder_a_window_and_a_probe_of_one_peer_watch_together() {
    let (publisher_home, viewer) = (home(), home());
    let publisher = publish(publisher_home.path(), CARD, &["--max-viewers", "4"]);
    let other = watching(&publisher.ticket);
    other.watches();
    let window = one_of(viewer.path(), &publisher.ticket);
    let recording = viewer.path().join("seen.h264");
    let recorder = watch(viewer.path(), &publisher.ticket, &["--to", &file_url(&recording)]);
    recorder.says("watching", PATIENCE);
    let probe = ["probe", &publisher.ticket, "--seconds", "3"];
    let probed = sealcast(viewer.path()).args(probe).output().expect("it runs");
    let said = String::from_utf8([probed.stdout, probed.stderr].concat()).expect("text");
    assert!(probed.status.success() && !said.contains("replaced"), "{said}");
    let grows = |file: &Path| std::fs::metadata(file).map_or(0, |found| found.len());
    let before = grows(&recording);
    until("it records on", || grows(&recording) > before);
    other.goes_on();
    for session in [&window, &recorder, &other.program] {
        assert!(!was_replaced(session), "{}", session.said());
        assert_eq!(session.said().matches("INFO watching").count(), 1, "{}", session.said());
    }
    assert!(!publisher.program.said().contains("has the place of this one"));
}

#[test]
fn an_uninvited_viewer_is_turned_away_in_words() {
    let homes = [home(), home()];
    let publisher = publish(homes[0].path(), CARD, &[]);
    let (uninvited, _) = publisher.ticket.split_once('#').expect("an invite");
    let mut viewer = watch(homes[1].path(), uninvited, &["--to", "null:"]);
    assert_eq!(viewer.ends(PATIENCE), 6);
    assert!(viewer.said().contains("not on the allow list"), "{}", viewer.said());
    publisher.program.says("refused a viewer", PATIENCE);
}

#[test]
fn a_viewer_comes_back_to_a_publisher_that_was_killed_and_restarted() {
    let publisher_home = home();
    let listen = format!("tcp://127.0.0.1:{}", free_port());
    let start = || publish(publisher_home.path(), CARD, &["--listen", &listen]);
    let first = start();
    let viewer = watching(&first.ticket);
    viewer.watches();
    viewer.goes_on();
    first.program.signal("KILL");
    viewer.program.says("the publisher may be restarting", PATIENCE);
    // It prints the same ticket, and knows the viewer without its invite.
    let second = start();
    assert_eq!(second.ticket, first.ticket);
    second.program.says("a viewer watches", PATIENCE);
    viewer.goes_on();
    assert!(!second.program.said().contains("enrolled"));
    viewer.stops();
}

#[test]
fn a_publisher_says_that_a_viewer_was_killed() {
    let publisher_home = home();
    let publisher = publish(publisher_home.path(), CARD, &[]);
    let viewer = watching(&publisher.ticket);
    publisher.program.says("a viewer watches", PATIENCE);
    viewer.program.signal("KILL");
    publisher.program.says("WARN", PATIENCE);
    publisher.program.says("the connection ", PATIENCE);
    // The publisher continues.
    watching(&publisher.ticket).watches();
}

#[test]
fn an_end_that_freezes_is_missed_and_found_again() {
    let publisher_home = home();
    let publisher = publish(publisher_home.path(), CARD, &[]);
    let viewer = watching(&publisher.ticket);
    viewer.watches();
    let lost = |end: &Program| end.said().matches(SILENCE).count();
    let watched = |viewer: &Watching| viewer.program.said().matches("watching").count();
    let (silences, sessions) = (lost(&viewer.program), watched(&viewer));
    publisher.program.signal("STOP");
    viewer.program.says_times(SILENCE, silences + 1, PATIENCE);
    publisher.program.signal("CONT");
    viewer.program.says_times("watching", sessions + 1, PATIENCE);
    viewer.goes_on();
    let (silences, sessions) = (lost(&publisher.program), watched(&viewer));
    viewer.program.signal("STOP");
    publisher.program.says_times(SILENCE, silences + 1, PATIENCE);
    viewer.program.signal("CONT");
    viewer.program.says_times("watching", sessions + 1, PATIENCE);
    viewer.goes_on();
    for end in [&publisher.program, &viewer.program] {
        assert_eq!(
            accusation(&end.said()),
            None,
            "a lost link is no attack: {}",
            end.said()
        );
    }
    viewer.stops();
}
