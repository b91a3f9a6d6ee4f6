//! One measurement: a part of the experiment, in one of its cases.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::keys::{mechanism, startup};
use sealcast_proto::group::MAX_MEMBERS;
use sealcast_proto::keys::Mechanism;
use sealcast_proto::sign::SignMode;
use serde::Deserialize;

use super::keys::Protocol;
use super::media::{self, Sealing};
use super::sim::{Carriage, Scenario};
use super::{keys, sim, small};
use crate::experiments::energy::{self, Metered};
use crate::harness::process::Stop;
use crate::harness::{Definition, Engine, Entry, Opened, Place, Sample, Turn};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Number of small groups that a turn founds.
    groups: usize,
    /// Frames of a turn of media, and the bytes of each.
    frames: u64,
    frame_bytes: usize,
    /// The mechanism of handshakes, where a system names none.
    mechanism: String,
    /// The energy meter, as with `--meter`.
    meter: String,
    /// Time for which groups are founded while the meter is read, and idle time before and after.
    energy_seconds: f64,
    idle_seconds: f64,
}

/// A case, as its definition names it.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "part", rename_all = "kebab-case")]
enum Case {
    /// A small group, its leader included.
    Small {
        members: usize,
    },
    Simulated(Scenario),
    /// Operations on keys.
    Keys {
        viewers: usize,
    },
    /// Frames for viewers.
    FanOut {
        viewers: usize,
    },
    /// Frames that are signed.
    Signing {},
}

/// A system, as its definition names it.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum System {
    Small { mechanism: String },
    Simulated { sheets: Carriage },
    Keys { protocol: Protocol },
    FanOut { sealing: Sealing },
    Signing { sign: String },
}

struct Groups {
    settings: Settings,
    seed: u64,
    cases: BTreeMap<String, Case>,
    systems: BTreeMap<String, System>,
    meter: Option<Mutex<Metered>>,
}

pub(super) fn open(definition: &Definition, _: &Place<'_>) -> Result<Opened> {
    let settings = settings(definition)?;
    let mut cases = BTreeMap::new();
    for case in &definition.cases {
        cases.insert(case.name.clone(), checked(case)?);
    }
    let (mut systems, mut absent) = (BTreeMap::new(), Vec::new());
    for entry in &definition.systems {
        let system: System = entry.read()?;
        match &system {
            System::Keys { protocol } => {
                absent.extend(protocol.absent().map(|why| (entry.name.clone(), why.to_owned())));
            }
            System::Small { mechanism } => drop(by_name(mechanism)?),
            System::Signing { sign } => drop(sign_mode(sign)?),
            System::Simulated { .. } | System::FanOut { .. } => {}
        }
        systems.insert(entry.name.clone(), system);
    }
    by_name(&settings.mechanism)?;
    let power = energy::meter(&settings.meter)?.open()?;
    // Otherwise the first turn would contain it.
    startup::libraries();
    Ok(Opened {
        facts: vec![("energy".to_owned(), power.words)],
        absent,
        ..Opened::new(Groups {
            settings,
            seed: definition.seed,
            cases,
            systems,
            meter: power.meter.map(|meter| Mutex::new(Metered::new(meter))),
        })
    })
}

fn settings(definition: &Definition) -> Result<Settings> {
    let settings: Settings = definition.settings()?;
    let times = [settings.energy_seconds, settings.idle_seconds];
    let amounts = settings.groups > 0 && (1..=100_000).contains(&settings.frames);
    if amounts
        && (1..=1 << 20).contains(&settings.frame_bytes)
        && times.iter().all(|time| (0.001..=3600.0).contains(time))
    {
        return Ok(settings);
    }
    let what =
        "settings: there are groups, 1 to 100000 frames of 1 to 1048576 bytes, and times are 0.001 to 3600 seconds";
    Err(usage(what.to_owned(), "correct the definition"))
}

fn checked(entry: &Entry) -> Result<Case> {
    let case: Case = entry.read()?;
    let (size, least, most) = match &case {
        Case::Small { members } => (*members, 2, 256),
        Case::Simulated(scenario) => (scenario.members, 1, MAX_MEMBERS * 3 / 4),
        Case::Keys { viewers } => (*viewers, 2, 10_000),
        Case::FanOut { viewers } => (*viewers, 1, 1000),
        Case::Signing {} => (1, 1, 1),
    };
    if !(least..=most).contains(&size) {
        let what = format!("`{}` has a group of {size}", entry.name);
        return Err(usage(what, &format!("choose {least} to {most}")));
    }
    match &case {
        Case::Simulated(scenario) if !(0.0..0.5).contains(&scenario.loss) || scenario.events > 10_000 => {
            let what = format!("`{}` has too many events, or loses too much", entry.name);
            Err(usage(what, "choose at most 10000, and a loss below 0.5"))
        }
        _ => Ok(case),
    }
}

