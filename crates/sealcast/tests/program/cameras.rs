//! Cameras that others made, published by one process and watched by another: the pictures are those of the camera, and
//! its password is nobody's business.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use sealcast_testkit::media::{STREET, clip, path, pictures};
use sealcast_testkit::program::{PATIENCE, Publisher, file_url, home, publish, publish_by, run_of, sealcast, watch};
use sealcast_testkit::servers::{gstreamer, jpeg_clip, vlc};

/// Longer than the two seconds between the street's keyframes.
const SECONDS: &str = "5";
const ENOUGH: Duration = Duration::from_secs(5 + PATIENCE.as_secs());
const PASSWORD: &str = "correct-h0rse";

/// Watch for some seconds; the digests of the pictures that came.
fn watched(mut publisher: Publisher, name: &str) -> Vec<String> {
    let viewer_home = home();
    let out = viewer_home.path().join(name);
    let to = file_url(&out);
    let mut viewer = watch(
        viewer_home.path(),
        &publisher.ticket,
        &["--to", &to, "--seconds", SECONDS],
    );
    viewer.succeeds(ENOUGH);
    publisher.program.stop();
    pictures(&["-i", path(&out)])
}

fn assert_pictures_of(file: &Path, received: &[String], at_least: usize) {
    assert!(received.len() >= at_least, "only {} pictures came", received.len());
    run_of(received, &pictures(&["-i", path(file)]));
}

#[test]
fn a_gstreamer_camera_arrives_picture_by_picture() {
    let dir = home();
    let file = clip(STREET, dir.path());
    let server = gstreamer(&file, &[]);
    let publisher_home = home();
    let publisher = publish(publisher_home.path(), &format!("{}?transport=tcp", server.url()), &[]);
    assert_pictures_of(&file, &watched(publisher, "out.h264"), 60);
}

#[test]
fn a_motion_jpeg_camera_arrives_picture_by_picture() {
    let dir = home();
    let file = jpeg_clip(dir.path());
    let server = gstreamer(&file, &[]);
    let publisher_home = home();
    let url = format!("{}?transport=tcp&reconnect=no", server.url());
    let publisher = publish(publisher_home.path(), &url, &["--seconds", "3"]);
    let received = watched(publisher, "out.mjpeg");
    assert_pictures_of(&file, &received, 50);
}

#[test]
fn a_vlc_camera_arrives_picture_by_picture() {
    let dir = home();
    let file = dir.path().join("clip.mp4");
    std::fs::copy(clip(STREET, dir.path()), &file).expect("a copy");
    let open_to_all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(dir.path(), open_to_all).expect("VLC may look into it");
    let server = vlc(&file);
    let publisher_home = home();
    let publisher = publish(publisher_home.path(), &server.url(), &[]);
    assert_pictures_of(&file, &watched(publisher, "out.h264"), 60);
}

/// The arguments of a process and of all that it started, as anybody on the machine can read them.
fn arguments(process: u32) -> String {
    let read = |name: &str| std::fs::read(format!("/proc/{process}/{name}")).unwrap_or_default();
    let mut text = String::from_utf8_lossy(&read("cmdline")).into_owned();
    let children = read(&format!("task/{process}/children"));
    let children = String::from_utf8_lossy(&children).into_owned();
    for child in children.split_whitespace() {
        text += &arguments(child.parse().expect("a process"));
    }
    text
}

/// Every file in a directory, as text.
fn files(dir: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(dir).expect("a directory").flatten() {
        let content = std::fs::read(entry.path()).expect("a file");
        writeln!(
            text,
            "{}: {}",
            entry.path().display(),
            String::from_utf8_lossy(&content)
        )
        .expect("memory");
    }
    text
}

#[test]
fn the_password_of_a_camera_stays_between_it_and_the_publisher() {
    let (dir, publisher_home, seen) = (home(), home(), home());
    let file = clip(STREET, dir.path());
    let login = ["--user", "admin", "--password", PASSWORD, "--method", "digest"];
    let server = gstreamer(&file, &login);
    let secret = dir.path().join("camera.secret");
    std::fs::write(&secret, format!("admin:{PASSWORD}\n")).expect("space");
    let url = format!("{}?transport=tcp&credentials=@{}", server.url(), path(&secret));
    let (report, logs) = (seen.path().join("report.json"), seen.path().join("logs"));
    let mut command = sealcast(publisher_home.path());
    command.args(["-vv", "publish", &url, "--listen", "tcp://127.0.0.1:0"]);
    command.args(["--report", path(&report), "--log-dir", path(&logs)]);
    let mut publisher = publish_by(command);

    let out = dir.path().join("out.h264");
    let to = file_url(&out);
    let viewer_home = home();
    let options = ["--to", &to, "--seconds", SECONDS];
    let mut viewer = watch(viewer_home.path(), &publisher.ticket, &options);
    viewer.succeeds(ENOUGH);
    let typed = arguments(publisher.program.id());
    publisher.program.stop();
    assert_pictures_of(&file, &pictures(&["-i", path(&out)]), 60);

    assert!(typed.contains(&url), "the arguments were looked at: {typed}");
    let said = publisher.program.said();
    assert!(said.contains("DEBUG"), "more than usual was logged");
    let report = std::fs::read_to_string(report).expect("a report");
    for (place, text) in [
        ("arguments", typed),
        ("log", said),
        ("viewer's log", viewer.said()),
        ("report", report),
        ("CSV logs", files(&logs)),
    ] {
        assert!(!text.contains(PASSWORD), "the password is in the {place}:\n{text}");
    }
}
