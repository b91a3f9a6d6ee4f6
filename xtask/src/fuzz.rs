//! Runs the fuzz targets in fuzz/, each for some time.

use std::fs;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::shell::{nightly_cargo, output, root, run, run_whole};
use crate::summary::Outcome;

pub(crate) fn step(time: Duration, only: Option<&str>) -> Outcome {
    if output(&mut nightly_cargo(&["--version"])).is_none() {
        return Outcome::Skipped("no nightly tool chain: rustup toolchain install nightly".to_owned());
    }
    if output(&mut nightly_cargo(&["fuzz", "--version"])).is_none() {
        return Outcome::Skipped("no cargo-fuzz: cargo xtask fuzz --install".to_owned());
    }
    let targets: Vec<String> = targets()
        .into_iter()
        .filter(|name| only.is_none_or(|only| only == name))
        .collect();
    if targets.is_empty() {
        return Outcome::Failed("there is no such fuzz target".to_owned());
    }
    if let Err(why) = build(only) {
        return Outcome::Failed(why);
    }
    let broken = fuzz_all(&targets, time);
    match broken.is_empty() {
        true => Outcome::Ok(format!("{} targets, {} s each", targets.len(), time.as_secs())),
        false => Outcome::Failed(broken.join("; ")),
    }
}

pub(crate) fn install() -> Outcome {
    Outcome::of(run(&mut nightly_cargo(&["install", "--locked", "cargo-fuzz"])))
}

/// Builds all targets with one command, which uses the processors better than one after the other.
fn build(only: Option<&str>) -> Result<(), String> {
    let mut command = nightly_cargo(&["fuzz", "build"]);
    command.args(only);
    run(&mut command)
}

/// Runs one target per processor at once; returns the failures.
fn fuzz_all(targets: &[String], time: Duration) -> Vec<String> {
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    let (next, broken) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(target) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(why) = fuzz(target, time) {
                        broken.lock().unwrap_or_else(PoisonError::into_inner).push(why);
                    }
                }
            });
        }
    });
    broken.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Reads the committed seeds; new inputs go to the ignored corpus folder.
fn fuzz(target: &str, time: Duration) -> Result<(), String> {
    let corpus = format!("fuzz/corpus/{target}");
    fs::create_dir_all(root().join(&corpus)).map_err(|error| format!("{corpus}: {error}"))?;
    let seeds = format!("fuzz/seeds/{target}");
    let mut command = nightly_cargo(&["fuzz", "run", target, &corpus]);
    if root().join(&seeds).is_dir() {
        command.arg(&seeds);
    }
    let limit = format!("-max_total_time={}", time.as_secs());
    run_whole(command.args([
        "--",
        &limit,
        "-rss_limit_mb=2048",
        "-timeout=10",
        "-verbosity=0",
        "-print_final_stats=1",
    ]))
}

fn targets() -> Vec<String> {
    let folder = root().join("fuzz/fuzz_targets");
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = files
        .filter_map(|file| file.file_name().to_str()?.strip_suffix(".rs").map(str::to_owned))
        .filter(|name| name != "mod")
        .collect();
    names.sort();
    names
}
