//! One measurement: a publisher, a browser that opens its page, and what the page says.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};
use serde::Deserialize;

use super::figures::Seen;
use super::lines::{BEGIN, read};
use super::needs::Needs;
use crate::harness::process::{Program, Stop, last_words, sealcast_program};
use crate::harness::{Definition, Engine, Opened, Place, Sample, Turn};

/// Time limit for programs to start, to find each other, to show the first picture and to end.
const PATIENCE: Duration = Duration::from_secs(150);
/// Beginning of the publisher's line with the link.
const LINK: &str = "http";
/// Most looks at the heaps in a turn.
const MAX_LOOKS: f64 = 1000.0;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Seconds after the first picture that do not count.
    warm_up_seconds: f64,
    /// The folder `web` of a checkout; empty for that which this program was built from.
    web: String,
    /// Seconds after the first picture: the first look at the heaps, the last one, and from one to the next.
    heap_from_seconds: f64,
    heap_until_seconds: f64,
    heap_every_seconds: f64,
}

impl Settings {
    /// Times of looks at the heaps.
    fn looks(&self) -> Vec<f64> {
        let count = ((self.heap_until_seconds - self.heap_from_seconds) / self.heap_every_seconds).round();
        let looks = 0..=count as u32;
        looks
            .map(|look| self.heap_from_seconds + f64::from(look) * self.heap_every_seconds)
            .collect()
    }

    fn check(&self) -> Result<()> {
        let span = (self.heap_until_seconds - self.heap_from_seconds) / self.heap_every_seconds;
        let right = self.heap_every_seconds > 0.0 && self.heap_from_seconds >= 0.0 && (1.0..MAX_LOOKS).contains(&span);
        if right && self.warm_up_seconds >= 0.0 {
            return Ok(());
        }
        let what = "settings: warm-up or looks at the heaps are no times";
        let hint = "name times from 0 on, and at least two looks, the last one after the first";
        Err(Failure::new(FailureKind::Usage, what, hint))
    }
}

/// The stream that is published.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    source: String,
    /// Options of the publisher.
    #[serde(default)]
    options: Vec<String>,
    /// True if heaps are looked at, and nothing else: once, because it takes long.
    #[serde(default)]
    heap: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct System {
    carrier: Carrier,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Carrier {
    WebSocket,
    WebTransport,
}

impl Carrier {
    fn name(self) -> &'static str {
        match self {
            Self::WebSocket => "websocket",
            Self::WebTransport => "webtransport",
        }
    }
}

struct Browser {
    settings: Settings,
    needs: Needs,
    cases: BTreeMap<String, Case>,
    carriers: BTreeMap<String, Carrier>,
    folder: PathBuf,
}

pub(super) fn open(definition: &Definition, place: &Place<'_>) -> Result<Opened> {
    let settings: Settings = definition.settings()?;
    settings.check()?;
    let needs = Needs::new(&settings.web);
    let mut browser = Browser {
        settings,
        needs,
        cases: BTreeMap::new(),
        carriers: BTreeMap::new(),
        folder: place.folder.join("runs"),
    };
    for case in &definition.cases {
        browser.cases.insert(case.name.clone(), case.read()?);
    }
    for system in &definition.systems {
        let System { carrier } = system.read()?;
        browser.carriers.insert(system.name.clone(), carrier);
    }
    let missing = browser.needs.missing();
    let names = definition.systems.iter().map(|system| system.name.clone());
    let absent = missing
        .iter()
        .flat_map(|why| names.clone().map(|name| (name, why.clone())))
        .collect();
    Ok(Opened {
        facts: vec![("browser".to_owned(), browser.needs.versions())],
        absent,
        ..Opened::new(browser)
    })
}

impl Engine for Browser {
    fn measure(&self, turn: &Turn, seconds: f64, stop: Stop<'_>) -> Result<Sample> {
        let name = format!("{}-{}-{}", turn.case, turn.system, turn.round + 1);
        let folder = emptied(self.folder.join(name))?;
        let case = &self.cases[&turn.case];
        let measured = self.watch(case, self.carriers[&turn.system], seconds, &folder, stop);
        let seen = measured.map_err(|failure| Failure {
            what: failure.what + &last_words(&folder),
            ..failure
        })?;
        seen.write(&folder)?;
        Ok(Sample {
            last: case.heap,
            ..seen.sample()?
        })
    }
}

