//! `sealcast peers list` and `status`: who is admitted, who is here, and how the cameras are, as a user and a program
//! read it.

use std::fs;
use std::path::Path;

use sealcast_testkit::media::path;
use sealcast_testkit::program::{PATIENCE, Program, home, publish, sealcast, until, watch};
use serde_json::Value;
use tempfile::TempDir;

const CARD: &str = "test:160x120@25";

/// Runs a command of the program. Returns whether it succeeded, its standard output and its standard error.
fn run(home: &Path, arguments: &[&str]) -> (bool, String, String) {
    let output = sealcast(home).args(arguments).output().expect("it runs");
    let [said, told] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("text"));
    (output.status.success(), said, told)
}

fn json(home: &Path, arguments: &[&str]) -> Value {
    let (done, said, told) = run(home, &[arguments, &["--json"]].concat());
    assert!(done, "{arguments:?}: {told}");
    serde_json::from_str(&said).expect("JSON")
}

/// The peer of this label in the list.
fn listed(home: &Path, label: &str) -> Value {
    let list = json(home, &["peers", "list"]);
    let peers = list["peers"].as_array().expect("a list").clone();
    let found = peers.iter().find(|peer| peer["label"] == label);
    found.cloned().unwrap_or_else(|| panic!("no {label} in {list}"))
}

/// A viewer that was invited by this label.
fn invited(home_of_publisher: &Path, label: &str) -> (TempDir, Program) {
    let (done, ticket, told) = run(home_of_publisher, &["invite", "--label", label, "--ticket-file", "-"]);
    assert!(done, "{told}");
    let home = home();
    let viewer = watch(home.path(), ticket.trim(), &["--to", "null:"]);
    viewer.says("INFO watching", PATIENCE);
    (home, viewer)
}

/// Checks what is said of a publisher with two viewers, once their figures are known.
fn two_are_shown(home: &Path) {
    until("both have figures", || {
        let status = json(home, &["status"]);
        let sessions = status["sessions"].as_array().expect("a list");
        sessions.len() == 2
            && sessions
                .iter()
                .all(|one| one["round_trip_ms"].is_f64() && one["bit_rate"].is_u64())
    });
    let status = json(home, &["status"]);
    let camera = &status["cameras"][0];
    assert_eq!(
        (&status["kind"], &status["encrypt"]),
        (&"publisher".into(), &"all".into()),
        "{status}"
    );
    assert_eq!(
        (&camera["state"], &camera["viewers"]),
        (&"on".into(), &2.into()),
        "{status}"
    );
    assert_eq!(
        (&camera["width"], &camera["frame_rate"]),
        (&160.into(), &25.0.into()),
        "{status}"
    );
    let session = &status["sessions"][0];
    assert_eq!(
        (&session["label"], &session["carrier"]),
        (&"the garage".into(), &"udp".into()),
        "{status}"
    );
    assert!(
        session["address"]
            .as_str()
            .is_some_and(|from| from.starts_with("127.0.0.1:")),
        "{status}"
    );
    let (_, one_line, _) = run(home, &["control", "status"]);
    assert!(
        one_line.contains(" viewers=2 ") && one_line.contains(" camera=on"),
        "{one_line}"
    );
    let (_, screen, _) = run(home, &["status"]);
    assert!(
        screen.contains("camera: publisher, process ") && screen.contains("grandma"),
        "{screen}"
    );
}

#[test]
fn who_watches_is_shown_removed_by_label_and_remembered_over_a_restart() {
    let home = home();
    let home = home.path();
    let mut publisher = publish(home, CARD, &["--no-invite", "--listen", "udp://127.0.0.1:0"]);
    let (_far, first) = invited(home, "the garage");
    let (_away, mut second) = invited(home, "grandma");

    two_are_shown(home);
    let (done, said, _) = run(home, &["peers", "rename", "the garage", "the", "shed"]);
    assert!(
        done && said.starts_with("the garage (") && said.contains(") is called the shed now"),
        "{said}"
    );
    let (done, said, _) = run(home, &["peers", "remove", "grandma"]);
    assert!(done && said.starts_with("removed grandma ("), "{said}");
    assert_eq!(second.ends(PATIENCE), 6, "{}", second.said());
    let peer = listed(home, "the shed");
    assert_eq!(
        (peer["sessions"].as_array().map(Vec::len), &peer["cameras"]),
        (Some(1), &Value::Null)
    );
    until("one is left", || json(home, &["status"])["cameras"][0]["viewers"] == 1);

    publisher.program.stop();
    drop(first);
    let (_, list, told) = run(home, &["peers", "list"]);
    let begins = |name: &str| list.lines().find(|line| line.starts_with(name));
    assert!(begins("the shed").is_some_and(|line| line.ends_with(" ago")), "{list}");
    assert_eq!(begins("grandma"), None, "{list}");
    assert!(told.contains("camera does not run"), "{told}");
    let (done, _, told) = run(home, &["status"]);
    assert!(!done && told.contains("camera does not run"), "{told}");
    let mut again = publish(home, CARD, &["--no-invite"]);
    let peer = listed(home, "the shed");
    assert!(
        peer["last_seen"].is_string() && peer["sessions"] == Value::Array(Vec::new()),
        "{peer}"
    );
    again.program.stop();
}

