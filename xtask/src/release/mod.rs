//! The files of a release, from a clean checkout: static programs, Debian packages and containers for x86-64 and 64-bit
//! Arm, each tried where nothing else is, with checksums that a key signs.
//!
//! The same commit and compilers make the same bytes: times are that of the package's newest entry.

mod files;
mod scratch;
mod trial;

use std::path::PathBuf;

use crate::cross::{self, Target};
use crate::deb;
use crate::image;
use crate::install_test;
use crate::packages;
use crate::program::{LAB, NAME, Program};
use crate::shell::{command, exists, output, target_dir};
use crate::summary::{Outcome, Summary};
use files::Folder;

/// Targets whose programs run anywhere, and need no other file.
const STATIC: [&str; 2] = ["static-x86_64", "static-aarch64"];
/// Targets whose programs look names up as their system does, with its C library.
const DEBIAN: [&str; 2] = ["x86_64", "aarch64"];
const TOOLS: [&str; 6] = [
    "dpkg-deb",
    "dpkg-parsechangelog",
    image::PODMAN,
    "ssh-keygen",
    "sha256sum",
    "tar",
];
const HOW: &str = "cargo xtask release --install";

/// The options of the command.
pub(crate) struct Asked {
    sign_with: Option<PathBuf>,
    profile: String,
    installs: bool,
}

impl Asked {
    /// Unsigned, of the programs that users are given, with what is installed.
    pub(crate) fn usual() -> Self {
        Self {
            sign_with: None,
            profile: cross::PROFILE.to_owned(),
            installs: false,
        }
    }

    pub(crate) fn read(words: &[&str]) -> Option<Self> {
        let mut asked = Self::usual();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--install" => asked.installs = true,
                "--sign-with" => asked.sign_with = Some(std::path::absolute(words.next()?).ok()?),
                "--profile" => (*words.next()?).clone_into(&mut asked.profile),
                _ => return None,
            }
        }
        Some(asked)
    }
}

/// Makes, signs and tries all files. A step that fails ends it, so no release lacks one without a word.
pub(crate) fn steps(asked: &Asked, summary: &mut Summary) -> bool {
    if asked.installs && !summary.step("tools", install) {
        return false;
    }
    let mut commit = String::new();
    let begins = || match ready(asked) {
        Ok(begun) => {
            commit = begun;
            Outcome::Ok(commit.clone())
        }
        Err(reason) => Outcome::Failed(reason),
    };
    if !summary.step("checkout", begins) {
        return false;
    }
    let mut programs = Vec::new();
    for (names, program) in [(STATIC, NAME), (DEBIAN, NAME), (STATIC, LAB)] {
        for name in names {
            let Some(target) = cross::target(name) else { continue };
            let step = || built(target, program, &asked.profile, &mut programs);
            if !summary.step("build", step) {
                return false;
            }
        }
    }
    let mut made = None;
    // Somebody may have worked on the sources meanwhile.
    let still = || {
        ready(asked).and_then(|now| match now == commit {
            true => files(&programs, &asked.profile),
            false => Err(format!(
                "the checkout is of {now} now, and was of {commit}: begin again"
            )),
        })
    };
    summary.step("files", || match still() {
        Ok(folder) => Outcome::Ok(made.insert(folder).shown()),
        Err(reason) => Outcome::Failed(reason),
    });
    let Some(folder) = made else { return false };
    let signed = match &asked.sign_with {
        Some(key) => summary.step("signature", || Outcome::of(folder.sign(key))),
        None => summary.step("signature", || {
            Outcome::Skipped("NOT SIGNED: --sign-with KEY signs the checksums".to_owned())
        }),
    };
    signed && tried(&folder, &programs, summary)
}

fn install() -> Outcome {
    let these = ["openssh-client", "binutils", "dpkg-dev"];
    let all = [STATIC, DEBIAN].concat();
    let targets = all.iter().filter_map(|name| cross::target(name));
    let mut outcomes = targets
        .map(Target::install)
        .chain([image::install(), install_test::install()]);
    let failed = outcomes.find(|outcome| !matches!(outcome, Outcome::Ok(_)));
    failed.unwrap_or_else(|| Outcome::of(packages::install_these(&these)))
}

/// The commit of the checkout. Fails where something of the release would be left out, or be of other sources.
fn ready(asked: &Asked) -> Result<String, String> {
    let changed = output(&mut command("git", &["status", "--porcelain"]));
    let changed = changed.ok_or("`git status` failed: a release is made from a checkout of a commit")?;
    if let Some(first) = changed.lines().next() {
        let count = changed.lines().count();
        return Err(format!(
            "{count} files are not as the commit has them, the first: {}: commit them, or make a fresh clone",
            first.trim()
        ));
    }
    let missing: Vec<&str> = TOOLS.into_iter().filter(|tool| !exists(tool)).collect();
    if !missing.is_empty() {
        return Err(format!("needs {}: {HOW}", missing.join(", ")));
    }
    for name in [STATIC, DEBIAN].concat() {
        if let Some(missing) = cross::target(name).and_then(Target::missing) {
            return Err(missing);
        }
    }
    match &asked.sign_with {
        Some(key) if !key.is_file() => Err(format!(
            "there is no key {}: `ssh-keygen -t ed25519 -f {}` makes one",
            key.display(),
            key.display()
        )),
        _ => Ok(()),
    }?;
    let commit = output(&mut command("git", &["rev-parse", "HEAD"]));
    Ok(commit.ok_or("`git rev-parse` failed")?.trim().to_owned())
}

fn built(target: &Target, name: &'static str, profile: &str, programs: &mut Vec<Program>) -> Outcome {
    match target.build(name, profile) {
        Ok(program) => {
            let shown = program.to_string();
            programs.push(program);
            Outcome::Ok(shown)
        }
        Err(reason) => Outcome::Failed(reason),
    }
}

fn files(programs: &[Program], profile: &str) -> Result<Folder, String> {
    let folder = Folder::new(&target_dir().join("release-files"))?;
    for program in programs {
        if program.is_static() {
            folder.add_archive(program)?;
        }
        if program.name == NAME && program.is_static() {
            folder.add_container(program)?;
        }
        if program.name == NAME && !program.is_static() {
            deb::package(program, &deb::Entry::newest()?.version, folder.path())?;
        }
    }
    folder.add_origin(profile)?;
    folder.add_sums()?;
    Ok(folder)
}

fn tried(folder: &Folder, programs: &[Program], summary: &mut Summary) -> bool {
    let mut well = true;
    for name in STATIC {
        let Some(target) = cross::target(name) else { continue };
        well &= summary.step(name, || trial::archives(folder, target));
    }
    for program in programs.iter().filter(|program| !program.is_static()) {
        well &= summary.step("deb", || trial::package(folder, program));
    }
    for architecture in ["amd64", "arm64"] {
        well &= summary.step("image", || trial::container(folder, architecture));
    }
    well
}
