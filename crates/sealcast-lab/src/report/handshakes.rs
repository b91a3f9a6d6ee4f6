//! Contents of `handshake.csv`, by kind of handshake.

use std::collections::BTreeMap;

use sealcast::failure::Result;

use super::distribution::Distribution;
use super::log::Log;

/// Properties that distinguish one kind of handshake from another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    pub(super) role: String,
    pub(super) mechanism: String,
    pub(super) suite: String,
    pub(super) outcome: String,
}

/// Handshakes of one kind. Times are in milliseconds, energy in millijoules.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) count: u64,
    pub(super) duration: Distribution,
    pub(super) cpu: Distribution,
    /// Processor time in percent of the duration.
    pub(super) cpu_percent: Distribution,
    pub(super) keygen: Distribution,
    pub(super) startup: Distribution,
    pub(super) sent: Distribution,
    pub(super) received: Distribution,
    pub(super) energy: Distribution,
}

/// All handshakes of one end.
#[derive(Debug, Default)]
pub(super) struct Handshakes {
    pub(super) groups: BTreeMap<Kind, Group>,
}

impl Group {
    fn new() -> Self {
        let new = Distribution::new;
        Self {
            count: 0,
            duration: new(),
            cpu: new(),
            cpu_percent: new(),
            keygen: new(),
            startup: new(),
            sent: new(),
            received: new(),
            energy: new(),
        }
    }
}

impl Handshakes {
    /// Takes in a log.
    pub(super) fn read(&mut self, log: &mut Log) -> Result<()> {
        let texts = ["role", "mechanism", "suite", "outcome"].map(|name| log.column(name));
        let numbers = [
            "duration_ms",
            "cpu_ms",
            "keygen_ms",
            "startup_ms",
            "bytes_sent",
            "bytes_received",
            "energy_joules",
        ];
        let numbers = numbers.map(|name| log.column(name));
        while log.next()? {
            let [role, mechanism, suite, outcome] = texts.map(|column| log.text(column).to_owned());
            let kind = Kind {
                role,
                mechanism,
                suite,
                outcome,
            };
            let mut values = [None; 7];
            for (value, column) in values.iter_mut().zip(numbers) {
                *value = log.number(column)?;
            }
            let group = self.groups.entry(kind).or_insert_with(Group::new);
            group.count += 1;
            let [duration, cpu, keygen, startup, sent, received, energy] = values;
            let percent = duration.zip(cpu).filter(|pair| pair.0 > 0.0);
            let all = [
                (&mut group.duration, duration),
                (&mut group.cpu, cpu),
                (
                    &mut group.cpu_percent,
                    percent.map(|(duration, cpu)| cpu / duration * 100.0),
                ),
                (&mut group.keygen, keygen),
                (&mut group.startup, startup),
                (&mut group.sent, sent),
                (&mut group.received, received),
                (&mut group.energy, energy.map(|joules| joules * 1e3)),
            ];
            for (distribution, value) in all {
                if let Some(value) = value {
                    distribution.add(value);
                }
            }
        }
        Ok(())
    }
}
