//! What is left of a measurement: the table, the record of how it was made, and a page to look at.

use std::path::Path;

use jiff::Timestamp;
use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::platform::machine::Machine;
use sealcast::platform::versions::LIBRARIES;
use serde::Serialize;

use super::figures::{GRACE, TAIL, WARM_UP};
use super::plan::{LinkOptions, LinkResult};
use super::table::{self, Line};
use super::{BUDGET, ONE_WAY, browse, load};
use crate::facts;

/// How the figures came about, in words.
pub(super) const METHOD: &[&str] = &[
    "Every run carries the same frames: sizes of 720p30 H.264 at 3 Mbit/s with a keyframe every second, each stamped \
     with its number and the monotonic clock when its source hands it over. Both ends are processes of this program.",
    "The link delays by 20 ms and loses packets, each way alike: media and feedback. In bursts: four in a row on \
     average. All systems of a round have the same seed.",
    "In time: with the receiving application at most 20 ms + 120 ms + 20 ms after it was sent. The last 20 ms are for \
     programs and the machine: SRT hands packets out when the budget is used up, by a timer of 10 ms.",
    "Whole: all bytes of a frame. Shown: whole, and all frames back to its keyframe whole by then, too. sealcast hands \
     out nothing else, so that both are the same for it. Shown ever: the same at any time. Delay: until a frame can be \
     shown, of those that ever can.",
    "sealcast: this program's publisher and viewer over udp:// with latency=120, datagrams of 1200 bytes, rate and \
     pace on. A keyframe that its viewer asks for comes as the next frame.",
    "SRT: srt-live-transmit at both ends, latency=120, all else as it is by default, fed over loopback with packets \
     of 1316 bytes, of which 17 are a header of ours. RTP: the same packets behind 12 bytes of RTP. Neither can ask \
     for a keyframe.",
    "Overhead: bytes of IP packets that both ends handed to the link in the whole run, handshake and extra keyframes \
     included, for each byte of the clip, less one.",
    "The first 5 s of each run do not count, what was shown in time of them is told apart; nor does the last 0.5 s. \
     Rounds run A B C D, then D C B A. Intervals: 95 %, bootstrap over seconds, 2000 resamples; where no frame failed, \
     3 in as many frames.",
    "Better or worse than SRT: what sealcast shows in time is set against what SRT shows at any time, so that no \
     choice of the deadline is to the disadvantage of SRT.",
];

#[derive(Serialize)]
struct Record<'a> {
    made: String,
    machine: Machine,
    versions: Vec<(String, String)>,
    link: &'a str,
    congestion_control: &'a str,
    profiles: Vec<String>,
    rounds: usize,
    seconds: u32,
    warm_up_frames: u32,
    tail_frames: u32,
    frames_per_second: u32,
    clip_mbit_s: f64,
    one_way_ms: u128,
    budget_ms: u128,
    grace_ms: u128,
    seed: u64,
    points_at_once: usize,
    runs_repeated: usize,
    runs_failed: usize,
    load_average: String,
    method: &'static [&'static str],
    verdicts: Vec<String>,
    table: Vec<Line>,
}

/// Write `table.csv`, `record.json` and `report.html` into `folder`.
///
/// # Errors
/// A file cannot be written.
pub fn write(folder: &Path, options: &LinkOptions, result: &LinkResult) -> Result<()> {
    let failed = |error: &dyn std::fmt::Display| {
        let what = format!("the results cannot be written to {} ({error})", folder.display());
        Failure::new(FailureKind::Sink, what, "see whether the disk is full")
    };
    table::write_csv(&folder.join("table.csv"), result).map_err(|error| failed(&error))?;
    let record = record(options, result);
    let json = serde_json::to_string_pretty(&record).map_err(|error| failed(&error))?;
    std::fs::write(folder.join("record.json"), json + "\n").map_err(|error| failed(&error))?;
    let page = browse::page(options, result, &facts(&record)).map_err(|error| failed(&error))?;
    std::fs::write(folder.join("report.html"), page).map_err(|error| failed(&error))
}

fn record<'a>(options: &LinkOptions, result: &'a LinkResult) -> Record<'a> {
    let own = ("sealcast".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    let libraries = LIBRARIES
        .iter()
        .map(|(name, version)| ((*name).to_owned(), (*version).to_owned()));
    let srt = result
        .srt
        .iter()
        .map(|words| ("srt-live-transmit".to_owned(), words.clone()));
    let clip = 10 * load::RATE;
    Record {
        made: Timestamp::now().to_string(),
        machine: Machine::detect(),
        versions: std::iter::once(own).chain(libraries).chain(srt).collect(),
        link: &result.ground,
        congestion_control: &result.congestion_control,
        profiles: options.points.iter().map(|point| point.profile().to_string()).collect(),
        rounds: options.rounds,
        seconds: options.seconds,
        warm_up_frames: WARM_UP,
        tail_frames: TAIL,
        frames_per_second: load::RATE,
        clip_mbit_s: load::nominal_bytes(clip) as f64 * 8e-7,
        one_way_ms: ONE_WAY.as_millis(),
        budget_ms: BUDGET.as_millis(),
        grace_ms: GRACE.as_millis(),
        seed: options.seed,
        points_at_once: options.at_once,
        runs_repeated: result.repeated,
        runs_failed: result.failed,
        load_average: facts::load_average(),
        method: METHOD,
        verdicts: table::verdicts(result),
        table: result.figures.iter().map(Line::of).collect(),
    }
}

/// What stands above the page's table.
fn facts(record: &Record<'_>) -> Vec<(&'static str, String)> {
    let versions = record
        .versions
        .iter()
        .map(|(name, version)| format!("{name} {version}"));
    vec![
        ("made", record.made.clone()),
        (
            "machine",
            format!(
                "{}, {} cores, {}",
                record.machine.cpu_model, record.machine.cores, record.machine.kernel
            ),
        ),
        ("versions", versions.collect::<Vec<_>>().join(", ")),
        (
            "link",
            format!("{}; TCP congestion control {}", record.link, record.congestion_control),
        ),
        (
            "rounds",
            format!("{} of {} s; seed {}", record.rounds, record.seconds, record.seed),
        ),
        (
            "beside it",
            format!("{} points at once; load {}", record.points_at_once, record.load_average),
        ),
    ]
}
