//! Several cameras in one publisher: each viewer gets the one that it wishes and may see, one that is away or broken
//! touches no other, and SIGHUP adds, removes and changes them while the others go on.

use std::fs;
use std::path::Path;

use sealcast_testkit::media::{ffmpeg, path, tool};
use sealcast_testkit::program::{
    MANY_USES, PATIENCE, Program, Publisher, home, publish, publish_by, sealcast, until, watch,
};

fn run(home: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = sealcast(home).args(arguments).output().expect("it runs");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).expect("text"))
}

/// The cameras that this home may watch with the ticket.
fn cameras(home: &Path, ticket: &str) -> Vec<String> {
    let output = sealcast(home).args(["cameras", ticket]).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).expect("text");
    names.lines().map(str::to_owned).collect()
}

/// A ticket for a guest who may watch these cameras alone.
fn invited(home: &Path, cameras: &[&str]) -> String {
    let mut command = sealcast(home);
    command.args(["invite", "--label", "guest", "--ticket-file", "-"]);
    command.args(cameras.iter().flat_map(|camera| ["--camera", camera]));
    let output = command.output().expect("it runs");
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

/// The size of the pictures of a camera, as a viewer records them.
fn size(home: &Path, ticket: &str, camera: &[&str]) -> (u32, u32) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("seen.mp4");
    let to = format!("file:{}", path(&file));
    let mut viewer = watch(home, ticket, &[&["--to", &to, "--seconds", "2"], camera].concat());
    assert_eq!(viewer.ends(PATIENCE), 0, "{}", viewer.said());
    let shown = ["-v", "error", "-show_entries", "stream=width,height", "-of", "csv=p=0"];
    let output = tool("ffprobe").args(shown).arg(&file).output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let (width, height) = text.trim().split_once(',').expect("a size");
    (width.parse().expect("a number"), height.parse().expect("a number"))
}

#[test]
fn each_viewer_gets_the_camera_that_it_wishes_and_one_that_is_dead_touches_no_other() {
    let (own, viewer) = (home(), home());
    let more = ["yard=rtsp://127.0.0.1:1/none", "garden=test:160x120@10"];
    let publisher = publish(own.path(), "front=test:320x240@10", &more);
    let ticket = publisher.ticket.as_str();
    assert_eq!(cameras(viewer.path(), ticket), ["front", "yard", "garden"]);
    for (camera, expected) in [
        (&[][..], (320, 240)),
        (&["--camera", "front"], (320, 240)),
        (&["--camera", "garden"], (160, 120)),
    ] {
        assert_eq!(size(viewer.path(), ticket, camera), expected, "{camera:?}");
    }
    // One who is let in for one of them sees that alone, and has it without a word.
    let (guest, only) = (home(), invited(own.path(), &["garden"]));
    assert_eq!(cameras(guest.path(), &only), ["garden"]);
    assert_eq!(size(guest.path(), &only, &[]), (160, 120));
    let waiting = watch(viewer.path(), ticket, &["--to", "null:", "--camera", "yard"]);
    waiting.says("the camera is off since", PATIENCE);
    let mut lost = watch(viewer.path(), ticket, &["--to", "null:", "--camera", "cellar"]);
    assert_eq!(lost.ends(PATIENCE), 6);
    assert!(lost.said().contains("no camera of that name"), "{}", lost.said());
    let (_, status) = run(own.path(), &["control", "status"]);
    assert!(
        status.contains(" front=on") && status.contains(" yard=off") && status.contains(" garden=on"),
        "{status}"
    );
    let (code, said) = run(own.path(), &["control", "keyframe", "garden"]);
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = run(own.path(), &["control", "keyframe", "cellar"]);
    assert!(code != Some(0) && said.contains("no camera of that name"), "{said}");
}

#[test]
fn an_invite_to_some_cameras_shows_no_other_and_one_is_taken_from_a_peer() {
    let (own, guest) = (home(), home());
    let more = ["yard=test:160x120@10", "garden=test:160x120@10"];
    let _publisher = publish(own.path(), "front=test:160x120@10", &more);
    let ticket = invited(own.path(), &["yard", "garden"]);
    assert_eq!(cameras(guest.path(), &ticket), ["yard", "garden"]);
    let mut refused = watch(guest.path(), &ticket, &["--to", "null:", "--camera", "front"]);
    assert_eq!(refused.ends(PATIENCE), 6, "{}", refused.said());
    let yard = watch(guest.path(), &ticket, &["--to", "null:", "--camera", "yard"]);
    let garden = watch(guest.path(), &ticket, &["--to", "null:", "--camera", "garden"]);
    yard.says("INFO watching", PATIENCE);
    garden.says("INFO watching", PATIENCE);
    let (code, said) = run(own.path(), &["peers", "remove", "guest", "--camera", "yard"]);
    assert!(code == Some(0) && said.contains("may watch yard no more"), "{said}");
    yard.says("no camera of that name here any more", PATIENCE);
    assert_eq!(cameras(guest.path(), &ticket), ["garden"]);
    assert!(!garden.said().contains("not offered"), "{}", garden.said());
    let (_, listed) = run(own.path(), &["peers", "list", "--json"]);
    assert!(listed.contains("\"garden\""), "{listed}");
}

