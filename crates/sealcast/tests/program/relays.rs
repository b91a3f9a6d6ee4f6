//! Cameras and viewers with a relay between them, which is not trusted.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use sealcast::failure::FailureKind;
use sealcast::keys::files::{End, create_identity};
use sealcast_proto::keys::PeerId;
use sealcast_testkit::media::{STREET, clip, path};
use sealcast_testkit::program::{
    MANY_USES, PATIENCE, Program, Publisher, beginning, file_url, home, publish_by, sealcast, until, write_private,
};
use sealcast_testkit::relay::{KEYS, Relay, VIDEO};

use super::decoder::{health, on_a_page};
use super::groups::{AGE, FRAMES_IN, FRAMES_OUT, frames, goes_on, is_live, peer_of};

const CARD: &str = "test:320x240@25";
pub(super) const KEYED: &str = "the camera's keys came";
pub(super) const ANSWERED: &str = "the camera answers challenges";

pub(super) fn camera(relay: &Relay, home: &Path, source: &str, relays: &[&str], more: &[&str]) -> Publisher {
    let mut command = sealcast(home);
    command.args([
        "publish",
        source,
        "--listen",
        "tcp://127.0.0.1:0",
        "--metrics",
        "127.0.0.1:0",
    ]);
    command.args(MANY_USES).args(more);
    for name in relays {
        command.args(["--relay", &relay.url(name)]);
    }
    relay.lead(&mut command);
    publish_by(command)
}

fn viewer(relay: &Relay, home: &Path, ticket: &str, relays: &[&str], more: &[&str]) -> Program {
    Program::run("viewer", viewers_command(relay, home, ticket, relays, more))
}

pub(super) fn viewers_command(relay: &Relay, home: &Path, ticket: &str, relays: &[&str], more: &[&str]) -> Command {
    let mut command = sealcast(home);
    command.args(["watch", ticket, "--metrics", "127.0.0.1:0"]).args(more);
    for name in relays {
        command.args(["--relay", &relay.url(name)]);
    }
    relay.lead(&mut command);
    command
}

/// Watches by a ticket that names the relay.
pub(super) fn viewer_by(relay: &Relay, home: &Path, ticket: &str, more: &[&str]) -> Program {
    viewer(relay, home, ticket, &[], more)
}

#[test]
fn by_a_relays_ticket_alone_a_viewer_enrols_watches_and_knows_how_old_the_picture_is() {
    let homes = [home(), home()];
    let relay = Relay::start();
    let camera = camera(&relay, homes[0].path(), CARD, &["rov"], &["--sign", "both"]);
    let ticket = camera.program.line();
    assert!(ticket.contains("transport=relay&broadcast=rov#"), "{ticket}");
    let to = ["--to", "null:"];
    let mut first = viewer_by(&relay, homes[1].path(), &ticket, &to);
    camera.program.says("enrolled a new viewer by its invite", PATIENCE);
    for _ in 0..2 {
        first.says(KEYED, PATIENCE);
        first.says(ANSWERED, PATIENCE);
        goes_on(&first);
        is_live(&first);
        first.has_counted("sealcast_group_parts_proven_total", 1.0);
        // The session tells the camera's clock, and so the latency of what the relay brings.
        first.has_counted("sealcast_stage_seconds_count{stage=\"link\"}", 1.0);
        first.stop();
        // Enrolled by now, it does the same without its invite being used again.
        first = viewer_by(&relay, homes[1].path(), &ticket, &to);
    }
    assert!(
        camera.program.counts("sealcast_group_frames_forwarded_total") < 1.0,
        "the camera itself gave no frame"
    );
    assert!(
        !relay.seen_in_sessions("rov").is_empty(),
        "its session went through the relay"
    );
}

