//! A child process of a run. Communication is by lines; dropping the handle ends the process.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use std::os::unix::process::CommandExt;

use rustix::process::{Pid, Signal, kill_process};
use sealcast::failure::{Failure, FailureKind, Result};

/// Poll interval for the end of a program and for `stop`.
const LOOK: Duration = Duration::from_millis(20);
/// Longest excerpt of a program's last line in a failure, in characters.
const MAX_WORDS: usize = 300;
/// Time that a program has to end after it was asked to.
const GRACE: Duration = Duration::from_secs(1);

/// Becomes true on a signal; everything that waits polls it and then gives up.
pub(crate) type Stop<'a> = &'a AtomicBool;

pub(crate) struct Program {
    name: &'static str,
    child: Child,
    lines: Receiver<String>,
    stdin: Option<ChildStdin>,
}

/// The failure of a run that the user stopped.
pub(crate) fn stopped() -> Failure {
    Failure::new(FailureKind::Usage, "the measurement was stopped", "start it again")
}

/// Sleeps, and returns early with a failure if `stop` becomes true.
pub(crate) fn pause(time: Duration, stop: Stop<'_>) -> Result<()> {
    let end = Instant::now() + time;
    while Instant::now() < end {
        if stop.load(Ordering::Relaxed) {
            return Err(stopped());
        }
        std::thread::sleep(LOOK.min(end.saturating_duration_since(Instant::now())));
    }
    Ok(())
}

/// The file of this program.
pub(crate) fn own_file() -> Result<PathBuf> {
    std::env::current_exe().map_err(|error| {
        let what = format!("this program cannot find itself ({error})");
        Failure::new(FailureKind::Internal, what, "please report this")
    })
}

/// A command that runs this program again.
pub(crate) fn own_program() -> Result<Command> {
    own_file().map(Command::new)
}

/// A new copy of a program of a build, in a folder of its turn. Two files with the same bytes differed by a tenth over
/// a whole measurement, presumably by how the kernel kept their pages: with a new copy in each turn that is chance, and
/// no property of a build.
///
/// # Errors
/// It cannot be copied.
pub(crate) fn new_copy(program: &Path, folder: &Path) -> Result<PathBuf> {
    let copy = folder.join(program.file_name().unwrap_or(OsStr::new("program")));
    // Not by this process: what it starts meanwhile would hold the copy open, and a program that is open for writing
    // does not run.
    let copied = Command::new("cp")
        .arg(program)
        .arg(&copy)
        .stderr(Stdio::null())
        .status();
    if copied.is_ok_and(|status| status.success()) {
        return Ok(copy);
    }
    let what = format!("{} cannot be copied to {}", program.display(), folder.display());
    Err(Failure::new(
        FailureKind::Usage,
        what,
        "name the file of a program, or make room",
    ))
}

/// True if the help for this command of a program has these words, and of this build always. An older program, given to
/// be measured too, may not know an option, and does what it asks for without it.
///
/// # Errors
/// The program cannot be started.
pub(crate) fn knows(program: Option<&Path>, command: &[&str], words: &str) -> Result<bool> {
    let Some(program) = program else { return Ok(true) };
    let help = Command::new(program).args(command).arg("--help").output();
    let help = help.map_err(|error| {
        let what = format!("{} cannot be started ({error})", program.display());
        Failure::new(FailureKind::Usage, what, "name a program that runs here")
    })?;
    // The help is broken into lines.
    let help = String::from_utf8_lossy(&help.stdout);
    Ok(help.split_whitespace().collect::<Vec<_>>().join(" ").contains(words))
}

/// The options with which a program prints the ticket where no terminal is: an older one prints it unasked, and takes
/// `-` for a file.
///
/// # Errors
/// The program cannot be started.
pub(crate) fn printing_ticket(program: Option<&Path>, command: &[&str]) -> Result<&'static [&'static str]> {
    let asked = knows(program, command, "standard output if FILE is -")?;
    Ok(if asked { &["--ticket-file", "-"] } else { &[] })
}

/// The program `sealcast`, of this build unless another is named, with an identity of its own in `home` and without
/// settings from the environment.
pub(crate) fn sealcast_program(program: Option<&Path>, home: &Path) -> Result<Command> {
    let mut command = match program {
        Some(program) => Command::new(program),
        None => {
            let mut own = own_program()?;
            own.arg("sealcast");
            own
        }
    };
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("SEALCAST_") {
            command.env_remove(name);
        }
    }
    command.env("SEALCAST_HOME", home);
    Ok(command)
}

/// A command that these words run, such as those of valgrind; the command itself if there are none.
pub(crate) fn run_by(words: &[String], command: Command) -> Command {
    let Some((program, arguments)) = words.split_first() else {
        return command;
    };
    let mut outer = Command::new(program);
    outer
        .args(arguments)
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    outer
}

