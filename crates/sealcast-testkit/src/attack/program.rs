//! The program as users run it: processes, each with a home directory of its own.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use sealcast_proto::keys::Identity;
use serde_json::Value;
use tempfile::TempDir;

use crate::built::built;
use crate::log::Log;
use crate::program::{MANY_USES, PATIENCE, fetch_metrics, metrics_address, value_of, write_private};

/// Printed by an end that has received nothing from the other for two seconds.
const SILENT: &str = "nothing was heard";

/// A directory for keys and files, deleted after the test.
pub struct Home(TempDir);

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}

impl Home {
    /// A new, empty directory.
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The path of a file in it, which need not exist.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file with this content, readable by its owner only.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let file = self.file(name);
        write_private(&file, content);
        file
    }

    /// The peer id of its `publisher` or `viewer`, whose identity is made if it is missing.
    pub fn peer_id(&self, end: &str) -> String {
        let file = self.file(match end {
            "publisher" => "publishers/camera/identity",
            _ => "identity-viewer",
        });
        if !file.exists() {
            assert_eq!(self.start(&format!("keygen --for {end}")).ends(), 0);
        }
        let text = fs::read_to_string(file).expect("an identity");
        let identity = Identity::from_file_text(&text).expect("an identity");
        identity.peer_id().to_string()
    }

    /// The program with this home and no other inherited settings.
    pub fn command(&self) -> Command {
        let mut command = Command::new(built("sealcast"));
        for name in std::env::vars_os().map(|(name, _)| name) {
            if name.to_string_lossy().starts_with("SEALCAST_") {
                command.env_remove(name);
            }
        }
        command
            .env("SEALCAST_HOME", self.path())
            .current_dir(self.path())
            .stdin(Stdio::null());
        command
    }

    /// Starts the program with these arguments, separated by spaces.
    pub fn start(&self, arguments: &str) -> Program {
        let mut command = self.command();
        command.args(arguments.split_whitespace());
        Program::start(command)
    }

    /// Publishes from a free TCP port of this machine; returns the program and its ticket.
    pub fn publish(&self, source: &str, more: &str) -> (Program, String) {
        self.publish_at("tcp://127.0.0.1:0", source, more)
    }

    /// Publishes from a free UDP port. `options` follow the `?` of the listening URL.
    pub fn publish_udp(&self, source: &str, options: &str, more: &str) -> (Program, String) {
        let separator = if options.is_empty() { "" } else { "?" };
        self.publish_at(&format!("udp://127.0.0.1:0{separator}{options}"), source, more)
    }

    /// Publishes at this listening URL. Many viewers may come with the ticket.
    pub fn publish_at(&self, listen: &str, source: &str, more: &str) -> (Program, String) {
        let uses = MANY_USES.join(" ");
        let program = self.start(&format!(
            "publish {source} --listen {listen} --ticket-file - {uses} {more}"
        ));
        let ticket = program.ticket();
        (program, ticket)
    }

    /// A JSON report that a program wrote here.
    pub fn report(&self, name: &str) -> Value {
        let text = fs::read_to_string(self.file(name)).expect("a report");
        serde_json::from_str(&text).expect("JSON")
    }

    /// The number of records that were refused for `reason`, according to a report.
    pub fn refused(&self, report: &str, reason: &str) -> u64 {
        total(&self.report(report), "open_failures", reason)
    }
}

/// The counter `name` in the group `family` of a report.
pub fn total(report: &Value, family: &str, name: &str) -> u64 {
    report["totals"][family][name].as_u64().expect("a counter")
}

/// A running program. Dropping it kills it; if the test fails, its output is shown.
pub struct Program {
    child: Child,
    out: Arc<Mutex<Vec<u8>>>,
    log: Log,
    reader: Option<thread::JoinHandle<()>>,
}

