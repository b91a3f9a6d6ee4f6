//! Runs the kernel's netem where the running kernel lacks it: in User Mode Linux, a kernel that runs as a program.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use sealcast::failure::{Failure, FailureKind, Result};

/// The program of the Debian package `user-mode-linux`, and the folder of its modules.
const PROGRAM: &str = "linux.uml";
const MODULES: &str = "/usr/lib/uml/modules";

/// A guest that has not finished this long after its commands should have ended is killed.
const PATIENCE: Duration = Duration::from_secs(60);

/// Poll interval for `stop`.
pub(super) const LOOK: Duration = Duration::from_millis(50);

/// Length of the queue of the guest's output lines.
const LINES: usize = 64;

const BEGINS: &str = "sealcast-lab: begins";
const ENDS: &str = "sealcast-lab: ends";

/// A guest kernel; killed when dropped.
struct Guest(Child);

/// Runs shell commands as root in a guest kernel that has netem, with read-only access to this machine's files.
/// Returns the output of each. `seconds`: their expected duration.
pub(super) fn run(commands: &[String], seconds: u64, stop: &AtomicBool) -> Result<Vec<String>> {
    let module = module()?;
    if Command::new("insmod").arg("--version").output().is_err() {
        let what = "the program `insmod`, with which User Mode Linux loads netem, is not installed";
        return Err(Failure::new(
            FailureKind::Usage,
            what,
            "install it with `apt-get install kmod`",
        ));
    }
    let place = scratch()?;
    let mut script = format!(
        "#!/bin/sh\nexport PATH=/usr/sbin:/usr/bin:/sbin:/bin\nmount -t proc proc /proc\nmount -t sysfs sys /sys\n\
         insmod {}\nip link set lo up\n",
        module.display()
    );
    for command in commands {
        script += &format!("echo '{BEGINS}'\n{command}\necho '{ENDS}'\n");
    }
    // If init ended, the kernel would panic and hide the last lines.
    script += "sleep 1000\n";
    let init = place.path().join("init");
    std::fs::write(&init, script).map_err(|error| unwritable(&init, &error))?;
    let mut guest = Guest::boot(&init, place.path())?;
    let deadline = Instant::now() + Duration::from_secs(seconds) + PATIENCE;
    guest.listen(commands.len(), deadline, stop)
}

fn module() -> Result<PathBuf> {
    let hint = "install it with `apt-get install user-mode-linux`";
    let missing = |what: &str| Failure::new(FailureKind::Usage, what, hint);
    let entries = std::fs::read_dir(MODULES).map_err(|_| missing("User Mode Linux is not installed"))?;
    let modules = entries
        .flatten()
        .map(|entry| entry.path().join("kernel/net/sched/sch_netem.ko"));
    let found = modules.into_iter().find(|path| path.exists());
    found.ok_or_else(|| missing("the User Mode Linux that is installed has no netem"))
}

fn scratch() -> Result<tempfile::TempDir> {
    tempfile::tempdir().map_err(|error| unwritable(&std::env::temp_dir(), &error))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    let what = format!("{} cannot be written ({error})", path.display());
    Failure::new(FailureKind::Sink, what, "make room, or set TMPDIR to another place")
}

impl Guest {
    fn boot(init: &Path, place: &Path) -> Result<Self> {
        make_executable(init)?;
        let mut command = Command::new(PROGRAM);
        command.args([
            "mem=256M",
            "rootfstype=hostfs",
            "ro",
            "con0=null,fd:1",
            "con=null",
            "quiet",
        ]);
        command.arg(format!("init={}", init.display()));
        command.arg(format!("uml_dir={}", place.display()));
        // The guest has one host process per guest process. All are in this process group, and end with it.
        command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let child = command.spawn().map_err(|error| {
            let what = format!("User Mode Linux cannot be started ({PROGRAM}: {error})");
            Failure::new(
                FailureKind::Usage,
                what,
                "install it with `apt-get install user-mode-linux`",
            )
        })?;
        Ok(Self(child))
    }

    fn listen(&mut self, commands: usize, deadline: Instant, stop: &AtomicBool) -> Result<Vec<String>> {
        let lines = self.lines();
        let mut said = Vec::new();
        let mut part: Option<String> = None;
        let mut before = String::new();
        while Instant::now() < deadline {
            if stop.load(Ordering::Relaxed) {
                return Err(stopped());
            }
            let line = match lines.recv_timeout(LOOK) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            match (line.trim_end(), &mut part) {
                (BEGINS, _) => part = Some(String::new()),
                (ENDS, _) => said.extend(part.take()),
                (line, Some(part)) => *part += &format!("{line}\n"),
                (line, None) => before += &format!("{line}\n"),
            }
            if said.len() == commands {
                return Ok(said);
            }
        }
        let what = format!("User Mode Linux ended or hung too early, and said: {}", before.trim());
        Err(Failure::new(
            FailureKind::Network,
            what,
            "see whether `linux.uml` runs here at all",
        ))
    }

    /// Its output, read by a thread, so that a silent guest can be abandoned.
    fn lines(&mut self) -> mpsc::Receiver<String> {
        let (sender, receiver) = mpsc::sync_channel(LINES);
        let output = self.0.stdout.take().map(BufReader::new);
        std::thread::spawn(move || {
            for line in output.into_iter().flat_map(BufRead::lines).map_while(|line| line.ok()) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        receiver
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let group = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        // It may have ended by itself.
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
        let _ = self.0.wait();
    }
}

fn make_executable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let permissions = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path, permissions).map_err(|error| unwritable(path, &error))
}

/// The failure of a comparison that was stopped.
pub(super) fn stopped() -> Failure {
    Failure::new(
        FailureKind::Usage,
        "the comparison was ended before its time",
        "start it again",
    )
}