#[test]
fn an_invite_that_cannot_be_written_says_how_long_it_lasts_and_all_of_a_label_are_withdrawn_together() {
    let home = home();
    let home = home.path();
    let mut publisher = publish(home, CARD, &["--no-invite"]);
    let invites = || json(home, &["peers", "list"])["invites"].as_array().map(Vec::len);
    let make = || run(home, &["invite", "--label", "the club", "--ticket-file", "-"]);
    assert!(make().0 && make().0);
    assert_eq!(invites(), Some(2));
    let (_, said, _) = run(home, &["peers", "withdraw", "the club"]);
    assert_eq!(said, "withdrew 2 invites\n");
    // Nobody can write a file in place of a folder, not even the superuser.
    let file = home.join("keys/publishers/camera/invites");
    fs::remove_file(&file).expect("our own");
    fs::create_dir(&file).expect("made");
    let (done, ticket, told) = make();
    assert!(done && ticket.starts_with("sealcast://"), "{told}");
    assert!(
        told.contains("but only until the program ends: the lists of peers in"),
        "{told}"
    );
    fs::remove_dir(&file).expect("empty");
    publisher.program.stop();
}

#[test]
fn gateways_tell_the_status_of_each_camera() {
    let [gateways, theirs] = [home(), home()];
    let urls = ["front=rtsp://127.0.0.1:9/front", "yard=rtsp://127.0.0.1:9/yard"];
    let mut command = sealcast(gateways.path());
    command.args([
        "gateway",
        "camera",
        "--camera",
        urls[0],
        "--camera",
        urls[1],
        "--ticket-file",
        "-",
    ]);
    command.args(["--listen", "tcp://127.0.0.1:0"]);
    let gateway = Program::run("the gateway", command);
    let ticket = gateway.line();
    let status = json(gateways.path(), &["status"]);
    let cameras = status["cameras"].as_array().expect("a list").clone();
    let names: Vec<_> = cameras
        .iter()
        .map(|camera| camera["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(
        (&status["kind"], &names[..]),
        (&"camera gateway".into(), &["front", "yard"][..]),
        "{status}"
    );
    assert_eq!(
        (&cameras[0]["state"], &cameras[0]["viewers"]),
        (&Value::Null, &0.into()),
        "{status}"
    );
    let mut command = sealcast(theirs.path());
    command.args(["gateway", "viewer", "--peer", &ticket, "--rtsp", "127.0.0.1:0"]);
    let linked = Program::run("the viewer gateway", command);
    linked.says("linked to the camera gateway", PATIENCE);
    let sessions = json(gateways.path(), &["status"])["sessions"].as_array().map(Vec::len);
    assert_eq!(sessions, Some(1));
}

#[test]
fn listening_viewers_and_those_who_come_to_them_tell_their_status_too() {
    let [walls, theirs] = [home(), home()];
    let mut command = sealcast(walls.path());
    command.args([
        "watch",
        "--listen",
        "tcp://127.0.0.1:0",
        "--ticket-file",
        "-",
        "--to",
        "null:",
        "--name",
        "wall",
    ]);
    let viewer = Program::run("the viewer", command);
    let mut command = sealcast(theirs.path());
    command.args(["publish", CARD, "--to", &viewer.line()]);
    let _publisher = Program::run("the publisher", command);
    viewer.says("INFO watching", PATIENCE);
    let status = json(walls.path(), &["status", "--viewer"]);
    assert_eq!(
        (&status["kind"], &status["name"]),
        (&"viewer".into(), &"wall".into()),
        "{status}"
    );
    assert_eq!(status["sessions"].as_array().map(Vec::len), Some(1), "{status}");
    // The publisher that goes to its viewer itself has one, too.
    let theirs = json(theirs.path(), &["status", "--name", "camera"]);
    assert_eq!(
        (&theirs["kind"], theirs["sessions"].as_array().map(Vec::len)),
        (&"publisher".into(), Some(1))
    );
    let socket = walls.path().join("keys/viewers/wall/control");
    let (done, said, told) = run(walls.path(), &["status", "--socket", path(&socket)]);
    assert!(done && said.starts_with("viewer, process "), "{said}{told}");
}
