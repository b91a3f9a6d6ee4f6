//! The program as its user runs it: every end a process of its own, with a home of its own.
#![allow(dead_code, reason = "every test binary uses its own part of this")]

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::media::{ffmpeg, path};

/// How long anything may take that takes no time of its own, on a machine that is busy otherwise.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// How often the tests look whether something has happened.
const LOOK: Duration = Duration::from_millis(10);

/// A directory for one end: its keys, and what the test wants it to write.
pub(crate) fn home() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// The program with a home, and with nothing that this process was started with.
pub(crate) fn sealcast(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sealcast"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("SEALCAST_") {
            command.env_remove(name);
        }
    }
    command.env("SEALCAST_HOME", home.join("keys")).stdin(Stdio::null());
    command
}

/// A running program. It ends with the test, and shows what it said if the test failed.
pub(crate) struct Program {
    name: &'static str,
    child: Child,
    lines: Option<Receiver<String>>,
    said: Arc<Mutex<String>>,
    reader: Option<thread::JoinHandle<()>>,
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
    /// Run a command whose standard output is read by lines.
    pub(crate) fn run(name: &'static str, mut command: Command) -> Self {
        let (mut program, output) = Self::piped(name, command.stdout(Stdio::piped()));
        let (sender, lines) = channel();
        thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            lines.into_iter().try_for_each(|line| sender.send(line))
        });
        program.lines = Some(lines);
        program
    }

    /// Run a command whose standard output somebody else reads.
    pub(crate) fn piped(name: &'static str, command: &mut Command) -> (Self, ChildStdout) {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let output = child.stdout.take().expect("piped");
        let errors = BufReader::new(child.stderr.take().expect("piped"));
        let said = Arc::new(Mutex::new(String::new()));
        let heard = Arc::clone(&said);
        let reader = thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                *heard.lock().expect("not poisoned") += &(line + "\n");
            }
        });
        let program = Self {
            name,
            child,
            lines: None,
            said,
            reader: Some(reader),
        };
        (program, output)
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Everything on its standard error so far.
    pub(crate) fn said(&self) -> String {
        self.said.lock().expect("not poisoned").clone()
    }

    /// The next line of its standard output.
    pub(crate) fn line(&self) -> String {
        let lines = self.lines.as_ref().expect("its output is read by lines");
        let line = lines.recv_timeout(PATIENCE);
        line.unwrap_or_else(|_| panic!("{} printed nothing", self.name))
    }

    /// What is left of its standard output.
    pub(crate) fn rest(&self) -> Vec<String> {
        let lines = self.lines.as_ref().expect("its output is read by lines");
        lines.iter().collect()
    }

    /// Wait until its standard error contains `words`; how long that took.
    pub(crate) fn says(&self, words: &str, within: Duration) -> Duration {
        self.says_times(words, 1, within)
    }

    /// Wait until its standard error contains `words` so many times.
    pub(crate) fn says_times(&self, words: &str, times: usize, within: Duration) -> Duration {
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

    /// The exit code, once it ends by itself.
    pub(crate) fn ends(&mut self, within: Duration) -> i32 {
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child of ours") {
                break status;
            }
            assert!(began.elapsed() < within, "{} does not end within {within:?}", self.name);
            thread::sleep(LOOK);
        };
        // Its last words are read before anybody looks at them.
        let reader = self.reader.take().map(thread::JoinHandle::join);
        assert!(reader.is_none_or(|read| read.is_ok()));
        status.code().unwrap_or(-1)
    }

    /// It ends by itself and says that all went well.
    pub(crate) fn succeeds(&mut self, within: Duration) {
        let code = self.ends(within);
        assert_eq!(code, 0, "exit code of {}", self.name);
    }

    /// Send it a signal by its name.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args([&format!("-{name}"), &self.id().to_string()])
            .status();
        assert!(sent.is_ok_and(|status| status.success()), "no signal for {}", self.name);
    }

    /// What it serves at the address that it said.
    pub(crate) fn metrics(&self) -> String {
        let said = self.said();
        let address = said.split("http://").nth(1).and_then(|rest| rest.split('/').next());
        let address = address.unwrap_or_else(|| panic!("no address in {said}"));
        let mut stream = TcpStream::connect(address).expect("the metrics' port");
        write!(
            stream,
            "GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
        )
        .expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        answer
    }

    /// What it counts by this name, labels and all, among its metrics; 0 before it counts any.
    pub(crate) fn counts(&self, name: &str) -> f64 {
        let metrics = self.metrics();
        let mut values = metrics
            .lines()
            .filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        values.next().map_or(0.0, |value| value.parse().expect("a number"))
    }

    /// Wait until it counts so many.
    pub(crate) fn has_counted(&self, name: &str, enough: f64) {
        until(&format!("{} counts {enough} of {name}", self.name), || {
            self.counts(name) >= enough
        });
    }

    /// Ask it to stop; it does, and says that all went well.
    pub(crate) fn stop(&mut self) {
        self.signal("TERM");
        self.succeeds(PATIENCE);
    }
}

