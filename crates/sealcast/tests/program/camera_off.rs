//! Cameras that are off: what `publish --retry` does meanwhile, and what viewers and its user are told.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;

use sealcast_testkit::media::{STREET, clip, path, pictures};
use sealcast_testkit::program::{
    PATIENCE, Program, file_url, free_port, home, publish, sealcast, until, watch, write_private,
};
use sealcast_testkit::servers::{Server, gstreamer};

/// Answer of a publisher's control socket to `status`.
fn status(home: &Path) -> String {
    let output = sealcast(home).args(["control", "status"]).output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// Lets a camera be reached at another port of this machine, connection by connection, until its server is gone.
fn reached_at(port: u16, server: &Server) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("a port that was free");
    let to = server.url();
    let to: u16 = to
        .trim_start_matches("rtsp://127.0.0.1:")
        .split('/')
        .next()
        .and_then(|port| port.parse().ok())
        .expect("a port");
    let carry = |mut from: TcpStream, mut to: TcpStream| {
        thread::spawn(move || {
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(std::net::Shutdown::Write);
        })
    };
    thread::spawn(move || {
        for near in listener.incoming().flatten() {
            // Without a server the camera hangs up.
            let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, to)) else {
                continue;
            };
            carry(
                near.try_clone().expect("a descriptor"),
                far.try_clone().expect("a descriptor"),
            );
            carry(far, near);
        }
    });
}

/// Checks that a viewer was not told where the camera is.
fn assert_knows_no_address(viewer: &Program, port: u16) {
    let said = viewer.said();
    assert!(!said.contains(&format!("127.0.0.1:{port}")), "{said}");
}

#[test]
fn a_camera_that_is_off_is_waited_for_by_publisher_and_viewer_at_the_start_and_later() {
    let (near, far, dir) = (home(), home(), home());
    let file = clip(STREET, dir.path());
    let port = free_port();
    let url = format!("rtsp://127.0.0.1:{port}/cam?transport=tcp");
    let mut publisher = publish(near.path(), &url, &["--retry", "--metrics", "127.0.0.1:0"]);
    publisher.program.says("/metrics", PATIENCE);
    let why = "the camera is off: it is opened again until it is on; viewers wait; check that the camera is on";
    publisher.program.says(why, PATIENCE);
    let said = status(near.path());
    assert!(said.contains(" camera=off since=20"), "{said}");
    assert!(said.contains(&format!(" why=rtsp://127.0.0.1:{port}/cam ")), "{said}");
    publisher.program.has_counted("sealcast_camera_off", 1.0);
    let screen = sealcast(near.path()).arg("status").output().expect("it runs");
    let screen = String::from_utf8(screen.stdout).expect("text");
    let off = screen.lines().find(|line| line.starts_with("camera off since "));
    let because = format!("), because rtsp://127.0.0.1:{port}/cam ");
    assert!(off.is_some_and(|line| line.contains(&because)), "{screen}");

    let out = far.path().join("out.h264");
    let more = ["--to", &file_url(&out), "--metrics", "127.0.0.1:0"];
    let mut viewer = watch(far.path(), &publisher.ticket, &more);
    viewer.says("the camera is off since 20", PATIENCE);
    viewer.says("because it cannot be reached", PATIENCE);
    viewer.has_counted("sealcast_camera_off", 1.0);

    let server = gstreamer(&file, &[]);
    let url = server.url();
    assert!(url.ends_with("/cam"), "{url}");
    reached_at(port, &server);
    viewer.says("the camera is on again", PATIENCE);
    viewer.has_counted("sealcast_frames_total{dir=\"in\"}", 30.0);
    assert!(status(near.path()).contains(" camera=on"), "{}", status(near.path()));

    drop(server);
    viewer.says_times("the camera is off since 20", 2, PATIENCE);
    until("the publisher says so", || {
        status(near.path()).contains(" camera=off since=20")
    });
    assert_knows_no_address(&viewer, port);
    viewer.stop();
    publisher.program.stop();
    let original = pictures(&["-i", path(&file)]);
    let received = pictures(&["-i", path(&out)]);
    assert!(received.len() >= 30 && received.iter().all(|picture| original.contains(picture)));
}

