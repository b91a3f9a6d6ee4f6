//! One measurement: a system carries as much as it can for a while.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast_proto::seal::Suite;
use sealcast_proto::seal::suite::RECOMMENDED;
use sealcast_proto::unit::MAX_FRAME;
use serde::Deserialize;

use super::carried::Sending;
use super::carrier::Carrier;
use super::stunnel::Stunnel;
use super::tunnel::Tunnel;
use super::{bare, ours};
use crate::harness::process::{Stop, stopped};
use crate::harness::{Definition, Engine, Entry, Opened, Place, Sample, Turn};

/// The processes whose processor time counts, for the report.
const COUNTED: &str = "of both ends, which are threads of this process, for bare and sealcast; of the two processes of \
                       boringtun and stunnel alone, without who sends and receives";

/// A case: the load.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Load {
    carrier: Carrier,
    /// Bytes of a frame; only sessions have frames.
    frame_bytes: usize,
}

/// A system, as its definition names it. Other fields are for the table only.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum System {
    Bare {},
    Sealcast { suite: String },
    Boringtun { program: String },
    Stunnel {},
}

/// A system that is ready to carry. Other programs run until the experiment ends; one turn at a time uses them.
enum Ready {
    Bare,
    Sealcast(Suite),
    Boringtun(Mutex<Tunnel>),
    Stunnel(Mutex<Stunnel>),
}

struct Throughput {
    loads: BTreeMap<String, Load>,
    systems: BTreeMap<String, System>,
    ready: BTreeMap<String, Ready>,
}

pub(super) fn open(definition: &Definition, _: &Place<'_>) -> Result<Opened> {
    let mut loads = BTreeMap::new();
    for case in &definition.cases {
        loads.insert(case.name.clone(), load(case)?);
    }
    let mut systems = BTreeMap::new();
    for system in &definition.systems {
        systems.insert(system.name.clone(), system.read::<System>()?);
    }
    let (mut ready, mut absent) = (BTreeMap::new(), Vec::new());
    for (name, system) in &systems {
        if !loads.values().any(|load| system.suits(load)) {
            continue;
        }
        match system.start() {
            Ok(started) => drop(ready.insert(name.clone(), started)),
            Err(failure) if system.is_ours() => return Err(failure),
            Err(failure) => absent.push((name.clone(), failure.to_string())),
        }
    }
    Ok(Opened {
        absent,
        facts: vec![("processor time".to_owned(), COUNTED.to_owned())],
        ..Opened::new(Throughput { loads, systems, ready })
    })
}

fn load(case: &Entry) -> Result<Load> {
    let load: Load = case.read()?;
    if (1..=MAX_FRAME).contains(&load.frame_bytes) {
        return Ok(load);
    }
    let what = format!("the frames of `{}` have {} bytes", case.name, load.frame_bytes);
    Err(Failure::new(
        FailureKind::Usage,
        what,
        format!("choose frame_bytes of 1 to {MAX_FRAME}"),
    ))
}

impl System {
    fn suits(&self, load: &Load) -> bool {
        match self {
            Self::Bare {} | Self::Sealcast { .. } => true,
            Self::Boringtun { .. } => load.carrier == Carrier::Udp,
            Self::Stunnel {} => load.carrier == Carrier::Tcp,
        }
    }

    /// True if the system is part of this program.
    fn is_ours(&self) -> bool {
        matches!(self, Self::Bare {} | Self::Sealcast { .. })
    }

    fn start(&self) -> Result<Ready> {
        Ok(match self {
            Self::Bare {} => Ready::Bare,
            Self::Sealcast { suite } => Ready::Sealcast(by_name(suite)?),
            Self::Boringtun { program } => Ready::Boringtun(Mutex::new(Tunnel::start(program)?)),
            Self::Stunnel {} => Ready::Stunnel(Mutex::new(Stunnel::start()?)),
        })
    }
}

fn by_name(suite: &str) -> Result<Suite> {
    Suite::by_name(suite).ok_or_else(|| {
        let names: Vec<_> = RECOMMENDED.iter().map(|suite| suite.name).collect();
        let what = format!("there is no suite `{suite}`");
        Failure::new(FailureKind::Usage, what, format!("choose one of {}", names.join(", ")))
    })
}

impl Engine for Throughput {
    fn suits(&self, case: &Entry, system: &Entry) -> bool {
        self.systems[&system.name].suits(&self.loads[&case.name])
    }

    fn measure(&self, turn: &Turn, seconds: f64, stop: Stop<'_>) -> Result<Sample> {
        let load = self.loads[&turn.case];
        let sending = Sending {
            time: Duration::from_secs_f64(seconds),
            stop,
        };
        let carried = match &self.ready[&turn.system] {
            Ready::Bare => bare::carry(load.carrier, sending),
            &Ready::Sealcast(suite) => ours::carry(ours::Load {
                suite,
                carrier: load.carrier,
                frame: load.frame_bytes,
                sending,
            }),
            Ready::Boringtun(tunnel) => tunnel.lock().unwrap_or_else(PoisonError::into_inner).carry(sending),
            Ready::Stunnel(stunnel) => stunnel.lock().unwrap_or_else(PoisonError::into_inner).carry(sending),
        }?;
        // The measurement was cut short.
        if stop.load(Ordering::Relaxed) {
            return Err(stopped());
        }
        Ok(carried.sample())
    }
}

#[cfg(test)]
mod tests {
    use sealcast_proto::unit::{PREAMBLE_LEN, UNIT_HEADER_LEN};
    use sealcast_proto::wire::{CONNECTION_LEN, HEADER_LEN, TAG_LEN};

    use super::*;
    use crate::experiments::throughput::{DATAGRAM, THROUGHPUT};

    fn built_in() -> Definition {
        Definition::parse(THROUGHPUT.definition).expect("it is right")
    }

    #[test]
    fn frames_over_udp_fill_batches_of_datagrams_to_the_last_byte() {
        // Two batches of the largest size that the kernel segments in one call.
        let datagrams = 2 * (65_507 / DATAGRAM);
        let data = DATAGRAM - CONNECTION_LEN - HEADER_LEN - UNIT_HEADER_LEN - TAG_LEN;
        let definition = built_in();
        let load = load(definition.case("udp").expect("it is there")).expect("it is right");
        assert_eq!(load.frame_bytes, datagrams * data - PREAMBLE_LEN);
    }

    #[test]
    fn the_table_says_whose_processor_time_counts() {
        for entry in built_in().systems {
            let system: System = entry.read().expect("it is right");
            let counted = if system.is_ours() {
                "both ends"
            } else {
                "its two processes"
            };
            assert_eq!(entry.fields["counted"].as_str(), Some(counted), "{}", entry.name);
        }
    }

    #[test]
    fn a_suite_or_a_frame_that_does_not_exist_is_named_with_those_that_do() {
        let folder = tempfile::tempdir().expect("a folder");
        let refused = |from: &str, to: &str| {
            let text = THROUGHPUT.definition.replace(from, to);
            let definition = Definition::parse(&text).expect("it is a definition");
            let place = Place { folder: folder.path() };
            open(&definition, &place).err().expect("it is refused").to_string()
        };
        let said = refused("suite = \"aes-128-gcm\"", "suite = \"rot13\"");
        assert!(said.contains("rot13") && said.contains("aegis-128x4"), "{said}");
        let said = refused("frame_bytes = 65536", "frame_bytes = 0");
        assert!(said.contains("tcp-64k") && said.contains("1 to 16777216"), "{said}");
    }
}
