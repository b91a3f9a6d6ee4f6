//! Each file of a release, tried as a user gets it: unpacked, where nothing of this machine is in reach.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::files::{Folder, SUMS, stem};
use super::scratch::Scratch;
use crate::cross::{self, Target};
use crate::deb;
use crate::image;
use crate::install_test;
use crate::program::{LAB, NAME, Program};
use crate::shell::{command, output, run};
use crate::summary::Outcome;

/// Each kernel of a cipher for a moment: they are compared before they are measured.
const LAB_TRIAL: [&str; 4] = ["ciphers", "--only=trivium", "--rounds=1", "--seconds=0.05"];

/// Both programs for a machine: streams with one, ciphers with the other.
pub(super) fn archives(folder: &Folder, target: &Target) -> Outcome {
    match unpacked(folder, target) {
        Ok((_scratch, [program, lab])) => match starts(target, &lab) {
            Ok(()) => target.tried(&program),
            Err(reason) => Outcome::Failed(reason),
        },
        Err(reason) => Outcome::Failed(reason),
    }
}

fn unpacked(folder: &Folder, target: &Target) -> Result<(Scratch, [PathBuf; 2]), String> {
    let mut check = Command::new("sha256sum");
    run(check.args(["--check", "--quiet", SUMS]).current_dir(folder.path()))?;
    let scratch = Scratch::new("unpacked")?;
    let programs = [NAME, LAB].map(|name| {
        let stem = stem(name, target.triple);
        let archive = folder.path().join(format!("{stem}.tar.gz"));
        let unpack = unpack(&archive, scratch.path());
        unpack.map(|()| scratch.path().join(stem).join(name))
    });
    let [program, lab] = programs;
    Ok((scratch, [program?, lab?]))
}

/// Runs the laboratory. What it measures in an emulator says nothing.
fn starts(target: &Target, lab: &Path) -> Result<(), String> {
    let words = target.prefix()?;
    let words = words
        .iter()
        .map(String::as_str)
        .chain([lab.to_str().unwrap_or_default()]);
    let words: Vec<&str> = words.chain(LAB_TRIAL).collect();
    run(&mut command(words[0], &words[1..]))
}

fn unpack(archive: &Path, to: &Path) -> Result<(), String> {
    let mut tar = Command::new("tar");
    run(tar
        .args(["--extract", "--file"])
        .arg(archive)
        .arg("--directory")
        .arg(to))
}

/// The package of this machine is installed in a fresh Debian system. Of another machine's, the program is tried in an
/// emulator, with the libraries of Debian's cross compiler; its scripts are those of this machine's.
pub(super) fn package(folder: &Folder, program: &Program) -> Outcome {
    match cross::host() {
        Ok(host) if host.triple == program.triple => {
            let same = same_package(folder, program);
            same.map_or_else(Outcome::Failed, |()| install_test::step(Some(&program.file)))
        }
        _ => foreign_package(folder, program).unwrap_or_else(Outcome::Failed),
    }
}

fn file_of(folder: &Folder, program: &Program) -> Result<PathBuf, String> {
    let version = deb::Entry::newest()?.version;
    let architecture = program.architecture()?;
    Ok(folder.path().join(format!("{NAME}_{version}_{architecture}.deb")))
}

/// The installation test packs the program itself, also with a higher version: the released file must be what it packs.
fn same_package(folder: &Folder, program: &Program) -> Result<(), String> {
    let scratch = Scratch::new("package")?;
    let again = deb::package(program, &deb::Entry::newest()?.version, scratch.path())?;
    let mut compare = Command::new("cmp");
    run(compare.arg(file_of(folder, program)?).arg(again))?;
    deb::judged(&file_of(folder, program)?).map(drop)
}

fn foreign_package(folder: &Folder, program: &Program) -> Result<Outcome, String> {
    let scratch = Scratch::new("package")?;
    let mut unpack = Command::new("dpkg-deb");
    run(unpack
        .arg("--extract")
        .arg(file_of(folder, program)?)
        .arg(scratch.path()))?;
    let target = cross::of_triple(program.triple).ok_or_else(|| format!("nothing runs {program}"))?;
    Ok(target.tried(&scratch.path().join("usr/bin").join(NAME)))
}

/// The image of this machine streams between two containers; another machine's must be taken by podman.
pub(super) fn container(folder: &Folder, architecture: &str) -> Outcome {
    let archive = folder.container(architecture);
    let load = output(command(image::PODMAN, &["load", "--quiet", "--input"]).arg(&archive));
    let Some(said) = load else {
        return Outcome::Failed(format!("podman does not take {}", archive.display()));
    };
    let loaded = said.trim().trim_start_matches("Loaded image: ").to_owned();
    let inspect = ["image", "inspect", "--format={{.Architecture}}", &loaded];
    let is = output(&mut command(image::PODMAN, &inspect)).unwrap_or_default();
    let here = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    match is.trim() {
        found if found != architecture => Outcome::Failed(format!("{loaded} is for {found}, not {architecture}")),
        found if found == here => image::tried(&loaded),
        _ => Outcome::Skipped(format!(
            "NOT TRIED: no container for {architecture} runs on this machine; the program in {loaded} was tried"
        )),
    }
}
