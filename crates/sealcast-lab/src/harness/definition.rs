//! The definition of an experiment: a TOML file. `definitions/` has the built-in ones.

use std::collections::BTreeMap;
use std::path::PathBuf;

use sealcast::failure::{Failure, FailureKind, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// An experiment as its file defines it, with command-line flags applied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// The engine that measures: the name of a built-in experiment.
    pub experiment: String,
    /// Heading of the page.
    pub title: String,
    /// The question, in one sentence.
    pub asks: String,
    /// The result, in one sentence, that would disprove the expected answer.
    pub disproved_by: String,
    /// Methods by which the figures are obtained, one paragraph each; if empty, those of the built-in definition.
    #[serde(default)]
    pub method: Vec<String>,
    /// Number of times that everything is measured, at least 1.
    pub rounds: usize,
    /// Duration of each measurement in seconds, without its warm-up; 0 if the cases decide how long it takes.
    #[serde(default)]
    pub seconds: f64,
    /// About how many seconds a whole run takes on two cores; 0 if nobody knows. For estimates before anything is
    /// measured.
    #[serde(default)]
    pub takes_seconds: f64,
    /// Seed for the order of turns and all other random choices.
    #[serde(default = "one")]
    pub seed: u64,
    /// Number of measurements that run at the same time.
    #[serde(default = "one")]
    pub at_once: u64,
    /// The system that the others are compared with within a round, in columns that compare with a baseline.
    #[serde(default)]
    pub baseline: String,
    /// The system that findings are about.
    #[serde(default)]
    pub subject: String,
    /// Systems that findings compare the subject with.
    #[serde(default)]
    pub rivals: Vec<String>,
    /// Smaller values for `--quick`: a first look within three minutes.
    #[serde(default)]
    pub quick: Quick,
    /// Systems that are judged beside another build of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub against: Vec<Against>,
    /// Systems that the laboratory of another build measures, and its program.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub laboratories: BTreeMap<String, PathBuf>,
    /// When a run ends, instead of after `rounds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// Comparisons whose result is known, without which nothing is found.
    #[serde(default, rename = "control", skip_serializing_if = "Vec::is_empty")]
    pub controls: Vec<Control>,
    /// Time from the start after which no turn begins, in seconds: what is left then is left out, and named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_seconds: Option<f64>,
    /// Values that figures have to reach.
    #[serde(default, rename = "target")]
    pub targets: Vec<Target>,
    /// Figures from publications, shown beside the measured ones.
    #[serde(default)]
    pub published: Vec<Published>,
    /// Cases whose figures the terminal shows; all if none is named, or none of these is measured.
    #[serde(default)]
    pub terminal_cases: Vec<String>,
    /// Settings for the engine beside cases and systems.
    #[serde(default)]
    pub settings: toml::Table,
    /// The circumstances under which systems are measured: loads, links, media.
    #[serde(rename = "case")]
    pub cases: Vec<Entry>,
    /// The systems that are compared. If the file names none, the experiment lists those that it knows.
    #[serde(default, rename = "system")]
    pub systems: Vec<Entry>,
}

fn one() -> u64 {
    1
}

/// Time of a reduced run, in seconds: a little less than the three minutes that are promised.
const QUICK_SECONDS: f64 = 175.0;

/// Changes that `--quick` makes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quick {
    /// Number of rounds.
    pub rounds: Option<usize>,
    /// Seconds of each measurement.
    pub seconds: Option<f64>,
    /// About how many seconds all of it takes on two cores.
    pub takes_seconds: Option<f64>,
    /// Cases that remain; all if none is named.
    pub cases: Vec<String>,
    /// Systems that remain; all if none is named.
    pub systems: Vec<String>,
    /// Settings with other values.
    pub settings: toml::Table,
}

/// A system that is judged beside another build of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Against {
    /// The name of the system.
    pub system: String,
    /// The name of the other build of it.
    pub other: String,
}

/// When a run ends, instead of after a number of rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// Every judged figure is shown to be worse by at most this, or by more: 0.03 for 3 %.
    pub bound: f64,
    /// Time after which it ends anyway, in seconds.
    pub seconds: f64,
}

/// A comparison whose result is known: of two systems that are the same (A/A), or of which one has something added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// The case in which both are measured.
    pub case: String,
    /// The system that is the same as the other, or has something added.
    pub system: String,
    /// The system beside it.
    pub other: String,
    /// The key of the column that is checked; if empty, every column of which there are findings.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub column: String,
    /// Known difference, in the unit of the page; 0 if both are the same.
    #[serde(default)]
    pub adds: f64,
    /// Amount by which more or less than this may have been added.
    #[serde(default)]
    pub within: f64,
}

/// Published figures of a system in a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The case that they belong to.
    pub case: String,
    /// The name of the row.
    pub system: String,
    /// The publication.
    pub source: String,
    /// Values by the keys of columns, in the units of `table.csv`.
    pub figures: BTreeMap<String, f64>,
}

