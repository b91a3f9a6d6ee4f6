//! The process that is measured: the real program, or the plain fan-out.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::run::RelayUrl;
use sealcast_proto::wire::Ticket;
use serde::Deserialize;

use super::plain;
use super::relay::Relay;
use crate::experiments::throughput::Carrier;
use crate::harness::process::{Program, Stop, new_copy, own_program, printing_ticket, run_by, sealcast_program};
use crate::harness::processor;

/// Time limit for a publisher to start.
const PATIENCE: Duration = Duration::from_secs(60);
/// Beginning of the line with the ticket.
const TICKET: &str = "sealcast://";
/// Words that the program says of each viewer that has joined its group.
const MEMBER: &str = "it is a member of the group";
/// The file for what the publisher says.
const LOG: &str = "publisher.txt";

/// Way in which frames are given to viewers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(super) enum Sending {
    /// `sealcast publish --group --sign frame`: sealed and signed once for all viewers.
    Group,
    /// `sealcast publish --group --sign off`: sealed once, and neither signed nor challenged.
    Unsigned,
    /// `sealcast publish`: sealed for each viewer.
    Alone,
    /// As they are.
    Plain,
    /// `sealcast publish --relay`: sealed and signed once, and given to a relay.
    Relayed,
    /// As they are, given to a relay.
    RelayedPlain,
}

impl Sending {
    /// Value of `--sign`, if frames are sealed once.
    fn sign(self) -> Option<&'static str> {
        match self {
            Self::Group | Self::Relayed => Some("frame"),
            Self::Unsigned => Some("off"),
            Self::Alone | Self::Plain | Self::RelayedPlain => None,
        }
    }

    /// True if viewers join a group by their sessions.
    pub(super) fn is_joined(self) -> bool {
        matches!(self, Self::Group | Self::Unsigned)
    }

    /// True if a relay gives the frames to viewers.
    pub(super) fn is_relayed(self) -> bool {
        matches!(self, Self::Relayed | Self::RelayedPlain)
    }
}

/// Where viewers connect.
pub(super) enum Address {
    /// The camera's ticket, and the relay that its frames come through.
    Sealed(Ticket, Option<RelayUrl>),
    Plain(Carrier, SocketAddr),
    PlainRelay(RelayUrl),
}

/// A running publisher.
pub(super) struct Publisher {
    program: Program,
    pub(super) address: Address,
}

/// Settings with which a publisher is started.
pub(super) struct Start<'a> {
    pub(super) sending: Sending,
    /// The program to run; this build if none is named.
    pub(super) program: Option<&'a Path>,
    pub(super) carrier: Carrier,
    pub(super) source: &'a str,
    pub(super) viewers: usize,
    /// The relay, if frames go through one.
    pub(super) relay: Option<&'a Relay>,
    /// The words of a command that runs the program, such as those of valgrind.
    pub(super) under: &'a [String],
    /// A folder for its files.
    pub(super) scratch: &'a Path,
    pub(super) stop: Stop<'a>,
}

impl Start<'_> {
    /// Starts it.
    ///
    /// # Errors
    /// It does not start.
    pub(super) fn publisher(&self) -> Result<Publisher> {
        match self.sending {
            Sending::Plain | Sending::RelayedPlain => self.plain(),
            Sending::Group | Sending::Unsigned | Sending::Alone | Sending::Relayed => self.sealcast(),
        }
    }

    fn plain(&self) -> Result<Publisher> {
        let mut command = own_program()?;
        command.args(["plain-fan-out", self.source, "--carrier", &self.carrier.to_string()]);
        if let Some(relay) = self.relay {
            command.args(["--relay", &relay.url]);
        }
        let command = run_by(self.under, command);
        let program = Program::start("the plain fan-out", command, &self.scratch.join(LOG))?;
        let address = match self.relay {
            Some(relay) => Address::PlainRelay(relay.address()?),
            None => {
                let said = program.line(plain::AT, PATIENCE, self.stop)?;
                Address::Plain(self.carrier, said.parse().map_err(|_| no_address(&said))?)
            }
        };
        Ok(Publisher { program, address })
    }

    fn sealcast(&self) -> Result<Publisher> {
        let program = self
            .program
            .map(|program| new_copy(program, self.scratch))
            .transpose()?;
        let mut command = sealcast_program(program.as_deref(), &self.scratch.join("home"))?;
        let listen = format!("{}://127.0.0.1:0", self.carrier);
        command.args(["publish", self.source, "--listen", &listen]);
        let printing = printing_ticket(program.as_deref(), &["publish"])?;
        command.args(printing).args(["--open", "--meter", "none"]);
        command.args(["--max-viewers", &self.viewers.to_string()]);
        if let Some(sign) = self.sending.sign() {
            command.args(["--group", "--sign", sign]);
        }
        if let Some(relay) = self.relay {
            command.args(["--relay", &relay.url]);
        }
        let command = run_by(self.under, command);
        let program = Program::start("the publisher", command, &self.scratch.join(LOG))?;
        let said = TICKET.to_owned() + &program.line(TICKET, PATIENCE, self.stop)?;
        let ticket = said.parse().map_err(|_| no_address(&said))?;
        let relay = self.relay.map(Relay::address).transpose()?;
        Ok(Publisher {
            program,
            address: Address::Sealed(ticket, relay),
        })
    }
}

fn no_address(said: &str) -> Failure {
    let what = format!("the publisher said `{said}`, which is no address");
    Failure::new(FailureKind::Internal, what, "please report this")
}

impl Publisher {
    /// Its process id.
    pub(super) fn process(&self) -> u32 {
        self.program.id()
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
