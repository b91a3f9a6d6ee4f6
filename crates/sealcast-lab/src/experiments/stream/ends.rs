//! One stream: both programs, the link between them, and what was seen while it ran.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast_proto::sim::LinkProfile;
use serde::Deserialize;
use serde_json::Value;

use super::frames::{self, Frame};
use super::link::Proxy;
use crate::ciphers::capabilities::WITHOUT_AES;
use crate::harness::process::{Program, Stop, pause, sealcast_program};
use crate::harness::processor;
use crate::net::{End, Net};
use crate::proxy::{Links, Tap};

/// Time limit for programs to start, to find each other over a bad link, and to end.
const PATIENCE: Duration = Duration::from_secs(60);
/// Beginning of the line with the ticket.
const TICKET: &str = "sealcast://";
/// Interval at which the viewer's log is looked at until frames arrive.
const LOOK: Duration = Duration::from_millis(50);

/// A stream to measure.
pub(crate) struct Stream<'a> {
    /// Source that `publish` reads.
    pub(crate) source: &'a str,
    /// Carrier on which the publisher listens: `udp`, `tcp` or `quic`, and its options after a `?`.
    pub(crate) listen: &'a str,
    /// Options of both ends, which choose the suite.
    pub(crate) options: &'a [String],
    /// Options of the publisher alone.
    pub(crate) publisher: &'a [String],
    pub(crate) viewer: Viewer,
    /// The link; none is loopback without anything between.
    pub(crate) link: Option<&'a LinkProfile>,
    /// Listens on the link; without a link, on a proxy that passes everything on at once.
    pub(crate) tap: Option<&'a Tap>,
    /// The publisher runs at one end of this link and the viewer at the other, with no proxy between them.
    pub(crate) net: Option<&'a Net>,
    pub(crate) seed: u64,
    pub(crate) warm_up: Duration,
    /// The first period begins when the time since 1970 is a multiple of this.
    pub(crate) grid: Option<Duration>,
    /// Lengths of the periods that are measured one after another.
    pub(crate) periods: Vec<Duration>,
    /// The energy meter that both ends read, as with `--meter`.
    pub(crate) meter: &'a str,
    /// Both ends do without the processor's instructions for AES and GCM.
    pub(crate) without_aes: bool,
    /// A folder for reports, logs and what the programs say.
    pub(crate) folder: &'a Path,
    pub(crate) stop: Stop<'a>,
}

/// Receiver of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Viewer {
    /// `sealcast probe`, which decodes each frame.
    #[default]
    Probe,
    /// `sealcast watch`, which discards what it received.
    Watch,
    /// `sealcast watch` with a page, for which each frame is decoded, whether a browser looks at it or not.
    Page,
}

/// Observations of a stream.
pub(crate) struct Seen {
    pub(crate) frames: Vec<Frame>,
    /// At the ends of periods, and before the first.
    pub(crate) marks: Vec<Mark>,
    pub(crate) publisher: Value,
    pub(crate) viewer: Value,
}

/// A moment, and the processor time that both ends had used by then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    /// In nanoseconds since 1970, as in logs.
    pub(crate) at_ns: i64,
    pub(crate) publisher: Duration,
    pub(crate) viewer: Duration,
}

