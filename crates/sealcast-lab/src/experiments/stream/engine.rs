//! One measurement: a live stream of a system in a case.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::keys::dose_key::{DOSE_PERIOD_NS, DOSES, INSECURE_DOSE};
use sealcast::keys::study;
use sealcast_proto::sim::{LinkProfile, Random};
use serde::Deserialize;

use super::ends::{Seen, Stream};
use super::link::profile;
use super::system::{Case, Suite, System};
use super::{clip, dose, figures};
use crate::experiments::energy::{self, Metered};
use crate::harness::process::{Stop, last_words};
use crate::harness::{Definition, Engine, Entry, Opened, Place, Sample, Turn};
use crate::net::{Net, NetConfig};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Source that `publish` reads where the case says nothing else.
    source: String,
    /// Seconds after the first frame that do not count.
    warm_up_seconds: f64,
    /// Blocks of eight doses in a turn that measures by dose.
    dose_blocks: usize,
    /// The energy meter, as with `--meter`.
    meter: String,
    /// Idle time before and after a run, whose mean power is subtracted.
    idle_seconds: f64,
}

impl Settings {
    fn read(definition: &Definition) -> Result<Self> {
        let settings: Self = definition.settings()?;
        let times = [settings.warm_up_seconds, settings.idle_seconds];
        if !(1..=1000).contains(&settings.dose_blocks) || !times.iter().all(|time| (0.0..=3600.0).contains(time)) {
            let what = "settings: there are 1 to 1000 blocks of doses, and times are 0 to 3600 seconds";
            return Err(Failure::new(FailureKind::Usage, what, "correct the definition"));
        }
        Ok(settings)
    }
}

struct Streams {
    settings: Settings,
    cases: BTreeMap<String, Case>,
    systems: BTreeMap<String, (System, Suite)>,
    seed: u64,
    folder: PathBuf,
    meter: Option<Mutex<Metered>>,
}

pub(super) fn open(definition: &Definition, place: &Place<'_>) -> Result<Opened> {
    let settings = Settings::read(definition)?;
    let mut cases = BTreeMap::new();
    for entry in &definition.cases {
        let case: Case = entry.read()?;
        profile(&entry.name, &case.link)?;
        cases.insert(entry.name.clone(), case);
    }
    let mut systems = BTreeMap::new();
    for entry in &definition.systems {
        let (system, suite) = System::read(entry)?;
        profile(&entry.name, system.own_link.as_deref().unwrap_or_default())?;
        systems.insert(entry.name.clone(), (system, suite));
    }
    let power = energy::meter(&settings.meter)?.open()?;
    Ok(Opened {
        facts: vec![("energy".to_owned(), power.words)],
        ..Opened::new(Streams {
            settings,
            cases,
            systems,
            seed: definition.seed,
            folder: place.folder.to_owned(),
            meter: power.meter.map(|meter| Mutex::new(Metered::new(meter))),
        })
    })
}

impl Engine for Streams {
    fn suits(&self, case: &Entry, system: &Entry) -> bool {
        self.systems[&system.name].0.suits(&case.name)
    }

    fn measure(&self, turn: &Turn, seconds: f64, stop: Stop<'_>) -> Result<Sample> {
        let folder = self.folder.join("runs").join(format!(
            "{}-{}-{}",
            turn.case,
            turn.system.replace('/', "-"),
            turn.round + 1
        ));
        let (case, (system, suite)) = (&self.cases[&turn.case], &self.systems[&turn.system]);
        let named = system.own_link.as_deref().unwrap_or(&case.link);
        let link = profile(&turn.system, named)?;
        let source = self.source(case)?;
        let by_dose = suite.options().iter().any(|word| word == study::cipher(&INSECURE_DOSE));
        let period = Duration::from_nanos(DOSE_PERIOD_NS);
        // All systems of a round lose the packets with the same numbers.
        let place = self
            .cases
            .keys()
            .position(|name| *name == turn.case)
            .unwrap_or_default();
        let mut seeds = Random::new(self.seed ^ ((turn.round as u64) << 32) ^ place as u64);
        let net = match (&link, case.namespaces) {
            (Some(link), true) => Some(namespaces(link, case, seeds.next_u64())?),
            _ => None,
        };
        let stream = Stream {
            source: &source,
            listen: system.own_listen.as_deref().unwrap_or(&case.listen),
            options: &suite.options(),
            publisher: &system.publisher,
            viewer: system.viewer,
            link: link.as_ref().filter(|_| net.is_none()),
            tap: None,
            net: net.as_ref(),
            seed: seeds.next_u64(),
            warm_up: Duration::from_secs_f64(self.settings.warm_up_seconds),
            grid: by_dose.then_some(period * DOSES.len() as u32),
            periods: match by_dose {
                true => vec![period; self.settings.dose_blocks * DOSES.len()],
                false => vec![Duration::from_secs_f64(seconds)],
            },
            // A meter cannot be read by two; by dose its power has to be known period by period.
            meter: if by_dose { &self.settings.meter } else { "none" },
            without_aes: system.without_aes,
            folder: &folder,
            stop,
        };
        let run = || {
            stream.run().map_err(|failure| Failure {
                what: failure.what + &last_words(&folder),
                ..failure
            })
        };
        match by_dose {
            true => dose::measure(&folder, run),
            false => self.metered(turn, run),
        }
    }
}

impl Streams {
    /// Source that `publish` reads in a case.
    fn source(&self, case: &Case) -> Result<String> {
        match (case.card.as_str(), case.clip.as_str()) {
            ("", "") => Ok(self.settings.source.clone()),
            (card, "") => Ok(card.to_owned()),
            (_, size) => clip::made(&self.folder, size).map(|file| format!("file:{}?loop", file.display())),
        }
    }

    /// Runs while the meter is read, if there is one; a second time if it failed, since other figures do not need it.
    fn metered(&self, turn: &Turn, run: impl Fn() -> Result<Seen>) -> Result<Sample> {
        let Some(meter) = &self.meter else {
            return sample(&run()?);
        };
        let mut meter = meter.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = Duration::from_secs_f64(self.settings.idle_seconds);
        match meter.measure(turn.round, &format!("{} {}", turn.system, turn.case), &run, rest) {
            Err(why) => Ok(sample(&run()?)?.lacking(why)),
            Ok((seen, energy)) => {
                let seen = seen?;
                let frames = seen.viewer["totals"]["frames_in"].as_f64();
                Ok(sample(&seen)?
                    .with("joules", energy.joules)
                    .with("idle_watts", energy.idle_watts)
                    .with_some("mj_per_frame", frames.map(|frames| energy.joules * 1e3 / frames)))
            }
        }
    }
}

/// Two namespaces with this link between them, both ways.
fn namespaces(link: &LinkProfile, case: &Case, seed: u64) -> Result<Net> {
    let chosen = case.congestion_control.as_str();
    // Turns follow one another.
    Net::start(&NetConfig {
        name: format!("stream-{}", std::process::id()),
        up: link.clone(),
        down: link.clone(),
        seed,
        congestion_control: (!chosen.is_empty()).then(|| chosen.to_owned()),
        ..NetConfig::default()
    })
}

fn sample(seen: &Seen) -> Result<Sample> {
    figures::sample(seen).ok_or_else(|| {
        let what = "no frame was received in the time that is measured";
        Failure::new(FailureKind::Network, what, "see the files of the run")
    })
}