#[test]
fn who_is_allowed_by_its_id_alone_watches_through_a_relay_by_the_keys_of_its_session() {
    let homes = [home(), home()];
    let relay = Relay::start();
    let keys = homes[1].path().join("keys");
    fs::create_dir_all(&keys).expect("a directory");
    let identity = create_identity(&keys.join(End::Viewer.file_name())).expect("a new one");
    let list = homes[0].path().join("allowed");
    write_private(&list, identity.peer_id().to_string());
    let more = ["--allow", path(&list), "--no-invite"];
    let camera = camera(&relay, homes[0].path(), CARD, &["rov"], &more);
    let ticket = camera.program.line();
    let viewer = viewer_by(&relay, homes[1].path(), &ticket, &["--to", "null:"]);
    viewer.says(KEYED, PATIENCE);
    goes_on(&viewer);
    is_live(&viewer);
    // Its relay forgets everything: keys and session come anew.
    relay.restart("rov");
    viewer.says_times(ANSWERED, 2, PATIENCE);
    goes_on(&viewer);
    assert!(camera.program.counts("sealcast_group_frames_forwarded_total") < 1.0);
}

#[test]
fn a_relay_that_holds_frames_back_is_found_out() {
    let homes = [home(), home()];
    let relay = Relay::start();
    let camera = camera(&relay, homes[0].path(), CARD, &["rov"], &[]);
    let command = viewers_command(&relay, homes[1].path(), &camera.ticket, &["rov"], &[]);
    let (viewer, page) = on_a_page(command, homes[1].path());
    viewer.says(KEYED, PATIENCE);
    is_live(&viewer);
    until("the page says how old the picture can be", || {
        health(&page)["age_ms"].is_u64() && health(&page)["alarm"].is_null()
    });
    // Frames are what they were, in order and signed, and four seconds old.
    let mut held = VecDeque::new();
    relay.meddle("rov", move |track, object| {
        if track != VIDEO {
            return vec![object];
        }
        held.push_back(object);
        (held.len() > 100)
            .then(|| held.pop_front())
            .flatten()
            .into_iter()
            .collect()
    });
    viewer.says("the picture may be old", PATIENCE);
    goes_on(&viewer);
    assert!(viewer.counts(AGE) == f64::INFINITY, "nothing bounds its age");
    let told = health(&page);
    assert!(told["age_ms"].is_null() && told["alarm"].is_string(), "{told}");
    assert!(viewer.counts("sealcast_group_frames_refused_total") < 1.0);
}

#[test]
fn sheets_that_a_relay_withholds_come_from_the_camera_itself() {
    let homes = [home(), home(), home()];
    let relay = Relay::start();
    let socket = homes[0].path().join("control");
    let camera = camera(&relay, homes[0].path(), CARD, &["rov"], &["--control", path(&socket)]);
    let ticket = camera.program.line();
    let start = |at: usize| {
        let viewer = viewer_by(&relay, homes[at].path(), &ticket, &["--to", "null:"]);
        viewer.says(KEYED, PATIENCE);
        viewer.says(ANSWERED, PATIENCE);
        viewer
    };
    let (viewer, mut leaves) = (start(1), start(2));
    goes_on(&viewer);
    relay.meddle("rov", |track, object| match track {
        KEYS => Vec::new(),
        _ => vec![object],
    });
    let epoch = camera.program.counts("sealcast_group_epoch");
    leaves.stop();
    remove(homes[0].path(), &socket, homes[2].path());
    camera.program.has_counted("sealcast_group_epoch", epoch + 1.0);
    goes_on(&viewer);
    goes_on(&viewer);
    viewer.has_counted("sealcast_epoch", epoch + 1.0);
}

#[test]
fn when_the_stream_is_over_a_viewer_behind_a_relay_has_all_of_it_and_ends() {
    let homes = [home(), home()];
    let dir = homes[0].path();
    let whole = dir.join("whole");
    fs::create_dir(&whole).expect("a directory");
    let clip = beginning(&clip(STREET, &whole), 4, dir);
    let original = frames(&clip);
    let relay = Relay::start();
    let camera = camera(&relay, dir, &file_url(&clip), &["street"], &[]);
    let out = homes[1].path().join("out.h264");
    let to = file_url(&out);
    let mut viewer = viewer(&relay, homes[1].path(), &camera.ticket, &["street"], &["--to", &to]);
    viewer.succeeds(PATIENCE);
    viewer.says("the stream has ended", PATIENCE);
    // It may have come late, and then it has the clip from a keyframe on, to its very end.
    let received = frames(&out);
    assert!(
        !received.is_empty() && original.ends_with(&received),
        "{} frames",
        received.len()
    );
}