fn section(name: &str, source: &str) -> String {
    format!("[[camera]]\nname = \"{name}\"\nsource = \"{source}\"\n")
}

/// A publisher whose cameras stand in a file.
fn configured(home: &Path, file: &Path, cameras: &[String]) -> Publisher {
    fs::write(file, cameras.concat()).expect("written");
    let mut command = sealcast(home);
    command.args(["publish", "--config", path(file), "--listen", "tcp://127.0.0.1:0"]);
    command.args(["--metrics", "127.0.0.1:0"]);
    command.args(MANY_USES);
    publish_by(command)
}

fn reload(publisher: &Program, file: &Path, cameras: &[String], words: &str) {
    fs::write(file, cameras.concat()).expect("written");
    publisher.signal("HUP");
    publisher.says(words, PATIENCE);
}

#[test]
fn cameras_are_added_changed_and_removed_while_the_others_go_on() {
    let (own, viewer, files) = (home(), home(), tempfile::tempdir().expect("a folder"));
    let file = files.path().join("sealcast.toml");
    let (front, yard) = (section("front", "test:160x120@25"), section("yard", "test:160x120@25"));
    let publisher = configured(own.path(), &file, &[front.clone(), yard.clone()]);
    let ticket = publisher.ticket.as_str();
    let log = files.path().join("log");
    let watched = ["--to", "null:", "--camera", "front", "--log-dir", path(&log)];
    let mut front_viewer = watch(viewer.path(), ticket, &watched);
    front_viewer.says("INFO watching", PATIENCE);
    let yard_viewer = watch(viewer.path(), ticket, &["--to", "null:", "--camera", "yard"]);
    yard_viewer.says("INFO watching", PATIENCE);

    let changed = section("yard", "test:320x240@25");
    let garden = section("garden", "test:160x120@25");
    let told = "were read again added=\"garden\" removed=\"\" changed=\"yard\" unchanged=\"front\"";
    reload(
        &publisher.program,
        &file,
        &[front.clone(), changed, garden.clone()],
        told,
    );
    yard_viewer.says_times("INFO watching", 2, PATIENCE);
    assert_eq!(cameras(viewer.path(), ticket), ["front", "yard", "garden"]);
    assert_eq!(size(viewer.path(), ticket, &["--camera", "yard"]), (320, 240));

    let metrics = publisher.program.metrics();
    assert!(metrics.contains("camera=\"yard\""), "{metrics}");
    reload(
        &publisher.program,
        &file,
        &[front.clone(), garden.clone()],
        "removed=\"yard\"",
    );
    let metrics = publisher.program.metrics();
    assert!(!metrics.contains("camera=\"yard\""), "{metrics}");
    yard_viewer.says("no camera of that name here", PATIENCE);
    assert_eq!(cameras(viewer.path(), ticket), ["front", "garden"]);
    let fixed = "[publish]\nlisten = \"tcp://127.0.0.1:1\"\nqueue_frames = 77\n".to_owned();
    // The address of the command line holds, so it has not changed.
    let told = "that wait for a restart settings=\"publish.queue_frames\"";
    reload(&publisher.program, &file, &[fixed, front.clone(), garden], told);
    reload(
        &publisher.program,
        &file,
        &["[[camera]]\nname = 7\n".to_owned()],
        "everything stays as it was",
    );
    reload(
        &publisher.program,
        &file,
        &[section("a b", "test:")],
        "no name of a camera",
    );
    assert_eq!(cameras(viewer.path(), ticket), ["front", "garden"]);
    front_viewer.stop();
    assert_eq!(
        front_viewer.said().matches("INFO watching").count(),
        1,
        "it was never interrupted"
    );
}

