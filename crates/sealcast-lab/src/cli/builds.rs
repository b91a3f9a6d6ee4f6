//! Measuring another build beside this one, in every experiment alike.

use std::path::{Path, PathBuf};

use clap::Args;
use sealcast::failure::Result;

use crate::harness::process::own_file;
use crate::harness::{Against, Definition, Entry, Until};

/// Share by which this build may be worse where a run goes on until it knows and nothing is said.
const BOUND: f64 = 0.03;
/// The time of such a run, in seconds.
const TIME_S: f64 = 600.0;

/// Options of experiments that measure builds.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct BuildsArgs {
    /// Measure this program instead of what is in the laboratory
    #[arg(long, value_name = "PROGRAM")]
    pub(super) program: Option<PathBuf>,
    /// Also measure this program of another build, and tell by how much this build is worse at most; may be repeated
    #[arg(long, value_name = "PROGRAM")]
    pub(super) also: Vec<PathBuf>,
    /// Measure until this build is shown to be worse by at most this, or by more [default: 3%, with --time]
    #[arg(long, value_name = "PERCENT", requires = "also", value_parser = percent)]
    pub(super) bound: Option<f64>,
    /// End at the latest after this time, such as 90s, 10m or 1h [default: 10m, with --bound]
    #[arg(long, value_name = "TIME", requires = "also", value_parser = seconds)]
    pub(super) time: Option<f64>,
}

/// The programs that are measured.
#[derive(Clone, Copy)]
pub(super) enum Programs {
    /// An engine starts them: the field `program` of a system names one.
    Started,
    /// Laboratories, since what is measured is in them.
    Laboratories,
}

impl BuildsArgs {
    /// Adds the other builds of the systems that are `ours` to a definition.
    ///
    /// # Errors
    /// This program cannot find itself.
    pub(super) fn apply(
        &self,
        definition: &mut Definition,
        programs: Programs,
        ours: impl Fn(&Entry) -> bool,
    ) -> Result<()> {
        let own: Vec<Entry> = definition
            .systems
            .iter()
            .filter(|system| ours(system))
            .cloned()
            .collect();
        for mut system in own {
            let name = system.name.clone();
            for also in &self.also {
                system.name = format!("{name} as {}", also.display());
                system.words = String::new();
                definition.systems.push(system.clone());
                set(definition, &system.name, programs, also);
                definition.against.push(Against {
                    system: name.clone(),
                    other: system.name.clone(),
                });
            }
            match (&self.program, programs) {
                (Some(program), _) => set(definition, &name, programs, program),
                // In a process of its own, as the others.
                (None, Programs::Laboratories) if !self.also.is_empty() => {
                    set(definition, &name, programs, &own_file()?);
                }
                (None, _) => {}
            }
        }
        if self.bound.or(self.time).is_some() {
            definition.until = Some(Until {
                bound: self.bound.unwrap_or(BOUND),
                seconds: self.time.unwrap_or(TIME_S),
            });
        }
        Ok(())
    }
}

/// Makes a system be measured with this program.
fn set(definition: &mut Definition, name: &str, programs: Programs, program: &Path) {
    match programs {
        Programs::Laboratories => {
            definition.laboratories.insert(name.to_owned(), program.to_owned());
        }
        Programs::Started => {
            let system = definition.systems.iter_mut().filter(|system| system.name == name);
            let program = program.display().to_string();
            system.for_each(|system| drop(system.fields.insert("program".to_owned(), program.clone().into())));
        }
    }
}

/// A share in percent: `3%` or `3`.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.strip_suffix('%').unwrap_or(text).trim().parse().ok();
    let share = number
        .map(|number| number / 100.0)
        .filter(|share| (0.0..=10.0).contains(share));
    share.ok_or_else(|| "name percent, such as 3%".to_owned())
}

/// A time in seconds: `90s`, `10m` or `1h`.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let units = [("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let read = units.iter().find_map(|(unit, seconds)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        Some(number * seconds)
    });
    let time = read.filter(|time| (1.0..=86_400.0).contains(time));
    time.ok_or_else(|| "name a time of 1s to 24h, such as 90s, 10m or 1h".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_times_are_read_with_their_units() {
        assert_eq!(
            ["3%", "0.5", "5 %"].map(|text| percent(text).ok()),
            [Some(0.03), Some(0.005), Some(0.05)]
        );
        assert_eq!(
            ["90s", "10m", "1.5h"].map(|text| seconds(text).ok()),
            [Some(90.0), Some(600.0), Some(5400.0)]
        );
        assert!(["-1%", "x", "2000%"].iter().all(|text| percent(text).is_err()));
        assert!(["10", "0s", "25h", "1d"].iter().all(|text| seconds(text).is_err()));
    }

    #[test]
    fn every_system_of_ours_is_judged_beside_each_other_build_of_it() {
        let text = "experiment = \"e\"\ntitle = \"t\"\nasks = \"a\"\ndisproved_by = \"d\"\nrounds = 7\n\
            [[case]]\nname = \"c\"\n[[system]]\nname = \"ours\"\nkind = \"x\"\n[[system]]\nname = \"relay\"\n";
        let args = BuildsArgs {
            also: vec!["a".into(), "b".into()],
            time: Some(60.0),
            ..BuildsArgs::default()
        };
        let applied = |programs| {
            let mut definition = Definition::parse(text).expect("it is right");
            let done = args.apply(&mut definition, programs, |system| system.name == "ours");
            done.expect("this program is known");
            definition
        };
        let started = applied(Programs::Started);
        let names: Vec<&str> = started.systems.iter().map(|system| system.name.as_str()).collect();
        assert_eq!(names, ["ours", "relay", "ours as a", "ours as b"]);
        let program = |at: usize| started.systems[at].fields.get("program").and_then(toml::Value::as_str);
        assert_eq!([0, 1, 2, 3].map(program), [None, None, Some("a"), Some("b")]);
        let others: Vec<&str> = started.against.iter().map(|against| against.other.as_str()).collect();
        assert_eq!(others, ["ours as a", "ours as b"]);
        assert_eq!(
            started.until,
            Some(Until {
                bound: BOUND,
                seconds: 60.0
            })
        );

        let laboratories = applied(Programs::Laboratories);
        assert!(
            laboratories
                .systems
                .iter()
                .all(|system| system.fields.get("program").is_none())
        );
        let measured: Vec<&str> = laboratories.laboratories.keys().map(String::as_str).collect();
        assert_eq!(
            measured,
            ["ours", "ours as a", "ours as b"],
            "this build in a process of its own, too"
        );
    }
}