#[test]
fn enrolled_viewers_get_the_clip_through_a_relay_that_sees_nothing_of_it() {
    let homes = [home(), home(), home()];
    let dir = homes[0].path();
    let whole = dir.join("whole");
    fs::create_dir(&whole).expect("a directory");
    let clip = beginning(&clip(STREET, &whole), 2, dir);
    let original = frames(&clip);
    let relay = Relay::start();
    let source = format!("{}?loop", file_url(&clip));
    let camera = camera(&relay, dir, &source, &["street"], &["--sign", "both"]);
    let files = [1, 2].map(|viewer| homes[viewer].path().join("out.h264"));
    let mut viewers = [1, 2].map(|at| {
        let to = file_url(&files[at - 1]);
        let viewer = viewer(&relay, homes[at].path(), &camera.ticket, &["street"], &["--to", &to]);
        viewer.says(KEYED, PATIENCE);
        viewer
    });
    for viewer in &viewers {
        viewer.has_counted(FRAMES_IN, 60.0);
        viewer.has_counted("sealcast_group_parts_proven_total", 1.0);
        assert!(viewer.counts("sealcast_group_frames_refused_total") < 1.0);
        assert!(viewer.counts("sealcast_group_parts_forged_total") < 1.0);
    }
    assert!(
        camera.program.counts("sealcast_group_frames_forwarded_total") < 1.0,
        "the camera itself gave none"
    );
    viewers.iter_mut().for_each(Program::stop);
    for file in &files {
        let received = frames(file);
        assert!(
            received.len() >= 60 && received.iter().all(|frame| original.contains(frame)),
            "{file:?}"
        );
    }
    let seen = relay.seen("street");
    assert!(seen.iter().any(|(track, _)| *track == VIDEO) && seen.iter().any(|(track, _)| *track == KEYS));
    let pieces: Vec<&[u8]> = original
        .iter()
        .filter_map(|frame| frame.get(frame.len().checked_sub(64)?..))
        .collect();
    for (_, object) in &seen {
        let shown = object.windows(64).any(|window| pieces.contains(&window));
        assert!(!shown, "the relay saw a piece of a picture");
    }
}

#[test]
fn one_of_a_thousand_enrolled_viewers_watches_by_the_sheet_that_a_relay_brings() {
    const OTHERS: usize = 1100;
    /// Length of a wrap, at least one for each member (groups.md, section 5).
    const WRAP: usize = 52;
    let homes = [home(), home()];
    let relay = Relay::start();
    let mut first = camera(&relay, homes[0].path(), CARD, &["rov"], &[]);
    let (ticket, to) = (first.program.line(), ["--to", "null:"]);
    let mut guest = viewer_by(&relay, homes[1].path(), &ticket, &to);
    guest.says(KEYED, PATIENCE);
    guest.stop();
    first.program.stop();
    let list = homes[0].path().join("keys/publishers/camera/enrolled");
    let mut lines = fs::read_to_string(&list).expect("the guest is enrolled");
    assert_eq!(lines.lines().count(), 2, "a comment and the guest:\n{lines}");
    for number in 0..OTHERS {
        let mut bytes = [0xf0; 32];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        let id = PeerId(bytes).to_string();
        writeln!(lines, "{id} {} 0123456789abcdef 2026-05-17", id.to_uppercase()).expect("a string");
    }
    write_private(&list, lines);
    // No session: the viewer has nothing but what is on the tracks, and the secret of its enrolment.
    relay.refuse_sessions("rov");
    let _second = camera(&relay, homes[0].path(), CARD, &["rov"], &[]);
    let guest = viewer_by(
        &relay,
        homes[1].path(),
        &ticket,
        &[&to[..], &["--without-session"]].concat(),
    );
    guest.says(KEYED, PATIENCE);
    goes_on(&guest);
    let long = |(track, object): &(u8, Vec<u8>)| *track == KEYS && object.len() > WRAP * (OTHERS + 1);
    assert!(relay.seen("rov").iter().any(long), "a sheet for all of them");
}

