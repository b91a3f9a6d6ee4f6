//! Viewers of a camera behind real relays: how long they are without a picture when their relay is killed, and how soon
//! who comes late has one. `cargo xtask relay` runs it.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use sealcast_testkit::program::{
    MANY_USES, PATIENCE, Program, Publisher, free_port, home, publish_by, sealcast, until,
};
use sealcast_testkit::skips::skipped;

const FRAMES_IN: &str = "sealcast_frames_total{dir=\"in\"}";
const AGE: &str = "sealcast_picture_age_seconds";
/// Number of times that each thing is tried.
const ROUNDS: usize = 10;
/// Distance of keyframes: 10 s.
const CARD: &str = "test:320x240@25?gop=250";

/// The relay's program; without one there is nothing to test.
fn program() -> Option<PathBuf> {
    let named = std::env::var_os("MOQ_RELAY").map(PathBuf::from);
    if named.is_none() {
        skipped("no relay: cargo xtask relay");
    }
    named
}

/// A running moq-relay with a certificate of its own.
struct Relay {
    process: Program,
    port: u16,
    sha256: String,
}

impl Relay {
    fn start(dir: &Path) -> Self {
        let program = program().expect("MOQ_RELAY names the relay's program");
        let port = free_port();
        let config = dir.join(format!("relay-{port}.toml"));
        let text = format!(
            "[listen]\nbind = \"127.0.0.1:{port}\"\n[listen.tls]\ngenerate = [\"localhost\"]\n\
             [web.http]\nlisten = \"127.0.0.1:{port}\"\n[auth]\npublic = \"**\"\n"
        );
        fs::write(&config, text).expect("room for a file");
        let mut command = Command::new(program);
        command.arg(&config);
        let process = Program::run("the relay", command);
        let mut sha256 = String::new();
        until("the relay tells its certificate", || {
            sha256 = certificate(port).unwrap_or_default();
            sha256.len() == 64
        });
        Self { process, port, sha256 }
    }

    fn url(&self) -> String {
        format!("https://127.0.0.1:{}/rov#sha256={}", self.port, self.sha256)
    }
}

/// The hash of the certificate, which the relay serves over HTTP.
fn certificate(port: u16) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.write_all(b"GET /certificate.sha256 HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.lines().last().unwrap_or_default().trim().to_owned())
}

fn camera(home: &Path, relays: &[&Relay]) -> Publisher {
    let mut command = sealcast(home);
    command.args([
        "publish",
        CARD,
        "--listen",
        "tcp://127.0.0.1:0",
        "--metrics",
        "127.0.0.1:0",
    ]);
    command.args(MANY_USES);
    for relay in relays {
        command.args(["--relay", &relay.url()]);
    }
    publish_by(command)
}

fn viewer(home: &Path, ticket: &str, relays: &[&Relay]) -> Program {
    let mut command = sealcast(home);
    command.args(["watch", ticket, "--to", "null:", "--metrics", "127.0.0.1:0"]);
    for relay in relays {
        command.args(["--relay", &relay.url()]);
    }
    let viewer = Program::run("the viewer", command);
    viewer.says("http://", PATIENCE);
    viewer
}

/// Waits until frames come that a challenge proves to be live.
fn is_live(viewer: &Program) {
    let before = viewer.counts(FRAMES_IN);
    viewer.has_counted(FRAMES_IN, before + 10.0);
    until("the picture is live", || {
        let age = viewer.counts(AGE);
        age > 0.0 && age < f64::INFINITY
    });
}

/// Time until a counter has grown.
fn until_it_grows(viewer: &Program, from: f64) -> Duration {
    let since = Instant::now();
    let deadline = since + PATIENCE;
    while viewer.counts(FRAMES_IN) <= from {
        assert!(Instant::now() < deadline, "no frames come any more: {}", viewer.said());
        std::thread::sleep(Duration::from_millis(5));
    }
    since.elapsed()
}

fn print(what: &str, times: &mut [Duration]) {
    times.sort();
    let (least, most) = (times[0], times[times.len() - 1]);
    let median = times[times.len() / 2];
    println!(
        "{what}: median {median:.2?}, {least:.2?} to {most:.2?}, {} times",
        times.len()
    );
}

#[test]
fn a_viewer_whose_relay_is_killed_goes_on_with_the_second_one() {
    if program().is_none() {
        return;
    }
    let homes = [home(), home(), home()];
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let relays = [Relay::start(homes[0].path()), Relay::start(homes[0].path())];
        let [first, second] = &relays;
        let camera = camera(homes[1].path(), &[first, second]);
        let viewer = viewer(homes[2].path(), &camera.ticket, &[first, second]);
        is_live(&viewer);
        first.process.signal("KILL");
        // What was on the way comes yet.
        std::thread::sleep(Duration::from_millis(200));
        let frozen = viewer.counts(FRAMES_IN);
        times.push(Duration::from_millis(200) + until_it_grows(&viewer, frozen));
        is_live(&viewer);
    }
    print("frames again after the relay was killed", &mut times);
}

#[test]
fn who_comes_late_does_not_wait_for_the_next_group_of_pictures() {
    if program().is_none() {
        return;
    }
    let homes = [home(), home()];
    let relay = Relay::start(homes[0].path());
    let camera = camera(homes[0].path(), &[&relay]);
    let watch = || viewer(homes[1].path(), &camera.ticket, &[&relay]);
    // It enrols, and from then on is in the sheets that the relay keeps.
    let mut guest = watch();
    is_live(&guest);
    guest.stop();
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let since = Instant::now();
        let mut guest = watch();
        until_it_grows(&guest, 0.0);
        times.push(since.elapsed());
        guest.stop();
    }
    print(
        "first frame after the program was started, of groups of 10 s",
        &mut times,
    );
}
