//! Publishers that seal each frame once for all viewers.

use std::fs;
use std::path::Path;

use sealcast::failure::FailureKind;
use sealcast::keys::files::{End, read_identity};
use sealcast::source::Source;
use sealcast_proto::keys::PeerId;
use sealcast_testkit::media::{STREET, clip, path, unpaced};
use sealcast_testkit::program::{
    MANY_USES, PATIENCE, Program, Publisher, beginning, file_url, free_port, home, publish, publish_by, sealcast,
    until, watch,
};

const CARD: &str = "test:320x240@25";
pub(super) const MEMBER: &str = "it is a member of the group";
const JOINED: &str = "the camera seals for all its viewers at once";
pub(super) const GROUP: [&str; 3] = ["--group", "--metrics", "127.0.0.1:0"];
pub(super) const AGE: &str = "sealcast_picture_age_seconds";
pub(super) const FRAMES_IN: &str = "sealcast_frames_total{dir=\"in\"}";
const OF_ITS_OWN: &str = "sealcast_open_failures_total{reason=\"unknown_epoch\"}";
const FORWARDED: &str = "sealcast_group_frames_forwarded_total";
pub(super) const FRAMES_OUT: &str = "sealcast_frames_total{dir=\"out\"}";

pub(super) fn frames(file: &Path) -> Vec<Vec<u8>> {
    let mut source = unpaced(file);
    std::iter::from_fn(|| source.next().expect("a frame"))
        .map(|frame| frame.data.to_vec())
        .collect()
}

fn grouped(home: &Path, source: &str, more: &[&str]) -> Publisher {
    publish(home, source, &[&GROUP, more].concat())
}

pub(super) fn watching(home: &Path, ticket: &str, more: &[&str]) -> Program {
    let viewer = watch(home, ticket, &[&["--metrics", "127.0.0.1:0"], more].concat());
    viewer.says("watching", PATIENCE);
    viewer
}

/// Waits until the picture is known to be no older than so many seconds.
pub(super) fn is_live(viewer: &Program) {
    until("an age of the picture is known", || {
        let age = viewer.counts(AGE);
        age > 0.0 && age < f64::INFINITY
    });
}

/// Waits until some more frames have arrived.
pub(super) fn goes_on(viewer: &Program) {
    let before = viewer.counts(FRAMES_IN);
    viewer.has_counted(FRAMES_IN, before + 10.0);
}

/// Signatures of frames are counted, with the bytes of their records (signatures.md §3) and the time that they take.
fn tells_signatures(program: &Program, work: &str) {
    let named = |what: &str| format!("sealcast_group_signature{what}_total{{work=\"{work}\"}}");
    let signatures = named("s");
    program.has_counted(&signatures, 10.0);
    // Length, header and tag, and a proof without and with an answer to challenges.
    let [least, most] = [102.0, 134.0].map(|proof| 4.0 + 24.0 + 16.0 + proof);
    let before = program.counts(&signatures) - 1.0;
    let bytes = program.counts(&named("_bytes"));
    let after = program.counts(&signatures);
    assert!(
        (least * before..=most * after).contains(&bytes),
        "{bytes} bytes in {before} to {after} signatures"
    );
    assert!(program.counts(&named("_seconds")) > 0.0);
}