#[test]
fn who_comes_late_begins_with_the_group_of_pictures_that_the_relay_has_kept() {
    let homes = [home(), home()];
    let relay = Relay::start();
    // There is one keyframe, and nobody can ask for another.
    let card = "test:320x240@25?gop=1000000";
    let mut first = camera(&relay, homes[0].path(), card, &["rov"], &[]);
    let ticket = first.program.line();
    let mut guest = viewer_by(&relay, homes[1].path(), &ticket, &["--to", "null:"]);
    guest.says(KEYED, PATIENCE);
    guest.stop();
    first.program.stop();
    relay.refuse_sessions("rov");
    let again = camera(&relay, homes[0].path(), card, &["rov"], &[]);
    again.program.says("metrics", PATIENCE);
    again.program.has_counted(FRAMES_OUT, 100.0);
    let sealed = again.program.counts(FRAMES_OUT);
    let logs = homes[1].path().join("logs");
    let more = ["--to", "null:", "--without-session", "--log-dir", path(&logs)];
    let mut late = viewer_by(&relay, homes[1].path(), &ticket, &more);
    late.says(KEYED, PATIENCE);
    goes_on(&late);
    late.stop();
    let log = fs::read_to_string(logs.join("frames_latency.csv")).expect("a log");
    let mut rows = log.lines().map(|row| row.split(',').collect::<Vec<_>>());
    let names = rows.next().expect("names of columns");
    let column = names
        .iter()
        .position(|name| *name == "frame")
        .expect("the frame's number");
    let frame: f64 = rows.next().expect("a frame")[column].parse().expect("a number");
    assert!(
        frame < sealed,
        "its first frame was {frame}, of {sealed} that were sealed before it came"
    );
}

#[test]
fn a_camera_that_connects_to_its_viewer_takes_others_through_its_relay() {
    let homes = [home(), home(), home()];
    let relay = Relay::start();
    let mut listens = sealcast(homes[0].path());
    listens.args(["watch", "--listen", "tcp://127.0.0.1:0", "--ticket-file", "-"]);
    listens.args(["--to", "null:", "--metrics", "127.0.0.1:0"]);
    let recorder = Program::run("the viewer that listens", listens);
    let mut connects = sealcast(homes[1].path());
    connects.args(["publish", CARD, "--to", &recorder.line(), "--relay", &relay.url("rov")]);
    connects.args(MANY_USES);
    relay.lead(&mut connects);
    let camera = publish_by(connects);
    assert!(
        camera.ticket.contains("transport=relay&broadcast=rov#"),
        "{}",
        camera.ticket
    );
    let other = viewer_by(&relay, homes[2].path(), &camera.ticket, &["--to", "null:"]);
    camera.program.says("enrolled a new viewer by its invite", PATIENCE);
    other.says(KEYED, PATIENCE);
    other.says(ANSWERED, PATIENCE);
    goes_on(&other);
    goes_on(&recorder);
    let list = homes[1].path().join("keys/publishers/camera/enrolled");
    let enrolled = fs::read_to_string(list).expect("the lists have the camera's name");
    let peers = enrolled.lines().filter(|line| !line.starts_with('#'));
    assert_eq!(peers.count(), 1, "{enrolled}");
}

#[test]
fn who_is_removed_opens_nothing_more_though_the_relay_gives_everything() {
    let homes = [home(), home(), home()];
    let socket = homes[0].path().join("control");
    let relay = Relay::start();
    let camera = camera(&relay, homes[0].path(), CARD, &["rov"], &["--control", path(&socket)]);
    let ticket = camera.program.line();
    let start = |at: usize| {
        let viewer = viewer_by(
            &relay,
            homes[at].path(),
            &ticket,
            &["--to", "null:", "--without-session"],
        );
        viewer.says(KEYED, PATIENCE);
        viewer
    };
    let (stays, mut enrols) = (start(1), start(2));
    enrols.stop();
    // The camera itself could tell it, and the relay keeps that away.
    relay.refuse_sessions("rov");
    let leaves = start(2);
    leaves.says("no session with the camera: this relay lets nobody publish", PATIENCE);
    goes_on(&stays);
    goes_on(&leaves);
    remove(homes[0].path(), &socket, homes[2].path());
    leaves.says("the camera's keys are not for this viewer", PATIENCE);
    // Frames from before the new epoch may still be under way when the sheet comes.
    let refused = "sealcast_open_failures_total{reason=\"tag\"}";
    leaves.has_counted(refused, 1.0);
    let shown = leaves.counts(FRAMES_IN);
    goes_on(&stays);
    let before = leaves.counts(refused);
    leaves.has_counted(refused, before + 1.0);
    let after = leaves.counts(FRAMES_IN);
    assert!(after - shown < 1.0, "{shown} frames, and later {after}");
    assert_eq!(relay.viewers("rov"), 2, "the relay has cut off nobody");
}

