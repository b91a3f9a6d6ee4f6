//! Archive's nodes: they record what they cannot open.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use sealcast::archive::{Folder, Report, SignedGroup, check};
use sealcast::failure::FailureKind;
use sealcast::keys::files::End;
use sealcast::source::Source;
use sealcast_testkit::attack::{Direction, Proxy, Tap};
use sealcast_testkit::media::{STREET, clip, path, unpaced};
use sealcast_testkit::program::{
    PATIENCE, Program, Publisher, beginning, file_url, home, publish, publish_by, sealcast, unbroken, until, watch,
    write_private,
};

use sealcast_testkit::relay::Relay;

use super::archives::{Recipient, holds, recipient, run, text};
use super::files::turn;
use super::group_sound::{TRACKS, clip as short_clip, track};
use super::groups::{GROUP, MEMBER, frames, goes_on, peer, watching};
use super::services::Manager;

const CARD: &str = "test:160x120@25?gop=10";
pub(super) const NODE: &str = "it is an archive's node";
const TICKET: &str = "sealcast://camera.example:9553/mfrggzdfmztwq2lkmfrggzdfmztwq2lkmfrggzdfmztwq2lkmfrq";

/// Makes the identity of a node, and returns its peer id.
pub(super) fn node_of(home: &Path) -> String {
    let made = run(home, &["keygen", "--for", "archive"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    text(&made.stdout).trim().to_owned()
}

pub(super) fn camera(home: &Path, source: &str, node: &str, recipient: &Recipient, more: &[&str]) -> Publisher {
    let archive = ["--archive-node", node, "--archive-to", &recipient.text];
    publish(home, source, &[&GROUP, &archive[..], more].concat())
}

pub(super) fn record(home: &Path, ticket: &str, archive: &Path) -> Program {
    let into = format!("{}?segment=1s", archive.display());
    let mut command = sealcast(home);
    command.args(["archive", "record", ticket, &into]);
    Program::run("the archive's node", command)
}

/// As its service runs it: with a configuration, and a manager that waits until it is ready.
#[test]
fn a_node_reads_its_configuration_and_tells_its_manager_when_it_can_record() {
    let recipient = recipient();
    let (own, nodes) = (home(), home());
    let publisher = camera(own.path(), CARD, &node_of(nodes.path()), &recipient, &[]);
    let archive = recipient.archive("configured");
    write_private(&nodes.path().join("ticket"), &publisher.ticket);
    let configuration = format!(
        "[record]\nticket_file = \"{}\"\narchive = \"{}?segment=1s\"\n",
        nodes.path().join("ticket").display(),
        archive.display()
    );
    fs::write(nodes.path().join("node.toml"), configuration).expect("space");
    let manager = Manager::at(nodes.path());
    let mut command = manager.told_by(sealcast(nodes.path()));
    command
        .args(["archive", "record", "--config"])
        .arg(nodes.path().join("node.toml"));
    let mut node = Program::run("the archive's node", command);
    assert_eq!(manager.is_told(), "READY=1");
    until("frames are recorded", || frames_in(&archive) >= 20);
    node.stop();
    assert!(recipient.check(&archive).faults.is_empty());
}

#[test]
fn a_node_without_a_ticket_or_a_folder_says_what_is_missing() {
    let nodes = home();
    for (words, missing) in [
        (&["archive", "record"][..], "there is no ticket"),
        (&["archive", "record", TICKET], "there is no archive to record into"),
    ] {
        let output = run(nodes.path(), words);
        let said = text(&output.stderr);
        assert_eq!(
            output.status.code(),
            Some(FailureKind::Usage.exit_code().into()),
            "{said}"
        );
        assert!(said.contains(missing), "{said}");
    }
}

/// Number of frames that are in an archive, as anybody can count them.
pub(super) fn frames_in(archive: &Path) -> u64 {
    check(archive, &[], None).map_or(0, |report| report.frames)
}

#[test]
fn a_node_records_each_frame_as_the_camera_sealed_it_for_those_whom_the_camera_names() {
    let (recipient, stranger) = (recipient(), recipient());
    let (own, nodes, dir) = (home(), home(), home());
    let clip = beginning(&clip(STREET, dir.path()), 2, own.path());
    let original = frames(&clip);
    let archive = recipient.archive("of-a-node");
    let source = format!("{}?loop", file_url(&clip));
    let publisher = camera(own.path(), &source, &node_of(nodes.path()), &recipient, &[]);
    let mut node = record(nodes.path(), &publisher.ticket, &archive);
    publisher.program.says(NODE, PATIENCE);
    until("frames are recorded", || frames_in(&archive) >= 110);
    node.stop();
    let report = recipient.check(&archive);
    assert_eq!((report.faults, report.notes), (vec![], vec![]));
    assert_eq!((report.signed, report.unsigned), (report.frames, 0));
    let out = recipient.archive("out.h264");
    let exported = recipient.export(&archive, &out, &[]);
    assert!(exported.status.success(), "{}", text(&exported.stderr));
    let received = frames(&out);
    assert_eq!(received.len() as u64, report.frames);
    assert!(received.iter().all(|frame| original.contains(frame)));
    assert!(!holds(&archive, &original[0][100..132]), "a picture is in clear");
    let refused = stranger.export(&archive, &out, &[]);
    assert_eq!(refused.status.code(), Some(FailureKind::Keys.exit_code().into()));
}

#[test]
fn how_pictures_are_turned_comes_back_from_the_archives_of_viewers_and_of_nodes() {
    let recipient = recipient();
    let (own, nodes, theirs, dir) = (home(), home(), home(), home());
    let clip = beginning(&clip(STREET, dir.path()), 2, own.path());
    let turned = turn(&clip);
    let source = format!("{}?loop", file_url(&clip));
    let publisher = camera(own.path(), &source, &node_of(nodes.path()), &recipient, &[]);
    let [of_node, of_viewer] = ["of-a-node", "of-a-viewer"].map(|name| recipient.archive(name));
    let mut node = record(nodes.path(), &publisher.ticket, &of_node);
    publisher.program.says(NODE, PATIENCE);
    let url = recipient.url(&of_viewer, "&segment=1s");
    let mut viewer = watching(theirs.path(), &publisher.ticket, &["--to", &url]);
    for (archive, program) in [(&of_node, &mut node), (&of_viewer, &mut viewer)] {
        until("segments are recorded", || frames_in(archive) >= 110);
        program.stop();
        let report = recipient.check(archive);
        assert_eq!((report.faults, report.notes), (vec![], vec![]));
        assert!(report.segments >= 2);
        let out = recipient.archive("out.mp4");
        let exported = recipient.export(archive, &out, &[]);
        assert!(exported.status.success(), "{}", text(&exported.stderr));
        assert_eq!(unpaced(&out).orientation(), turned, "{}", archive.display());
    }
}

#[test]
fn new_keys_restarts_and_kills_of_a_node_lose_nothing_that_it_wrote() {
    let recipient = recipient();
    let (own, nodes) = (home(), home());
    let archive = recipient.archive("goes-on");
    let node_id = node_of(nodes.path());
    let publisher = camera(own.path(), CARD, &node_id, &recipient, &["--sign", "both"]);
    let mut before = 0;
    for time in 0..6 {
        let node = record(nodes.path(), &publisher.ticket, &archive);
        publisher.program.says_times(NODE, time + 1, PATIENCE);
        // Who comes and goes has the group draw new keys.
        let guest = home();
        let mut viewer = watching(guest.path(), &publisher.ticket, &[]);
        publisher.program.says_times(MEMBER, time + 1, PATIENCE);
        goes_on(&viewer);
        viewer.stop();
        until("more is recorded", || frames_in(&archive) > before + 20);
        thread::sleep(Duration::from_millis(time as u64 * 137));
        node.signal("KILL");
        drop(node);
        let report = recipient.check(&archive);
        assert_eq!(report.faults, Vec::<String>::new(), "kill {time}");
        assert_eq!((report.signed, report.unsigned), (report.frames, 0), "kill {time}");
        before = report.frames;
    }
    let exported = recipient.export(&archive, &recipient.archive("out.mp4"), &[]);
    assert!(exported.status.success(), "{}", text(&exported.stderr));
    // One altered byte is told, and where.
    let segment = Folder::open(&archive).expect("a folder").segment(2);
    let mut bytes = fs::read(&segment).expect("there");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&segment, bytes).expect("space");
    let report = recipient.check(&archive);
    assert!(
        report.faults.iter().any(|fault| fault.contains("segment 2")),
        "{report:?}"
    );
}

#[test]
fn a_node_is_no_viewer_and_a_viewer_no_node() {
    let recipient = recipient();
    let (own, nodes, others) = (home(), home(), home());
    let node = node_of(nodes.path());
    let refused = i32::from(FailureKind::Refused.exit_code());
    // Whoever is admitted as well: the identity decides.
    let publisher = camera(own.path(), CARD, &node, &recipient, &["--open"]);
    let identity = nodes.path().join("keys/identity-archive");
    let out = nodes.path().join("out.h264");
    let mut viewer = watch(
        nodes.path(),
        &publisher.ticket,
        &["--identity", identity.to_str().expect("UTF-8"), "--to", &file_url(&out)],
    );
    assert_eq!(viewer.ends(PATIENCE), refused, "{}", viewer.said());
    assert!(viewer.said().contains("watches nothing"), "{}", viewer.said());
    assert!(!fs::metadata(&out).is_ok_and(|file| file.len() > 0), "it saw something");
    let archive = recipient.archive("none");
    let mut stranger = record(others.path(), &publisher.ticket, &archive);
    assert_eq!(stranger.ends(PATIENCE), refused, "{}", stranger.said());
    assert!(stranger.said().contains("--archive-node"), "{}", stranger.said());
    assert_eq!(frames_in(&archive), 0);
}

#[test]
fn what_a_node_cannot_do_is_said_before_anything_begins() {
    let recipient = recipient();
    let (own, nodes) = (home(), home());
    let node = node_of(nodes.path());
    let usage = Some(FailureKind::Usage.exit_code().into());
    let to: &[&str] = &["--archive-to", &recipient.text];
    let named: &[&str] = &["--archive-node", &node];
    for (more, words) in [
        ([named, to].concat(), "--group"),
        ([&["--group"], named].concat(), "--archive-to"),
        ([&["--group"], to].concat(), "--archive-node"),
        (
            [&["--group", "--encrypt", "keyframes"], named, to].concat(),
            "--encrypt",
        ),
        ([&["--group", "--archive-node", "nobody"], to].concat(), "no peer id"),
    ] {
        let told = run(own.path(), &[&["publish", CARD][..], &more].concat());
        assert_eq!(told.status.code(), usage, "{more:?}: {}", text(&told.stderr));
        assert!(text(&told.stderr).contains(words), "{more:?}: {}", text(&told.stderr));
    }
    let into = recipient.archive("none");
    let page = TICKET.to_owned() + "?transport=http";
    let told = run(
        nodes.path(),
        &["archive", "record", &page, into.to_str().expect("UTF-8")],
    );
    assert_eq!(told.status.code(), usage, "{}", text(&told.stderr));
    assert!(
        text(&told.stderr).contains("TCP, UDP and QUIC"),
        "{}",
        text(&told.stderr)
    );
}

/// A path that loses one datagram of twenty in each direction, and has as many overtaken by the next.
fn bad_path(ticket: &str) -> (Tap, String) {
    let mut late: [Option<Vec<u8>>; 2] = [None, None];
    let mut state = 1_u32;
    let tap = Tap::start(Proxy::port_of(ticket), move |direction, number, datagram| {
        // The handshake is not what is tried here.
        let early = number < 20;
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let late = &mut late[usize::from(direction == Direction::Up)];
        match (state >> 16) % 20 {
            0 if !early => Vec::new(),
            1 if !early && late.is_none() => {
                *late = Some(datagram.to_vec());
                Vec::new()
            }
            _ => std::iter::once(datagram.to_vec()).chain(late.take()).collect(),
        }
    });
    let ticket = Proxy::redirect(ticket, tap.port);
    (tap, ticket)
}

#[test]
fn a_node_gets_every_picture_and_packet_of_sound_over_paths_that_lose_and_reorder_datagrams() {
    let (dir, clip) = short_clip();
    let whole = TRACKS.map(|name| track(&clip, name));
    let recipient = recipient();
    for carrier in ["udp", "quic"] {
        let (report, kept) = unbroken(|| {
            let (own, nodes) = (home(), home());
            let listen = format!("{carrier}://127.0.0.1:0");
            let source = format!("{}?loop", file_url(&clip));
            let more = ["--sign", "both", "--listen", &listen];
            let publisher = camera(own.path(), &source, &node_of(nodes.path()), &recipient, &more);
            let archive = recipient.archive(&format!("over-{carrier}-{}", own.path().display()).replace('/', "-"));
            let (_tap, ticket) = bad_path(&publisher.ticket);
            let mut node = record(nodes.path(), &ticket, &archive);
            publisher.program.says(NODE, PATIENCE);
            until("both are recorded", || frames_in(&archive) >= 350);
            node.stop();
            let out = recipient.archive("out.mp4");
            let exported = recipient.export(&archive, &out, &[]);
            assert!(exported.status.success(), "{carrier}: {}", text(&exported.stderr));
            let report = recipient.check(&archive);
            let once = node.said().matches("recording what can be opened elsewhere").count() == 1;
            (report.missing == 0 && once).then(|| (report, TRACKS.map(|name| track(&out, name))))
        });
        assert_eq!((report.faults, report.notes), (vec![], vec![]), "{carrier}");
        assert_eq!((report.signed, report.unsigned), (report.frames, 0), "{carrier}");
        let groups = report.groups.iter().filter(|signed| signed.proven == signed.frames);
        assert!(groups.count() >= 4, "{carrier}: {:?}", report.groups);
        for (kept, whole) in kept.iter().zip(&whole) {
            let laps = whole.iter().cycle();
            let from = whole.iter().position(|packet| Some(packet) == kept.first());
            let expected = laps.skip(from.expect("the clip's")).take(kept.len());
            assert!(kept.iter().eq(expected), "{carrier}: each, in its order");
            assert!(kept.len() >= 2 * whole.len(), "{carrier}: {} packets", kept.len());
        }
    }
    drop(dir);
}

#[test]
fn the_last_pictures_and_packets_of_a_source_are_signed_as_all_others() {
    let (dir, clip) = short_clip();
    let recipient = recipient();
    for carrier in ["tcp", "udp", "quic"] {
        let (own, nodes) = (home(), home());
        let listen = format!("{carrier}://127.0.0.1:0");
        let more = ["--sign", "both", "--listen", &listen];
        let mut publisher = camera(own.path(), &file_url(&clip), &node_of(nodes.path()), &recipient, &more);
        let archive = recipient.archive(&format!("to-the-end-{carrier}"));
        let mut node = record(nodes.path(), &publisher.ticket, &archive);
        publisher.program.succeeds(PATIENCE);
        until("the last signatures are kept", || {
            let report = recipient.check(&archive);
            report.proven == report.frames && report.frames >= 50
        });
        node.stop();
        let report = recipient.check(&archive);
        assert_eq!((report.faults, report.notes), (vec![], vec![]), "{carrier}");
        for sound in [false, true] {
            let last = report.groups.iter().rfind(|signed| signed.sound == sound);
            let last = last.expect("signatures");
            // What a machine that stood still did not send in time is counted as missing.
            let whole = last.proven == last.frames || report.missing > 0;
            assert!(last.proven > 0 && whole, "{carrier}: {last:?}");
        }
    }
    drop(dir);
}

#[test]
fn a_node_records_at_a_constant_rate_whatever_carries_it() {
    let recipient = recipient();
    // At the last of these rates no record of a group fits a cell.
    let ways = [
        ("tcp", "constant:2mbit"),
        ("udp", "constant:2mbit"),
        ("udp", "constant:480kbit"),
    ];
    thread::scope(|scope| {
        for (carrier, shape) in ways {
            let recipient = &recipient;
            scope.spawn(move || {
                let (own, nodes) = (home(), home());
                let listen = format!("{carrier}://127.0.0.1:0");
                let more = ["--listen", &listen, "--shape", shape];
                let publisher = camera(own.path(), CARD, &node_of(nodes.path()), recipient, &more);
                let archive = recipient.archive(&format!("{carrier}-{shape}"));
                let mut node = record(nodes.path(), &publisher.ticket, &archive);
                publisher.program.says(NODE, PATIENCE);
                until("frames are recorded", || frames_in(&archive) >= 40);
                node.stop();
                let report = recipient.check(&archive);
                assert_eq!((report.faults, report.notes), (vec![], vec![]), "{carrier} {shape}");
                assert_eq!(report.signed, report.frames, "{carrier} {shape}");
            });
        }
    });
}

/// Checks that who can open nothing verifies the same, under the name of this camera and not of the viewer.
fn verifies_unopened(archive: &Path, report: &Report, [camera, viewer]: [&Path; 2]) {
    let sealed = check(archive, &[], Some(peer(camera, End::Publisher))).expect("a folder");
    let verified = |report: &Report| {
        (
            report.faults.clone(),
            report.signed,
            report.proven,
            report.groups.clone(),
        )
    };
    assert_eq!(verified(&sealed), verified(report), "{}", archive.display());
    let other = check(archive, &[], Some(peer(viewer, End::Viewer))).expect("a folder");
    assert!(
        !other.faults.is_empty() && (other.signed, other.proven) == (0, 0),
        "{other:?}"
    );
}

#[test]
fn signatures_of_groups_of_pictures_prove_what_nodes_and_members_keep() {
    let recipient = recipient();
    for (at, carrier) in ["tcp", "udp", "quic"].into_iter().enumerate() {
        let (own, nodes, theirs) = (home(), home(), home());
        let listen = format!("{carrier}://127.0.0.1:0");
        let more = ["--sign", "both", "--listen", &listen];
        let publisher = camera(own.path(), CARD, &node_of(nodes.path()), &recipient, &more);
        let archives = ["node", "member"].map(|of| recipient.archive(&format!("{of}-{at}")));
        let mut node = record(nodes.path(), &publisher.ticket, &archives[0]);
        let to = recipient.url(&archives[1], "&segment=1s");
        let content = ["--require-sign", "both", "--to", &to];
        let mut member = watching(theirs.path(), &publisher.ticket, &content);
        publisher.program.says(MEMBER, PATIENCE);
        // Ten frames each, but for the first: a keyframe is made for who joins.
        let whole = |signed: &&SignedGroup| (signed.frames, signed.proven) == (10, 10) && !signed.sound;
        let groups = |archive: &PathBuf| recipient.check(archive).groups.iter().filter(whole).count();
        until("both keep signatures", || {
            archives
                .iter()
                .all(|archive| frames_in(archive) >= 40 && groups(archive) >= 3)
        });
        node.stop();
        member.stop();
        for archive in &archives {
            let what = format!("{carrier} {}", archive.display());
            let report = recipient.check(archive);
            assert_eq!(report.faults, Vec::<String>::new(), "{what}");
            // A member may have been served alone first, by frames that nobody signs.
            let signed = 30..=report.frames;
            assert!(signed.contains(&report.signed), "{what}: {} signed", report.signed);
            let proven: u32 = report.groups.iter().map(|signed| signed.proven).sum();
            assert_eq!(report.proven, u64::from(proven), "{what}: {:?}", report.groups);
            assert!((30..=report.frames).contains(&report.proven), "{what}");
            verifies_unopened(archive, &report, [own.path(), theirs.path()]);
        }
        let key = recipient.key();
        let told = run(
            own.path(),
            &[
                "archive",
                "check",
                path(&archives[0]),
                "--groups",
                "--identity",
                path(&key),
            ],
        );
        assert!(
            text(&told.stdout).contains("0 to 9      10 of 10"),
            "{}",
            text(&told.stdout)
        );
    }
}

#[test]
fn a_destroyed_head_is_told_when_the_recording_goes_on_and_when_it_is_checked() {
    let recipient = recipient();
    let (own, nodes) = (home(), home());
    let archive = recipient.archive("headless");
    let publisher = camera(own.path(), CARD, &node_of(nodes.path()), &recipient, &[]);
    let until_more = |frames: u64| {
        let mut node = record(nodes.path(), &publisher.ticket, &archive);
        until("more is recorded", || frames_in(&archive) >= frames);
        node.stop();
        node.said()
    };
    let said = until_more(40);
    assert!(!said.contains("another archive begins"), "{said}");
    let segments = Folder::open(&archive).expect("a folder").segments().expect("readable");
    let newest = segments.last().expect("some");
    let mut bytes = fs::read(&newest.path).expect("there");
    bytes[40] ^= 1;
    fs::write(&newest.path, bytes).expect("space");
    let left = frames_in(&archive);
    let said = until_more(left + 60);
    assert!(said.contains("another archive begins in this folder"), "{said}");
    let report = recipient.check(&archive);
    let [damaged, other] = &report.faults[..] else {
        panic!("two faults: {:?}", report.faults);
    };
    assert!(damaged.contains("all of it is lost"), "{damaged}");
    let next = format!("begins with segment {}", newest.number + 1);
    assert!(other.contains("another archive") && other.contains(&next), "{other}");
    assert_eq!(report.signed, report.frames);
}

#[test]
fn a_node_keeps_what_a_relay_brings_and_the_keys_that_the_camera_tells_through_it() {
    let (dir, clip) = short_clip();
    let whole = TRACKS.map(|name| track(&clip, name));
    let recipient = recipient();
    let relay = Relay::start();
    let (own, nodes) = (home(), home());
    let mut command = sealcast(own.path());
    command.args([
        "publish",
        &format!("{}?loop", file_url(&clip)),
        "--listen",
        "tcp://127.0.0.1:0",
    ]);
    command.args([
        "--metrics",
        "127.0.0.1:0",
        "--sign",
        "both",
        "--relay",
        &relay.url("kept"),
    ]);
    command.args([
        "--archive-node",
        &node_of(nodes.path()),
        "--archive-to",
        &recipient.text,
    ]);
    relay.lead(&mut command);
    let publisher = publish_by(command);
    let ticket = publisher.program.line();
    assert!(ticket.contains("transport=relay"), "{ticket}");
    let archive = recipient.archive("through-a-relay");
    let mut command = sealcast(nodes.path());
    command.args([
        "archive",
        "record",
        &ticket,
        &format!("{}?segment=1s", archive.display()),
    ]);
    relay.lead(&mut command);
    let mut node = Program::run("the archive's node", command);
    publisher.program.says(NODE, PATIENCE);
    until("frames are recorded", || frames_in(&archive) >= 200);
    // It forgets everything, and gives the newest group anew.
    relay.restart("kept");
    publisher.program.says_times(NODE, 2, PATIENCE);
    let before = frames_in(&archive);
    until("it goes on", || frames_in(&archive) >= before + 200);
    node.stop();
    assert!(
        publisher.program.counts("sealcast_group_frames_forwarded_total") < 1.0,
        "the camera itself gave no frame"
    );
    let report = recipient.check(&archive);
    assert_eq!(report.faults, Vec::<String>::new());
    assert_eq!((report.signed, report.unsigned), (report.frames, 0));
    assert!(
        report.groups.iter().any(|signed| signed.proven == signed.frames),
        "{report:?}"
    );
    let out = recipient.archive("out.mp4");
    let exported = recipient.export(&archive, &out, &[]);
    assert!(exported.status.success(), "{}", text(&exported.stderr));
    for (name, whole) in TRACKS.iter().zip(&whole) {
        let kept = track(&out, name);
        assert!(kept.len() >= 100, "{name}: {}", kept.len());
        assert!(kept.iter().all(|packet| whole.contains(packet)), "{name}");
    }
    drop(dir);
}
