//! Viewers that come, go, lag behind, and lose their publisher.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use sealcast::source::Source;
use sealcast_testkit::media::{STREET, clip, unpaced};
use sealcast_testkit::program::{PATIENCE, Program, beginning, file_url, free_port, home, publish, sealcast, watch};
use tempfile::TempDir;

/// Within this time an end says that the other one is gone.
const NOTICE: Duration = Duration::from_secs(2);
const CARD: &str = "test:320x240@25";

/// One second of the street, and its frames.
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

/// A viewer that writes down every frame until it is stopped.
struct Watching {
    home: TempDir,
    program: Program,
}

fn watching(ticket: &str) -> Watching {
    let home = home();
    let logs = home.path().join("logs").display().to_string();
    let program = watch(home.path(), ticket, &["--to", "null:", "--log-dir", &logs]);
    Watching { home, program }
}

impl Watching {
    fn watches(&self) {
        self.program.says("watching", PATIENCE);
    }

    /// The numbers of the frames that came, once it has stopped.
    fn numbers(mut self) -> Vec<u64> {
        self.program.stop();
        let mut log = csv::Reader::from_path(self.home.path().join("logs/frames_latency.csv")).expect("a log");
        log.records()
            .map(|row| row.expect("a row")[2].parse().expect("a number"))
            .collect()
    }
}

#[test]
fn a_clip_arrives_whole_over_ipv6() {
    let (dir, publisher_home, viewer_home) = (home(), home(), home());
    let (source, sent) = second(dir.path());
    let mut publisher = publish(publisher_home.path(), &source, &["--listen", "tcp://[::1]:0"]);
    assert!(
        publisher.ticket.starts_with("sealcast://[::1]:"),
        "{}",
        publisher.ticket
    );
    let out = dir.path().join("out.h264");
    let mut viewer = watch(viewer_home.path(), &publisher.ticket, &["--to", &file_url(&out)]);
    viewer.succeeds(PATIENCE);
    publisher.program.succeeds(PATIENCE);
    assert!(frames(&out) == sent);
}

#[test]
fn a_publisher_connects_to_a_viewer_that_listens() {
    let (dir, publisher_home, viewer_home) = (home(), home(), home());
    let (source, sent) = second(dir.path());
    let out = dir.path().join("out.h264");
    let mut command = sealcast(viewer_home.path());
    command.args(["watch", "--listen", "tcp://127.0.0.1:0", "--to", &file_url(&out)]);
    let mut viewer = Program::run("the viewer", command);
    let ticket = viewer.line();
    let mut command = sealcast(publisher_home.path());
    command.args(["publish", &source, "--to", &ticket]);
    let mut publisher = Program::run("the publisher", command);
    publisher.succeeds(PATIENCE);
    viewer.succeeds(PATIENCE);
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
    sleep(Duration::from_millis(500));
    let numbers = first.numbers();
    assert!(
        numbers.len() > 10 && numbers.windows(2).all(|pair| pair[1] == pair[0] + 1),
        "{numbers:?}"
    );
    let third = watching(&publisher.ticket);
    third.watches();
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
    sleep(Duration::from_secs(1));
    first.program.signal("KILL");
    viewer.program.says("the publisher may be restarting", NOTICE);
    // The new one does not know the old invite, but it knows the viewer.
    let second = start();
    assert_ne!(second.ticket, first.ticket);
    viewer.program.says_times("watching", 2, PATIENCE);
    sleep(Duration::from_secs(1));
    assert!(!second.program.said().contains("enrolled"));
    let numbers = viewer.numbers();
    let restart = numbers
        .windows(2)
        .position(|pair| pair[1] < pair[0])
        .expect("a new count");
    let (before, after) = numbers.split_at(restart + 1);
    for run in [before, after] {
        assert!(
            run.len() > 10 && run.windows(2).all(|pair| pair[1] == pair[0] + 1),
            "{run:?}"
        );
    }
}

#[test]
fn a_publisher_says_that_a_viewer_was_killed() {
    let publisher_home = home();
    let publisher = publish(publisher_home.path(), CARD, &[]);
    let viewer = watching(&publisher.ticket);
    publisher.program.says("a viewer watches", PATIENCE);
    sleep(Duration::from_millis(300));
    viewer.program.signal("KILL");
    publisher.program.says("WARN", NOTICE);
    assert!(
        publisher.program.said().contains("the connection "),
        "{}",
        publisher.program.said()
    );
    // And it goes on.
    watching(&publisher.ticket).watches();
}

#[test]
fn an_end_that_freezes_is_missed_and_found_again() {
    /// A silent peer is lost after two seconds; the rest is the machine's.
    const SILENCE: Duration = Duration::from_millis(2500);
    let publisher_home = home();
    let publisher = publish(publisher_home.path(), CARD, &[]);
    let viewer = watching(&publisher.ticket);
    viewer.watches();
    publisher.program.signal("STOP");
    viewer.program.says("WARN", SILENCE);
    publisher.program.signal("CONT");
    viewer.program.says_times("watching", 2, PATIENCE);
    sleep(Duration::from_millis(300));
    let warnings = publisher.program.said().matches("WARN").count();
    viewer.program.signal("STOP");
    publisher.program.says_times("WARN", warnings + 1, SILENCE);
    viewer.program.signal("CONT");
    viewer.program.says_times("watching", 3, PATIENCE);
    sleep(Duration::from_millis(500));
    assert!(viewer.numbers().len() > 10);
}
