//! Builds the program for distribution, with its code laid out by profile.
//!
//! It is compiled with execution counters, run under the laboratory's loads, and compiled again with these counts.
//! Code that runs for every packet is then placed together, and rarely used code elsewhere. A camera's next packet
//! comes milliseconds after the last, and finds the processor's caches cold: loading code into them is most of a
//! gateway's delay.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use crate::sbom;
use crate::shell::{cargo, command, output, run, target_dir};
use crate::summary::Outcome;

/// The training loads: gateways, and frames over datagrams with losses, at the rates of cameras. A load at full speed
/// would have such high counts that all other code would be considered rare.
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
            "install {}; sealcast-lab and the bill of materials are beside it",
            program.display()
        )),
        Err(reason) => Outcome::Failed(reason),
    }
}

fn build() -> Result<PathBuf, String> {
    let host = sbom::host()?;
    let merger = merger(&host)?;
    let place = target_dir().join("pgo");
    let counts = place.join("counts");
    // Counts of another build would be mixed in.
    let _ = std::fs::remove_dir_all(&counts);

    println!("1 of 3: the program with execution counters");
    let counting = format!("-Cprofile-generate={}", counts.display());
    run(&mut compile(&["--bin=sealcast-lab"], &host, &place, &counting))?;

    println!("2 of 3: the training loads");
    let built = place.join(&host).join("dist");
    for load in LOADS {
        run(&mut command(built.join("sealcast-lab"), load))?;
    }
    // A new file name each time, since cargo recompiles if the flags change, but not if only the file's content does.
    let seconds = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_secs());
    let merged = place.join(format!("{seconds}.profdata"));
    run(Command::new(&merger)
        .args(["merge", "--output"])
        .args([&merged, &counts]))?;

    println!("3 of 3: the programs, with their code laid out by the counts");
    let arranged = format!("-Cprofile-use={}", merged.display());
    run(&mut compile(
        &["--bin=sealcast-lab", "--bin=sealcast"],
        &host,
        &place,
        &arranged,
    ))?;
    let bill = sbom::Build {
        target: &host,
        together: &["sealcast", "sealcast-lab"],
    };
    sbom::write(&bill, &built.join("sealcast.cdx.json"))?;
    Ok(built.join("sealcast"))
}

/// Compiles the laboratory each time, too: without it cargo gives functions other names than in the counted build. An
/// explicit target keeps the flags from build scripts and macros, which would otherwise count themselves.
fn compile(programs: &[&str], host: &str, place: &Path, flags: &str) -> Command {
    let mut command = cargo(&["build", "--profile=dist", "--locked"]);
    command.args(programs);
    command.args(["--package=sealcast", "--package=sealcast-lab", "--target", host]);
    command.env("CARGO_TARGET_DIR", place).env("RUSTFLAGS", flags);
    command
}

/// The compiler's own tool, since other versions use other file formats.
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