/// Answers every request of a client that has this password of `admin` (in Base64) with 404, and of others with 401.
fn guarded_camera(password: &'static str) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    let answer = move |mut stream: TcpStream| {
        let Ok(copy) = stream.try_clone() else { return };
        let (mut number, mut knows) = (String::new(), false);
        for line in BufReader::new(copy).lines().map_while(Result::ok) {
            if let Some(counted) = line.strip_prefix("CSeq: ") {
                number = counted.to_owned();
            }
            knows |= line == format!("Authorization: Basic {password}");
            if line.is_empty() {
                let status = match std::mem::take(&mut knows) {
                    true => "404 Not Found\r\n",
                    false => "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"camera\"\r\n",
                };
                // The publisher may be gone.
                let _ = stream.write_all(format!("RTSP/1.0 {status}CSeq: {number}\r\n\r\n").as_bytes());
            }
        }
    };
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(stream));
        }
    });
    port
}

#[test]
fn a_login_that_is_refused_is_tried_again_after_a_minute_and_with_the_mended_password_at_sighup() {
    let (near, far) = (home(), home());
    // admin:r1ght. Among the words of a session are such as "bright".
    let port = guarded_camera("YWRtaW46cjFnaHQ=");
    let secret = near.path().join("camera.secret");
    write_private(&secret, "admin:wr0ng\n");
    let url = format!("rtsp://127.0.0.1:{port}/x?transport=tcp&credentials=@{}", path(&secret));
    let mut publisher = publish(near.path(), &url, &["--retry"]);
    publisher
        .program
        .says("does not accept this user and password", PATIENCE);
    publisher.program.says("again_in=60", PATIENCE);
    let mut viewer = watch(far.path(), &publisher.ticket, &["--to", "null:"]);
    viewer.says("because it does not accept the publisher's login", PATIENCE);

    write_private(&secret, "admin:r1ght\n");
    publisher.program.signal("HUP");
    viewer.says("because it has no such stream", PATIENCE);
    let said = status(near.path());
    assert!(said.contains("has no such stream"), "{said}");
    publisher.program.says_times("again_in=60", 2, PATIENCE);
    for said in [publisher.program.said(), viewer.said(), said] {
        assert!(!said.contains("wr0ng") && !said.contains("r1ght"), "{said}");
    }
    assert_knows_no_address(&viewer, port);
    viewer.stop();
    publisher.program.stop();
}

#[test]
fn what_waiting_does_not_mend_ends_the_publisher_with_retry_too() {
    let home = home();
    let file = file_url(&home.path().join("clip.mp4"));
    let refused = |more: &[&str], code: i32| {
        let listen = ["--listen", "tcp://127.0.0.1:0", "--retry"];
        let mut command = sealcast(home.path());
        command.arg("publish").args(more).args(listen);
        let mut program = Program::run("the publisher", command);
        assert_eq!(program.ends(PATIENCE), code, "{}", program.said());
    };
    refused(&["ftp://camera/"], 2);
    refused(&["test:320x240@25", "--shape", "constant:64kbit"], 8);
    // Without it, the first failure is the last.
    let mut command = sealcast(home.path());
    command.args(["publish", &file, "--listen", "tcp://127.0.0.1:0"]);
    let mut program = Program::run("the publisher", command);
    assert_eq!(program.ends(PATIENCE), 3, "{}", program.said());
}

#[test]
fn while_the_codec_is_not_known_nothing_is_left_in_clear() {
    let home = home();
    let file = home.path().join("clip.mp4");
    let socket = home.path().join("control");
    let mut publisher = publish(home.path(), &file_url(&file), &["--retry", "--control", path(&socket)]);
    let asked = |selection| {
        let control = sealcast(home.path()).args(["control", "encrypt", selection]).output();
        let output = control.expect("it runs");
        String::from_utf8([output.stdout, output.stderr].concat()).expect("text")
    };
    let said = asked("keyframes");
    assert!(said.contains("the camera is off, and its codec is not known"), "{said}");
    let copy = home.path().join("copy.mp4");
    std::fs::copy(clip(STREET, home.path()), &copy).expect("a copy");
    std::fs::rename(copy, &file).expect("the clip is there at once");
    publisher.program.says("the camera is on again", PATIENCE);
    let said = asked("keyframes");
    assert!(said.contains("ok encrypt keyframes"), "{said}");
    publisher.program.stop();
}
