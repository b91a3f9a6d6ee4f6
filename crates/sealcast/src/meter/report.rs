//! Summary of a run as JSON: machine and build, results, and how the values were measured.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;
use tempfile::Builder;

use super::build_info::BuildInfo;
use super::labels::HandshakeOutcome;
use super::log_rows::{HandshakeRow, Phase, iso};
use super::logs::LogSummary;
use super::metrics::{Metrics, Totals};
use super::paired::PairedSummary;
use super::resources::ResourceSummary;
use super::shape::ShapeReport;
use super::stage::StageSnapshot;
use crate::config::secrets::redact;
use crate::failure::{Failure, FailureKind, Result};
use crate::platform::kernel_clock::KernelClock;
use crate::platform::machine::Machine;

/// Version of the report format. It increases when a field changes its meaning or is removed; new fields may be added
/// without.
pub const SCHEMA: &str = "sealcast-report/1";

/// Maximum of handshakes stored in full: the newest ones. The others are only counted.
const MAX_HANDSHAKES: usize = 1000;

/// Explains how the values were measured, for readers who do not have the program.
const METHOD: &[&str] = &[
    "Stage times come from the monotonic clock, one record per frame, kept in histograms with three significant \
     digits; percentiles are those of all frames since the start.",
    "The stages network, link and end_to_end span two clocks: they are corrected by the measured offset and rate. \
     below_uncertainty counts the values that are nearer to 0 than the uncertainty of that correction, negative ones \
     included; impossible counts those that are further below 0.",
    "The stages forward, link and deliver are a gateway's: forward and deliver hold one record per packet (and \
     player), link one per sealed unit.",
    "CPU seconds are those of all threads of this process, user and system; percent is of one core.",
    "Temperature and energy are absent or null where this machine cannot measure them. Energy is that of all that the \
     meter covers, whose name and reach stand in the configuration under `meter`, and not of this process alone; power \
     is integrated by the trapezoidal rule between samples at 10 Hz, and gaps of more than 0.5 s are counted and left \
     out.",
    "A handshake's duration, CPU time and energy are those of the exchange: at both ends from the first handshake \
     message that this end sends or receives until this end has the session established. Its key pair (keygen_ms) and \
     the first use of the cryptographic libraries (startup_ms, once per process) come before that.",
];

/// The peer's clock as this end last estimated it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ClockReport {
    /// The peer's wall clock minus ours, in nanoseconds.
    pub offset_ns: i64,
    /// Half the 95 % interval of the offset if the path is equally fast in both directions, in nanoseconds.
    pub spread_ns: u64,
    /// Half the 95 % interval of the offset whatever the path, in nanoseconds.
    pub uncertainty_ns: u64,
    /// Rate of the peer's clock minus that of ours, in parts per million.
    pub rate_ppm: f64,
    /// Half the 95 % interval of the rate, in parts per million.
    pub rate_uncertainty_ppm: f64,
    /// Shortest round trip among the recent exchanges, in nanoseconds.
    pub shortest_round_trip_ns: u64,
    /// Number of exchanges of all sessions.
    pub exchanges: u64,
    /// Number of steps of a clock, or changes of the path, found in this session.
    pub steps: u64,
}

/// Summary of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The command, such as `publish`.
    pub command: String,
    /// The build.
    pub build: BuildInfo,
    /// The machine.
    pub machine: Machine,
    /// Start of the run.
    #[serde(serialize_with = "iso")]
    pub start: Timestamp,
    /// End of the run.
    #[serde(serialize_with = "iso")]
    pub end: Timestamp,
    /// Settings in use, without secrets: see [`setting`](Self::setting).
    configuration: BTreeMap<String, String>,
    /// Outcome of the run: `completed`, or the failure's message.
    pub outcome: String,
    handshakes: VecDeque<HandshakeRow>,
    handshakes_omitted: u64,
    /// Frames, records, bytes, refusals, drops and rekeys.
    pub totals: Totals,
    /// Statistics by stage, for the stages that recorded anything.
    pub stages: BTreeMap<&'static str, StageSnapshot>,
    /// Cells, if the traffic was shaped to be constant.
    pub shape: Option<ShapeReport>,
    /// The peer's clock, if it was estimated.
    pub clock: Option<ClockReport>,
    /// State of this machine's wall clock by the kernel at the start and at the end of the run; `null` if it could not
    /// be asked.
    pub kernel_clock: [Option<KernelClock>; 2],
    /// Resources used by the process, if they were sampled.
    pub resources: Option<ResourceSummary>,
    /// Energy in joules by state of the stream; empty if no meter was read. The meter is read when the state changes.
    energy_joules_by_phase: BTreeMap<Phase, f64>,
    /// Paired differences by comparison, such as `sealed minus plain, ns per frame`.
    pub paired: BTreeMap<String, PairedSummary>,
    /// Result of logging, if it was on.
    pub logs: Option<LogSummary>,
    /// Explains how the values were measured.
    pub method: Vec<String>,
}

