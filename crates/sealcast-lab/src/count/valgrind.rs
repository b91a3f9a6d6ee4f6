//! Instructions, allocations and copies of a process that runs under valgrind.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use sealcast::failure::{Failure, FailureKind, Result};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};
use serde::Deserialize;

use super::Figures;
use crate::harness::process::{Stop, own_program, pause};

/// The package and its program.
pub(crate) const VALGRIND: &str = "valgrind";
/// Time limit for a process to write down what was counted.
const PATIENCE: Duration = Duration::from_secs(60);
/// Poll interval until it has.
const LOOK: Duration = Duration::from_millis(20);

/// The hidden command of this program that becomes valgrind.
const UNDER: &str = "valgrind";
/// The option of `prctl` that tells a program what the kernel gave it, since Linux 6.4.
const PR_GET_AUXV: u64 = 0x4155_5856;

/// A tool of valgrind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// Callgrind: instructions.
    Instructions,
    /// DHAT: allocations.
    Heap,
    /// DHAT with `--mode=copy`: calls of memcpy, memmove and their kin.
    Copies,
}

/// The sums of DHAT's profile.
#[derive(Deserialize)]
struct Profile {
    pps: Vec<Point>,
}

/// A place in the program.
#[derive(Deserialize)]
struct Point {
    #[serde(rename = "tb")]
    bytes: u64,
    #[serde(rename = "tbk")]
    blocks: u64,
}

impl Tool {
    /// The words before the command of a program that is to run under this tool. `folder` is for what it counts.
    ///
    /// # Errors
    /// This program cannot find itself.
    pub(crate) fn words(self, folder: &Path) -> Result<Vec<String>> {
        let file = self.file(folder, "%p");
        let own: &[&str] = match self {
            Self::Instructions => &["--tool=callgrind", "--instr-atstart=no"],
            Self::Heap => &["--tool=dhat", "--num-callers=32"],
            Self::Copies => &["--tool=dhat", "--mode=copy", "--num-callers=32"],
        };
        let out = match self {
            Self::Instructions => "callgrind",
            Self::Heap | Self::Copies => "dhat",
        };
        let this = own_program()?.get_program().display().to_string();
        let words = [&this, UNDER, "-q"]
            .into_iter()
            .chain(own.iter().copied())
            .map(str::to_owned);
        Ok(words.chain([format!("--{out}-out-file={}", file.display())]).collect())
    }

    fn file(self, folder: &Path, process: &str) -> PathBuf {
        let name = match self {
            Self::Instructions => "callgrind",
            Self::Heap => "heap",
            Self::Copies => "copies",
        };
        folder.join(format!("{name}.out.{process}"))
    }

    /// True if it counts from when it is told; otherwise from the start of the program.
    pub(crate) fn is_told(self) -> bool {
        self == Self::Instructions
    }

    /// Makes a tool that is told when ready to count.
    pub(crate) fn prepare(self, process: u32) -> Result<()> {
        tell(process, "instrumentation on")
    }

    /// Begins to count, for a tool that is told when.
    pub(crate) fn begin(self, process: u32) -> Result<()> {
        tell(process, "zero")
    }

    /// Counts of a process. Where they begin with its start, they end with its end, which this brings about.
    pub(crate) fn end(self, process: u32, folder: &Path, stop: Stop<'_>) -> Result<Figures> {
        let file = self.file(folder, &process.to_string());
        if self.is_told() {
            tell(process, "dump")?;
            // It numbers what it writes down.
            let file = file.with_added_extension("1");
            return instructions(&read(&file)?).ok_or_else(|| unknown(&file));
        }
        end(process, stop)?;
        let profile: Profile = serde_json::from_str(&read(&file)?).map_err(|_| unknown(&file))?;
        let sum = |number: fn(&Point) -> u64| profile.pps.iter().map(number).sum::<u64>() as f64;
        let names = match self {
            Self::Copies => ["copies", "bytes copied"],
            _ => ["allocations", "bytes allocated"],
        };
        let sums = [sum(|point| point.blocks), sum(|point| point.bytes)];
        Ok(names.map(str::to_owned).into_iter().zip(sums).collect())
    }
}

