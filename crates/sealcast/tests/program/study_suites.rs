//! Live streams under the study ciphers, which are used only if both ends ask for them by name.

use std::path::Path;
use std::thread::scope;

use sealcast::keys::study;
use sealcast::source::test_card;
use sealcast_testkit::attack::{Clip, Home, Program, order, record, total, until};
use sealcast_testkit::shown;

use super::groups::MEMBER;

/// Number of sessions at the same time.
const AT_ONCE: usize = 2;

/// Fifty pictures of the test card from its source: 640x480, with a keyframe every ten frames.
fn card(home: &Home) -> Clip {
    card_of(home, 50)
}

fn card_of(home: &Home, frames: usize) -> Clip {
    let mut source = test_card::open(&format!("640x480@100?frames={frames}&gop=10")).expect("a test card");
    let mut stream = Vec::new();
    while let Some(frame) = source.next().expect("a frame") {
        stream.extend_from_slice(&frame.data);
    }
    Clip::of(home.write("card.h264", stream))
}

/// Fails unless all received frames are frames of the clip, byte for byte and in order. Frames may be missing only if
/// one of the ends reports it, which happens if the machine stood still for longer than the ends wait.
fn assert_arrived(ends: [(&Home, &Program); 2], clip: &Clip, cipher: &str) {
    let (viewer, _) = ends[1];
    let arrived = order(&viewer.recorded(), &clip.frames);
    let told = ends.iter().any(|(home, program)| {
        let report = home.report("report.json");
        let counted = ["gap", "queue"].map(|cause| total(&report, "frames_dropped", cause));
        counted != [0, 0] || program.said().contains("nothing was heard")
    });
    assert!(!arrived.is_empty(), "{cipher}: nothing arrived");
    assert!(
        told || arrived.len() == clip.frames.len(),
        "{cipher}: only {arrived:?} arrived"
    );
}

/// Streams the clip under a cipher, with more options of the publisher; returns the publisher, which has ended.
fn arrives_whole_under(cipher: &str, clip: &Clip, options: &str) -> Program {
    let home = Home::new();
    let chosen = format!("--insecure-study-suite {cipher}");
    let more = format!("{chosen} --log-dir logs --report report.json {options}");
    let (mut publisher, ticket) = home.publish_udp(&clip.url(50, ""), "latency=5000", &more);
    let (viewer_home, mut viewer) = record(&ticket, &chosen);
    assert_eq!(viewer.ends(), 0, "{cipher}: {}", viewer.said());
    assert_eq!(publisher.ends(), 0, "{cipher}: {}", publisher.said());
    let name = format!("insecure-{cipher}");
    let ends = [(&home, &publisher), (&viewer_home, &viewer)];
    assert_arrived(ends, clip, cipher);
    for (home, program) in ends {
        let report = home.report("report.json");
        assert_eq!(report["handshakes"][0]["suite"], name);
        assert_eq!(
            program.count(&format!(
                "WARN INSECURE: this session's media is for measurements only suite=\"{name}\""
            )),
            1
        );
        let log = std::fs::read_to_string(home.file("logs/handshake.csv")).expect("a log");
        assert!(log.contains(&name), "{log}");
    }
    publisher
}

#[test]
fn a_study_suite_seals_for_a_group() {
    let home = Home::new();
    let clip = card_of(&home, 200);
    let publisher = arrives_whole_under("trivium", &clip, "--group --sign frame");
    assert!(publisher.said().contains(MEMBER), "{}", publisher.said());
}

#[test]
fn the_test_card_arrives_byte_for_byte_under_every_study_suite_and_everything_says_its_name() {
    let home = Home::new();
    let clip = card(&home);
    assert_eq!(clip.frames.len(), 50);
    for suites in study::STUDY.chunks(AT_ONCE) {
        scope(|scope| {
            for suite in suites {
                scope.spawn(|| arrives_whole_under(study::cipher(suite), &clip, ""));
            }
        });
    }
}

/// The commands that `docs/lab.md` shows for live streams.
fn shown_for_live_streams() -> Vec<String> {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lab.md");
    let document = std::fs::read_to_string(document).expect("the document");
    let (_, section) = document.split_once("\n## Ciphers: live\n").expect("the section");
    let section = section.split("\n## ").next().unwrap_or_default();
    shown::commands(section, &["sealcast "])
}

#[test]
fn the_commands_shown_for_live_streams_work_on_one_account() {
    let commands = shown_for_live_streams();
    let [publish, watch] = commands.as_slice() else {
        panic!("two commands are shown: {commands:?}");
    };
    let home = Home::new();
    let mut publisher = home.start(&format!("{publish} --listen tcp://127.0.0.1:0"));
    until("the ticket is written", || {
        home.file("camera.ticket").exists().then_some(())
    });
    let mut viewer = home.start(&format!("{watch} --to file:seen.h264"));
    until("frames arrive", || {
        let seen = std::fs::metadata(home.file("seen.h264")).ok()?;
        (seen.len() > 0).then_some(())
    });
    assert_eq!(viewer.stop(), 0, "{}", viewer.said());
    assert_eq!(publisher.stop(), 0, "{}", publisher.said());
    viewer.watched_in_one_session();
}

#[test]
fn an_end_that_did_not_ask_for_a_study_suite_does_not_get_one() {
    let study = "--insecure-study-suite trivium";
    for (publisher, viewer) in [(study, ""), ("", study), ("--insecure-study-suite xor", study)] {
        let home = Home::new();
        let (mut publisher, ticket) = home.publish("test:160x120@25", publisher);
        let (viewer_home, mut viewer) = record(&ticket, &format!("--no-reconnect {viewer}"));
        assert_ne!(viewer.ends(), 0, "{}", viewer.said());
        assert!(
            viewer.said().contains("it accepts other mechanisms or suites"),
            "{}",
            viewer.said()
        );
        assert_eq!(viewer_home.recorded_size(), 0);
        publisher.stop();
    }
}

#[test]
fn a_study_suite_stands_alone_and_an_unknown_one_is_refused_in_words() {
    let home = Home::new();
    let mut unknown = home.start("publish test:160x120@25 --insecure-study-suite des");
    assert_eq!(unknown.ends(), 2);
    let said = unknown.said();
    assert!(
        said.contains("there is no study suite of a cipher \"des\"") && said.contains("trivium"),
        "{said}"
    );
    let mut both = home.start("publish test:160x120@25 --suite aes-256-gcm --insecure-study-suite trivium");
    assert_eq!(both.ends(), 2, "{}", both.said());
}
