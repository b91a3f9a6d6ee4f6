//! The process that is measured: the real program, or the plain fan-out.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast_proto::wire::Ticket;
use serde::Deserialize;

use super::plain;
use crate::harness::process::{Program, Stop, own_program, sealcast_program};
use crate::harness::processor;

/// Time limit for a publisher to start.
const PATIENCE: Duration = Duration::from_secs(60);
/// Beginning of the line with the ticket.
const TICKET: &str = "sealcast://";
/// What the program says of each viewer that has joined its group.
const MEMBER: &str = "it is a member of the group";
/// The file for what the publisher says.
const LOG: &str = "publisher.txt";

/// How frames are given to viewers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(super) enum Sending {
    /// `sealcast publish --group --sign frame`: sealed and signed once for all viewers.
    Group,
    /// `sealcast publish`: sealed for each viewer.
    Alone,
    /// As they are.
    Plain,
}

/// Where viewers connect.
pub(super) enum Address {
    Sealed(Ticket),
    Plain(SocketAddr),
}

/// A running publisher.
pub(super) struct Publisher {
    program: Program,
    pub(super) address: Address,
}

impl Publisher {
    /// Starts it with a source; `scratch` is an empty folder for its files.
    ///
    /// # Errors
    /// It does not start.
    pub(super) fn start(
        sending: Sending,
        source: &str,
        viewers: usize,
        scratch: &Path,
        stop: Stop<'_>,
    ) -> Result<Self> {
        let log = scratch.join(LOG);
        let unknown = |said: &str| {
            let what = format!("the publisher said `{said}`, which is no address");
            Failure::new(FailureKind::Internal, what, "please report this")
        };
        if sending == Sending::Plain {
            let mut command = own_program()?;
            command.args(["plain-fan-out", source]);
            let program = Program::start("the plain fan-out", command, &log)?;
            let said = program.line(plain::AT, PATIENCE, stop)?;
            let address = said.parse().map_err(|_| unknown(&said))?;
            return Ok(Self {
                program,
                address: Address::Plain(address),
            });
        }
        let mut command = sealcast_program(None, &scratch.join("home"))?;
        command.args([
            "publish",
            source,
            "--listen",
            "tcp://127.0.0.1:0",
            "--ticket-file",
            "-",
            "--open",
        ]);
        command.args(["--max-viewers", &viewers.to_string(), "--meter", "none"]);
        if sending == Sending::Group {
            command.args(["--group", "--sign", "frame"]);
        }
        let program = Program::start("the publisher", command, &log)?;
        let said = TICKET.to_owned() + &program.line(TICKET, PATIENCE, stop)?;
        let ticket = said.parse().map_err(|_| unknown(&said))?;
        Ok(Self {
            program,
            address: Address::Sealed(ticket),
        })
    }

    /// User and system time of all its threads so far.
    ///
    /// # Errors
    /// It has ended.
    pub(super) fn cpu(&mut self) -> Result<Duration> {
        self.program.still_runs()?;
        processor::time_of(self.program.id())
    }
}

/// Number of viewers that have joined the group of a publisher with this folder.
pub(super) fn members(scratch: &Path) -> usize {
    let said = fs::read(scratch.join(LOG)).unwrap_or_default();
    String::from_utf8_lossy(&said).matches(MEMBER).count()
}
