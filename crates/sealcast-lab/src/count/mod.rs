//! Counts of a process's work: system calls, context switches, instructions, allocations and copies. They show what
//! changed between two programs where times differ by less than their spread.

pub(crate) mod strace;
mod switches;
mod table;
mod turn;
pub(crate) mod valgrind;

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use sealcast::failure::{Failure, FailureKind, Result};
use serde::Serialize;

pub(crate) use table::tables;
pub(crate) use turn::{Carried, Counting, Laden, Tally, Turn};

/// Numbers by what is counted, in the words of the table's rows.
pub(crate) type Figures = BTreeMap<String, f64>;

/// Counts of one process.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Counted {
    /// The load.
    pub(crate) case: String,
    /// The programs that carried it.
    pub(crate) system: String,
    /// Which of the programs it was.
    pub(crate) side: &'static str,
    /// Names of what comes at once, such as a burst, and of its parts, such as a packet.
    pub(crate) units: [&'static str; 2],
    /// Number of bursts that were sent while system calls were counted.
    pub(crate) bursts: f64,
    /// Number of packets in a burst; an average.
    pub(crate) packets: f64,
    /// For each burst.
    pub(crate) figures: Figures,
}

/// Refuses a tool that is not there, with the package that has it.
pub(crate) fn needs(program: &str) -> Result<()> {
    let mut command = Command::new(program);
    let asked = command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    match asked.status() {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::new(
            FailureKind::Usage,
            format!("`{program}` cannot be started ({error})"),
            format!("apt-get install {program}"),
        )),
    }
}
