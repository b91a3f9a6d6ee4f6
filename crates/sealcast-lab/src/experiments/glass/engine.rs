//! One measurement: sets a system up anew and shows it pictures for a while.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};
use serde::Deserialize;

use super::circumstances::Circumstances;
use super::commands::{Parts, first_line, first_that_fails};
use super::pictures::Pictures;
use super::pipes::Piped;
use super::sealcast_pair::Sealcast;
use crate::harness::process::{Stop, last_words};
use crate::harness::{Definition, Engine, Opened, Place, Sample, Turn};

/// Longest warm-up, in seconds.
const MAX_WARM_UP_S: f64 = 3600.0;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Seconds after the first picture that do not count.
    warm_up_seconds: f64,
    /// Command lines whose first line says a version.
    versions: Vec<String>,
    /// Parts of command lines, by name.
    parts: Parts,
}

/// A system between painter and reader.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum System {
    /// `publish` and `probe` of this build.
    Sealcast(Sealcast),
    /// Programs that take pictures from a pipe and give them back through one.
    Pipes(Piped),
}

struct Glass {
    settings: Settings,
    pictures: BTreeMap<String, Pictures>,
    systems: BTreeMap<String, System>,
    folder: PathBuf,
}

pub(super) fn open(definition: &Definition, place: &Place<'_>) -> Result<Opened> {
    let settings: Settings = definition.settings()?;
    if !(0.0..=MAX_WARM_UP_S).contains(&settings.warm_up_seconds) {
        let what = "settings: warm_up_seconds is no time to warm up";
        return Err(Failure::new(FailureKind::Usage, what, "name 0 to 3600"));
    }
    let mut pictures = BTreeMap::new();
    for case in &definition.cases {
        pictures.insert(case.name.clone(), Pictures::read(case)?);
    }
    let (mut systems, mut absent) = (BTreeMap::new(), Vec::new());
    for entry in &definition.systems {
        let system: System = entry.read()?;
        if let System::Pipes(piped) = &system {
            piped.check(&settings.parts, pictures.values())?;
            if let Some(line) = first_that_fails(&piped.needs) {
                absent.push((entry.name.clone(), format!("`{line}` fails; {}", piped.install)));
            }
        }
        systems.insert(entry.name.clone(), system);
    }
    let versions = settings.versions.iter().filter_map(|line| first_line(line));
    let versions: Vec<String> = versions.collect();
    Ok(Opened {
        facts: vec![("other programs".to_owned(), versions.join("; "))],
        absent,
        ..Opened::new(Glass {
            settings,
            pictures,
            systems,
            folder: place.folder.join("runs"),
        })
    })
}

impl Engine for Glass {
    fn measure(&self, turn: &Turn, seconds: f64, stop: Stop<'_>) -> Result<Sample> {
        // The name of another build of sealcast has its path.
        let name = format!("{}-{}-{}", turn.case, turn.system, turn.round + 1).replace('/', "_");
        let circumstances = Circumstances {
            pictures: self.pictures[&turn.case],
            warm_up: Duration::from_secs_f64(self.settings.warm_up_seconds),
            time: Duration::from_secs_f64(seconds),
            folder: emptied(self.folder.join(name))?,
            stop,
        };
        let measured = match &self.systems[&turn.system] {
            System::Sealcast(sealcast) => sealcast.measure(&circumstances),
            System::Pipes(piped) => piped.measure(&self.settings.parts, &circumstances),
        };
        measured.map_err(|failure| Failure {
            what: failure.what + &last_words(&circumstances.folder),
            ..failure
        })
    }
}

/// Makes the folder of a turn, without what an earlier try left: that would be taken for this one's.
fn emptied(folder: PathBuf) -> Result<PathBuf> {
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(|error| {
        let what = format!("{} cannot be made ({error})", folder.display());
        Failure::new(FailureKind::Sink, what, "choose another --out")
    })?;
    Ok(folder)
}
