//! The program for those who install it, arranged for how it is used.
//!
//! It is compiled once so that it counts what runs how often, put under the laboratory's loads, and compiled again with
//! the counts: what runs for every packet lies close together then, and what hardly ever runs lies out of its way. A
//! camera's next packet comes milliseconds after the last, and finds the processor's caches cold: what has to be
//! fetched into them is most of a gateway's delay.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use crate::shell::{cargo, command, output, run, target_dir};
use crate::summary::Outcome;

/// What the program is trained with: gateways, and frames over datagrams of which some are lost, at the rates of
/// cameras. A load as fast as the machine can would count so often that all else is taken for rare.
const LOADS: [&[&str]; 2] = [
    &[
        "gateway",
        "--rounds=1",
        "--seconds=3",
        "--only=sealcast,udp-250,udp-2500,udp-frames,tcp-30,tcp-300,cameras-udp,cameras-tcp",
    ],
    &[
        "link",
        "--quick",
        "--seconds=10",
        "--proxy",
        "--only=sealcast",
        "--loss=2r",
    ],
];

pub(crate) fn step() -> Outcome {
    match build() {
        Ok(program) => Outcome::Ok(format!(
            "{} is to be installed, and beside it is sealcast-lab",
            program.display()
        )),
        Err(reason) => Outcome::Failed(reason),
    }
}

fn build() -> Result<PathBuf, String> {
    let host = output(&mut command("rustc", &["--version", "--verbose"]))
        .and_then(|said| Some(said.lines().find_map(|line| line.strip_prefix("host: "))?.to_owned()))
        .ok_or("`rustc --version --verbose` names no host")?;
    let merger = merger(&host)?;
    let place = target_dir().join("pgo");
    let counts = place.join("counts");
    // Those of another build would be mixed in.
    let _ = std::fs::remove_dir_all(&counts);

    println!("1 of 3: the program that counts");
    let counting = format!("-Cprofile-generate={}", counts.display());
    run(&mut compile(&["--bin=sealcast-lab"], &host, &place, &counting))?;

    println!("2 of 3: the loads");
    let built = place.join(&host).join("dist");
    for load in LOADS {
        run(&mut command(built.join("sealcast-lab"), load))?;
    }
    // Cargo compiles again where it is told of another file, and not where the file has changed.
    let seconds = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_secs());
    let merged = place.join(format!("{seconds}.profdata"));
    run(Command::new(&merger)
        .args(["merge", "--output"])
        .args([&merged, &counts]))?;

    println!("3 of 3: the programs that are arranged by the counts");
    let arranged = format!("-Cprofile-use={}", merged.display());
    run(&mut compile(
        &["--bin=sealcast-lab", "--bin=sealcast"],
        &host,
        &place,
        &arranged,
    ))?;
    Ok(built.join("sealcast"))
}

/// The laboratory is compiled each time: without it cargo gives functions other names than those that were counted.
/// With a target of its own the flags are not for build scripts and macros, which would count themselves.
fn compile(programs: &[&str], host: &str, place: &Path, flags: &str) -> Command {
    let mut command = cargo(&["build", "--profile=dist", "--locked"]);
    command.args(programs);
    command.args(["--package=sealcast", "--package=sealcast-lab", "--target", host]);
    command.env("CARGO_TARGET_DIR", place).env("RUSTFLAGS", flags);
    command
}

/// The compiler's own tool: its files are not those of another version.
fn merger(host: &str) -> Result<PathBuf, String> {
    let root = output(&mut command("rustc", &["--print", "sysroot"])).ok_or("`rustc --print sysroot` failed")?;
    let merger = Path::new(root.trim())
        .join("lib/rustlib")
        .join(host)
        .join("bin/llvm-profdata");
    if !merger.is_file() {
        run(&mut command("rustup", &["component", "add", "llvm-tools"]))?;
    }
    if merger.is_file() {
        Ok(merger)
    } else {
        Err(format!(
            "there is no {}: install the component `llvm-tools` of the compiler",
            merger.display()
        ))
    }
}