impl Program {
    /// Starts a command and reads its output.
    pub fn start(mut command: Command) -> Self {
        let log = Log::new();
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(log.end())
            .spawn()
            .expect("the program starts");
        let (out, reader) = collect(child.stdout.take().expect("piped"));
        Self {
            child,
            out,
            log,
            reader: Some(reader),
        }
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its standard output so far.
    pub fn stdout(&self) -> Vec<u8> {
        self.out.lock().expect("no panic").clone()
    }

    /// Its standard error so far.
    pub fn said(&self) -> String {
        self.log.text()
    }

    /// The ticket it printed.
    pub fn ticket(&self) -> String {
        self.printed("sealcast://")
    }

    /// The link to its page that it printed.
    pub fn page_link(&self) -> String {
        self.printed("http")
    }

    /// The line on its standard output that begins so.
    fn printed(&self, beginning: &str) -> String {
        until(&format!("a line with {beginning} is printed"), || {
            let text = String::from_utf8_lossy(&self.stdout()).into_owned();
            let mut whole = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
            whole.find(|line| line.starts_with(beginning)).map(str::to_owned)
        })
    }

    /// Waits until its standard error contains `words`.
    pub fn says(&self, words: &str) {
        until(&format!("it says '{words}'"), || {
            self.said().contains(words).then_some(())
        });
    }

    /// True if it reported that the other end was silent for too long and was given up.
    pub fn heard_nothing(&self) -> bool {
        self.said().contains(SILENT)
    }

    /// Fails unless it watched in a single session. Over a byte stream a second one is allowed if the machine stood
    /// still for seconds, since that ends a session.
    pub fn watched_in_one_session(&self) {
        let sessions = self.count("INFO watching");
        assert!(sessions == 1 || sessions > 1 && self.heard_nothing(), "{}", self.said());
    }

    /// The number of times that its standard error contains `words`.
    pub fn count(&self, words: &str) -> usize {
        self.said().matches(words).count()
    }

    /// True while the process runs.
    pub fn running(&mut self) -> bool {
        self.child.try_wait().expect("our own child").is_none()
    }

    /// Waits until it ends by itself; returns the exit code.
    pub fn ends(&mut self) -> i32 {
        let status = until("the program ends", || self.child.try_wait().expect("our own child"));
        if let Some(reader) = self.reader.take() {
            reader.join().expect("a reader");
        }
        status
            .code()
            .unwrap_or_else(|| panic!("it ended by a signal: {status}"))
    }

    /// Asks it to stop and waits; returns the exit code.
    pub fn stop(&mut self) -> i32 {
        self.signal("TERM");
        self.ends()
    }

    /// Sends it a signal by name.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill")
            .args([&format!("-{name}"), &self.pid().to_string()])
            .status();
        assert!(
            status.is_ok_and(|status| status.success()),
            "signal {name} was not sent"
        );
    }

    /// The value of the metric with this name and these labels; 0 if it does not exist yet.
    pub fn counts(&self, name: &str) -> f64 {
        value_of(&fetch_metrics(&metrics_address(&self.said())), name)
    }

    /// Resident memory in KiB.
    pub fn rss(&self) -> u64 {
        self.rss_while_it_runs().expect("it runs")
    }

    /// Resident memory in KiB; `None` once it has ended.
    pub fn rss_while_it_runs(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let size = line.trim().strip_suffix(" kB").expect("a size in kB");
        Some(size.trim().parse().expect("a number"))
    }

    /// Number of open file descriptors.
    pub fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.pid()))
            .expect("it runs")
            .count()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            eprintln!("--- a program said:\n{}", self.said());
        }
    }
}

fn collect(mut from: impl Read + Send + 'static) -> (Arc<Mutex<Vec<u8>>>, thread::JoinHandle<()>) {
    let all = Arc::new(Mutex::new(Vec::new()));
    let to = Arc::clone(&all);
    let reader = thread::spawn(move || {
        let mut buffer = [0; 65536];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            to.lock().expect("no panic").extend_from_slice(&buffer[..count]);
        }
    });
    (all, reader)
}

/// Calls `look` repeatedly until it returns a value.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}