/// The last line that each program printed. Failures quote it because the log files are deleted with the measurement.
pub(crate) fn last_words(scratch: &Path) -> String {
    let files = std::fs::read_dir(scratch)
        .into_iter()
        .flatten()
        .filter_map(io::Result::ok);
    let logs = files.filter(|file| file.path().extension().is_some_and(|kind| kind == "txt"));
    let words = logs.filter_map(|file| {
        let text = std::fs::read(file.path()).ok()?;
        let text = String::from_utf8_lossy(&text);
        let line: String = text.lines().last()?.chars().take(MAX_WORDS).collect();
        Some(format!("; {}: {line}", file.file_name().display()))
    });
    words.collect()
}

impl Program {
    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Starts it; its standard error goes to the file `log`.
    pub(crate) fn start(name: &'static str, command: Command, log: &Path) -> Result<Self> {
        let (mut program, stdin) = Self::with_input(name, command, log)?;
        program.stdin = Some(stdin);
        Ok(program)
    }

    /// Starts it with its standard input in the caller's hands, for data that are not lines.
    pub(crate) fn with_input(name: &'static str, command: Command, log: &Path) -> Result<(Self, ChildStdin)> {
        let (mut program, stdin, stdout) = Self::with_pipes(name, command, log)?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(io::Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        program.lines = lines;
        Ok((program, stdin))
    }

    /// Starts it with its standard input and output in the caller's hands, for data that are not lines.
    pub(crate) fn with_pipes(
        name: &'static str,
        mut command: Command,
        log: &Path,
    ) -> Result<(Self, ChildStdin, ChildStdout)> {
        let errors = File::create(log).map_err(|error| {
            let what = format!("{} cannot be written ({error})", log.display());
            Failure::new(FailureKind::Sink, what, "choose another --out")
        })?;
        // A process group of its own: Ctrl-C reaches this process alone, which then ends its children in order.
        command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors);
        let mut child = command.spawn().map_err(|error| {
            let what = format!("{name} cannot be started ({error})");
            Failure::new(FailureKind::Usage, what, "see whether it is installed")
        })?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (stdin, stdout) = pipes.expect("both were asked for above");
        let program = Self {
            name,
            child,
            lines: channel().1,
            stdin: None,
        };
        Ok((program, stdin, stdout))
    }

    /// Waits for the first line that begins with `prefix`, and returns the rest of it.
    pub(crate) fn line(&self, prefix: &str, patience: Duration, stop: Stop<'_>) -> Result<String> {
        let end = Instant::now() + patience;
        while Instant::now() < end {
            if stop.load(Ordering::Relaxed) {
                return Err(stopped());
            }
            match self.lines.recv_timeout(LOOK) {
                Ok(line) => {
                    if let Some(rest) = line.strip_prefix(prefix) {
                        return Ok(rest.to_owned());
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let what = format!(
            "{} did not say `{}` within {} s",
            self.name,
            prefix.trim(),
            patience.as_secs()
        );
        Err(Failure::new(
            FailureKind::Network,
            what,
            "see what it printed, in the files of the run",
        ))
    }

    /// Fails if it has ended, which it should not have.
    pub(crate) fn still_runs(&mut self) -> Result<()> {
        match self.child.try_wait() {
            Ok(Some(status)) => Err(Failure::new(
                FailureKind::Network,
                format!("{} ended too early ({status})", self.name),
                "see what it printed, in the files of the run",
            )),
            _ => Ok(()),
        }
    }

    /// Sends it a line.
    pub(crate) fn say(&mut self, line: &str) {
        if let Some(stdin) = &mut self.stdin {
            // If the program has ended, its missing results show that.
            let _ = writeln!(stdin, "{line}");
        }
    }

    /// Closes its standard input.
    pub(crate) fn hush(&mut self) {
        self.stdin = None;
    }

    /// Asks it to end, as a service manager does.
    pub(crate) fn ask_to_end(&self) {
        // This fails only if it has already ended.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
    }

    /// Waits until it ends by itself.
    pub(crate) fn ended(&mut self, patience: Duration, stop: Stop<'_>) -> Result<()> {
        let end = Instant::now() + patience;
        loop {
            let what = match self.child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => format!("{} failed ({status})", self.name),
                Ok(None) if Instant::now() < end => {
                    pause(LOOK, stop)?;
                    continue;
                }
                Ok(None) => format!("{} did not end in time", self.name),
                Err(error) => format!("{} cannot be waited for ({error})", self.name),
            };
            return Err(Failure::new(
                FailureKind::Network,
                what,
                "see what it printed, in the files of the run",
            ));
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let ended = |child: &mut Child| !matches!(child.try_wait(), Ok(None));
        let end = Instant::now() + GRACE;
        // It may have something to finish.
        if !ended(&mut self.child) {
            self.ask_to_end();
        }
        while !ended(&mut self.child) && Instant::now() < end {
            std::thread::sleep(LOOK);
        }
        // These fail only if it has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
