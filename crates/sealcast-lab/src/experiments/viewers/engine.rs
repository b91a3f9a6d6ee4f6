//! One measurement: a publisher, its viewers, and the processor time that it uses while all of them watch.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::meter::statistics::quantile;
use serde::Deserialize;

use super::audience::Audience;
use super::publisher::{Publisher, Sending, Start, members};
use super::relay::{self, Relay};
use crate::experiments::link::load::now;
use crate::experiments::stream::{made_clip, wall_clock_ns};
use crate::experiments::throughput::Carrier;
use crate::harness::process::{Stop, last_words, pause};
use crate::harness::{Definition, Engine, Entry, Opened, Place, Sample, Turn};

/// The greatest number of viewers: that of one group's page in the documents.
const MAX_VIEWERS: usize = 256;
/// A frame that takes longer than this is late, in milliseconds.
const LATE_MS: f64 = 100.0;
/// Time by which the wall clock may move in a turn beside the monotonic one, in nanoseconds: a tenth of the shortest
/// latency.
const MAX_MOVED_NS: u64 = 100_000;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// A file that is published again and again; empty for one that ffmpeg makes.
    clip: String,
    /// Size and rate of that one.
    made: String,
    /// Seconds after all viewers watch that do not count.
    warm_up_seconds: f64,
    /// The relay's program.
    relay: PathBuf,
}

impl Settings {
    /// The clip; one that is made goes into `folder`.
    pub(super) fn clip(&self, folder: &Path) -> Result<PathBuf> {
        match self.clip.as_str() {
            "" => made_clip(folder, &self.made),
            clip => Ok(PathBuf::from(clip)),
        }
    }
}

/// The source that publishes a clip again and again.
pub(super) fn source(clip: &Path) -> String {
    format!("file:{}?loop", clip.display())
}

/// A case, as its definition names it.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    pub(super) viewers: usize,
    /// The carrier of sessions, and of the plain fan-out.
    pub(super) carrier: Carrier,
    /// True to compare ways through a relay with sessions.
    #[serde(default)]
    pub(super) relay: bool,
}

struct Viewers {
    source: String,
    warm_up: Duration,
    relay: PathBuf,
    cases: BTreeMap<String, Case>,
    systems: BTreeMap<String, System>,
}

/// A system, as its definition names it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct System {
    #[serde(flatten)]
    pub(super) sending: Sending,
    /// The program to run; this build if none is named.
    pub(super) program: Option<PathBuf>,
}

pub(super) fn open(definition: &Definition, place: &Place<'_>) -> Result<Opened> {
    let settings: Settings = definition.settings()?;
    let usage = |what: String| Err(Failure::new(FailureKind::Usage, what, "correct the definition"));
    if !(0.0..=3600.0).contains(&settings.warm_up_seconds) {
        return usage("settings: the warm-up takes 0 to 3600 seconds".to_owned());
    }
    let mut cases = BTreeMap::new();
    for case in &definition.cases {
        let read: Case = case.read()?;
        if !(1..=MAX_VIEWERS).contains(&read.viewers) {
            let what = format!("`{}` has {} viewers, not 1 to {MAX_VIEWERS}", case.name, read.viewers);
            return usage(what);
        }
        cases.insert(case.name.clone(), read);
    }
    let mut systems = BTreeMap::new();
    for system in &definition.systems {
        systems.insert(system.name.clone(), system.read::<System>()?);
    }
    let through_relays = cases.values().any(|case| case.relay);
    let why = through_relays.then(|| relay::absent(&settings.relay)).flatten();
    let relayed = systems.iter().filter(|(_, system)| system.sending.is_relayed());
    let absent = relayed.filter_map(|(name, _)| Some((name.clone(), why.clone()?)));
    let absent: Vec<(String, String)> = absent.collect();
    let clip = settings.clip(place.folder)?;
    let name = clip.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Opened {
        facts: vec![("clip".to_owned(), name)],
        absent,
        ..Opened::new(Viewers {
            source: source(&clip),
            warm_up: Duration::from_secs_f64(settings.warm_up_seconds),
            relay: settings.relay,
            cases,
            systems,
        })
    })
}

impl Engine for Viewers {
    fn suits(&self, case: &Entry, system: &Entry) -> bool {
        match self.systems[&system.name].sending {
            Sending::Group => true,
            Sending::Unsigned | Sending::Alone | Sending::Plain => !self.cases[&case.name].relay,
            Sending::Relayed | Sending::RelayedPlain => self.cases[&case.name].relay,
        }
    }

    fn measure(&self, turn: &Turn, seconds: f64, stop: Stop<'_>) -> Result<Sample> {
        let scratch = tempfile::tempdir().map_err(|error| {
            let what = format!("there is no room for temporary files ({error})");
            Failure::new(FailureKind::Sink, what, "set TMPDIR")
        })?;
        let (case, system) = (self.cases[&turn.case], &self.systems[&turn.system]);
        let seen = self.seen(case, system, seconds, scratch.path(), stop);
        let seen = seen.map_err(|failure| Failure {
            what: failure.what + &last_words(scratch.path()),
            ..failure
        })?;
        sample(seen)
    }
}

