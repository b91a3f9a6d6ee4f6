//! Control messages that tell something: endless ones of a publisher, and those that a viewer has no business to say.

use sealcast_proto::keys::{Role, WishedMedia};
use sealcast_proto::wire::{Addresses, CameraName, CameraState, Control, Orientation};
use sealcast_proto::words::is_unsafe;
use sealcast_testkit::attack::{Home, Puppet};
use sealcast_testkit::program::until;

/// Limit for the growth of a viewer's memory, in KiB.
const MOST_GROWTH: u64 = 4 * 1024;
const ROUNDS: u64 = 5000;
/// Limit for the lines of its log.
const MOST_LINES: usize = 200;

#[test]
fn what_a_publisher_tells_endlessly_of_its_cameras_fills_neither_memory_nor_log() {
    let viewer = Home::new();
    let mut watching = viewer.start("watch --listen tcp://127.0.0.1:0 --ticket-file - --to null:");
    let mut puppet = Puppet::connect(&watching.ticket(), Role::Publisher, WishedMedia::Frames, true);
    watching.says("INFO watching");
    let before = watching.rss();
    for round in 0..ROUNDS {
        let names = (0..8).map(|nth| CameraName::new(&format!("yard-{nth}-{round}")).expect("a name"));
        let camera = CameraState {
            on: round % 2 == 0,
            since: round << 32,
            why: "of a\u{202e}\n\u{1b}[31mgreat\u{7} many things",
        };
        let turned = Orientation::default();
        for told in [
            Control::Cameras(names.collect()),
            Control::Camera(camera),
            Control::Orientation(turned),
        ] {
            assert!(puppet.say(&told.to_bytes()), "{}", watching.said());
        }
    }
    assert!(puppet.say(&[37, 5]), "the last one is malformed");
    watching.says("broke the protocol");
    let (after, said) = (watching.rss(), watching.said());
    assert!(
        after.saturating_sub(before) < MOST_GROWTH,
        "from {before} to {after} KiB"
    );
    assert!(watching.running(), "{said}");
    assert!(said.contains("the camera is off since"), "{said}");
    assert!(said.lines().count() < MOST_LINES, "{} lines", said.lines().count());
    assert!(!said.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{said}");
}

#[test]
fn a_viewer_that_tells_what_publishers_tell_loses_its_session_and_changes_nothing() {
    let publishing = Home::new();
    let mut publisher =
        publishing.start("publish test:160x120@25 --listen tcp://127.0.0.1:0 --ticket-file - --invite-uses 8");
    let ticket = publisher.ticket();
    let away = CameraState {
        on: false,
        since: 1,
        why: "it was stolen",
    };
    let messages = [
        Control::Addresses(Addresses::new([&b"192.0.2.1:9"[..]])).to_bytes(),
        Control::Cameras(vec![CameraName::new("front").expect("a name")]).to_bytes(),
        Control::Camera(away).to_bytes(),
        Control::Orientation(Orientation::default()).to_bytes(),
    ];
    for (number, message) in messages.iter().enumerate() {
        let mut puppet = Puppet::connect(&ticket, Role::Viewer, WishedMedia::Frames, true);
        assert!(puppet.say(message));
        until("its session ends", || {
            publisher.said().matches("broke the protocol").count() > number
        });
    }
    let said = publisher.said();
    assert!(publisher.running() && !said.contains("stolen"), "{said}");
}

#[test]
fn a_name_of_a_camera_that_would_turn_text_around_ends_the_session_and_is_shown_nowhere() {
    let hostile = [
        "front\u{202e}drolnetog",
        "\u{2067}yard",
        "a\u{200f}b",
        "a\u{61c}b",
        "a\u{2028}b",
        "\u{1b}[2Jgone",
        "a\u{9b}31mb",
        "a\nroot# b",
    ];
    for name in hostile {
        let viewer = Home::new();
        let mut watching = viewer.start("watch --listen tcp://127.0.0.1:0 --ticket-file - --to null: -vv");
        let mut puppet = Puppet::connect(&watching.ticket(), Role::Publisher, WishedMedia::Frames, true);
        let length = u8::try_from(name.len()).expect("a short name");
        assert!(puppet.say(&[&[42, 1, length], name.as_bytes()].concat()));
        watching.says("broke the protocol");
        let said = watching.said();
        let harmful = said.chars().find(|letter| *letter != '\n' && is_unsafe(*letter));
        assert_eq!(harmful, None, "{name:?}: {said:?}");
        assert!(watching.running() && !said.contains("root#"), "{said}");
    }
}