impl Report {
    /// Creates an empty report on `command`, which began at `start`.
    pub fn new(command: &str, build: BuildInfo, start: Timestamp) -> Self {
        Self {
            schema: SCHEMA,
            command: command.to_owned(),
            build,
            machine: Machine::detect(),
            start,
            end: start,
            configuration: BTreeMap::new(),
            outcome: "completed".to_owned(),
            handshakes: VecDeque::new(),
            handshakes_omitted: 0,
            totals: Totals::default(),
            stages: BTreeMap::new(),
            shape: None,
            clock: None,
            kernel_clock: [None; 2],
            resources: None,
            energy_joules_by_phase: BTreeMap::new(),
            paired: BTreeMap::new(),
            logs: None,
            method: METHOD.iter().map(|&sentence| sentence.to_owned()).collect(),
        }
    }

    /// Records a setting in use. Passwords and invites in URLs are hidden; never pass a value that is a secret as a
    /// whole.
    pub fn setting(&mut self, name: &str, value: &str) {
        self.configuration.insert(name.to_owned(), redact(value).into_owned());
    }

    /// Adds a handshake. Beyond a thousand, the oldest are only counted.
    pub fn handshake(&mut self, row: HandshakeRow) {
        if self.handshakes.len() == MAX_HANDSHAKES {
            self.handshakes.pop_front();
            self.handshakes_omitted += 1;
        }
        self.handshakes.push_back(row);
    }

    /// Adds energy used in `phase`, in joules.
    pub fn energy(&mut self, phase: Phase, joules: f64) {
        *self.energy_joules_by_phase.entry(phase).or_default() += joules;
    }

    /// The newest successful handshake.
    pub fn last_handshake(&self) -> Option<&HandshakeRow> {
        self.handshakes
            .iter()
            .rfind(|row| row.outcome == HandshakeOutcome::Established)
    }

    /// Copies all counters and stage statistics.
    pub fn take_metrics(&mut self, metrics: &Metrics) {
        self.totals = metrics.totals();
        self.shape = metrics.shape_report();
        self.stages = metrics
            .stage_snapshots()
            .into_iter()
            .map(|(stage, times)| (stage.name(), times))
            .collect();
    }

    /// Writes the report to `path` atomically: either the complete report appears there, or nothing changes.
    ///
    /// # Errors
    /// Kind `Sink`, with the path and a hint.
    pub fn write(&self, path: &Path) -> Result<()> {
        self.try_write(path).map_err(|error| unwritable(path, &error))
    }

    /// Checks before a long run that a report can be written to `path`.
    ///
    /// # Errors
    /// Kind `Sink`: `path` is a directory, or its parent is not one.
    pub fn check_place(path: &Path) -> Result<()> {
        let wrong = if path.is_dir() {
            ErrorKind::IsADirectory
        } else if directory_of(path).is_dir() {
            return Ok(());
        } else {
            ErrorKind::NotFound
        };
        Err(unwritable(path, &wrong.into()))
    }

