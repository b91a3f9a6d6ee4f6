//! System calls of a running process, as strace sees them.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind, Result};

use super::{Figures, needs, switches};
use crate::harness::process::{Program, Stop, last_words, pause};

/// Time limit for strace to attach to a process, and to leave it.
const PATIENCE: Duration = Duration::from_secs(20);
/// Poll interval until it has.
const LOOK: Duration = Duration::from_millis(5);
/// The package and its program.
pub(crate) const STRACE: &str = "strace";

/// strace, attached to all threads of a process.
pub(crate) struct Tracer {
    program: Program,
    log: PathBuf,
}

impl Tracer {
    /// Attaches to a process. `folder` is for what it sees, in files that begin with `name`.
    ///
    /// # Errors
    /// strace is not installed, or may not trace.
    pub(crate) fn attach(process: u32, folder: &Path, name: &str, stop: Stop<'_>) -> Result<Self> {
        needs(STRACE)?;
        let log = folder.join(format!("{name}.strace"));
        let mut command = Command::new(STRACE);
        // Descriptors with what they are; no contents, no signals.
        command.args(["-f", "-y", "-s", "0", "-e", "signal=none", "--quiet=attach,exit", "-o"]);
        command.arg(&log).args(["-p", &process.to_string()]);
        let mut program = Program::start(STRACE, command, &folder.join(format!("{name}-strace.txt")))?;
        let began = Instant::now();
        while !switches::all_are_traced(process)? {
            let ended = program.still_runs();
            if ended.is_err() || began.elapsed() > PATIENCE {
                let what = format!(
                    "strace cannot trace a program that it did not start{}",
                    last_words(folder)
                );
                let hint = "be root, or allow it: sysctl kernel.yama.ptrace_scope=0";
                return Err(Failure::new(FailureKind::Usage, what, hint));
            }
            pause(LOOK, stop)?;
        }
        Ok(Self { program, log })
    }

    /// Leaves the process; returns how many calls of each kind it made.
    pub(crate) fn leave(mut self, stop: Stop<'_>) -> Result<Figures> {
        self.program.ask_to_end();
        // It ends with the signal that it got.
        let _ = self.program.ended(PATIENCE, stop);
        let unreadable = |error: std::io::Error| {
            let what = format!("{} cannot be read ({error})", self.log.display());
            Failure::new(FailureKind::Source, what, "set TMPDIR")
        };
        let mut calls = Calls::default();
        for line in BufReader::new(File::open(&self.log).map_err(unreadable)?).lines() {
            calls.take(&line.map_err(unreadable)?);
        }
        Ok(calls.figures)
    }
}

/// Calls counted from the lines of a log.
#[derive(Default)]
struct Calls {
    /// Beginnings of calls that wait, by thread.
    begun: HashMap<String, String>,
    figures: Figures,
}

impl Calls {
    fn take(&mut self, line: &str) {
        let Some((thread, said)) = line.split_once(' ') else {
            return;
        };
        let said = said.trim_start();
        if let Some(beginning) = said.strip_suffix(" <unfinished ...>") {
            self.begun.insert(thread.to_owned(), beginning.to_owned());
        } else if let Some(rest) = said.strip_prefix("<... ") {
            let end = rest.split_once(" resumed>").map_or("", |(_, end)| end);
            if let Some(beginning) = self.begun.remove(thread) {
                self.count(&(beginning + end));
            }
        } else {
            self.count(said);
        }
    }

    /// Counts a whole call, such as `read(4<anon_inode:[eventfd]>, ""..., 8) = 8`. One without a result has not ended.
    fn count(&mut self, call: &str) {
        let Some((call, result)) = call.rsplit_once(" = ") else {
            return;
        };
        let call = call.trim_end();
        let Some((name, arguments)) = call.split_once('(') else {
            return;
        };
        let arguments = arguments.strip_suffix(')').unwrap_or(arguments);
        let nothing = result.contains("EAGAIN");
        self.add("system calls");
        match kind(name, arguments) {
            "epoll_wait" => {
                self.add("epoll_wait");
                // epoll_pwait has two more: the signals and their length.
                let after = if name == "epoll_wait" { 0 } else { 2 };
                let timeout = arguments.rsplit(',').nth(after).unwrap_or_default();
                if timeout.trim() == "0" {
                    self.add("epoll_wait that only looks");
                } else if result.starts_with('0') {
                    self.add("epoll_wait until its timeout");
                }
            }
            "reads" => {
                self.add("reads");
                if nothing {
                    self.add("reads that find nothing");
                }
            }
            "writes" => {
                self.add("writes");
                if nothing {
                    self.add("writes that find no room");
                }
            }
            other => self.add(other),
        }
    }

    fn add(&mut self, what: &str) {
        *self.figures.entry(what.to_owned()).or_default() += 1.0;
    }
}

/// The row of a call.
fn kind<'a>(name: &'a str, arguments: &str) -> &'a str {
    let descriptor = arguments.split(',').next().unwrap_or_default();
    let reads = matches!(name, "read" | "readv" | "recv" | "recvfrom" | "recvmsg" | "recvmmsg");
    let writes = matches!(name, "write" | "writev" | "send" | "sendto" | "sendmsg" | "sendmmsg");
    match name {
        _ if name.starts_with("epoll_") && name.contains("wait") => "epoll_wait",
        _ if descriptor.contains("[eventfd]") && writes => "eventfd writes",
        _ if descriptor.contains("[eventfd]") && reads => "eventfd reads",
        _ if descriptor.contains("[timerfd]") && reads => "timerfd reads",
        _ if reads => "reads",
        _ if writes => "writes",
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(log: &str) -> Figures {
        let mut calls = Calls::default();
        log.lines().for_each(|line| calls.take(line));
        calls.figures
    }

    #[test]
    fn calls_of_two_threads_that_wait_for_each_other_are_counted_once_each() {
        let log = r#"28 read(4<anon_inode:[eventfd]>,  <unfinished ...>
73 clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, {tv_sec=345, tv_nsec=928694462}, NULL) = 0
73 write(4<anon_inode:[eventfd]>, ""..., 8) = 8
28 <... read resumed>""..., 8)       = 8
28 recvfrom(6<socket:[22161]>, 0x55, 200, 0, NULL, NULL) = -1 EAGAIN (Resource temporarily unavailable)
73 sendto(5<socket:[22160]>, ""..., 100, 0, NULL, 0 <unfinished ...>
28 epoll_wait(3<anon_inode:[eventpoll]>,  <unfinished ...>
73 <... sendto resumed>)             = 100
28 <... epoll_wait resumed>[{events=EPOLLIN, data={u32=1, u64=1}}], 1024, 12) = 1
28 epoll_wait(3<anon_inode:[eventpoll]>, [], 1024, 0) = 0
28 epoll_pwait(3<anon_inode:[eventpoll]>, [], 1024, 7, NULL, 8) = 0
73 +++ exited with 0 +++
28 read(4<anon_inode:[eventfd]>,  <detached ...>"#;
        let figures = counted(log);
        let expected = [
            ("clock_nanosleep", 1.0),
            ("epoll_wait", 3.0),
            ("epoll_wait that only looks", 1.0),
            ("epoll_wait until its timeout", 1.0),
            ("eventfd reads", 1.0),
            ("eventfd writes", 1.0),
            ("reads", 1.0),
            ("reads that find nothing", 1.0),
            ("system calls", 8.0),
            ("writes", 1.0),
        ];
        assert_eq!(figures, expected.map(|(what, count)| (what.to_owned(), count)).into());
    }
}