fn usage(what: String, hint: &str) -> Failure {
    Failure::new(FailureKind::Usage, what, hint)
}

fn by_name(name: &str) -> Result<Arc<dyn Mechanism>> {
    mechanism::by_name(name).ok_or_else(|| {
        let known: Vec<&str> = mechanism::names().collect();
        usage(
            format!("there is no mechanism `{name}`"),
            &format!("choose among {}", known.join(", ")),
        )
    })
}

fn sign_mode(name: &str) -> Result<SignMode> {
    let mode = name.parse();
    mode.map_err(|error| usage(format!("sign = \"{name}\": {error}"), "write off, frame or both"))
}

impl Engine for Groups {
    fn suits(&self, case: &Entry, system: &Entry) -> bool {
        matches!(
            (&self.cases[&case.name], &self.systems[&system.name]),
            (Case::Small { .. }, System::Small { .. })
                | (Case::Simulated(_), System::Simulated { .. })
                | (Case::Keys { .. }, System::Keys { .. })
                | (Case::FanOut { .. }, System::FanOut { .. })
                | (Case::Signing {}, System::Signing { .. })
        )
    }

    fn measure(&self, turn: &Turn, _: f64, stop: Stop<'_>) -> Result<Sample> {
        let default = by_name(&self.settings.mechanism)?;
        let amount = media::Amount {
            frames: self.settings.frames,
            bytes: self.settings.frame_bytes,
        };
        match (&self.cases[&turn.case], &self.systems[&turn.system]) {
            (Case::Small { members }, System::Small { mechanism }) => self.small(turn, *members, &by_name(mechanism)?),
            (Case::Simulated(scenario), System::Simulated { sheets }) => {
                // Each round has other losses, the same for every system.
                sim::measure(scenario, *sheets, self.seed ^ (turn.round as u64) << 32, stop)
            }
            (Case::Keys { viewers }, System::Keys { protocol }) => keys::measure(*protocol, *viewers, &default),
            (Case::FanOut { viewers }, System::FanOut { sealing }) => {
                media::fan_out(*sealing, *viewers, &default, amount)
            }
            (Case::Signing {}, System::Signing { sign }) => media::signing(sign_mode(sign)?, amount),
            _ => Err(usage(
                format!("`{}` does not suit `{}`", turn.system, turn.case),
                "name others",
            )),
        }
    }
}

impl Groups {
    fn small(&self, turn: &Turn, members: usize, mechanism: &Arc<dyn Mechanism>) -> Result<Sample> {
        let [energy, idle] = [self.settings.energy_seconds, self.settings.idle_seconds].map(Duration::from_secs_f64);
        let amount = small::Amount {
            groups: self.settings.groups,
            energy,
            idle,
        };
        let sample = small::measure(members, mechanism, amount)?;
        let Some(meter) = &self.meter else {
            return Ok(sample);
        };
        let mut meter = meter.lock().unwrap_or_else(PoisonError::into_inner);
        small::with_energy(sample, members, mechanism, amount, (&mut meter, turn.round))
    }
}

#[cfg(test)]
mod tests {
    use super::super::GROUPS;
    use super::*;

    fn opened(from: &str, to: &str) -> Result<Opened> {
        let folder = tempfile::tempdir().expect("a folder");
        let text = GROUPS.definition.replace(from, to);
        let definition = Definition::parse(&text).expect("it is a definition");
        open(&definition, &Place { folder: folder.path() })
    }

    #[test]
    fn every_case_has_a_system_and_every_system_a_case() {
        let opened = opened("", "").expect("the built-in definition is right");
        let definition = Definition::parse(GROUPS.definition).expect("it is right");
        let suits = |case: &Entry, system: &Entry| opened.engine.suits(case, system);
        for case in &definition.cases {
            assert!(
                definition.systems.iter().any(|system| suits(case, system)),
                "{}",
                case.name
            );
        }
        for system in &definition.systems {
            assert!(
                definition.cases.iter().any(|case| suits(case, system)),
                "{}",
                system.name
            );
        }
    }

    #[test]
    fn what_cannot_be_measured_is_refused_by_name() {
        for (from, to, said) in [
            ("mechanism = \"x25519\"", "mechanism = \"rot13\"", "rot13"),
            ("sign = \"both\"", "sign = \"all\"", "off, frame or both"),
            ("sign = \"both\"", "sign = \"gop\"", "gop is not supported any more"),
            ("members = 3\n", "members = 1\n", "2 to 256"),
            ("loss = 0.05", "loss = 0.9", "below 0.5"),
            ("frames = 500", "frames = 0", "1 to 100000"),
        ] {
            assert!(GROUPS.definition.contains(from), "{from}");
            let failure = opened(from, to).err().expect(said).to_string();
            assert!(failure.contains(said), "{failure}");
        }
    }
}
