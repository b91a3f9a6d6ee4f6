//! One measurement: a publisher, its viewers, and the processor time that it uses while all of them watch.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind, Result};
use serde::Deserialize;

use super::audience::Audience;
use super::publisher::{Publisher, Sending, members};
use crate::experiments::stream::made_clip;
use crate::harness::process::{Stop, last_words, pause};
use crate::harness::{Definition, Engine, Opened, Place, Sample, Turn};

/// The greatest number of viewers: that of one group's page in the documents.
const MAX_VIEWERS: usize = 256;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// A file that is published again and again; empty for one that ffmpeg makes.
    clip: String,
    /// Size and rate of that one.
    made: String,
    /// Seconds after all viewers watch that do not count.
    warm_up_seconds: f64,
}

/// A case, as its definition names it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    viewers: usize,
}

struct Viewers {
    source: String,
    warm_up: Duration,
    cases: BTreeMap<String, usize>,
    systems: BTreeMap<String, Sending>,
}

pub(super) fn open(definition: &Definition, place: &Place<'_>) -> Result<Opened> {
    let settings: Settings = definition.settings()?;
    let usage = |what: String| Err(Failure::new(FailureKind::Usage, what, "correct the definition"));
    if !(0.0..=3600.0).contains(&settings.warm_up_seconds) {
        return usage("settings: the warm-up takes 0 to 3600 seconds".to_owned());
    }
    let mut cases = BTreeMap::new();
    for case in &definition.cases {
        let Case { viewers } = case.read()?;
        if !(1..=MAX_VIEWERS).contains(&viewers) {
            return usage(format!("`{}` has {viewers} viewers, not 1 to {MAX_VIEWERS}", case.name));
        }
        cases.insert(case.name.clone(), viewers);
    }
    let mut systems = BTreeMap::new();
    for system in &definition.systems {
        systems.insert(system.name.clone(), system.read()?);
    }
    let clip = match settings.clip.as_str() {
        "" => made_clip(place.folder, &settings.made)?,
        clip => PathBuf::from(clip),
    };
    let name = clip.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Opened {
        facts: vec![("clip".to_owned(), name)],
        ..Opened::new(Viewers {
            source: format!("file:{}?loop", clip.display()),
            warm_up: Duration::from_secs_f64(settings.warm_up_seconds),
            cases,
            systems,
        })
    })
}

impl Engine for Viewers {
    fn measure(&self, turn: &Turn, seconds: f64, stop: Stop<'_>) -> Result<Sample> {
        let scratch = tempfile::tempdir().map_err(|error| {
            let what = format!("there is no room for temporary files ({error})");
            Failure::new(FailureKind::Sink, what, "set TMPDIR")
        })?;
        let (viewers, sending) = (self.cases[&turn.case], self.systems[&turn.system]);
        let seen = self.seen(viewers, sending, seconds, scratch.path(), stop);
        let seen = seen.map_err(|failure| Failure {
            what: failure.what + &last_words(scratch.path()),
            ..failure
        })?;
        sample(&seen)
    }
}

/// What was seen of one publisher in the time that counts.
struct Seen {
    /// Frames that each viewer got.
    frames: Vec<u64>,
    /// The publisher's processor time.
    cpu: Duration,
    time: Duration,
}

impl Viewers {
    fn seen(&self, viewers: usize, sending: Sending, seconds: f64, scratch: &Path, stop: Stop<'_>) -> Result<Seen> {
        let mut publisher = Publisher::start(sending, &self.source, viewers, scratch, stop)?;
        let audience = Audience::start(&publisher.address, viewers)?;
        // Until its first sheet a viewer of a group is served alone.
        let joined = || sending != Sending::Group || members(scratch) == viewers;
        audience.until_all_watch(joined, stop)?;
        pause(self.warm_up, stop)?;
        let (began, before, cpu) = (Instant::now(), audience.frames(), publisher.cpu()?);
        pause(Duration::from_secs_f64(seconds), stop)?;
        let cpu = publisher.cpu()?.saturating_sub(cpu);
        let (time, after) = (began.elapsed(), audience.frames());
        let frames = before.iter().zip(&after).map(|(before, after)| after - before);
        Ok(Seen {
            frames: frames.collect(),
            cpu,
            time,
        })
    }
}

fn sample(seen: &Seen) -> Result<Sample> {
    let all: u64 = seen.frames.iter().sum();
    let least = seen.frames.iter().min().copied().unwrap_or_default();
    if least == 0 {
        let what = "a viewer got no frame in the time that counts";
        return Err(Failure::new(FailureKind::Network, what, "measure fewer viewers"));
    }
    let (all, viewers) = (all as f64, seen.frames.len() as f64);
    let (cpu, time) = (seen.cpu.as_secs_f64(), seen.time.as_secs_f64());
    Ok(Sample::default()
        .with("viewer_us", cpu * 1e6 / all)
        .with("frame_us", cpu * 1e6 / all * viewers)
        .with("core_percent", cpu / time * 1e2)
        .with("fps", all / viewers / time)
        .with("least_fps", least as f64 / time)
        .with("frames", all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_shared_among_frames_and_viewers() {
        let seen = Seen {
            frames: vec![60, 58],
            cpu: Duration::from_micros(11_800),
            time: Duration::from_secs(2),
        };
        let sample = sample(&seen).expect("all have frames");
        let values = ["viewer_us", "frame_us", "fps", "least_fps", "core_percent"].map(|name| sample.value(name));
        assert_eq!(
            values.map(|value| value.map(|value| (value * 100.0).round() / 100.0)),
            [Some(100.0), Some(200.0), Some(29.5), Some(29.0), Some(0.59)]
        );
    }

    #[test]
    fn a_viewer_without_frames_voids_the_measurement() {
        let seen = Seen {
            frames: vec![60, 0],
            cpu: Duration::from_micros(1),
            time: Duration::from_secs(2),
        };
        assert!(sample(&seen).is_err());
    }
}
