//! Runs over links, each with two new processes as its ends.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use sealcast::failure::Result;
use sealcast_proto::sim::{LinkProfile, Random};
use serde::Deserialize;

use super::bench::{self, Ground, Run};
use super::case::{GRACE, profile};
use super::figures::{self, TAIL, WARM_UP};
use super::load::RATE;
use super::system::{BUDGET, Carrier, System};
use crate::harness::process::Stop;
use crate::harness::{Definition, Engine, Opened, Place, Sample, Turn};
use crate::net::Net;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// True to use the proxy even if namespaces are available.
    proxy: bool,
}

struct Link {
    ground: Ground,
    /// Link profiles by the names of cases, each with its index.
    profiles: BTreeMap<String, (u64, LinkProfile)>,
    systems: BTreeMap<String, System>,
    seed: u64,
    /// Folder for the files of both ends.
    folder: PathBuf,
    /// Number of runs so far, for unique names.
    begun: AtomicUsize,
}

pub(super) fn open(definition: &Definition, place: &Place<'_>) -> Result<Opened> {
    let settings: Settings = definition.settings()?;
    let mut profiles = BTreeMap::new();
    for (at, case) in definition.cases.iter().enumerate() {
        profiles.insert(case.name.clone(), (at as u64, profile(case)?));
    }
    let mut systems = BTreeMap::new();
    for system in &definition.systems {
        systems.insert(system.name.clone(), system.read::<System>()?);
    }
    let srt = bench::srt_version();
    let absent = systems
        .iter()
        .filter(|(_, system)| srt.is_none() && system.carrier == Carrier::Srt);
    let why = "srt-live-transmit is not installed (apt-get install srt-tools)";
    let absent = absent.map(|(name, _)| (name.clone(), why.to_owned())).collect();
    let (ground, words) = ground(settings.proxy);
    let srt = srt.map(|version| ("srt-live-transmit".to_owned(), version));
    Ok(Opened {
        absent,
        facts: std::iter::once(("link".to_owned(), words)).chain(srt).collect(),
        ..Opened::new(Link {
            ground,
            profiles,
            systems,
            seed: definition.seed,
            folder: place.folder.join("runs"),
            begun: AtomicUsize::new(0),
        })
    })
}

fn ground(proxy: bool) -> (Ground, String) {
    let obstacle = if proxy { None } else { Net::obstacle() };
    match (proxy, obstacle) {
        (true, _) => (Ground::Proxy, "a proxy in this process, as was asked for".to_owned()),
        (false, Some(failure)) => (
            Ground::Proxy,
            format!("a proxy in this process, since {}", failure.what),
        ),
        (false, None) => (Ground::Namespaces, "between two network namespaces".to_owned()),
    }
}

impl Engine for Link {
    fn measure(&self, turn: &Turn, seconds: f64, stop: Stop<'_>) -> Result<Sample> {
        let (place, profile) = &self.profiles[&turn.case];
        let counted = (seconds.ceil() as u32).max(1) * RATE;
        // The seed depends on round and case alone: all systems lose the packets of the same numbers.
        let mut seeds = Random::new(self.seed ^ ((turn.round as u64) << 32) ^ place);
        let run = Run {
            system: &self.systems[&turn.system],
            profile,
            ground: self.ground,
            seed: seeds.next_u64(),
            frames: WARM_UP + counted + TAIL,
            name: format!(
                "link-{}-{}",
                std::process::id(),
                self.begun.fetch_add(1, Ordering::Relaxed)
            ),
            folder: self
                .folder
                .join(format!("{}-{}-{}", turn.case, turn.system, turn.round + 1)),
            stop,
        };
        let outcome = run.measure()?;
        Ok(figures::sample(
            &outcome,
            profile.delay + BUDGET + GRACE,
            run.frames,
            counted,
        ))
    }
}
