//! `sealcast-lab speed`: is this build slower than another one, and by how much at most?

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::Args;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use sealcast::failure::{Failure, FailureKind, Result};
use serde::Deserialize;

use super::builds::{BuildsArgs, Programs, percent, seconds};
use super::common_args::CommonArgs;
use super::run::{begin, whole_clip};
use super::{control, gateway, viewers};
use crate::experiments::{self, viewers::VIEWERS};
use crate::harness::judged::{self, Judged};
use crate::harness::number::time;
use crate::harness::process::{Stop, stopped};
use crate::harness::{self, Definition, Entry, markdown};

/// The parts that are measured.
const PARTS: &str = include_str!("../../definitions/speed.toml");
/// Names of a build's programs in its folder: the program, the laboratory, and the benchmark of the record layer.
const PROGRAM: &str = "sealcast";
const LABORATORY: &str = "sealcast-lab";
const BENCHMARK: &str = "record_layer";

#[derive(Args, Clone, Debug)]
pub(super) struct SpeedArgs {
    /// The folder with this build's sealcast, sealcast-lab and record_layer, a benchmark
    #[arg(long, value_name = "FOLDER")]
    this: PathBuf,
    /// The folder with the same of the other build
    #[arg(long, value_name = "FOLDER")]
    that: PathBuf,
    /// Measure each figure until it is shown to be worse by at most this, or by more
    #[arg(long, value_name = "PERCENT", default_value = "3%", value_parser = percent)]
    bound: f64,
    /// Fail if a figure is shown to be worse by more than this
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = percent)]
    fail: f64,
    /// End at the latest after about this time, such as 90s, 10m or 1h
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = seconds)]
    time: f64,
    /// Measure only these parts: records, handshake, throughput, gateway, "gateway, awake", viewers, "viewers, alone"
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// The file that viewers are given (MP4, H.264, Motion JPEG) in place of a clip made with ffmpeg
    #[arg(long, value_name = "FILE")]
    clip: Option<PathBuf>,
    /// Write table.md, and each part's record and tables into a folder of its name, into this folder; continue records
    /// that are there
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
}

/// The list of parts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    #[serde(rename = "part")]
    parts: Vec<Part>,
}

/// An experiment, with what of it is measured.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    name: String,
    experiment: String,
    #[serde(default)]
    only: Vec<String>,
    #[serde(default)]
    settings: toml::Table,
    seconds: Option<f64>,
    /// True if everything shares one processor: delay is then processor time, and not what a scheduler makes of two.
    #[serde(default)]
    one_processor: bool,
    /// Its share of the time.
    weight: f64,
}

/// The outcome of a part.
struct Outcome {
    name: String,
    judged: Vec<Judged>,
    /// The figures that could not be measured, with the reason.
    missing: Vec<String>,
}

fn parts() -> Result<Vec<Part>> {
    let parts: std::result::Result<Parts, _> = toml::from_str(PARTS);
    parts.map(|parts| parts.parts).map_err(|error| {
        let what = format!("the list of what is measured is not understood ({error})");
        Failure::new(FailureKind::Internal, what, "please report this")
    })
}