#[test]
fn one_that_cannot_be_published_is_left_out_and_told_and_one_that_ends_touches_no_other() {
    let (own, viewer, files) = (home(), home(), tempfile::tempdir().expect("a folder"));
    let h265 = files.path().join("yard.mp4");
    let pictures = [
        "-f",
        "lavfi",
        "-i",
        "testsrc2=size=160x120:rate=10:duration=1",
        "-c:v",
        "libx265",
        "-x265-params",
        "log-level=none",
    ];
    ffmpeg(&[&pictures[..], &[path(&h265)]].concat());
    let cameras = [
        section("front", "test:160x120@10"),
        section("yard", &format!("file:{}?loop", path(&h265))) + "encrypt = \"headers\"\n",
        section("clip", "test:160x120@10?frames=20"),
    ];
    let publisher = configured(own.path(), &files.path().join("sealcast.toml"), &cameras);
    publisher.program.says("the camera yard: ", PATIENCE);
    publisher.program.says("the other cameras go on", PATIENCE);
    assert_eq!(self::cameras(viewer.path(), &publisher.ticket), ["front", "clip"]);
    let watching = watch(viewer.path(), &publisher.ticket, &["--to", "null:", "--camera", "clip"]);
    watching.says("INFO watching", PATIENCE);
    until("what has ended is shown so", || {
        let (_, status) = run(own.path(), &["control", "status"]);
        status.contains(" front=on") && status.contains(" clip=ended")
    });
    publisher.program.says("camera=\"clip\"", PATIENCE);
}

#[test]
fn a_viewer_that_names_no_camera_stays_with_the_one_that_it_was_given() {
    let (own, viewer, files) = (home(), home(), tempfile::tempdir().expect("a folder"));
    let file = files.path().join("sealcast.toml");
    let (front, yard) = (section("front", "test:160x120@10"), section("yard", "test:160x120@10"));
    let publisher = configured(own.path(), &file, &[front.clone(), yard.clone()]);
    let watching = watch(viewer.path(), &publisher.ticket, &["--to", "null:"]);
    watching.says("watching one of several cameras", PATIENCE);
    let watched = |camera: &str| {
        let (_, status) = run(own.path(), &["status", "--json"]);
        status.replace(' ', "").contains(&format!("\"camera\":\"{camera}\""))
    };
    until("it watches the first", || watched("front"));
    let changed = section("front", "test:320x240@10");
    reload(&publisher.program, &file, &[yard.clone(), changed], "changed=\"front\"");
    watching.says_times("INFO watching", 2, PATIENCE);
    until("it watches the same camera, which is the second now", || {
        watched("front") && !watched("yard")
    });
    reload(&publisher.program, &file, &[yard], "removed=\"front\"");
    watching.says("no camera of that name here", PATIENCE);
}

#[test]
fn the_metrics_of_each_camera_are_its_own() {
    let (own, viewer) = (home(), home());
    let metrics = ["yard=test:160x120@10", "--metrics", "127.0.0.1:0"];
    let publisher = publish(own.path(), "front=test:160x120@10", &metrics);
    let watching = watch(viewer.path(), &publisher.ticket, &["--to", "null:", "--camera", "yard"]);
    watching.says("INFO watching", PATIENCE);
    until("its frames are counted as those of its camera", || {
        let text = publisher.program.metrics();
        let of = |camera: &str| {
            let begins = format!("sealcast_frames_total{{camera=\"{camera}\",dir=\"out\"}} ");
            let line = text.lines().find_map(|line| line.strip_prefix(&begins));
            line.and_then(|count| count.parse::<u64>().ok())
        };
        of("yard").is_some_and(|count| count > 5) && of("front") == Some(0)
    });
}

#[test]
fn what_no_publisher_of_several_cameras_can_be_is_refused_in_words() {
    let own = home();
    for (arguments, words) in [
        (&["front=test:", "test:"][..], "each of several cameras needs a name"),
        (&["front=test:", "front=test:"], "two cameras would be at front"),
        (&["front=test:", "yard=-"], "standard input"),
        (&["front=test:", "yard=rstp://x/"], "yard"),
        (
            &["front=test:", "back yard=test:"],
            "\"back yard\" is no name of a camera",
        ),
        (&["höf=test:"], "\"höf\" is no name of a camera"),
        (
            &[
                "front=test:",
                "yard=test:",
                "--listen",
                "udp://127.0.0.1:0?multicast=239.1.1.1:5000",
                "--group",
            ],
            "publisher of one camera",
        ),
    ] {
        let (code, said) = run(own.path(), &[&["publish"], arguments].concat());
        assert_eq!(code, Some(2), "{arguments:?}: {said}");
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
    assert!(
        fs::read_dir(own.path()).expect("there").next().is_none(),
        "nothing was made"
    );
}