/// A value that a figure of a system in a case has to reach.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The cases that the target applies to.
    pub cases: Vec<String>,
    /// The systems that it applies to; if none is named, the subject and its variants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub systems: Vec<String>,
    /// The key of the column. Limits are in the column's unit.
    pub column: String,
    /// Upper limit of the figure.
    #[serde(default)]
    pub at_most: Option<f64>,
    /// Lower limit of the figure.
    #[serde(default)]
    pub at_least: Option<f64>,
    /// A value that the figure's interval must contain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<f64>,
}

/// A case or a system: name, description, and parameters for the engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The name in options, tables and records.
    pub name: String,
    /// Description for readers; may be empty.
    #[serde(default)]
    pub words: String,
    /// Parameters for the engine.
    #[serde(flatten)]
    pub fields: toml::Table,
}

impl Entry {
    /// Reads the parameters into the engine's type.
    ///
    /// # Errors
    /// A field is missing, unknown or of the wrong type; the message says which.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T> {
        self.fields
            .clone()
            .try_into()
            .map_err(|error: toml::de::Error| refused(&format!("`{}`: {}", self.name, error.message())))
    }

    /// The part of the name before a slash, which the members of a family share; the name if there is no slash.
    pub(crate) fn family(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }

    /// True if options can mean it by this name: its own, or its family's.
    pub fn goes_by(&self, name: &str) -> bool {
        self.name == name || self.family() == name
    }
}

impl Definition {
    /// Reads a definition.
    ///
    /// # Errors
    /// The text is not TOML of this form; the message says where and why.
    pub fn parse(text: &str) -> Result<Self> {
        let definition: Self = toml::from_str(text).map_err(|error| refused(&error))?;
        if definition.cases.is_empty() {
            return Err(refused(&"there is no case"));
        }
        let named = [(&definition.cases, "case"), (&definition.systems, "system")];
        for (entries, kind) in named {
            for (at, entry) in entries.iter().enumerate() {
                if entries[..at].iter().any(|other| other.name == entry.name) {
                    return Err(refused(&format!("there are two of the {kind} `{}`", entry.name)));
                }
            }
        }
        definition.check_controls()?;
        if definition.rounds == 0 {
            return Err(refused(&"rounds must be above 0"));
        }
        Ok(definition)
    }

    /// Refuses controls of cases and systems that are not there.
    fn check_controls(&self) -> Result<()> {
        let is_there = |entries: &[Entry], name: &str| entries.iter().any(|entry| entry.name == name);
        for control in &self.controls {
            let systems = [&control.system, &control.other];
            let unknown = systems.into_iter().find(|name| !is_there(&self.systems, name));
            let case = Some(&control.case).filter(|name| !is_there(&self.cases, name));
            if let Some(name) = unknown.or(case) {
                return Err(refused(&format!("a control names `{name}`, which is not defined")));
            }
        }
        Ok(())
    }

    /// Reads the settings into the engine's type.
    ///
    /// # Errors
    /// A setting is missing, unknown or of the wrong type; the message says which.
    pub fn settings<T: DeserializeOwned>(&self) -> Result<T> {
        let read = self.settings.clone().try_into();
        read.map_err(|error: toml::de::Error| refused(&format!("settings: {}", error.message())))
    }

    /// Applies the values for `--quick`.
    pub fn quicken(&mut self) {
        let quick = std::mem::take(&mut self.quick);
        self.rounds = quick.rounds.unwrap_or(self.rounds);
        self.seconds = quick.seconds.unwrap_or(self.seconds);
        self.takes_seconds = quick.takes_seconds.unwrap_or(self.takes_seconds);
        keep(&mut self.cases, &quick.cases);
        keep(&mut self.systems, &quick.systems);
        self.settings.extend(quick.settings);
        self.within_seconds = Some(QUICK_SECONDS);
    }

    /// Keeps only the named cases and systems. If no case is named, all cases stay; likewise for systems. A name
    /// without a slash includes all systems with this name before a slash: `trivium` includes `trivium/words`.
    ///
    /// # Errors
    /// A name is neither a case nor a system; the message lists the valid names.
    pub fn only(&mut self, names: &[String]) -> Result<()> {
        let entries = || self.cases.iter().chain(&self.systems);
        if let Some(wrong) = names.iter().find(|name| !entries().any(|entry| entry.goes_by(name))) {
            let mut known: Vec<&str> = entries().map(Entry::family).collect();
            known.dedup();
            let mut hint = format!("choose among {}", known.join(", "));
            if let Some(member) = entries().find(|entry| entry.family() != entry.name) {
                hint.push_str(&format!(", or one of their members, such as {}", member.name));
            }
            let what = format!("--only {wrong} is neither a case nor a system");
            return Err(Failure::new(FailureKind::Usage, what, hint));
        }
        let size = |definition: &Self| (definition.cases.len() * definition.systems.len().max(1)) as f64;
        let before = size(self);
        keep(&mut self.cases, names);
        keep(&mut self.systems, names);
        self.takes_seconds *= size(self) / before;
        Ok(())
    }