pub(super) fn run(args: &SpeedArgs) -> Result<ExitCode> {
    let mut parts = parts()?;
    if let Some(wrong) = args
        .only
        .iter()
        .find(|name| parts.iter().all(|part| part.name != **name))
    {
        let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
        let what = format!("--only {wrong} is no part");
        return Err(Failure::new(
            FailureKind::Usage,
            what,
            format!("choose among {}", names.join("; ")),
        ));
    }
    parts.retain(|part| args.only.is_empty() || args.only.contains(&part.name));
    let outcomes = control::until_signalled({
        let (end, args) = (Instant::now() + Duration::from_secs_f64(args.time), args.clone());
        move |stop| {
            let mut outcomes = Vec::new();
            for (at, part) in parts.iter().enumerate() {
                let weights: f64 = parts[at..].iter().map(|part| part.weight).sum();
                let left = end.saturating_duration_since(Instant::now());
                let share = left.mul_f64(part.weight / weights);
                eprintln!(
                    "part {} of {}, {}: {} of {}",
                    at + 1,
                    parts.len(),
                    part.name,
                    time(share),
                    time(left)
                );
                outcomes.push(args.measured(part, share, stop)?);
            }
            Ok(outcomes)
        }
    })?;
    let (text, is_slower) = args.text(&outcomes);
    print!("{text}");
    let path = args.out.join("table.md");
    std::fs::write(&path, text).map_err(|error| harness::unwritable(&path, &error))?;
    Ok(if is_slower {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

impl SpeedArgs {
    fn measured(&self, part: &Part, share: Duration, stop: Stop<'_>) -> Result<Outcome> {
        let experiment = experiments::by_name(&part.experiment)?;
        let folder = self.out.join(part.name.replace(", ", "-"));
        let definition = self.definition(part, share)?;
        let _one = part.one_processor.then(OneProcessor::keep).transpose()?;
        let tell = |progress: &harness::Progress| eprintln!("{}: {progress}", part.name);
        let results = harness::run(experiment, &definition, &folder, stop, &tell);
        if stop.load(Ordering::Relaxed) {
            return Err(stopped());
        }
        let name = part.name.clone();
        Ok(match results {
            Ok(results) => {
                harness::write(&results, &experiment.method(&definition)?, &folder)?;
                Outcome {
                    name,
                    judged: judged::judged(&results),
                    missing: results.missing,
                }
            }
            Err(failure) => Outcome {
                name,
                judged: Vec::new(),
                missing: vec![failure.to_string()],
            },
        })
    }

    fn definition(&self, part: &Part, share: Duration) -> Result<Definition> {
        let experiment = experiments::by_name(&part.experiment)?;
        let mut definition = begin(experiment.definition, &CommonArgs::default())?;
        definition.seconds = part.seconds.unwrap_or(definition.seconds);
        definition.settings.extend(part.settings.clone());
        if experiment.name == VIEWERS.name
            && let Some(clip) = &self.clip
        {
            definition.settings.insert("clip".to_owned(), whole_clip(clip)?.into());
        }
        definition.only(&part.only)?;
        let (file, programs, ours): (_, _, fn(&Entry) -> bool) = match part.experiment.as_str() {
            "gateway" => (PROGRAM, Programs::Started, gateway::is_ours),
            "viewers" => (PROGRAM, Programs::Started, viewers::is_ours),
            "records" => (BENCHMARK, Programs::Started, |_| true),
            "throughput" => (LABORATORY, Programs::Laboratories, gateway::is_ours),
            _ => (LABORATORY, Programs::Laboratories, |_| true),
        };
        let whole = |folder: &Path| whole(&folder.join(file));
        let builds = BuildsArgs {
            program: Some(whole(&self.this)?),
            also: vec![whole(&self.that)?],
            bound: Some(self.bound),
            time: Some(share.as_secs_f64()),
        };
        builds.apply(&mut definition, programs, ours)?;
        Ok(definition)
    }

    /// The table of everything, what was not measured, and the verdict; true if something is shown to be slower.
    fn text(&self, outcomes: &[Outcome]) -> (String, bool) {
        let mut lines = vec![[vec!["part".to_owned()], judged::head(Some(self.bound))].concat()];
        for outcome in outcomes {
            let own = outcome.judged.iter();
            lines.extend(own.map(|judged| [vec![outcome.name.clone()], judged.line(Some(self.bound))].concat()));
        }
        let all = || outcomes.iter().flat_map(|outcome| &outcome.judged);
        let count = |verdict: &str| all().filter(|judged| judged.verdict(self.bound) == verdict).count();
        let slower = all()
            .filter(|judged| judged.at_least().is_some_and(|least| least > self.fail))
            .count();
        let mut text = markdown::aligned(&lines, 4);
        text.push('\n');
        for outcome in outcomes {
            for why in &outcome.missing {
                text.push_str(&format!("* not measured: {}: {why}\n", outcome.name));
            }
        }
        let percent = |share: f64| format!("{} %", share * 100.0);
        text.push_str(&format!(
            "{} of {} figures are worse by at most {}, with 95 % confidence; {} by more; {} open: the time of {} was \
             over. {slower} are worse by more than {}.\n",
            count(judged::WITHIN),
            all().count(),
            percent(self.bound),
            count(judged::WORSE),
            count(judged::OPEN),
            time(Duration::from_secs_f64(self.time)),
            percent(self.fail),
        ));
        (text, slower > 0 || all().count() == 0)
    }
}

/// Keeps this thread, and all threads and programs that it starts, on one processor while it lives.
struct OneProcessor {
    before: CpuSet,
}

impl OneProcessor {
    fn keep() -> Result<Self> {
        let refused = |error| {
            let what = format!("this process cannot be kept on one processor ({error})");
            Failure::new(FailureKind::Internal, what, "leave out that part")
        };
        let before = sched_getaffinity(None).map_err(refused)?;
        let mut one = CpuSet::new();
        // Not the first one, which serves most interrupts.
        let last = (0..CpuSet::MAX_CPU).rev().find(|&processor| before.is_set(processor));
        last.into_iter().for_each(|processor| one.set(processor));
        sched_setaffinity(None, &one).map_err(refused)?;
        Ok(Self { before })
    }
}

impl Drop for OneProcessor {
    fn drop(&mut self) {
        // It was allowed before.
        let _ = sched_setaffinity(None, &self.before);
    }
}

/// The whole path of a program, whatever folder it is started in.
fn whole(program: &Path) -> Result<PathBuf> {
    program.canonicalize().map_err(|error| {
        let what = format!("{} is not there ({error})", program.display());
        Failure::new(FailureKind::Usage, what, "`cargo xtask speed` builds what is measured")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_names_what_there_is_and_both_builds_of_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let builds = ["this", "that"].map(|build| folder.path().join(build));
        for build in &builds {
            std::fs::create_dir(build).expect("writable");
            for program in [PROGRAM, LABORATORY, BENCHMARK] {
                std::fs::write(build.join(program), "").expect("writable");
            }
        }
        let [this, that] = builds;
        let args = SpeedArgs {
            this,
            that,
            bound: 0.03,
            fail: 0.05,
            time: 60.0,
            only: Vec::new(),
            clip: None,
            out: PathBuf::new(),
        };
        for part in parts().expect("it is right") {
            let definition = args.definition(&part, Duration::from_secs(60)).expect(&part.name);
            assert!(!definition.against.is_empty(), "{part:?}");
            assert_eq!(
                definition.systems.len(),
                2 * definition.against.len(),
                "nothing but builds: {part:?}"
            );
            let columns = (experiments::by_name(&part.experiment).expect("known").columns)();
            assert!(columns.iter().any(|column| column.judged.is_some()), "{part:?}");
        }
    }
}
