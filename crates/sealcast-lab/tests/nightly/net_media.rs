//! The packets of a sealed stream between two network namespaces, captured. The test needs root, `/dev/net/tun` and
//! tcpdump; without one of the first two it is skipped.

use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use sealcast_lab::net::{End, Net, NetConfig};
use sealcast_proto::sim::LinkProfile;
use sealcast_testkit::skips::skipped;

const LAB: &str = env!("CARGO_BIN_EXE_sealcast-lab");
const FRAMES: usize = 60;
/// Maximum number of times that a stream is sent, since tcpdump itself may lose packets.
const TRIES: usize = 3;

/// A process that is killed when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// tcpdump in an end's namespace.
struct Capture {
    tcpdump: Running,
    said: Lines<BufReader<ChildStderr>>,
}

impl Capture {
    /// Starts to capture the headers of all packets, and waits until tcpdump listens.
    fn start(net: &Net, end: End, file: &Path) -> Self {
        let mut command = net.command(end, "tcpdump");
        command.args(["-i", "any", "--immediate-mode", "-s", "96", "-B", "16384", "-U"]);
        command.arg("-w").arg(file).arg("ip");
        let mut tcpdump = Running(command.stderr(Stdio::piped()).spawn().expect("tcpdump runs"));
        let mut said = BufReader::new(tcpdump.0.stderr.take().expect("piped")).lines();
        let listens = said.any(|line| line.is_ok_and(|line| line.contains("listening on")));
        assert!(listens, "tcpdump captures");
        Self { tcpdump, said }
    }

    /// Ends the capture. Returns true if no packet is missing from it.
    fn ends_whole(mut self) -> bool {
        let id = self.tcpdump.0.id().to_string();
        let asked = Command::new("kill").args(["-s", "INT", &id]).status();
        assert!(asked.expect("kill runs").success());
        let last = self
            .said
            .map_while(Result::ok)
            .find(|line| line.contains("dropped by kernel"));
        assert!(self.tcpdump.0.wait().expect("it ends").success());
        last.is_some_and(|line| line.starts_with("0 "))
    }
}

/// Number of captured packets that match a filter.
fn count(file: &Path, filter: &str) -> usize {
    let output = Command::new("tcpdump")
        .args(["-n", "-r"])
        .arg(file)
        .arg(filter)
        .output();
    let output = output.expect("tcpdump runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().count()
}

/// Starts one of the two ends of a measured run.
fn end(net: &Net, end: End, verb: &str, dir: &Path) -> Running {
    let mut command = net.command(end, LAB);
    let address = format!("{}:0", End::A.ipv4());
    command.args([
        verb,
        "--carrier",
        "sealcast",
        "--options",
        "fec=auto&nack=on",
        "--address",
        &address,
    ]);
    command.args(["--frames", &FRAMES.to_string()]);
    command.arg("--rows").arg(dir.join(format!("{verb}.csv")));
    command.arg("--metrics").arg(dir.join(format!("{verb}.prom")));
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    Running(piped.spawn().expect("the laboratory runs"))
}

/// Sends the stream from one end to the other. Returns the number of frames that arrived.
fn stream(net: &Net, dir: &Path) -> usize {
    let mut sender = end(net, End::A, "link-send", dir);
    let mut lines = BufReader::new(sender.0.stdout.take().expect("piped")).lines();
    let ticket = lines.find_map(|line| line.expect("text").strip_prefix("ticket ").map(str::to_owned));
    let mut receiver = end(net, End::B, "link-receive", dir);
    let mut words = receiver.0.stdin.take().expect("piped");
    writeln!(words, "{}", ticket.expect("a ticket")).expect("it listens");
    assert!(sender.0.wait().expect("it ends").success());
    std::thread::sleep(Duration::from_millis(500));
    drop(words);
    assert!(receiver.0.wait().expect("it ends").success());
    let rows = fs::read_to_string(dir.join("link-receive.csv")).expect("what came");
    rows.lines().count() - 1
}

#[test]
fn on_a_path_of_1280_bytes_nothing_is_fragmented() {
    if let Some(obstacle) = Net::obstacle() {
        skipped(obstacle);
        return;
    }
    let profile: LinkProfile = "mtu=1280 delay=5ms loss=5%".parse().expect("a profile");
    let net = Net::start(&NetConfig {
        name: format!("test-media-{}", std::process::id()),
        up: profile.clone(),
        down: profile,
        seed: 1,
        ..NetConfig::default()
    });
    let net = net.expect("a link");
    let dir = tempfile::tempdir().expect("a folder");
    let files = [End::A, End::B].map(|end| dir.path().join(format!("{end:?}.pcap")));
    // A capture with packets lost in tcpdump's own buffer is not used.
    let whole = (0..TRIES).any(|_| {
        let captures = [End::A, End::B].map(|end| Capture::start(&net, end, &files[end as usize]));
        let frames = stream(&net, dir.path());
        assert!((1..=FRAMES).contains(&frames), "{frames} of {FRAMES} frames came");
        captures.map(Capture::ends_whole) == [true; 2]
    });
    assert!(whole, "tcpdump lost packets {TRIES} times");
    for file in &files {
        // Frames are cut into equal parts of at most 1200 bytes, after 28 bytes of IPv4 and UDP headers.
        let large = count(file, "udp and ip[2:2] > 1100");
        assert!(large > 10, "{large} large packets");
        for (what, filter) in [
            ("fragments", "ip[6:2] & 0x3fff != 0"),
            ("packets that may be fragmented", "udp and ip[6:2] & 0x4000 = 0"),
            ("longer packets", "ip[2:2] > 1228"),
        ] {
            assert_eq!(count(file, filter), 0, "{what} in {}", file.display());
        }
    }
}