/// Look again and again until something has happened.
pub(crate) fn until(what: &str, mut happened: impl FnMut() -> bool) {
    let began = Instant::now();
    while !happened() {
        assert!(began.elapsed() < PATIENCE, "waited in vain until {what}");
        thread::sleep(LOOK);
    }
}

/// Do it again where a session broke. Between ends on one machine that is so only where a process stood still for two
/// seconds, and a clip that is played once then goes on without its viewer.
pub(crate) fn unbroken<T>(mut run: impl FnMut() -> Option<T>) -> T {
    let mut runs = (0..3).filter_map(|_| run());
    runs.next().expect("a session that does not break")
}

/// A publisher, and the ticket that it printed.
pub(crate) struct Publisher {
    pub(crate) program: Program,
    pub(crate) ticket: String,
}

fn arguments<'a>(first: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [first, more].concat()
}

/// Publish at a free port of this machine, unless `more` says where.
pub(crate) fn publish(home: &Path, source: &str, more: &[&str]) -> Publisher {
    let mut command = sealcast(home);
    command.args(arguments(&["publish", source], more));
    if !more.contains(&"--listen") {
        command.args(["--listen", "tcp://127.0.0.1:0"]);
    }
    publish_by(command)
}

/// Publish with a command made for it.
pub(crate) fn publish_by(command: Command) -> Publisher {
    let program = Program::run("the publisher", command);
    let ticket = program.line();
    assert!(ticket.starts_with("sealcast://"), "no ticket but {ticket}");
    Publisher { program, ticket }
}

/// Watch with a ticket.
pub(crate) fn watch(home: &Path, ticket: &str, more: &[&str]) -> Program {
    let mut command = sealcast(home);
    command.args(arguments(&["watch", ticket], more));
    Program::run("the viewer", command)
}

/// Watch with a ticket, for a program that reads the video from a pipe.
pub(crate) fn watch_piped(home: &Path, ticket: &str) -> (Program, ChildStdout) {
    let mut command = sealcast(home);
    Program::piped("the viewer", command.args(["watch", ticket, "--to", "-"]))
}

/// `file:` and the path, as sources and sinks are named.
pub(crate) fn file_url(file: &Path) -> String {
    format!("file:{}", path(file))
}

/// The port in a ticket.
pub(crate) fn port(ticket: &str) -> u16 {
    let (address, _) = ticket["sealcast://".len()..].split_once('/').expect("a peer id");
    let port = address.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
    port.expect("a port")
}

/// The invite of a ticket: its secret.
pub(crate) fn invite(ticket: &str) -> &str {
    ticket.split_once('#').expect("an invite").1
}

/// A port that nobody listens at.
pub(crate) fn free_port() -> u16 {
    let socket = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    socket.expect("a free port").port()
}

/// The first seconds of a clip, as they are.
pub(crate) fn beginning(clip: &Path, seconds: u32, dir: &Path) -> PathBuf {
    let name = clip.file_name().map(OsStr::to_os_string).expect("a file");
    let cut = dir.join(name);
    let seconds = seconds.to_string();
    ffmpeg(&["-i", path(clip), "-t", &seconds, "-an", "-c", "copy", path(&cut)]);
    cut
}

/// A report that the program wrote.
pub(crate) fn report(file: &Path) -> Value {
    let text = std::fs::read_to_string(file).expect("a report");
    serde_json::from_str(&text).expect("JSON")
}

/// A number in a report, such as `/totals/frames_in`.
pub(crate) fn number(report: &Value, pointer: &str) -> f64 {
    let value = report.pointer(pointer).and_then(Value::as_f64);
    value.unwrap_or_else(|| panic!("no number at {pointer} in {report:#}"))
}

/// Frames that a viewer's report counts as missing.
pub(crate) fn counted_missing(report: &Value) -> f64 {
    ["gap", "queue"]
        .map(|cause| number(report, &format!("/totals/frames_dropped/{cause}")))
        .iter()
        .sum()
}

/// Fails unless the frames that came were numbered one after the other, but for those that the viewer's report counts
/// as missing, and for where a new session begins: on a machine that stands still frames are dropped, and peers lost.
pub(crate) fn assert_accounted(numbers: &[u64], report: &Value) {
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

/// Where a run of pictures begins in the original, all of it found there one after the other.
pub(crate) fn run_of(received: &[String], original: &[String]) -> usize {
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
