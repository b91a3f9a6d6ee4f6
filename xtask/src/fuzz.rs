//! Runs the fuzz targets of fuzz/, each for a while.

use std::fs;
use std::time::Duration;

use crate::shell::{nightly_cargo, output, root, run};
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
    let broken: Vec<String> = targets.iter().filter_map(|target| fuzz(target, time).err()).collect();
    match broken.is_empty() {
        true => Outcome::Ok(format!("{} targets, {} s each", targets.len(), time.as_secs())),
        false => Outcome::Failed(broken.join("; ")),
    }
}

pub(crate) fn install() -> Outcome {
    Outcome::of(run(&mut nightly_cargo(&["install", "--locked", "cargo-fuzz"])))
}

/// Committed seeds are read, discoveries go to the ignored corpus folder.
fn fuzz(target: &str, time: Duration) -> Result<(), String> {
    let corpus = format!("fuzz/corpus/{target}");
    fs::create_dir_all(root().join(&corpus)).map_err(|error| format!("{corpus}: {error}"))?;
    let seeds = format!("fuzz/seeds/{target}");
    let mut command = nightly_cargo(&["fuzz", "run", target, &corpus]);
    if root().join(&seeds).is_dir() {
        command.arg(&seeds);
    }
    let limit = format!("-max_total_time={}", time.as_secs());
    run(command.args([
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
