//! Builds the program for distribution, with its code laid out by profile.
//!
//! It is compiled with execution counters, run under the laboratory's loads, and compiled again with these counts.
//! Code that runs for every packet is then placed together, and rarely used code elsewhere. A camera's next packet
//! comes milliseconds after the last, and finds the processor's caches cold: loading code into them is most of a
//! gateway's delay.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::paths::{Places, cargo_home, forget_assembly};
use crate::sbom;
use crate::shell::{cargo, command, compilers_target, output, root, run, target_dir};
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

/// With the counts of an earlier build, whose sources and compiler were the same, the program has the same bytes.
pub(crate) fn step(counts: Option<&Path>) -> Outcome {
    match build(counts) {
        Ok(program) => Outcome::Ok(format!(
            "install {}; sealcast-lab, the bill of materials and the counts are beside it",
            program.display()
        )),
        Err(reason) => Outcome::Failed(reason),
    }
}

fn build(counts: Option<&Path>) -> Result<PathBuf, String> {
    let host = compilers_target()?;
    let place = target_dir().join("pgo");
    let built = place.join(&host).join("dist");
    let counted = match counts {
        Some(file) => file.to_owned(),
        None => count(&host, &place, &built)?,
    };
    let bytes = std::fs::read(&counted).map_err(|error| format!("{}: {error}", counted.display()))?;
    // Another name for other counts, since cargo recompiles if the flags change, but not if only a file's content does.
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    let merged = place.join(format!("{:016x}.profdata", hasher.finish()));
    std::fs::write(&merged, &bytes).map_err(|error| format!("{}: {error}", merged.display()))?;

    println!("3 of 3: the programs, with their code laid out by the counts");
    let arranged = format!("-Cprofile-use={}", merged.display());
    run(&mut compile(
        &["--bin=sealcast-lab", "--bin=sealcast"],
        &host,
        &place,
        &arranged,
    ))?;
    let program = built.join("sealcast");
    forget_assembly(&program)?;
    let bill = sbom::Build {
        program: "sealcast",
        target: &host,
        together: &["sealcast", "sealcast-lab"],
    };
    sbom::write(&bill, &built.join("sealcast.cdx.json"))?;
    let kept = built.join("sealcast.profdata");
    std::fs::write(&kept, &bytes).map_err(|error| format!("{}: {error}", kept.display()))?;
    Ok(program)
}

/// Runs the program under the loads with execution counters; returns the file of the counts.
fn count(host: &str, place: &Path, built: &Path) -> Result<PathBuf, String> {
    let merger = merger(host)?;
    let counts = place.join("counts");
    // Counts of another build would be mixed in.
    let _ = std::fs::remove_dir_all(&counts);

    println!("1 of 3: the program with execution counters");
    let counting = format!("-Cprofile-generate={}", counts.display());
    run(&mut compile(&["--bin=sealcast-lab"], host, place, &counting))?;

    println!("2 of 3: the training loads");
    for load in LOADS {
        run(&mut command(built.join("sealcast-lab"), load))?;
    }
    let merged = place.join("counts.profdata");
    run(Command::new(&merger)
        .args(["merge", "--output"])
        .args([&merged, &counts]))?;
    Ok(merged)
}

/// Compiles the laboratory each time, too: without it cargo gives functions other names than in the counted build. An
/// explicit target keeps the flags from build scripts and macros, which would otherwise count themselves.
fn compile(programs: &[&str], host: &str, place: &Path, flags: &str) -> Command {
    let mut command = cargo(&["build", "--profile=dist", "--locked"]);
    command.args(programs);
    command.args(["--package=sealcast", "--package=sealcast-lab", "--target", host]);
    let places = Places {
        root: root(),
        target: place.to_owned(),
        cargo_home: cargo_home(),
    };
    places.forget(&mut command, &[flags.to_owned()]);
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
