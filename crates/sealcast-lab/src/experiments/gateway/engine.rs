//! One measurement: sets everything up anew and sends a load through it.

use std::collections::BTreeMap;
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};
use serde::Deserialize;

use super::columns::{CURVE, delay_axis};
use super::load::Load;
use super::system::System;
use super::traffic::{Outcome, send_load};
use crate::harness::awake::Awake;
use crate::harness::process::{Stop, last_words};
use crate::harness::{Definition, Engine, Entry, Opened, Place, Sample, Turn};
use sealcast::meter::statistics::quantile;

/// Points of the curve.
const STEPS: usize = 201;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// True if processors are kept from going to sleep.
    awake: bool,
}

struct Pair {
    loads: BTreeMap<String, Load>,
    systems: BTreeMap<String, System>,
    _awake: Option<Awake>,
}

pub(super) fn open(definition: &Definition, _: &Place<'_>) -> Result<Opened> {
    let settings: Settings = definition.settings()?;
    let mut loads = BTreeMap::new();
    for case in &definition.cases {
        loads.insert(case.name.clone(), Load::read(case)?);
    }
    let mut systems = BTreeMap::new();
    for system in &definition.systems {
        systems.insert(system.name.clone(), system.read()?);
    }
    let processors = match settings.awake {
        true => "kept awake",
        false => "sleep when there is nothing to do",
    };
    Ok(Opened {
        facts: vec![("processors".to_owned(), processors.to_owned())],
        ..Opened::new(Pair {
            loads,
            systems,
            _awake: settings.awake.then(Awake::keep).transpose()?,
        })
    })
}

impl Engine for Pair {
    fn suits(&self, case: &Entry, system: &Entry) -> bool {
        self.systems[&system.name].suits(&self.loads[&case.name])
    }

    fn measure(&self, turn: &Turn, seconds: f64, stop: Stop<'_>) -> Result<Sample> {
        let scratch = tempfile::tempdir().map_err(|error| {
            let what = format!("there is no room for temporary files ({error})");
            Failure::new(FailureKind::Sink, what, "set TMPDIR")
        })?;
        let (load, system) = (&self.loads[&turn.case], &self.systems[&turn.system]);
        let time = Duration::from_secs_f64(seconds);
        let measured = system
            .open(load, scratch.path(), stop)
            .and_then(|mut paths| send_load(&mut paths, load, time, stop));
        let outcome = measured.map_err(|failure| Failure {
            what: failure.what + &last_words(scratch.path()),
            ..failure
        })?;
        Ok(sample(&outcome))
    }
}

fn sample(outcome: &Outcome) -> Sample {
    let delays: Vec<f64> = outcome.delays.iter().map(|&nanos| nanos as f64 * 1e-3).collect();
    let cpu = outcome.cpu.as_secs_f64();
    let longer = |us: f64| {
        let until = delays.partition_point(|&delay| delay <= us);
        1.0 - until as f64 / delays.len().max(1) as f64
    };
    Sample::default()
        .with("p50_us", quantile(&delays, 0.5))
        .with("p99_us", quantile(&delays, 0.99))
        .with("p999_us", quantile(&delays, 0.999))
        .with("packets", outcome.packets as f64)
        .with("lost", outcome.packets.saturating_sub(outcome.arrived) as f64)
        .with("cpu_us_per_packet", cpu * 1e6 / outcome.arrived.max(1) as f64)
        .with("core_percent", cpu * 1e2 / outcome.elapsed.as_secs_f64())
        .with_series(CURVE, delay_axis().steps(STEPS).map(longer).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_falls_where_delays_are() {
        let outcome = Outcome {
            delays: vec![50_000, 50_000, 50_000, 5_000_000],
            packets: 5,
            arrived: 4,
            cpu: Duration::from_micros(1),
            elapsed: Duration::from_millis(1),
        };
        let sample = sample(&outcome);
        for (us, share) in delay_axis().steps(STEPS).zip(&sample.series[CURVE]) {
            let wanted = match us {
                ..49.0 => 1.0,
                51.0..4900.0 => 0.25,
                5100.0.. => 0.0,
                _ => *share,
            };
            assert_eq!(*share, wanted, "{us}");
        }
        let values = ["p50_us", "p99_us", "lost", "cpu_us_per_packet"].map(|name| sample.value(name));
        assert_eq!(values, [Some(50.0), Some(5000.0), Some(1.0), Some(0.25)]);
    }
}
