//! One measurement: a number of handshakes with one mechanism on one carrier.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::keys::{mechanism, startup};
use sealcast_proto::keys::Mechanism;
use serde::Deserialize;

use super::ends::{Handshake, broken, in_memory};
use super::figures;
use super::tcp::with_pair;
use crate::experiments::energy::{self, Energy, Metered};
use crate::harness::process::{Stop, stopped};
use crate::harness::{Definition, Engine, Opened, Place, Sample, Turn};

/// Handshakes before those that count.
const WARM_UP: usize = 3;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Number of handshakes of a turn.
    handshakes: usize,
    /// The energy meter, as with `--meter`.
    meter: String,
    /// Time of handshakes, and of key pairs, while the meter is read, and idle time before and after.
    energy_seconds: f64,
    idle_seconds: f64,
}

impl Settings {
    fn read(definition: &Definition) -> Result<Self> {
        let settings: Self = definition.settings()?;
        let times = [settings.energy_seconds, settings.idle_seconds];
        if settings.handshakes == 0 || !times.iter().all(|time| (0.001..=3600.0).contains(time)) {
            let what = "settings: there is at least one handshake, and times are 0.001 to 3600 seconds";
            return Err(Failure::new(FailureKind::Usage, what, "correct the definition"));
        }
        Ok(settings)
    }
}

/// Medium between the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Carrier {
    /// Nothing: they take turns on one thread.
    Memory,
    /// A connection on the loopback interface; each end has a thread.
    Tcp,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    carrier: Carrier,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct System {
    /// Name of the mechanism, as in `--mech`.
    mechanism: String,
}

struct Handshakes {
    settings: Settings,
    carriers: BTreeMap<String, Carrier>,
    mechanisms: BTreeMap<String, Arc<dyn Mechanism>>,
    meter: Option<Mutex<Metered>>,
}

pub(super) fn open(definition: &Definition, _: &Place<'_>) -> Result<Opened> {
    let settings = Settings::read(definition)?;
    let mut carriers = BTreeMap::new();
    for case in &definition.cases {
        carriers.insert(case.name.clone(), case.read::<Case>()?.carrier);
    }
    let mut mechanisms = BTreeMap::new();
    for system in &definition.systems {
        let name = system.read::<System>()?.mechanism;
        mechanisms.insert(system.name.clone(), by_name(&name)?);
    }
    let power = energy::meter(&settings.meter)?.open()?;
    // Otherwise the first turn would contain it.
    startup::libraries();
    Ok(Opened {
        facts: vec![("energy".to_owned(), power.words)],
        ..Opened::new(Handshakes {
            settings,
            carriers,
            mechanisms,
            meter: power.meter.map(|meter| Mutex::new(Metered::new(meter))),
        })
    })
}

fn by_name(name: &str) -> Result<Arc<dyn Mechanism>> {
    mechanism::by_name(name).ok_or_else(|| {
        let known: Vec<&str> = mechanism::names().collect();
        let what = format!("there is no mechanism `{name}`");
        Failure::new(FailureKind::Usage, what, format!("choose among {}", known.join(", ")))
    })
}

impl Engine for Handshakes {
    fn measure(&self, turn: &Turn, _: f64, stop: Stop<'_>) -> Result<Sample> {
        let (carrier, mechanism) = (self.carriers[&turn.case], &self.mechanisms[&turn.system]);
        let all = WARM_UP + self.settings.handshakes;
        let made = repeat(carrier, mechanism, stop, |count| count < all)?;
        let sample = figures::sample(&made[WARM_UP..]);
        match &self.meter {
            Some(meter) => {
                let mut meter = meter.lock().unwrap_or_else(PoisonError::into_inner);
                self.energy(turn, &mut meter, sample, stop)
            }
            None => Ok(sample),
        }
    }
}

