//! One measurement: a live stream under one suite, over one link.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast_proto::sim::{LinkProfile, Random};
use serde::Deserialize;

use super::figures;
use crate::experiments::energy::{self, Energy, Metered};
use crate::experiments::stream::{Seen, Stream, Suite, Viewer, profile};
use crate::harness::process::{Stop, last_words};
use crate::harness::{Definition, Engine, Opened, Place, Sample, Turn};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// A file that is published again and again, instead of `card`; empty for none.
    clip: String,
    /// The test card, as `publish` takes it.
    card: String,
    /// Seconds after the first frame that do not count.
    warm_up_seconds: f64,
    /// Number of equal periods of a run.
    periods: usize,
    /// The energy meter, as with `--meter`.
    meter: String,
    /// Idle time before and after a run, whose mean power is subtracted.
    idle_seconds: f64,
}

impl Settings {
    fn read(definition: &Definition) -> Result<Self> {
        let settings: Self = definition.settings()?;
        let times = [settings.warm_up_seconds, settings.idle_seconds];
        if !(1..=100_000).contains(&settings.periods) || !times.iter().all(|time| (0.0..=3600.0).contains(time)) {
            let what = "settings: a run has 1 to 100000 periods, and times are 0 to 3600 seconds";
            return Err(Failure::new(FailureKind::Usage, what, "correct the definition"));
        }
        Ok(settings)
    }

    fn source(&self) -> String {
        match self.clip.as_str() {
            "" => self.card.clone(),
            clip => format!("file:{clip}?loop"),
        }
    }
}

/// Link between the ends: a profile, or nothing.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    link: String,
}

struct Live {
    settings: Settings,
    links: BTreeMap<String, Option<LinkProfile>>,
    options: BTreeMap<String, Vec<String>>,
    seed: u64,
    folder: PathBuf,
    meter: Option<Mutex<Metered>>,
}

pub(super) fn open(definition: &Definition, place: &Place<'_>) -> Result<Opened> {
    let settings = Settings::read(definition)?;
    let mut links = BTreeMap::new();
    for case in &definition.cases {
        let Case { link } = case.read()?;
        links.insert(case.name.clone(), profile(&case.name, &link)?);
    }
    let mut options = BTreeMap::new();
    for system in &definition.systems {
        options.insert(system.name.clone(), system.read::<Suite>()?.options());
    }
    let power = energy::meter(&settings.meter)?.open()?;
    let facts = [("source", settings.source()), ("energy", power.words)];
    Ok(Opened {
        facts: facts.map(|(name, words)| (name.to_owned(), words)).into(),
        ..Opened::new(Live {
            settings,
            links,
            options,
            seed: definition.seed,
            folder: place.folder.join("runs"),
            meter: power.meter.map(|meter| Mutex::new(Metered::new(meter))),
        })
    })
}

impl Engine for Live {
    fn measure(&self, turn: &Turn, seconds: f64, stop: Stop<'_>) -> Result<Sample> {
        let folder = self
            .folder
            .join(format!("{}-{}-{}", turn.case, turn.system, turn.round + 1));
        let source = self.settings.source();
        // All suites of a round lose the packets with the same numbers.
        let place = self
            .links
            .keys()
            .position(|name| *name == turn.case)
            .unwrap_or_default();
        let mut seeds = Random::new(self.seed ^ ((turn.round as u64) << 32) ^ place as u64);
        let periods = self.settings.periods;
        let stream = Stream {
            source: &source,
            listen: "udp",
            options: &self.options[&turn.system],
            publisher: &[],
            viewer: Viewer::Watch,
            link: self.links[&turn.case].as_ref(),
            tap: None,
            net: None,
            seed: seeds.next_u64(),
            warm_up: Duration::from_secs_f64(self.settings.warm_up_seconds),
            grid: None,
            periods: vec![Duration::from_secs_f64(seconds / periods as f64); periods],
            // The meter, if there is one, is the laboratory's.
            meter: "none",
            without_aes: false,
            folder: &folder,
            stop,
        };
        let run = || {
            stream.run().map_err(|failure| Failure {
                what: failure.what + &last_words(&folder),
                ..failure
            })
        };
        let (seen, energy) = self.metered(turn, run);
        let seen = seen?;
        let periods = figures::periods(&seen);
        std::fs::write(folder.join("periods.csv"), figures::table(&periods)).map_err(|error| {
            let what = format!("the periods cannot be written ({error})");
            Failure::new(FailureKind::Sink, what, "choose another --out")
        })?;
        let sample = figures::sample(&seen, &periods).ok_or_else(|| {
            let what = "no frame was received in the time that is measured".to_owned() + &last_words(&folder);
            Failure::new(FailureKind::Network, what, "see the files of the run")
        })?;
        Ok(match energy {
            None => sample,
            Some(Err(why)) => sample.lacking(why),
            Some(Ok(energy)) => with_energy(sample, &seen, &energy),
        })
    }
}

/// Energy of a run, or the reason why there is none; `None` without a meter.
type Drawn = Option<std::result::Result<Energy, String>>;

impl Live {
    /// Runs while the meter is read; a second time if it failed, since the run's other figures are with it.
    fn metered(&self, turn: &Turn, run: impl Fn() -> Result<Seen>) -> (Result<Seen>, Drawn) {
        let Some(meter) = &self.meter else {
            return (run(), None);
        };
        let mut meter = meter.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = Duration::from_secs_f64(self.settings.idle_seconds);
        match meter.measure(turn.round, &format!("{} {}", turn.system, turn.case), &run, rest) {
            Ok((seen, energy)) => (seen, Some(Ok(energy))),
            Err(why) => (run(), Some(Err(why))),
        }
    }
}

/// Adds energy: that of the whole run, divided by all of its frames.
fn with_energy(sample: Sample, seen: &Seen, energy: &Energy) -> Sample {
    let frames = seen.viewer["totals"]["frames_in"].as_f64();
    sample
        .with("joules", energy.joules)
        .with("idle_watts", energy.idle_watts)
        .with_some("mj_per_frame", frames.map(|frames| energy.joules * 1e3 / frames))
}

#[cfg(test)]
mod tests {
    use sealcast::keys::study;

    use super::super::LIVE;
    use super::*;

    #[test]
    fn every_study_suite_and_suite_of_the_program_takes_part() {
        let definition = Definition::parse(LIVE.definition).expect("it is right");
        let systems: Vec<Suite> = definition
            .systems
            .iter()
            .map(|one| one.read().expect("a suite"))
            .collect();
        let studied = systems.iter().filter_map(|system| match system {
            Suite::Study { study } => Some(study.as_str()),
            Suite::Suite { .. } => None,
        });
        assert_eq!(
            studied.collect::<Vec<_>>(),
            study::STUDY
                .iter()
                .map(study::cipher)
                .filter(|name| *name != "dose")
                .collect::<Vec<_>>()
        );
        let suites = systems.iter().filter_map(|system| match system {
            Suite::Suite { suite } => Some(suite.as_str()),
            Suite::Study { .. } => None,
        });
        assert_eq!(
            suites.collect::<Vec<_>>(),
            ["aes-256-gcm", "aes-128-gcm", "aegis-128x4", "chacha20-poly1305"]
        );
    }
}
