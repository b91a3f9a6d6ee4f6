//! One stream: both programs, the link between them, and what was seen while it ran.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast_proto::sim::LinkProfile;
use sealcast_proto::wire::{Host, Ticket};
use serde_json::Value;

use super::frames::{self, Frame};
use crate::harness::process::{Program, Stop, own_program, pause};
use crate::harness::processor;
use crate::proxy::{Links, UdpProxy};

/// Time limit for programs to start, to find each other over a bad link, and to end.
const PATIENCE: Duration = Duration::from_secs(60);
/// Beginning of the line with the ticket.
const TICKET: &str = "sealcast://";
/// How often the viewer's log is looked at until frames arrive.
const LOOK: Duration = Duration::from_millis(50);

/// A stream to measure.
pub(super) struct Stream<'a> {
    /// What `publish` reads.
    pub(super) source: &'a str,
    /// Options of both ends, which choose the suite.
    pub(super) options: &'a [String],
    /// The link; none is loopback without anything between.
    pub(super) link: Option<&'a LinkProfile>,
    pub(super) seed: u64,
    pub(super) warm_up: Duration,
    /// Lengths of the periods that are measured one after another.
    pub(super) periods: Vec<Duration>,
    /// A folder for reports, logs and what the programs say.
    pub(super) folder: &'a Path,
    pub(super) stop: Stop<'a>,
}

/// What was seen.
pub(super) struct Seen {
    pub(super) frames: Vec<Frame>,
    /// At the ends of periods, and before the first.
    pub(super) marks: Vec<Mark>,
    pub(super) publisher: Value,
    pub(super) viewer: Value,
}

/// A moment, and the processor time that both ends had used by then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    /// In nanoseconds since 1970, as in logs.
    pub(super) at_ns: i64,
    pub(super) publisher: Duration,
    pub(super) viewer: Duration,
}

impl Stream<'_> {
    /// Runs both programs until all periods are over.
    pub(super) fn run(&self) -> Result<Seen> {
        // What an earlier try left would be taken for this one's.
        let _ = fs::remove_dir_all(self.folder);
        fs::create_dir_all(self.folder).map_err(|error| {
            let what = format!("{} cannot be made ({error})", self.folder.display());
            Failure::new(FailureKind::Sink, what, "choose another --out")
        })?;
        let mut publisher = self.publisher()?;
        let ticket = TICKET.to_owned() + &publisher.line(TICKET, PATIENCE, self.stop)?;
        let (ticket, _proxy) = self.through(&ticket)?;
        let mut viewer = self.viewer(&ticket)?;
        self.until_frames_arrive()?;
        pause(self.warm_up, self.stop)?;
        let mark = || -> Result<Mark> {
            Ok(Mark {
                at_ns: wall_clock_ns(),
                publisher: processor::time_of(publisher.id())?,
                viewer: processor::time_of(viewer.id())?,
            })
        };
        let mut marks = vec![mark()?];
        for period in &self.periods {
            pause(*period, self.stop)?;
            marks.push(mark()?);
        }
        for program in [&mut viewer, &mut publisher] {
            program.ask_to_end();
            program.ended(PATIENCE, self.stop)?;
        }
        Ok(Seen {
            frames: frames::read(&self.log())?,
            marks,
            publisher: self.report("publisher")?,
            viewer: self.report("viewer")?,
        })
    }

    fn publisher(&self) -> Result<Program> {
        let mut command = self.command("publish", "publisher")?;
        command.args([self.source, "--listen", "udp://127.0.0.1:0", "--ticket-file", "-"]);
        self.start("the publisher", command, "publisher")
    }

    /// Starts the viewer. Its ticket is in its environment, which other users cannot read.
    fn viewer(&self, ticket: &str) -> Result<Program> {
        let mut command = self.command("watch", "viewer")?;
        command.args(["--to", "null:", "--log-dir"]).arg(self.logs());
        command.env("SEALCAST_WATCH_TICKET", ticket);
        self.start("the viewer", command, "viewer")
    }

    /// The program of this build as its user runs it, with an identity and a report of its own. The meter, if there is
    /// one, is the laboratory's.
    fn command(&self, verb: &str, end: &str) -> Result<Command> {
        let mut command = own_program()?;
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("SEALCAST_") {
                command.env_remove(name);
            }
        }
        command.env("SEALCAST_HOME", self.folder.join(format!("{end}-home")));
        command.args(["sealcast", verb, "--meter", "none", "--report"]);
        command.arg(self.report_of(end)).args(self.options);
        Ok(command)
    }

    fn start(&self, name: &'static str, command: Command, end: &str) -> Result<Program> {
        Program::start(name, command, &self.folder.join(format!("{end}.txt")))
    }

    /// The ticket with which a viewer goes through the link.
    fn through(&self, ticket: &str) -> Result<(String, Option<UdpProxy>)> {
        let Some(profile) = self.link else {
            return Ok((ticket.to_owned(), None));
        };
        let mut parsed: Ticket = ticket.parse().map_err(|error| {
            let what = format!("the publisher's ticket cannot be read: {error}");
            Failure::new(FailureKind::Internal, what, "please report this")
        })?;
        let local = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let links = Links::both(profile.clone(), self.seed);
        let proxy = UdpProxy::start(local(0), local(parsed.port), links).map_err(|error| {
            let what = format!("the link's proxy cannot be started ({error})");
            Failure::new(FailureKind::Network, what, "try again")
        })?;
        parsed.host = Host::V4(Ipv4Addr::LOCALHOST);
        parsed.port = proxy.address().port();
        Ok((parsed.reveal(), Some(proxy)))
    }

    /// Waits until the viewer has logged a frame.
    fn until_frames_arrive(&self) -> Result<()> {
        let began = Instant::now();
        let log = self.log();
        let arrived = || fs::read_to_string(&log).is_ok_and(|text| text.lines().count() > 1);
        while !arrived() {
            if began.elapsed() > PATIENCE {
                let what = format!("no frame arrived within {} s", PATIENCE.as_secs());
                let hint = "see what the programs printed, in the files of the run";
                return Err(Failure::new(FailureKind::Network, what, hint));
            }
            pause(LOOK, self.stop)?;
        }
        Ok(())
    }

    fn logs(&self) -> PathBuf {
        self.folder.join("viewer-logs")
    }

    fn log(&self) -> PathBuf {
        self.logs().join(frames::LOG)
    }

    fn report_of(&self, end: &str) -> PathBuf {
        self.folder.join(format!("{end}.json"))
    }

    fn report(&self, end: &str) -> Result<Value> {
        let file = self.report_of(end);
        let report = fs::read(&file)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok());
        report.ok_or_else(|| {
            let what = format!("{} is no report", file.display());
            Failure::new(FailureKind::Internal, what, "see what the program printed, beside it")
        })
    }
}

/// Logs have the time since 1970 of a monotonic clock that was set when the program started.
fn wall_clock_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
