//! sealcast itself: a publisher with its test card, and a probe that reads the clock of each decoded picture.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::meter::statistics::median;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::circumstances::{Circumstances, DRAIN, PATIENCE};
use super::columns::NET;
use super::figures::{Mark, Seen};
use super::pictures::Reading;
use crate::harness::Sample;
use crate::harness::process::{Program, pause, sealcast_program};
use crate::harness::processor;

/// Beginning of the line with the ticket.
const TICKET: &str = "sealcast://";
/// Interval at which the probe's log is looked at until pictures arrive.
const LOOK: Duration = Duration::from_millis(50);

/// A publisher and a probe, as a definition names them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sealcast {
    /// The program to run; this build if none is named.
    #[serde(default)]
    program: Option<PathBuf>,
    /// Where the publisher listens.
    listen: String,
    /// Options of both ends.
    #[serde(default)]
    options: Vec<String>,
}

/// A row of the probe's log of pictures.
#[derive(Debug, Deserialize)]
struct PictureRow {
    strip_event: Option<u32>,
    strip_ns: Option<u64>,
    latency_ms: Option<f64>,
}

/// A row of a viewer's log of frames.
#[derive(Debug, Deserialize)]
struct FrameRow {
    stamped_ns: Option<u64>,
    encode_us: Option<f64>,
    total_us: Option<f64>,
    decode_us: Option<f64>,
    capture_us: Option<f64>,
    present_us: Option<f64>,
    #[serde(default)]
    kept: bool,
}

impl Sealcast {
    /// Runs both programs for a while.
    ///
    /// # Errors
    /// One of them cannot be started, does not find the other, or fails.
    pub(super) fn measure(&self, turn: &Circumstances<'_>) -> Result<Sample> {
        let mut publisher = self.publisher(turn)?;
        let ticket = TICKET.to_owned() + &publisher.line(TICKET, PATIENCE, turn.stop)?;
        let mut probe = self.probe(&ticket, turn)?;
        until_pictures_arrive(turn)?;
        pause(turn.warm_up, turn.stop)?;
        let mark = || -> Result<Mark> {
            let ends = [&publisher, &probe].map(|end| processor::time_of_family(end.id()));
            Ok(Mark::new(ends.into_iter().sum::<Result<Duration>>()?))
        };
        let begin = mark()?;
        pause(turn.time, turn.stop)?;
        let end = mark()?;
        pause(DRAIN, turn.stop)?;
        for program in [&mut probe, &mut publisher] {
            program.ask_to_end();
            program.ended(PATIENCE, turn.stop)?;
        }
        let rows: Vec<PictureRow> = rows(&log(&turn.folder, "probe_frames.csv"))?;
        let seen = Seen {
            unreadable: rows.iter().filter(|row| row.strip_event.is_none()).count(),
            readings: rows.iter().filter_map(reading).collect(),
            marks: [begin, end],
        };
        seen.write(&turn.folder)?;
        let sample = seen.sample(&turn.pictures)?;
        // Nothing is deducted: there is no pipe.
        let own = sample.value("p50_ms");
        with_stages(sample.with_some(NET, own), seen.marks, &turn.folder)
    }

    fn publisher(&self, turn: &Circumstances<'_>) -> Result<Program> {
        let mut command = sealcast_program(self.program.as_deref(), &turn.folder.join("publisher-home"))?;
        command.args(["publish", &turn.pictures.test_card(), "--meter", "none"]);
        command
            .args(["--listen", &self.listen, "--ticket-file", "-"])
            .args(&self.options);
        Program::start("the publisher", command, &turn.folder.join("publisher.txt"))
    }

    /// Starts the probe. Its ticket is in its environment, which other users cannot read.
    fn probe(&self, ticket: &str, turn: &Circumstances<'_>) -> Result<Program> {
        let mut command = sealcast_program(self.program.as_deref(), &turn.folder.join("probe-home"))?;
        command.env("SEALCAST_PROBE_FROM", ticket);
        command.args(["probe", "--meter", "none", "--log-dir"]);
        command.arg(turn.folder.join(LOGS)).args(&self.options);
        Program::start("the probe", command, &turn.folder.join("probe.txt"))
    }
}

/// The probe's folder of logs in that of the turn.
const LOGS: &str = "probe-logs";

fn log(folder: &Path, name: &str) -> PathBuf {
    folder.join(LOGS).join(name)
}

fn reading(row: &PictureRow) -> Option<Reading> {
    Some(Reading {
        event: row.strip_event?,
        painted_us: row.strip_ns? / 1000,
        latency_ms: row.latency_ms?,
    })
}

fn rows<T: DeserializeOwned>(log: &Path) -> Result<Vec<T>> {
    let rows = csv::Reader::from_path(log).and_then(|mut rows| rows.deserialize().collect());
    rows.map_err(|error| {
        let what = format!("{} cannot be read ({error})", log.display());
        Failure::new(FailureKind::Internal, what, "please report this")
    })
}

/// Waits until the probe has logged a picture with a latency.
fn until_pictures_arrive(turn: &Circumstances<'_>) -> Result<()> {
    let began = Instant::now();
    let log = log(&turn.folder, "probe_frames.csv");
    let arrived = || fs::read_to_string(&log).is_ok_and(|text| text.lines().count() > 1);
    while !arrived() {
        if began.elapsed() > PATIENCE {
            let what = format!("no picture arrived within {} s", PATIENCE.as_secs());
            let hint = "see what the programs printed, in the files of the run";
            return Err(Failure::new(FailureKind::Network, what, hint));
        }
        pause(LOOK, turn.stop)?;
    }
    Ok(())
}

/// Adds the medians of what a latency consists of: encoding, everything until the decoder has the frame, and decoding.
fn with_stages(sample: Sample, [from, to]: [Mark; 2], folder: &Path) -> Result<Sample> {
    let frames: Vec<FrameRow> = rows(&log(folder, "frames_latency.csv"))?;
    let counts = |frame: &&FrameRow| {
        let stamped = frame.stamped_ns.map(|nanos| nanos / 1000);
        !frame.kept && stamped.is_some_and(|stamped| (from.at_us..to.at_us).contains(&stamped))
    };
    let of = |stage: fn(&FrameRow) -> Option<f64>| {
        let mut values: Vec<f64> = frames.iter().filter(counts).filter_map(stage).collect();
        median(&mut values) * 1e-3
    };
    let carried = |frame: &FrameRow| {
        let own = frame.capture_us? + frame.encode_us? + frame.decode_us? + frame.present_us.unwrap_or(0.0);
        Some(frame.total_us? - own)
    };
    Ok(sample
        .with("encode_ms", of(|frame| frame.encode_us))
        .with("carry_ms", of(carried))
        .with("decode_ms", of(|frame| frame.decode_us)))
}
