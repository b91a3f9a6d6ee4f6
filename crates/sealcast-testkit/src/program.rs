//! The program as users run it: each end is a process with a home directory of its own.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::built::built;
use crate::log::Log;
use crate::media::{ffmpeg, path};

/// Time limit for anything that takes no considerable time itself, on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Poll interval of the tests.
const LOOK: Duration = Duration::from_millis(10);

/// Maximum number of attempts at something that fails if the machine stands still: then datagrams are lost, and
/// timeouts of programs expire.
const TRIES: usize = 5;

/// True if one of several attempts succeeds. An attempt itself asserts conditions that must always hold.
pub fn succeeds_once(what: &str, attempt: impl Fn() -> Result<(), String>) -> bool {
    (1..=TRIES).any(|number| match attempt() {
        Ok(()) => true,
        Err(why) => {
            println!("{what}, attempt {number}: {why}");
            false
        }
    })
}

/// A directory for one end: its keys, and files of the test.
pub fn home() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// Writes a file that only its owner can read, as the program requires of files with secrets.
pub fn write_private(file: &Path, content: impl AsRef<[u8]>) {
    std::fs::write(file, content).expect("space");
    std::fs::set_permissions(file, Permissions::from_mode(0o600)).expect("our own file");
}

/// The program with a home and no other inherited settings.
pub fn sealcast(home: &Path) -> Command {
    let mut command = Command::new(built("sealcast"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("SEALCAST_") {
            command.env_remove(name);
        }
    }
    command.env("SEALCAST_HOME", home.join("keys")).stdin(Stdio::null());
    command
}

/// A running program. It ends with the test, and its output is shown if the test failed.
pub struct Program {
    name: &'static str,
    child: Child,
    lines: Option<Receiver<String>>,
    log: Log,
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            eprintln!("--- {} said:\n{}", self.name, self.said());
        }
    }
}

impl Program {
    /// Runs a command and reads its standard output by lines.
    pub fn run(name: &'static str, mut command: Command) -> Self {
        let (mut program, output) = Self::piped(name, command.stdout(Stdio::piped()));
        let (sender, lines) = channel();
        thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            lines.into_iter().try_for_each(|line| sender.send(line))
        });
        program.lines = Some(lines);
        program
    }

    /// Runs a command whose standard input is a pipe for the caller, and reads its standard output by lines.
    pub fn run_fed(name: &'static str, mut command: Command) -> (Self, ChildStdin) {
        command.stdin(Stdio::piped());
        let mut program = Self::run(name, command);
        let input = program.child.stdin.take().expect("piped");
        (program, input)
    }

    /// Runs a command; the caller reads its standard output.
    pub fn piped(name: &'static str, command: &mut Command) -> (Self, ChildStdout) {
        let log = Log::new();
        command.stdout(Stdio::piped()).stderr(log.end());
        let mut child = command.spawn().expect("the program starts");
        let output = child.stdout.take().expect("piped");
        let program = Self {
            name,
            child,
            lines: None,
            log,
        };
        (program, output)
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its standard error so far.
    pub fn said(&self) -> String {
        self.log.text()
    }

    /// The next line of its standard output.
    pub fn line(&self) -> String {
        let lines = self.lines.as_ref().expect("its output is read by lines");
        let line = lines.recv_timeout(PATIENCE);
        line.unwrap_or_else(|_| panic!("{} printed nothing", self.name))
    }

    /// The remaining lines of its standard output.
    pub fn rest(&self) -> Vec<String> {
        let lines = self.lines.as_ref().expect("its output is read by lines");
        lines.iter().collect()
    }

    /// Waits until its standard error contains `words`; returns the time taken.
    pub fn says(&self, words: &str, within: Duration) -> Duration {
        self.says_times(words, 1, within)
    }

    /// Waits until its standard error contains `words` `times` times; returns the time taken.
    pub fn says_times(&self, words: &str, times: usize, within: Duration) -> Duration {
        let began = Instant::now();
        loop {
            if self.said().matches(words).count() >= times {
                return began.elapsed();
            }
            assert!(
                began.elapsed() < within,
                "{} does not say \"{words}\" within {within:?}",
                self.name
            );
            thread::sleep(LOOK);
        }
    }

    /// Waits until it ends by itself; returns the exit code.
    pub fn ends(&mut self, within: Duration) -> i32 {
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child of ours") {
                break status;
            }
            assert!(began.elapsed() < within, "{} does not end within {within:?}", self.name);
            thread::sleep(LOOK);
        };
        status.code().unwrap_or(-1)
    }

    /// Checks that it ends by itself and successfully.
    pub fn succeeds(&mut self, within: Duration) {
        let code = self.ends(within);
        assert_eq!(code, 0, "exit code of {}", self.name);
    }

    /// Sends it a signal by name.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args([&format!("-{name}"), &self.id().to_string()])
            .status();
        assert!(sent.is_ok_and(|status| status.success()), "no signal for {}", self.name);
    }

    /// Its metrics, from the address that it printed.
    pub fn metrics(&self) -> String {
        fetch_metrics(&metrics_address(&self.said()))
    }

    /// The value of the metric with this name and these labels, [`value_of`] its metrics.
    pub fn counts(&self, name: &str) -> f64 {
        let [value] = self.counts_of([name]);
        value
    }

    /// As [`Self::counts`] for several metrics at one moment, so that their values can be compared with each other.
    pub fn counts_of<const N: usize>(&self, names: [&str; N]) -> [f64; N] {
        let metrics = self.metrics();
        names.map(|name| value_of(&metrics, name))
    }

    /// Waits until a metric has at least this value.
    pub fn has_counted(&self, name: &str, enough: f64) {
        until(&format!("{} counts {enough} of {name}", self.name), || {
            self.counts(name) >= enough
        });
    }

    /// Stops it and checks that it ends successfully.
    pub fn stop(&mut self) {
        self.signal("TERM");
        self.succeeds(PATIENCE);
    }
}