impl Stream<'_> {
    /// Runs both programs until all periods are over.
    pub(crate) fn run(&self) -> Result<Seen> {
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
        self.until_frames_arrive([&mut publisher, &mut viewer])?;
        pause(self.warm_up, self.stop)?;
        self.until_grid()?;
        let mark = || -> Result<Mark> {
            Ok(Mark {
                at_ns: wall_clock_ns(),
                publisher: processor::time_of_family(publisher.id())?,
                viewer: processor::time_of_family(viewer.id())?,
            })
        };
        let (began, mut over) = (Instant::now(), Duration::ZERO);
        let mut marks = vec![mark()?];
        for period in &self.periods {
            over += *period;
            pause((began + over).saturating_duration_since(Instant::now()), self.stop)?;
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
        let (carrier, options) = self.listen.split_once('?').unwrap_or((self.listen, ""));
        let host = self.net.map_or(Ipv4Addr::LOCALHOST, |_| End::A.ipv4());
        let mut listen = format!("{carrier}://{host}:0");
        if !options.is_empty() {
            listen.push('?');
            listen.push_str(options);
        }
        command.args([self.source, "--listen", &listen, "--ticket-file", "-"]);
        command
            .args(self.publisher)
            .arg("--log-dir")
            .arg(self.logs("publisher"));
        self.start("the publisher", command, "publisher")
    }

    /// Starts the viewer. Its ticket is in its environment, which other users cannot read.
    fn viewer(&self, ticket: &str) -> Result<Program> {
        let (verb, sink, variable) = match self.viewer {
            Viewer::Probe => ("probe", None, "SEALCAST_PROBE_FROM"),
            Viewer::Watch => ("watch", Some("null:"), "SEALCAST_WATCH_TICKET"),
            Viewer::Page => ("watch", Some("http://127.0.0.1:0"), "SEALCAST_WATCH_TICKET"),
        };
        let mut command = self.command(verb, "viewer")?;
        command.args(sink.into_iter().flat_map(|sink| ["--to", sink]));
        command.arg("--log-dir").arg(self.logs("viewer"));
        command.env(variable, ticket);
        self.start("the viewer", command, "viewer")
    }

    /// The program of this build as its user runs it, with an identity and a report of its own.
    fn command(&self, verb: &str, end: &str) -> Result<Command> {
        let plain = sealcast_program(None, &self.folder.join(format!("{end}-home")))?;
        let mut command = match self.net {
            None => plain,
            Some(net) => inside(net, if end == "publisher" { End::A } else { End::B }, &plain),
        };
        command.args([verb, "--meter", self.meter, "--report"]);
        command.arg(self.report_of(end)).args(self.options);
        command.envs(self.without_aes.then_some(WITHOUT_AES));
        Ok(command)
    }

    fn start(&self, name: &'static str, command: Command, end: &str) -> Result<Program> {
        Program::start(name, command, &self.folder.join(format!("{end}.txt")))
    }

    /// The ticket with which a viewer goes through the link.
    fn through(&self, ticket: &str) -> Result<(String, Option<Proxy>)> {
        if self.link.is_none() && self.tap.is_none() {
            return Ok((ticket.to_owned(), None));
        }
        let links = Links {
            tap: self.tap.cloned(),
            ..Links::both(self.link.cloned().unwrap_or_default(), self.seed)
        };
        let (ticket, proxy) = Proxy::before(ticket, links)?;
        Ok((ticket, Some(proxy)))
    }

    /// Waits until the first period can begin.
    fn until_grid(&self) -> Result<()> {
        let Some(grid) = self.grid.map(|grid| grid.as_nanos()).filter(|&grid| grid > 0) else {
            return Ok(());
        };
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let rest = grid - since.as_nanos() % grid;
        pause(Duration::from_nanos(u64::try_from(rest).unwrap_or(u64::MAX)), self.stop)
    }

    /// Waits until the viewer has logged a frame.
    fn until_frames_arrive(&self, mut programs: [&mut Program; 2]) -> Result<()> {
        let began = Instant::now();
        let log = self.log();
        let arrived = || fs::read_to_string(&log).is_ok_and(|text| text.lines().count() > 1);
        while !arrived() {
            if began.elapsed() > PATIENCE {
                let what = format!("no frame arrived within {} s", PATIENCE.as_secs());
                let hint = "see what the programs printed, in the files of the run";
                return Err(Failure::new(FailureKind::Network, what, hint));
            }
            programs.iter_mut().try_for_each(|program| program.still_runs())?;
            pause(LOOK, self.stop)?;
        }
        Ok(())
    }

    /// The folder of an end's logs: `publisher` or `viewer`.
    pub(crate) fn logs(&self, end: &str) -> PathBuf {
        self.folder.join(format!("{end}-logs"))
    }

    fn log(&self) -> PathBuf {
        self.logs("viewer").join(frames::LOG)
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

/// The same command in the namespace of an end.
pub(crate) fn inside(net: &Net, end: End, plain: &Command) -> Command {
    let mut command = net.command(end, plain.get_program());
    command.args(plain.get_args());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

/// Logs have the time since 1970 of a monotonic clock that was set when the program started.
pub(crate) fn wall_clock_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