impl Browser {
    /// Publishes, and has the browser watch.
    fn watch(&self, case: &Case, carrier: Carrier, seconds: f64, folder: &Path, stop: Stop<'_>) -> Result<Seen> {
        let mut command = sealcast_program(None, &folder.join("publisher-home"))?;
        command
            .args(["publish", &case.source, "--meter", "none", "--name", "page"])
            .args([
                "--listen",
                "tcp://127.0.0.1:0",
                "--web",
                "http://127.0.0.1:0",
                "--ticket-file",
                "-",
            ])
            .args(&case.options);
        let mut publisher = Program::start("the publisher", command, &folder.join("publisher.txt"))?;
        let link = LINK.to_owned() + &publisher.line(LINK, PATIENCE, stop)?;
        let mut command = self.needs.command();
        command.args(["--carrier", carrier.name()]);
        let silent = if case.heap {
            let looks = self.settings.looks();
            let looks: Vec<String> = looks.iter().map(f64::to_string).collect();
            command.args(["--heap-at", &looks.join(",")]);
            self.settings.heap_from_seconds.max(self.settings.heap_every_seconds)
        } else {
            command.args(["--warm-up", &self.settings.warm_up_seconds.to_string()]);
            command.args(["--seconds", &seconds.to_string()]);
            self.settings.warm_up_seconds + seconds
        };
        let patience = PATIENCE + Duration::from_secs_f64(silent);
        let mut browser = Program::start("measure-page.mjs", command, &folder.join("browser.txt"))?;
        browser.say(&link);
        let mut seen = Seen::default();
        loop {
            let line = BEGIN.to_owned() + &browser.line(BEGIN, patience, stop)?;
            if seen.take(read(&line)?)? {
                break;
            }
        }
        browser.ended(PATIENCE, stop)?;
        publisher.ask_to_end();
        publisher.ended(PATIENCE, stop)?;
        Ok(seen)
    }
}

/// Makes the folder of a turn, without what an earlier try left.
fn emptied(folder: PathBuf) -> Result<PathBuf> {
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(|error| {
        let what = format!("{} cannot be made ({error})", folder.display());
        Failure::new(FailureKind::Sink, what, "choose another --out")
    })?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(from: f64, until: f64, every: f64) -> Settings {
        Settings {
            warm_up_seconds: 1.0,
            web: String::new(),
            heap_from_seconds: from,
            heap_until_seconds: until,
            heap_every_seconds: every,
        }
    }

    #[test]
    fn heaps_are_looked_at_from_the_first_time_to_the_last() {
        assert_eq!(settings(10.0, 40.0, 10.0).looks(), [10.0, 20.0, 30.0, 40.0]);
        assert_eq!(settings(60.0, 600.0, 30.0).looks().len(), 19);
        assert!(settings(60.0, 600.0, 30.0).check().is_ok());
        for (from, until, every) in [
            (60.0, 60.0, 30.0),
            (60.0, 10.0, 5.0),
            (-1.0, 10.0, 1.0),
            (1.0, 9.0, 0.0),
        ] {
            assert!(settings(from, until, every).check().is_err(), "{from} {until} {every}");
        }
    }

    #[test]
    fn without_a_checkout_all_systems_are_absent_with_what_to_do() {
        let mut definition = Definition::parse(super::super::BROWSER.definition).expect("it is right");
        definition.settings.insert("web".to_owned(), "/no/such/folder".into());
        let folder = tempfile::tempdir().expect("a folder");
        let opened = open(&definition, &Place { folder: folder.path() }).expect("it opens");
        assert_eq!(opened.absent.len(), 2);
        let (system, why) = &opened.absent[0];
        assert!(
            system == "webtransport" && (why.contains("/no/such/folder") || why.contains("node")),
            "{why}"
        );
    }
}