/// The address of a program's metrics, in the log.
pub fn metrics_address(said: &str) -> String {
    let address = said.split("http://").find_map(|rest| rest.split_once("/metrics"));
    let (address, _) = address.unwrap_or_else(|| panic!("no address of metrics in {said}"));
    address.to_owned()
}

/// The metrics that a program serves at an address.
pub fn fetch_metrics(address: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("the metrics' port");
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    answer
}

/// The value of the metric with this name and these labels; 0 if it does not exist yet. Without the label `camera` it
/// is the sum over all cameras.
pub fn value_of(metrics: &str, name: &str) -> f64 {
    let samples = metrics.lines().filter_map(|line| line.trim().rsplit_once(' '));
    let asked = samples.filter(|(sample, _)| *sample == name || of_any_camera(sample).as_deref() == Some(name));
    asked.fold(0.0, |sum, (_, value)| sum + value.parse::<f64>().expect("a number"))
}

/// The name and labels of a sample without its label `camera`, which is the first; `None` if it has none.
fn of_any_camera(sample: &str) -> Option<String> {
    let (family, labels) = sample.split_once("{camera=\"")?;
    let without_escaped = labels.replace(r"\\", "__").replace(r#"\""#, "__");
    let others = &labels[without_escaped.find('"')? + 1..];
    Some(match others.strip_prefix(',') {
        Some(others) => format!("{family}{{{others}"),
        None => family.to_owned(),
    })
}

/// Calls `happened` repeatedly until it returns true.
pub fn until(what: &str, mut happened: impl FnMut() -> bool) {
    let began = Instant::now();
    while !happened() {
        assert!(began.elapsed() < PATIENCE, "waited in vain until {what}");
        thread::sleep(LOOK);
    }
}

/// Repeats a run in which a session broke. Between ends on one machine that happens only if a process stood still for
/// two seconds; a clip that is played once then continues without its viewer.
pub fn unbroken<T>(mut run: impl FnMut() -> Option<T>) -> T {
    let mut runs = (0..3).filter_map(|_| run());
    runs.next().expect("a session that does not break")
}

/// A publisher, and the ticket that it printed.
pub struct Publisher {
    /// Its process.
    pub program: Program,
    /// The ticket for viewers.
    pub ticket: String,
}

fn arguments<'a>(first: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [first, more].concat()
}

/// For tests in which several viewers come with one ticket.
pub const MANY_USES: [&str; 2] = ["--invite-uses", "64"];

/// Publishes at a free local port, unless `more` has a listening URL. Many viewers may come with the ticket.
pub fn publish(home: &Path, source: &str, more: &[&str]) -> Publisher {
    let mut command = sealcast(home);
    command.args(arguments(&["publish", source], more)).args(MANY_USES);
    if !more.contains(&"--listen") {
        command.args(["--listen", "tcp://127.0.0.1:0"]);
    }
    publish_by(command)
}

/// Publishes with a prepared command.
pub fn publish_by(mut command: Command) -> Publisher {
    command.args(["--ticket-file", "-"]);
    let program = Program::run("the publisher", command);
    let ticket = program.line();
    assert!(ticket.starts_with("sealcast://"), "no ticket but {ticket}");
    Publisher { program, ticket }
}