/// Handshakes one after another as long as `goes_on` says, which is told how many there were.
fn repeat(
    carrier: Carrier,
    mechanism: &Arc<dyn Mechanism>,
    stop: Stop<'_>,
    goes_on: impl Fn(usize) -> bool,
) -> Result<Vec<Handshake>> {
    let several = |one: &dyn Fn() -> Result<Handshake>| {
        let mut made = Vec::new();
        while goes_on(made.len()) {
            if stop.load(std::sync::atomic::Ordering::Relaxed) {
                return Err(stopped());
            }
            made.push(one()?);
        }
        Ok(made)
    };
    match carrier {
        Carrier::Memory => several(&|| in_memory(mechanism)),
        Carrier::Tcp => with_pair(mechanism, |pair| several(&|| pair.handshake())),
    }
}

impl Handshakes {
    /// Measures the energy of handshakes with their key pairs for a while, then of key pairs alone: a key pair is part
    /// of each handshake, and some take far longer than the rest.
    fn energy(&self, turn: &Turn, meter: &mut Metered, sample: Sample, stop: Stop<'_>) -> Result<Sample> {
        let (carrier, mechanism) = (self.carriers[&turn.case], &self.mechanisms[&turn.system]);
        let [work, rest] = [self.settings.energy_seconds, self.settings.idle_seconds].map(Duration::from_secs_f64);
        let mut metered = |what: &str, act: &dyn Fn(Instant) -> Result<usize>| -> Measured {
            let what = format!("{} {} {what}", turn.system, turn.case);
            let (count, energy) = meter.measure(turn.round, &what, || act(Instant::now()), rest)?;
            Ok((energy, count))
        };
        let handshakes = metered("handshakes", &|began| {
            let goes_on = |count| count == 0 || began.elapsed() < work;
            Ok(repeat(carrier, mechanism, stop, goes_on)?.len())
        });
        let keys = metered("key pairs", &|began| key_pairs(mechanism, began, work));
        match (handshakes, keys) {
            (Ok((all, made)), Ok((alone, keys))) => Ok(figures::with_energy(sample, (all, made?), (alone, keys?))),
            (Err(why), _) | (_, Err(why)) => Ok(sample.lacking(why)),
        }
    }
}

/// Energy and the number of repetitions, or the reason why there is no energy.
type Measured = std::result::Result<(Energy, Result<usize>), String>;

/// Makes key pairs for `work` since `began`, at least one, and counts them.
fn key_pairs(mechanism: &Arc<dyn Mechanism>, began: Instant, work: Duration) -> Result<usize> {
    let mut count = 0;
    while count == 0 || began.elapsed() < work {
        let key = mechanism.generate().map_err(|error| broken(&error))?;
        std::hint::black_box(key.share());
        count += 1;
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::super::HANDSHAKE;
    use super::*;
    use crate::harness::table;

    fn definition() -> Definition {
        Definition::parse(HANDSHAKE.definition).expect("it is right")
    }

    #[test]
    fn every_mechanism_of_the_program_takes_part() {
        let definition = definition();
        let systems = definition.systems.iter();
        let named: Vec<String> = systems
            .map(|system| system.read::<System>().expect("a mechanism").mechanism)
            .collect();
        assert_eq!(named, mechanism::names().collect::<Vec<_>>());
    }

    #[test]
    fn a_mechanism_that_is_unknown_is_named_with_those_that_are_known() {
        let failure = by_name("ntru").err().expect("unknown");
        assert!(failure.what.contains("`ntru`") && failure.hint.contains("x25519-mlkem768"));
    }

    #[test]
    fn a_run_that_is_stopped_ends_between_two_handshakes() {
        let mechanism = by_name("x25519").expect("known");
        for carrier in [Carrier::Memory, Carrier::Tcp] {
            let stop = AtomicBool::new(true);
            assert!(repeat(carrier, &mechanism, &stop, |_| true).is_err());
        }
    }

    #[test]
    fn a_column_for_each_figure_of_the_paper_is_there() {
        let definition = definition();
        let head = table::head(&definition, &(HANDSHAKE.columns)());
        let row = &definition.published[0];
        for key in ["duration_ms", "duration_sd_ms", "bytes", "cpu_percent"] {
            assert!(
                row.figures.contains_key(key) && head.iter().any(|column| column == key),
                "{key}"
            );
        }
    }
}
