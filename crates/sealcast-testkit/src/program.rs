//! The program as its user runs it: every end a process of its own, with a home of its own.

use std::ffi::OsStr;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::built::built;
use crate::media::{ffmpeg, path};

/// How long anything may take that takes no time of its own, on a machine that is busy otherwise.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// How often the tests look whether something has happened.
const LOOK: Duration = Duration::from_millis(10);

/// Most attempts at what a machine that stands still may spoil: it loses datagrams, and time-outs of programs pass.
const TRIES: usize = 5;

/// Whether one of several attempts succeeds. What must never happen, an attempt asserts itself.
pub fn succeeds_once(what: &str, attempt: impl Fn() -> Result<(), String>) -> bool {
    (1..=TRIES).any(|number| match attempt() {
        Ok(()) => true,
        Err(why) => {
            println!("{what}, attempt {number}: {why}");
            false
        }
    })
}

/// A directory for one end: its keys, and what the test wants it to write.
pub fn home() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// The program with a home, and with nothing that this process was started with.
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

/// A running program. It ends with the test, and shows what it said if the test failed.
pub struct Program {
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

    /// Run a command whose standard output somebody else reads.
    pub fn piped(name: &'static str, command: &mut Command) -> (Self, ChildStdout) {
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

    /// The process's number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Everything on its standard error so far.
    pub fn said(&self) -> String {
        self.said.lock().expect("not poisoned").clone()
    }

    /// The next line of its standard output.
    pub fn line(&self) -> String {
        let lines = self.lines.as_ref().expect("its output is read by lines");
        let line = lines.recv_timeout(PATIENCE);
        line.unwrap_or_else(|_| panic!("{} printed nothing", self.name))
    }

    /// What is left of its standard output.
    pub fn rest(&self) -> Vec<String> {
        let lines = self.lines.as_ref().expect("its output is read by lines");
        lines.iter().collect()
    }

    /// Wait until its standard error contains `words`; how long that took.
    pub fn says(&self, words: &str, within: Duration) -> Duration {
        self.says_times(words, 1, within)
    }

    /// Wait until its standard error contains `words` so many times.
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

    /// The exit code, once it ends by itself.
    pub fn ends(&mut self, within: Duration) -> i32 {
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
    pub fn succeeds(&mut self, within: Duration) {
        let code = self.ends(within);
        assert_eq!(code, 0, "exit code of {}", self.name);
    }

    /// Send it a signal by its name.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args([&format!("-{name}"), &self.id().to_string()])
            .status();
        assert!(sent.is_ok_and(|status| status.success()), "no signal for {}", self.name);
    }

    /// What it serves at the address that it said.
    pub fn metrics(&self) -> String {
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
    pub fn counts(&self, name: &str) -> f64 {
        let metrics = self.metrics();
        let mut values = metrics
            .lines()
            .filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        values.next().map_or(0.0, |value| value.parse().expect("a number"))
    }

    /// Wait until it counts so many.
    pub fn has_counted(&self, name: &str, enough: f64) {
        until(&format!("{} counts {enough} of {name}", self.name), || {
            self.counts(name) >= enough
        });
    }

    /// Ask it to stop; it does, and says that all went well.
    pub fn stop(&mut self) {
        self.signal("TERM");
        self.succeeds(PATIENCE);
    }
}

/// Look again and again until something has happened.
pub fn until(what: &str, mut happened: impl FnMut() -> bool) {
    let began = Instant::now();
    while !happened() {
        assert!(began.elapsed() < PATIENCE, "waited in vain until {what}");
        thread::sleep(LOOK);
    }
}

/// Do it again where a session broke. Between ends on one machine that is so only where a process stood still for two
/// seconds, and a clip that is played once then goes on without its viewer.
pub fn unbroken<T>(mut run: impl FnMut() -> Option<T>) -> T {
    let mut runs = (0..3).filter_map(|_| run());
    runs.next().expect("a session that does not break")
}

/// A publisher, and the ticket that it printed.
pub struct Publisher {
    /// Its process.
    pub program: Program,
    /// What viewers need.
    pub ticket: String,
}

fn arguments<'a>(first: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [first, more].concat()
}

/// Publish at a free port of this machine, unless `more` says where.
pub fn publish(home: &Path, source: &str, more: &[&str]) -> Publisher {
    let mut command = sealcast(home);
    command.args(arguments(&["publish", source], more));
    if !more.contains(&"--listen") {
        command.args(["--listen", "tcp://127.0.0.1:0"]);
    }
    publish_by(command)
}

/// Publish with a command made for it.
pub fn publish_by(command: Command) -> Publisher {
    let program = Program::run("the publisher", command);
    let ticket = program.line();
    assert!(ticket.starts_with("sealcast://"), "no ticket but {ticket}");
    Publisher { program, ticket }
}

/// Watch with a ticket.
pub fn watch(home: &Path, ticket: &str, more: &[&str]) -> Program {
    let mut command = sealcast(home);
    command.args(arguments(&["watch", ticket], more));
    Program::run("the viewer", command)
}

/// Watch with a ticket, for a program that reads the video from a pipe.
pub fn watch_piped(home: &Path, ticket: &str) -> (Program, ChildStdout) {
    let mut command = sealcast(home);
    Program::piped("the viewer", command.args(["watch", ticket, "--to", "-"]))
}

/// `file:` and the path, as sources and sinks are named.
pub fn file_url(file: &Path) -> String {
    format!("file:{}", path(file))
}

/// The port in a ticket.
pub fn port(ticket: &str) -> u16 {
    let (address, _) = ticket["sealcast://".len()..].split_once('/').expect("a peer id");
    let port = address.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
    port.expect("a port")
}

/// The invite of a ticket: its secret.
pub fn invite(ticket: &str) -> &str {
    ticket.split_once('#').expect("an invite").1
}

/// A port that nobody listens at, that no other test is given, and that the system gives to nobody who asks for any: it
/// is free until the test uses it.
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
            // It is this process's for as long as that runs.
            CLAIMS.lock().expect("not poisoned").push(claim);
            return here.1;
        }
    }
}

/// The first seconds of a clip, as they are.
pub fn beginning(clip: &Path, seconds: u32, dir: &Path) -> PathBuf {
    let name = clip.file_name().map(OsStr::to_os_string).expect("a file");
    let cut = dir.join(name);
    let seconds = seconds.to_string();
    ffmpeg(&["-i", path(clip), "-t", &seconds, "-an", "-c", "copy", path(&cut)]);
    cut
}

/// A report that the program wrote.
pub fn report(file: &Path) -> Value {
    let text = std::fs::read_to_string(file).expect("a report");
    serde_json::from_str(&text).expect("JSON")
}

/// A number in a report, such as `/totals/frames_in`.
pub fn number(report: &Value, pointer: &str) -> f64 {
    let value = report.pointer(pointer).and_then(Value::as_f64);
    value.unwrap_or_else(|| panic!("no number at {pointer} in {report:#}"))
}

/// Frames that a viewer's report counts as missing.
pub fn counted_missing(report: &Value) -> f64 {
    ["gap", "queue"]
        .map(|cause| number(report, &format!("/totals/frames_dropped/{cause}")))
        .iter()
        .sum()
}

/// Fails unless the frames that came were numbered one after the other, but for those that the viewer's report counts
/// as missing, and for where a new session begins: on a machine that stands still frames are dropped, and peers lost.
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

/// Where a run of pictures begins in the original, all of it found there one after the other.
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