#[test]
fn who_is_removed_is_told_so_by_the_camera_itself() {
    let homes = [home(), home()];
    let socket = homes[0].path().join("control");
    let relay = Relay::start();
    let camera = camera(&relay, homes[0].path(), CARD, &["rov"], &["--control", path(&socket)]);
    let ticket = camera.program.line();
    let mut viewer = viewer_by(&relay, homes[1].path(), &ticket, &["--to", "null:"]);
    viewer.says(KEYED, PATIENCE);
    viewer.says(ANSWERED, PATIENCE);
    remove(homes[0].path(), &socket, homes[1].path());
    let refused = i32::from(FailureKind::Refused.exit_code());
    assert_eq!(viewer.ends(PATIENCE), refused);
}

/// Removes a viewer from the list of its camera.
fn remove(camera: &Path, socket: &Path, viewer: &Path) {
    let peer = peer_of(viewer);
    let removed = sealcast(camera)
        .args(["control", "--socket", path(socket), "peers", "remove", &peer])
        .output()
        .expect("it runs");
    assert!(removed.status.success(), "{removed:?}");
}

#[test]
fn when_a_relay_dies_viewers_go_to_the_next_and_come_back() {
    let homes = [home(), home()];
    let relay = Relay::start();
    let camera = camera(&relay, homes[0].path(), CARD, &["first", "second"], &[]);
    let viewer = viewer(
        &relay,
        homes[1].path(),
        &camera.ticket,
        &["first", "second"],
        &["--to", "null:"],
    );
    viewer.says(KEYED, PATIENCE);
    goes_on(&viewer);
    relay.kill("first");
    // Some of the first ten may have been on their way already.
    goes_on(&viewer);
    goes_on(&viewer);
    camera.program.says("the relay client is started again", PATIENCE);
    relay.restart("first");
    goes_on(&viewer);
    relay.kill("second");
    goes_on(&viewer);
    goes_on(&viewer);
}

#[test]
fn an_only_relay_that_hangs_is_tried_anew_once_the_session_broke() {
    let homes = [home(), home()];
    let relay = Relay::start();
    let camera = camera(&relay, homes[0].path(), CARD, &["rov"], &[]);
    let ticket = camera.program.line();
    let viewer = viewer_by(&relay, homes[1].path(), &ticket, &["--to", "null:"]);
    viewer.says(ANSWERED, PATIENCE);
    goes_on(&viewer);
    relay.hang("rov", true);
    viewer.says("left: nothing new comes from it", PATIENCE);
    relay.hang("rov", false);
    viewer.says_times(ANSWERED, 2, PATIENCE);
    goes_on(&viewer);
}

#[test]
fn when_the_camera_begins_anew_viewers_go_on_without_enrolling() {
    let homes = [home(), home()];
    let relay = Relay::start();
    let first = camera(&relay, homes[0].path(), CARD, &["rov"], &[]);
    let viewer = viewer(&relay, homes[1].path(), &first.ticket, &["rov"], &["--to", "null:"]);
    viewer.says(KEYED, PATIENCE);
    goes_on(&viewer);
    let epoch = first.program.counts("sealcast_group_epoch");
    first.program.signal("KILL");
    drop(first);
    // Its address is another one, and no viewer asks for it.
    let second = camera(&relay, homes[0].path(), CARD, &["rov"], &[]);
    goes_on(&viewer);
    assert!(second.program.counts("sealcast_group_epoch") > epoch, "no number twice");
}