/// Observations of one publisher in the time that counts.
struct Seen {
    /// Frames that each viewer got.
    frames: Vec<u64>,
    /// From the source to the viewer, of each of them, in milliseconds.
    latencies: Vec<f64>,
    /// The publisher's processor time.
    cpu: Duration,
    time: Duration,
}

impl Viewers {
    fn seen(&self, case: Case, system: &System, seconds: f64, scratch: &Path, stop: Stop<'_>) -> Result<Seen> {
        let (clocks, sending) = (apart(), system.sending);
        let relay = sending.is_relayed().then(|| Relay::start(&self.relay, scratch));
        let relay = relay.transpose()?;
        let start = Start {
            sending,
            program: system.program.as_deref(),
            carrier: case.carrier,
            source: &self.source,
            viewers: case.viewers,
            relay: relay.as_ref(),
            under: &[],
            scratch,
            stop,
        };
        let (audience, mut publisher) = watched(&start)?;
        pause(self.warm_up, stop)?;
        audience.take_latencies();
        let (began, before, cpu) = (Instant::now(), audience.frames(), publisher.cpu()?);
        pause(Duration::from_secs_f64(seconds), stop)?;
        let cpu = publisher.cpu()?.saturating_sub(cpu);
        let (time, after) = (began.elapsed(), audience.frames());
        let latencies = audience.take_latencies();
        let moved = apart().abs_diff(clocks);
        if moved > MAX_MOVED_NS {
            let what = format!("the wall clock was moved by {} µs while it was used", moved / 1000);
            return Err(Failure::new(FailureKind::Internal, what, "wait until it is right"));
        }
        let frames = before.iter().zip(&after).map(|(before, after)| after - before);
        Ok(Seen {
            frames: frames.collect(),
            latencies,
            cpu,
            time,
        })
    }
}

/// A publisher, and viewers all of whom watch it.
///
/// # Errors
/// It does not start, or a viewer gets no frame for two minutes.
pub(super) fn watched(start: &Start<'_>) -> Result<(Audience, Publisher)> {
    let publisher = start.publisher()?;
    let audience = Audience::start(&publisher.address, start.viewers, start.stop)?;
    // Until its first sheet a viewer of a group is served alone.
    let joined = || !start.sending.is_joined() || members(start.scratch) == start.viewers;
    audience.until_all_watch(joined, start.stop)?;
    Ok((audience, publisher))
}

/// The wall clock minus the monotonic clock, in nanoseconds. Publisher and viewers each set a wall clock by the first
/// when they start, and run it by the second.
fn apart() -> i64 {
    wall_clock_ns() - i64::try_from(now()).unwrap_or(i64::MAX)
}

fn sample(seen: Seen) -> Result<Sample> {
    let all: u64 = seen.frames.iter().sum();
    let least = seen.frames.iter().min().copied().unwrap_or_default();
    if least == 0 {
        let what = "a viewer got no frame in the time that counts";
        return Err(Failure::new(FailureKind::Network, what, "measure fewer viewers"));
    }
    let (all, viewers) = (all as f64, seen.frames.len() as f64);
    let (cpu, time) = (seen.cpu.as_secs_f64(), seen.time.as_secs_f64());
    let mut latencies = seen.latencies;
    latencies.sort_unstable_by(f64::total_cmp);
    let in_time = latencies.partition_point(|&latency| latency <= LATE_MS) as f64;
    Ok(Sample::default()
        .with("viewer_us", cpu * 1e6 / all)
        .with("frame_us", cpu * 1e6 / all * viewers)
        .with("core_percent", cpu / time * 1e2)
        .with("fps", all / viewers / time)
        .with("least_fps", least as f64 / time)
        .with("p50_ms", quantile(&latencies, 0.5))
        .with("p99_ms", quantile(&latencies, 0.99))
        .with("late", 1.0 - in_time / latencies.len().max(1) as f64)
        .with("frames", all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_shared_among_frames_and_viewers() {
        let seen = Seen {
            frames: vec![60, 58],
            latencies: vec![3.0; 118],
            cpu: Duration::from_micros(11_800),
            time: Duration::from_secs(2),
        };
        let sample = sample(seen).expect("all have frames");
        let values = ["viewer_us", "frame_us", "fps", "least_fps", "core_percent"].map(|name| sample.value(name));
        assert_eq!(
            values.map(|value| value.map(|value| (value * 100.0).round() / 100.0)),
            [Some(100.0), Some(200.0), Some(29.5), Some(29.0), Some(0.59)]
        );
    }

    #[test]
    fn latencies_are_those_of_all_frames_and_who_took_a_tenth_of_a_second_was_late() {
        let seen = Seen {
            frames: vec![2, 2],
            latencies: vec![150.0, 3.0, 1.0, 2.0],
            cpu: Duration::from_micros(1),
            time: Duration::from_secs(1),
        };
        let sample = sample(seen).expect("all have frames");
        assert_eq!(
            ["p50_ms", "late"].map(|name| sample.value(name)),
            [Some(2.0), Some(0.25)]
        );
    }

    #[test]
    fn a_viewer_without_frames_voids_the_measurement() {
        let seen = Seen {
            frames: vec![60, 0],
            latencies: Vec::new(),
            cpu: Duration::from_micros(1),
            time: Duration::from_secs(2),
        };
        assert!(sample(seen).is_err());
    }
}
