//! Third-party RTSP servers, as cameras for the tests.

mod senders;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::media::{STREET, clip, ffmpeg, path, tool};
use crate::program::{PATIENCE, free_port};

pub use senders::{MediaMtx, ffmpeg_camera, ffmpeg_clip, mediamtx};

/// A server process that ends with the test, also if the test fails.
pub struct Server {
    child: Child,
    /// The listening port.
    pub port: u16,
    /// The first and the last port from which GStreamer's server sends datagrams: half of those that no other test
    /// uses. The next twenty are for a player.
    pub udp: [u16; 2],
    lines: Option<Receiver<String>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The camera's URL.
    pub fn url(&self) -> String {
        format!("rtsp://127.0.0.1:{}/cam", self.port)
    }

    /// Waits for a line of the server's output.
    pub fn expect_line(&self, wanted: &str) {
        let lines = self.lines.as_ref().expect("this server speaks");
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if lines
                .recv_timeout(Duration::from_millis(100))
                .is_ok_and(|line| line == wanted)
            {
                return;
            }
        }
        panic!("the server never said {wanted}");
    }
}

/// A Python that has GStreamer's RTSP server: the system's Python, which need not be the first in `PATH`.
fn python() -> Command {
    let probe = "import gi; gi.require_version('GstRtspServer', '1.0')";
    let found = ["/usr/bin/python3", "python3"].into_iter().find(|python| {
        let status = Command::new(python).args(["-c", probe]).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    });
    let missing = "GStreamer's RTSP server for Python is not installed: `cargo xtask test` installs it";
    Command::new(found.unwrap_or_else(|| panic!("{missing}")))
}

/// Starts GStreamer's server on a file, in real time.
pub fn gstreamer(file: &Path, args: &[&str]) -> Server {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/servers/rtsp_camera.py");
    let first = free_port() / 40 * 40;
    let udp = [first, first + 19];
    let child = python()
        .arg(script)
        .arg(file)
        .args(args)
        .arg("--udp")
        .args(udp.map(|port| port.to_string()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut server = Server {
        child: child.expect("python runs"),
        port: 0,
        udp,
        lines: None,
    };
    let output = BufReader::new(server.child.stdout.take().expect("piped"));
    let (sender, lines) = channel();
    thread::spawn(move || {
        output
            .lines()
            .map_while(Result::ok)
            .try_for_each(|line| sender.send(line))
    });
    let first = lines.recv_timeout(PATIENCE).expect("the server listens");
    server.port = first
        .strip_prefix("port ")
        .and_then(|port| port.parse().ok())
        .expect("a port");
    server.lines = Some(lines);
    server
}

/// VLC without a window. It refuses to run as root.
pub fn cvlc() -> Command {
    tool("cvlc");
    let as_root = std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    let mut command = match as_root {
        true => tool("setpriv"),
        false => Command::new("env"),
    };
    if as_root {
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "env", "HOME=/tmp"]);
    }
    command.arg("cvlc");
    command
}

/// Starts VLC's server on a file, in a loop.
pub fn vlc(file: &Path) -> Server {
    let port = free_port();
    let output = format!(":sout=#rtp{{sdp=rtsp://127.0.0.1:{port}/cam}}");
    let vlc = [
        "--quiet",
        "--intf",
        "dummy",
        "--rtsp-host=127.0.0.1",
        "--loop",
        "--no-sout-audio",
        "--sout-keep",
    ];
    let child = cvlc()
        .args(vlc)
        .arg(file)
        .arg(output)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let server = Server {
        child: child.expect("VLC runs"),
        port,
        udp: [0; 2],
        lines: None,
    };
    let deadline = Instant::now() + PATIENCE;
    // It listens before it knows its stream, and answers with an error until then.
    while describe(port).is_none_or(|answer| !answer.contains(" 200 ") || !answer.contains("sprop-parameter-sets")) {
        assert!(
            Instant::now() < deadline,
            "VLC does not offer the clip: {:?}",
            describe(port)
        );
        thread::sleep(Duration::from_millis(50));
    }
    server
}

/// The server's answer to DESCRIBE.
pub fn describe(port: u16) -> Option<String> {
    let mut server = TcpStream::connect(("127.0.0.1", port)).ok()?;
    server.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    write!(
        server,
        "DESCRIBE rtsp://127.0.0.1:{port}/cam RTSP/1.0\r\nCSeq: 1\r\n\r\n"
    )
    .ok()?;
    let mut answer = [0; 4096];
    let n = server.read(&mut answer).ok()?;
    Some(String::from_utf8_lossy(&answer[..n]).into_owned())
}

/// Real Motion JPEG that RTP can carry: it uses the standard Huffman tables, which are not transmitted.
pub fn jpeg_clip(dir: &Path) -> PathBuf {
    let file = dir.join("camera.avi");
    let input = clip(STREET, dir);
    ffmpeg(&[
        "-i",
        path(&input),
        "-t",
        "8",
        "-c:v",
        "mjpeg",
        "-huffman",
        "default",
        "-q:v",
        "6",
        "-an",
        path(&file),
    ]);
    file
}