    fn try_write(&self, path: &Path) -> io::Result<()> {
        if path.is_dir() {
            return Err(ErrorKind::IsADirectory.into());
        }
        // Renaming would replace a device such as /dev/stdout; only regular files are replaced.
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return self
                .write_json(std::fs::OpenOptions::new().write(true).open(path)?)
                .map(drop);
        }
        let directory = directory_of(path);
        // Temporary files have mode 0600, and the report keeps it: it names the peers.
        let temporary = Builder::new().prefix(".sealcast-report").tempfile_in(directory)?;
        self.write_json(temporary.as_file())?;
        temporary.as_file().sync_all()?;
        temporary.persist(path).map_err(|error| error.error)?;
        Ok(())
    }

    fn write_json<W: Write>(&self, to: W) -> io::Result<()> {
        let mut writer = BufWriter::new(to);
        serde_json::to_writer_pretty(&mut writer, self)?;
        writer.write_all(b"\n")?;
        writer.flush()
    }
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let hint = match error.kind() {
        ErrorKind::NotFound => "make the directory first, or choose another one",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "the disk is full: make room",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => "choose a place that you may write to",
        ErrorKind::IsADirectory => "name a file, not a directory",
        _ => "choose another place",
    };
    let what = format!("the report {} cannot be written: {error}", path.display());
    Failure::new(FailureKind::Sink, what, hint)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::Value;

    use super::super::labels::{DatagramRefusal, DatagramUnsent, DoorAnswer, DropCause, OpenFailure};
    use super::super::stage::Stage;
    use super::*;

    fn report() -> Report {
        let mut report = Report::new("watch", BuildInfo::default(), Timestamp::UNIX_EPOCH);
        report.setting("ticket", "sealcast://h:1/abc#invite");
        report
    }

    fn read(path: &Path) -> Value {
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    #[test]
    fn the_report_carries_counts_stages_and_where_it_was_measured() {
        let metrics = Metrics::new(BuildInfo::default());
        metrics.record_stage(Stage::Open, Duration::from_micros(20));
        metrics.record_dropped(DropCause::Queue, 4);
        metrics.record_refused(OpenFailure::Replay);
        metrics.datagrams_refused(DatagramRefusal::Stranger, 3);
        metrics.datagrams_unsent(DatagramUnsent::TooLong, 2);
        metrics.door_answered(DoorAnswer::Retry);
        let mut report = report();
        report.take_metrics(&metrics);
        report.resources = Some(ResourceSummary::default());
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.json");
        report.write(&path).unwrap();
        let json = read(&path);
        assert_eq!(json["schema"], SCHEMA);
        assert_eq!(json["start"], "1970-01-01T00:00:00.000000Z");
        assert_eq!(json["stages"]["open"]["count"], 1);
        assert!(json["stages"].get("encode").is_none());
        assert_eq!(json["totals"]["frames_dropped"]["queue"], 4);
        assert_eq!(json["totals"]["open_failures"]["replay"], 1);
        assert_eq!(json["totals"]["datagrams_refused"]["stranger"], 3);
        assert_eq!(json["totals"]["datagrams_unsent"]["too_long"], 2);
        assert_eq!(json["totals"]["door_answers"]["retry"], 1);
        assert!(json["resources"]["max_temperature_celsius"].is_null());
        assert!(json["machine"]["cpu_model"].is_string());
        assert!(!json["method"].as_array().unwrap().is_empty());
    }

    #[test]
    fn secrets_do_not_reach_the_report() {
        let json = serde_json::to_value(report()).unwrap();
        assert_eq!(json["configuration"]["ticket"], "sealcast://h:1/abc#***");
    }

    #[test]
    fn an_old_report_is_replaced_as_a_whole_and_no_other_file_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.json");
        std::fs::write(&path, "x".repeat(1_000_000)).unwrap();
        report().write(&path).unwrap();
        assert_eq!(read(&path)["command"], "watch");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn places_that_cannot_be_written_are_said_in_words() {
        let directory = tempfile::tempdir().unwrap();
        for (path, words) in [
            (directory.path().join("a/b.json"), "make the directory"),
            (directory.path().into(), "a file"),
        ] {
            assert!(Report::check_place(&path).is_err());
            let failure = report().write(&path).unwrap_err();
            assert_eq!(failure.kind, FailureKind::Sink);
            assert!(
                failure.hint.contains(words) && failure.what.contains("report"),
                "{failure}"
            );
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_device_is_written_to_and_not_replaced() {
        let failure = report().write(Path::new("/dev/full")).unwrap_err();
        assert!(failure.hint.contains("disk is full"), "{failure}");
        report().write(Path::new("/dev/null")).unwrap();
        assert!(!Path::new("/dev/null").metadata().unwrap().is_file());
    }

    #[test]
    fn a_long_run_keeps_the_newest_handshakes_and_counts_the_rest() {
        let mut report = report();
        (0..MAX_HANDSHAKES as u64 + 5).for_each(|number| {
            report.handshake(HandshakeRow {
                bytes_sent: number,
                ..HandshakeRow::default()
            })
        });
        let json = serde_json::to_value(report).unwrap();
        assert_eq!(json["handshakes"].as_array().unwrap().len(), MAX_HANDSHAKES);
        assert_eq!(json["handshakes"][0]["bytes_sent"], 5);
        assert_eq!(json["handshakes_omitted"], 5);
    }
}