    /// The builds that a system is judged beside.
    pub(crate) fn beside<'a>(&'a self, system: &'a str) -> impl Iterator<Item = &'a str> {
        self.against.iter().filter_map(move |against| match system {
            _ if against.system == system => Some(against.other.as_str()),
            _ if against.other == system => Some(against.system.as_str()),
            _ => None,
        })
    }

    /// The case of this name.
    pub fn case(&self, name: &str) -> Option<&Entry> {
        self.cases.iter().find(|case| case.name == name)
    }
}

/// Keeps the named entries, or all if none of them is named.
fn keep(entries: &mut Vec<Entry>, names: &[String]) {
    let named = |entry: &Entry| names.iter().any(|name| entry.goes_by(name));
    if entries.iter().any(named) {
        entries.retain(named);
    }
}

pub(super) fn refused(why: &dyn std::fmt::Display) -> Failure {
    let what = format!("the definition cannot be used: {why}");
    Failure::new(
        FailureKind::Usage,
        what,
        "see those in crates/sealcast-lab/definitions for how one is written",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"
        experiment = "gateway"
        title = "Small"
        asks = "Is it small?"
        disproved_by = "It is large."
        rounds = 7
        seconds = 4
        [quick]
        rounds = 1
        cases = ["b"]
        [quick.settings]
        patience = 1
        [settings]
        patience = 60
        proxy = false
        [[case]]
        name = "a"
        rate = 250
        [[case]]
        name = "b"
        rate = 30
        [[system]]
        name = "relay"
        [[system]]
        name = "sealcast"
    "#;

    const CONTROL: &str = "[[control]]\ncase = \"a\"\nsystem = \"again\"\nother = \"relay\"\n[settings]";

    fn names(entries: &[Entry]) -> Vec<&str> {
        entries.iter().map(|entry| entry.name.as_str()).collect()
    }

    #[test]
    fn quick_is_less_and_only_leaves_all_of_a_kind_of_which_none_is_named() {
        let mut definition = Definition::parse(SMALL).expect("it is right");
        let mut quick = definition.clone();
        quick.quicken();
        assert_eq!((quick.rounds, quick.seconds), (1, 4.0));
        assert!(quick.within_seconds.is_some() && definition.within_seconds.is_none());
        assert_eq!((names(&quick.cases), quick.systems.len()), (vec!["b"], 2));
        assert_eq!(
            quick.settings,
            toml::toml! { patience = 1
            proxy = false }
        );
        definition.only(&["sealcast".to_owned()]).expect("it is there");
        assert_eq!(
            (names(&definition.systems), definition.cases.len()),
            (vec!["sealcast"], 2)
        );
        let refused = definition.only(&["udp-9".to_owned()]).expect_err("unknown");
        assert_eq!(refused.hint, "choose among a, b, sealcast");
    }

    #[test]
    fn a_family_is_named_by_what_its_members_have_before_the_slash() {
        let text = SMALL
            .replace("relay", "rc4/words")
            .replace("sealcast", "rc4/definition");
        let mut definition = Definition::parse(&text).expect("it is right");
        definition.only(&["rc4".to_owned()]).expect("it is there");
        assert_eq!(definition.systems.len(), 2);
        definition.only(&["rc4/words".to_owned()]).expect("it is there");
        assert_eq!(names(&definition.systems), ["rc4/words"]);
        let refused = definition.only(&["rc".to_owned()]).expect_err("unknown");
        assert_eq!(
            refused.hint,
            "choose among a, b, rc4, or one of their members, such as rc4/words"
        );
    }

    #[test]
    fn an_entry_tells_the_engine_its_fields_and_names_those_that_are_wrong() {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Load {
            rate: u32,
        }
        let definition = Definition::parse(SMALL).expect("it is right");
        assert_eq!(definition.cases[1].read::<Load>().expect("a rate").rate, 30);
        let refused = definition.systems[0].read::<Load>().err().expect("no rate");
        assert!(
            refused.what.contains("`relay`") && refused.what.contains("rate"),
            "{refused}"
        );
    }

    #[test]
    fn a_definition_that_cannot_be_measured_is_refused_in_words() {
        for (from, to, words) in [
            ("rounds = 7", "rounds = 0", "above 0"),
            ("name = \"b\"", "name = \"a\"", "two of the case `a`"),
            ("title", "tilte", "unknown field `tilte`"),
            ("[settings]", CONTROL, "a control names `again`"),
        ] {
            let refused = Definition::parse(&SMALL.replacen(from, to, 1)).expect_err(words);
            assert!(refused.what.contains(words), "{refused}");
        }
    }
}
