//! Third-party cameras, published by one process and watched by another: the pictures are the camera's, and its
//! password is visible nowhere.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::net::TcpListener;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use sealcast_proto::words::is_unsafe;
use sealcast_testkit::gateways::clip::h264;
use sealcast_testkit::gateways::{Camera, Deviation, When};
use sealcast_testkit::media::{STREET, clip, path, pictures};
use sealcast_testkit::program::{
    PATIENCE, Program, Publisher, file_url, home, publish, publish_by, sealcast, succeeds_once, watch, write_private,
};
use sealcast_testkit::servers::{gstreamer, jpeg_clip, vlc};

/// Number of pictures: more than the two seconds between the keyframes of the street clip.
const PICTURES: usize = 60;
const PASSWORD: &str = "correct-h0rse";

/// Watches until consecutive pictures of the camera's file have arrived, with repeated attempts, since a busy machine
/// drops frames. Returns the last viewer.
fn assert_shows(publisher: &mut Publisher, file: &Path, name: &str) -> Program {
    let original = pictures(&["-i", path(file)]);
    let viewer_home = home();
    let out = viewer_home.path().join(name);
    let last = RefCell::new(None);
    let shows = || {
        *last.borrow_mut() = Some(watched(publisher, file, original.len(), &out));
        let received = pictures(&["-i", path(&out)]);
        let known = |digest: &String| original.contains(digest);
        assert!(received.iter().all(known), "not all pictures are the camera's");
        let from = |begin: usize| original.iter().cycle().skip(begin).take(received.len()).eq(&received);
        match received.len() >= PICTURES && (0..original.len()).any(from) {
            true => Ok(()),
            false => Err(format!("{} pictures came, and some are missing", received.len())),
        }
    };
    assert!(succeeds_once(name, shows), "pictures are missing every time");
    publisher.program.stop();
    last.into_inner().expect("a viewer")
}

/// Watches until more bytes have arrived than `PICTURES` pictures take of a file that has `pictures`. Returns the
/// viewer.
fn watched(publisher: &Publisher, file: &Path, pictures: usize, out: &Path) -> Program {
    let viewer_home = home();
    // The output of an earlier attempt.
    let _ = std::fs::remove_file(out);
    let mut viewer = watch(viewer_home.path(), &publisher.ticket, &["--to", &file_url(out)]);
    let length = |file: &Path| std::fs::metadata(file).map_or(0, |data| data.len() as usize);
    // Half as much again, since keyframes are longer than other frames.
    let enough = length(file) * PICTURES / pictures * 3 / 2;
    let began = Instant::now();
    while length(out) < enough {
        assert!(
            began.elapsed() < PATIENCE,
            "only {} bytes came of {enough}",
            length(out)
        );
        thread::sleep(Duration::from_millis(50));
    }
    viewer.stop();
    viewer
}

#[test]
fn a_gstreamer_camera_arrives_picture_by_picture() {
    let dir = home();
    let file = clip(STREET, dir.path());
    let server = gstreamer(&file, &[]);
    let publisher_home = home();
    let url = format!("{}?transport=tcp", server.url());
    assert_shows(&mut publish(publisher_home.path(), &url, &[]), &file, "out.h264");
}

#[test]
fn a_motion_jpeg_camera_arrives_picture_by_picture() {
    let dir = home();
    let file = jpeg_clip(dir.path());
    let server = gstreamer(&file, &[]);
    let publisher_home = home();
    let url = format!("{}?transport=tcp", server.url());
    assert_shows(&mut publish(publisher_home.path(), &url, &[]), &file, "out.mjpeg");
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
    assert_shows(
        &mut publish(publisher_home.path(), &server.url(), &[]),
        &file,
        "out.h264",
    );
}

/// The command lines of a process and its descendants, which anybody on the machine can read.
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
    write_private(&secret, format!("admin:{PASSWORD}\n"));
    let url = format!("{}?transport=tcp&credentials=@{}", server.url(), path(&secret));
    let (report, logs) = (seen.path().join("report.json"), seen.path().join("logs"));
    let mut command = sealcast(publisher_home.path());
    command.args(["-vv", "publish", &url, "--listen", "tcp://127.0.0.1:0"]);
    command.args(["--report", path(&report), "--log-dir", path(&logs)]);
    let mut publisher = publish_by(command);

    let typed = arguments(publisher.program.id());
    let viewer = assert_shows(&mut publisher, &file, "out.h264");

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

/// A reason and a header that would move a cursor and begin lines.
const HOSTILE: &[Deviation] = &[Deviation::Writes(
    When::Always,
    "200 OK\r\n",
    "499 gone\x1b[2J\u{9b}31m\u{202e}\rroot# \u{2028}x\r\nServer: a\x1b[1A\u{2067}b\r\n",
)];

#[test]
fn what_a_hostile_camera_says_begins_no_line_and_moves_no_cursor() {
    let home = home();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let camera = Camera::odd(listener, &h264(), HOSTILE);
    let url = format!("{}?transport=tcp", camera.url());
    let publish = ["publish", &url, "--listen", "tcp://127.0.0.1:0", "-vv"];
    let output = sealcast(home.path()).args(publish).output().expect("it runs");
    let said = String::from_utf8([output.stderr, output.stdout].concat()).expect("text");
    assert!(said.contains("sealcast: rtsp://127.0.0.1:"), "{said}");
    let harmful = said.chars().find(|letter| *letter != '\n' && is_unsafe(*letter));
    assert_eq!(harmful, None, "{said:?}");
    assert!(!said.lines().any(|line| line.starts_with("root#")), "{said}");
}