/// Becomes valgrind. A program under it must not ask the kernel where its functions are (vDSO): valgrind has unmapped
/// them, and rustix reads there. Where the kernel does not answer, it reads what valgrind put in their place.
///
/// # Errors
/// The kernel has no seccomp, or valgrind is not installed.
pub(crate) fn become_valgrind(arguments: &[OsString]) -> Failure {
    let applied = no_auxv()
        .map_err(|error| error.to_string())
        .and_then(|filter| seccompiler::apply_filter(&filter).map_err(|error| error.to_string()));
    let why = match applied {
        Ok(()) => Command::new(VALGRIND).args(arguments).exec().to_string(),
        Err(error) => error,
    };
    let what = format!("no program can be run under valgrind ({why})");
    Failure::new(FailureKind::Usage, what, "apt-get install valgrind")
}

/// The filter that refuses this one question.
fn no_auxv() -> std::result::Result<BpfProgram, BackendError> {
    let asked = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, PR_GET_AUXV)?;
    let rules = BTreeMap::from([(libc::SYS_prctl, vec![SeccompRule::new(vec![asked])?])]);
    let refused = SeccompAction::Errno(libc::EINVAL.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, refused, std::env::consts::ARCH.try_into()?)?.try_into()
}

/// The instructions in a file of callgrind.
fn instructions(text: &str) -> Option<Figures> {
    let total = text.lines().find_map(|line| line.strip_prefix("totals: "))?;
    let total: u64 = total.trim().parse().ok()?;
    Some([("instructions".to_owned(), total as f64)].into())
}

/// Sends a command to valgrind's own server in a process.
fn tell(process: u32, what: &str) -> Result<()> {
    let mut command = Command::new("vgdb");
    command.arg(format!("--pid={process}")).args(what.split(' '));
    let done = command.output();
    if done.as_ref().is_ok_and(|output| output.status.success()) {
        return Ok(());
    }
    let said = done.map_or_else(
        |error| error.to_string(),
        |output| String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    );
    let what = format!("vgdb cannot tell valgrind `{what}` ({said})");
    Err(Failure::new(
        FailureKind::Network,
        what,
        "apt-get install valgrind, and be root",
    ))
}

/// Asks a child process to end, and waits until it has.
fn end(process: u32, stop: Stop<'_>) -> Result<()> {
    if let Some(process) = i32::try_from(process).ok().and_then(Pid::from_raw) {
        // It fails only if it has ended.
        let _ = kill_process(process, Signal::TERM);
    }
    let began = Instant::now();
    // It is there until its parent asks for its status, without memory.
    let maps = format!("/proc/{process}/maps");
    while fs::read(&maps).is_ok_and(|maps| !maps.is_empty()) {
        if began.elapsed() > PATIENCE {
            let what = format!("process {process} does not end under valgrind");
            return Err(Failure::new(FailureKind::Network, what, "leave --valgrind out"));
        }
        pause(LOOK, stop)?;
    }
    Ok(())
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).map_err(|error| {
        let what = format!("valgrind did not write {} ({error})", file.display());
        Failure::new(FailureKind::Source, what, "see whether it can run the program")
    })
}

fn unknown(file: &Path) -> Failure {
    let what = format!("{} is not as valgrind 3.19 writes it", file.display());
    Failure::new(FailureKind::Source, what, "use that version")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_those_in_the_total() {
        let text = "events: Ir\nsummary: 7\n\nfn=(1)\n3 7\ntotals: 46437\n";
        assert_eq!(instructions(text), Some([("instructions".to_owned(), 46437.0)].into()));
        assert_eq!(instructions("events: Ir\n"), None);
    }
}