#[test]
fn what_a_relay_alters_repeats_swaps_or_drops_is_never_shown() {
    let homes = [home(), home()];
    let dir = homes[0].path();
    let whole = dir.join("whole");
    fs::create_dir(&whole).expect("a directory");
    let clip = beginning(&clip(STREET, &whole), 2, dir);
    let original = frames(&clip);
    let relay = Relay::start();
    let (mut count, mut before) = (0_usize, Vec::new());
    relay.meddle("street", move |track, mut object| {
        if track != VIDEO {
            return vec![object];
        }
        count += 1;
        let last = std::mem::replace(&mut before, object.clone());
        match count % 40 {
            10 => {
                let middle = object.len() / 2;
                object[middle] ^= 1;
                vec![object]
            }
            17 => Vec::new(),
            24 => vec![object.clone(), object],
            31 => vec![object, last],
            36 => vec![object[..object.len() / 3].to_vec()],
            _ => vec![object],
        }
    });
    let source = format!("{}?loop", file_url(&clip));
    let camera = camera(&relay, dir, &source, &["street"], &[]);
    let out = homes[1].path().join("out.h264");
    let to = file_url(&out);
    let mut viewer = viewer(&relay, homes[1].path(), &camera.ticket, &["street"], &["--to", &to]);
    viewer.says(KEYED, PATIENCE);
    viewer.has_counted("sealcast_open_failures_total{reason=\"tag\"}", 3.0);
    viewer.has_counted("sealcast_open_failures_total{reason=\"malformed\"}", 2.0);
    viewer.has_counted(FRAMES_IN, 60.0);
    viewer.stop();
    let received = frames(&out);
    assert!(
        received.iter().all(|frame| original.contains(frame)),
        "each is the clip's"
    );
}

#[test]
fn keys_of_another_camera_are_refused_by_name_also_of_one_of_the_same_account() {
    let homes = [home(), home(), home()];
    let relay = Relay::start();
    let other = camera(&relay, homes[0].path(), CARD, &["other"], &["--name", "vault"]);
    let its_viewer = viewer(&relay, homes[2].path(), &other.ticket, &["other"], &["--to", "null:"]);
    its_viewer.says(KEYED, PATIENCE);
    let own = camera(&relay, homes[0].path(), CARD, &["own"], &["--name", "front"]);
    // The relay gives the viewer another camera's stream in place of its own.
    let viewer = viewer(&relay, homes[1].path(), &own.ticket, &["other"], &["--to", "null:"]);
    // The keys begin with the terms. Whether those of its own camera have come before the sheet that follows is
    // a matter of time, and so is what is said of that.
    viewer.says("the terms of the group were refused: wrong-camera", PATIENCE);
    // The session that enrolled it may have brought some.
    let before = viewer.counts(FRAMES_IN);
    // By the sheet that its own camera told it, they are of no key of that.
    viewer.has_counted("sealcast_open_failures_total{reason=\"tag\"}", 2.0);
    let after = viewer.counts(FRAMES_IN);
    assert!(after - before < 1.0, "{before} frames, and later {after}");
    goes_on(&its_viewer);
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let home = home();
    let refused = |words: &[&str]| {
        let output = sealcast(home.path())
            .args(words)
            .env("PATH", "/nonexistent")
            .output()
            .expect("it runs");
        assert!(!output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let publish = |url: &str| refused(&["publish", CARD, "--listen", "tcp://127.0.0.1:0", "--relay", url]);
    let said = publish("https://127.0.0.1:1/name");
    assert!(
        said.contains("sealcast-moq does not start") && said.contains("docs/relay.md"),
        "{said}"
    );
    let said = publish("https://relay.example/?jwt=verysecret");
    assert!(
        said.contains("name of the camera's broadcast") && !said.contains("verysecret"),
        "{said}"
    );
    let five: Vec<String> = (0..5).map(|number| format!("https://relay.example/{number}")).collect();
    let mut words = vec!["publish", CARD, "--listen", "tcp://127.0.0.1:0"];
    five.iter().for_each(|url| words.extend(["--relay", url]));
    let said = refused(&words);
    assert!(said.contains("at most 4"), "{said}");
    let said = refused(&[
        "watch",
        "--listen",
        "tcp://127.0.0.1:0",
        "--relay",
        "https://relay.example/name",
    ]);
    assert!(said.contains("has no relay"), "{said}");
}