/// Watches with a ticket.
pub fn watch(home: &Path, ticket: &str, more: &[&str]) -> Program {
    let mut command = sealcast(home);
    command.args(arguments(&["watch", ticket], more));
    Program::run("the viewer", command)
}

/// Watches with a ticket and returns a pipe for a program that reads the video.
pub fn watch_piped(home: &Path, ticket: &str) -> (Program, ChildStdout) {
    let mut command = sealcast(home);
    Program::piped("the viewer", command.args(["watch", ticket, "--to", "-"]))
}

/// A file as the URL of a source or sink: `file:` and the path.
pub fn file_url(file: &Path) -> String {
    format!("file:{}", path(file))
}

/// The port in a ticket.
pub fn port(ticket: &str) -> u16 {
    let (address, _) = ticket["sealcast://".len()..].split_once('/').expect("a peer id");
    let port = address.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
    port.expect("a port")
}

/// The invite secret of a ticket.
pub fn invite(ticket: &str) -> &str {
    ticket.split_once('#').expect("an invite").1
}

/// A free port for a test. No other test gets it, and the system does not assign it as an ephemeral port; it remains
/// free until the test uses it.
pub fn free_port() -> u16 {
    static CLAIMS: Mutex<Vec<UnixDatagram>> = Mutex::new(Vec::new());
    loop {
        let random = RandomState::new().build_hasher().finish();
        let here = (Ipv4Addr::LOCALHOST, 10_000 + (random % 20_000) as u16);
        let claim = SocketAddr::from_abstract_name(format!("port {} of a test of sealcast", here.1));
        let claim = claim.and_then(|name| UnixDatagram::bind_addr(&name));
        if let Ok(claim) = claim
            && TcpListener::bind(here).is_ok()
            && UdpSocket::bind(here).is_ok()
        {
            // Reserved for this process as long as it runs.
            CLAIMS.lock().expect("not poisoned").push(claim);
            return here.1;
        }
    }
}

/// The first seconds of a clip, without re-encoding.
pub fn beginning(clip: &Path, seconds: u32, dir: &Path) -> PathBuf {
    let name = clip.file_name().map(OsStr::to_os_string).expect("a file");
    let cut = dir.join(name);
    let seconds = seconds.to_string();
    ffmpeg(&["-i", path(clip), "-t", &seconds, "-an", "-c", "copy", path(&cut)]);
    cut
}

/// A report of the program.
pub fn report(file: &Path) -> Value {
    let text = std::fs::read_to_string(file).expect("a report");
    serde_json::from_str(&text).expect("JSON")
}

/// A number in a report, such as `/totals/frames_in`.
pub fn number(report: &Value, pointer: &str) -> f64 {
    let value = report.pointer(pointer).and_then(Value::as_f64);
    value.unwrap_or_else(|| panic!("no number at {pointer} in {report:#}"))
}

/// Number of missing frames in a viewer's report.
pub fn counted_missing(report: &Value) -> f64 {
    ["gap", "queue"]
        .map(|cause| number(report, &format!("/totals/frames_dropped/{cause}")))
        .iter()
        .sum()
}

/// Fails unless the received frames are numbered consecutively, except for frames that the viewer's report counts as
/// missing and for the start of a new session: if the machine stands still, frames are dropped and peers are given
/// up.
pub fn assert_accounted(numbers: &[u64], report: &Value) {
    assert!(!numbers.is_empty(), "no frame came");
    let mut jumps: Vec<u64> = numbers
        .windows(2)
        .map(|pair| pair[1].checked_sub(pair[0] + 1).unwrap_or(u64::MAX))
        .filter(|jump| *jump > 0)
        .collect();
    jumps.sort_unstable();
    let handshakes = report["handshakes"].as_array().expect("a list");
    let sessions = handshakes.iter().filter(|row| row["outcome"] == "established").count();
    jumps.truncate(jumps.len().saturating_sub(sessions - 1));
    let missing = jumps.iter().fold(0, |sum: u64, jump| sum.saturating_add(*jump));
    let counted = counted_missing(report);
    assert!(
        missing as f64 <= counted,
        "{missing} frames are missing and {counted} counted: {numbers:?}"
    );
}

/// The index in the original at which the received run of pictures begins; fails if it does not match there.
pub fn run_of(received: &[String], original: &[String]) -> usize {
    let first = received.first().expect("at least one picture");
    let begin = original.iter().position(|digest| digest == first);
    let begin = begin.expect("the first picture is one of the original's");
    for (at, digest) in received.iter().enumerate() {
        let expected = &original[(begin + at) % original.len()];
        assert_eq!(
            digest,
            expected,
            "picture {at} of {} from {begin} is another one",
            received.len()
        );
    }
    begin
}