#[test]
fn two_viewers_of_a_group_get_the_same_pictures_each_sealed_once() {
    let homes = [home(), home(), home()];
    let dir = homes[0].path();
    let whole = dir.join("whole");
    fs::create_dir(&whole).expect("a directory");
    let clip = beginning(&clip(STREET, &whole), 2, dir);
    let original = frames(&clip);
    for sign in ["frame", "both"] {
        let source = format!("{}?loop", file_url(&clip));
        let mut camera = grouped(dir, &source, &["--sign", sign]);
        let files = [1, 2].map(|viewer| homes[viewer].path().join(format!("{sign}.h264")));
        let mut viewers = [1, 2].map(|viewer| {
            let to = file_url(&files[viewer - 1]);
            watching(homes[viewer].path(), &camera.ticket, &["--to", &to])
        });
        camera.program.says_times(MEMBER, 2, PATIENCE);
        // Before it was a member, each viewer had frames of its own.
        let before = camera.program.counts_of([FORWARDED, FRAMES_OUT]);
        camera.program.has_counted(FORWARDED, before[0] + 100.0);
        let after = camera.program.counts_of([FORWARDED, FRAMES_OUT]);
        let [forwarded, sealed] = [0, 1].map(|at| after[at] - before[at]);
        assert!(forwarded > 1.5 * sealed, "{forwarded} frames given, {sealed} sealed");
        if sign == "both" {
            viewers[0].has_counted("sealcast_group_parts_proven_total", 1.0);
            assert!(viewers[0].counts("sealcast_group_parts_forged_total") < 1.0);
        }
        assert!(viewers[0].counts("sealcast_group_frames_refused_total") < 1.0);
        for viewer in &viewers {
            assert!(
                viewer.counts(OF_ITS_OWN) < 1.0,
                "no media of its own comes once it is a member"
            );
        }
        is_live(&viewers[0]);
        tells_signatures(&camera.program, "sign");
        tells_signatures(&viewers[0], "verify");
        if sign == "both" {
            camera
                .program
                .has_counted("sealcast_group_signatures_total{work=\"sign_gop\"}", 1.0);
        }
        viewers.iter_mut().for_each(Program::stop);
        camera.program.stop();
        for file in &files {
            let received = frames(file);
            assert!(
                received.len() >= 60 && received.iter().all(|frame| original.contains(frame)),
                "{file:?}"
            );
        }
    }
}

#[test]
fn who_wants_more_signed_is_served_alone() {
    for listen in ["tcp://127.0.0.1:0", "udp://127.0.0.1:0", "quic://127.0.0.1:0"] {
        let homes = [home(), home()];
        let camera = grouped(homes[0].path(), CARD, &["--sign", "off", "--listen", listen]);
        let viewer = watching(homes[1].path(), &camera.ticket, &["--to", "null:"]);
        goes_on(&viewer);
        assert!(
            camera.program.counts("sealcast_group_frames_forwarded_total") < 1.0,
            "{listen}"
        );
    }
    let homes = [home(), home()];
    let camera = grouped(homes[0].path(), CARD, &["--sign", "off"]);
    let viewer = watching(
        homes[1].path(),
        &camera.ticket,
        &["--to", "null:", "--require-sign", "off"],
    );
    viewer.says(JOINED, PATIENCE);
    goes_on(&viewer);
}

#[test]
fn when_a_viewer_is_removed_the_group_gets_new_keys_and_the_others_go_on() {
    let homes = [home(), home(), home()];
    let socket = homes[0].path().join("control");
    let camera = grouped(homes[0].path(), CARD, &["--control", path(&socket)]);
    let [stays, leaves] = [1, 2].map(|viewer| watching(homes[viewer].path(), &camera.ticket, &["--to", "null:"]));
    camera.program.says_times(MEMBER, 2, PATIENCE);
    goes_on(&stays);
    goes_on(&leaves);
    let epoch = camera.program.counts("sealcast_group_epoch");
    let removed = sealcast(homes[0].path())
        .args([
            "control",
            "--socket",
            path(&socket),
            "peers",
            "remove",
            &peer_of(homes[2].path()),
        ])
        .output()
        .expect("it runs");
    assert!(removed.status.success(), "{removed:?}");
    camera.program.has_counted("sealcast_group_epoch", epoch + 1.0);
    leaves.says("not admitted any more", PATIENCE);
    goes_on(&stays);
    assert!(stays.counts("sealcast_group_frames_refused_total") < 1.0);
}

/// The peer id of the viewer with this home.
pub(super) fn peer_of(home: &Path) -> String {
    peer(home, End::Viewer).to_string()
}

/// Peer id of this end of a home.
pub(super) fn peer(home: &Path, end: End) -> PeerId {
    let identity = read_identity(&home.join("keys").join(end.file_name()));
    identity.expect("an identity").peer_id()
}

#[test]
fn new_keys_on_demand_are_the_groups_too() {
    let homes = [home(), home()];
    let socket = homes[0].path().join("control");
    let camera = grouped(homes[0].path(), CARD, &["--control", path(&socket)]);
    let viewer = watching(homes[1].path(), &camera.ticket, &["--to", "null:"]);
    camera.program.says(MEMBER, PATIENCE);
    let epoch = camera.program.counts("sealcast_group_epoch");
    let done = sealcast(homes[0].path())
        .args(["control", "--socket", path(&socket), "rekey"])
        .output()
        .expect("it runs");
    assert!(done.status.success(), "{done:?}");
    camera.program.has_counted("sealcast_group_epoch", epoch + 1.0);
    goes_on(&viewer);
    assert!(viewer.counts("sealcast_group_frames_refused_total") < 1.0);
}

#[test]
fn a_camera_that_was_killed_goes_on_with_higher_numbers_and_its_viewers_come_back() {
    let homes = [home(), home()];
    let listen = format!("tcp://127.0.0.1:{}", free_port());
    let start = || {
        let mut command = sealcast(homes[0].path());
        command
            .args(["publish", CARD, "--listen", &listen])
            .args(GROUP)
            .args(MANY_USES);
        publish_by(command)
    };
    let numbers = || {
        let folder = fs::read_dir(homes[0].path().join("keys/epochs")).expect("a folder");
        let file = folder
            .map(|entry| entry.expect("an entry").path())
            .find(|file| file.extension().is_none());
        let number = fs::read_to_string(file.expect("a file")).expect("readable");
        number.trim().parse::<u64>().expect("a number")
    };
    let first = start();
    let viewer = watching(homes[1].path(), &first.ticket, &["--to", "null:"]);
    viewer.says(JOINED, PATIENCE);
    goes_on(&viewer);
    let before = numbers();
    first.program.signal("KILL");
    let second = start();
    second.program.says(MEMBER, PATIENCE);
    assert!(numbers() > before, "no number twice");
    goes_on(&viewer);
    assert!(viewer.counts("sealcast_group_frames_refused_total") < 1.0);
}

#[test]
fn what_does_not_fit_a_group_is_refused_in_words() {
    const RELAY: &str = "https://relay.example:4443/front";
    const MULTICAST: &str = "udp://127.0.0.1:0?multicast=239.1.2.3:5000";
    let home = home();
    for (options, words) in [
        (
            &["publish", CARD, "--relay", RELAY, "--encrypt", "headers"][..],
            "for a relay everything is encrypted",
        ),
        (
            &["publish", CARD, "--relay", RELAY, "--shape", "constant:2mbit"],
            "a relay has no constant rate",
        ),
        (
            &[
                "publish",
                CARD,
                "--group",
                "--shape",
                "constant:2mbit",
                "--listen",
                MULTICAST,
            ],
            "a multicast group has no constant rate",
        ),
        (
            &["publish", CARD, "--group", "--sign", "all"],
            "signatures are off, frame or both",
        ),
        (
            &["publish", CARD, "--group", "--sign", "gop"],
            "signing mode gop is not supported any more",
        ),
        (
            &["watch", "--require-sign", "tesla", "--listen", "tcp://127.0.0.1:0"],
            "signing mode tesla is not supported any more",
        ),
        (
            &["watch", "--require-sign", "some", "--listen", "tcp://127.0.0.1:0"],
            "signatures are off, frame",
        ),
    ] {
        let refused = sealcast(home.path()).args(options).output().expect("it runs");
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(
            refused.status.code(),
            Some(FailureKind::Usage.exit_code().into()),
            "{options:?}: {said}"
        );
        assert!(said.contains(words), "{options:?}: {said}");
    }
}
