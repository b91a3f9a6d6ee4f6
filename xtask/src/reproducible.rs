//! Builds the program twice, in two folders with two homes of cargo, and compares the bytes.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::paths::{Places, cargo_home, forget_assembly, remembered, sources};
use crate::shell::{cargo, compilers_target, root, run, target_dir};
use crate::summary::Outcome;

/// Texts shown of a program that differs.
const SHOWN: usize = 20;

/// `profile` is the one to build with; `dist` is what is installed. `quick` takes the optimisation away.
pub(crate) fn step(profile: &str, quick: bool) -> Outcome {
    match both(profile, quick) {
        Ok(note) => Outcome::Ok(note),
        Err(reason) => Outcome::Failed(reason),
    }
}

fn both(profile: &str, quick: bool) -> Result<String, String> {
    let within = target_dir().join("reproducible");
    let _ = std::fs::remove_dir_all(&within);
    // Of different lengths, so that no text that holds one of them stays where it was.
    let folders = ["a", "another/folder"];
    // Both before the first build: somebody may work on the sources meanwhile.
    let places = folders.map(|folder| Places::within(&within.join(folder)));
    places.iter().try_for_each(copy)?;
    let mut programs = Vec::new();
    for places in &places {
        programs.push(build(places, profile, quick)?);
    }
    let bytes: Vec<Vec<u8>> = programs
        .iter()
        .map(|path| std::fs::read(path).map_err(|error| format!("{}: {error}", path.display())))
        .collect::<Result<_, _>>()?;
    let home = cargo_home();
    let words = [within.display().to_string(), home.display().to_string()];
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let told: Vec<String> = programs
        .iter()
        .flat_map(|program| remembered(program, &words))
        .collect();
    for text in told.iter().take(SHOWN) {
        println!("  the program remembers: {text}");
    }
    if bytes[0] != bytes[1] {
        let (at, count) = difference(&bytes[0], &bytes[1]);
        return Err(format!(
            "two builds differ in {count} bytes, the first at {at} (of {} and {}): {} and {}",
            bytes[0].len(),
            bytes[1].len(),
            programs[0].display(),
            programs[1].display()
        ));
    }
    if !told.is_empty() {
        return Err(format!(
            "{} texts of the program name a folder of this machine, above",
            told.len()
        ));
    }
    let size = bytes[0].len();
    // They are large, and equal.
    let _ = std::fs::remove_dir_all(&within);
    Ok(format!(
        "two builds of {size} bytes are equal ({profile}{})",
        if quick { ", not optimised" } else { "" }
    ))
}

/// Position of the first difference, and how many bytes differ.
fn difference(one: &[u8], other: &[u8]) -> (usize, usize) {
    let common = one.iter().zip(other);
    let at = common.clone().position(|(one, other)| one != other);
    let count = common.filter(|(one, other)| one != other).count() + one.len().abs_diff(other.len());
    (at.unwrap_or(one.len().min(other.len())), count)
}

/// Builds the sources there; returns the program.
fn build(places: &Places, profile: &str, quick: bool) -> Result<PathBuf, String> {
    let host = compilers_target()?;
    let mut command = cargo(&[
        "build",
        "--locked",
        "--package=sealcast",
        "--profile",
        profile,
        "--target",
        &host,
    ]);
    if quick {
        for setting in [
            "opt-level=0",
            "package.\"*\".opt-level=0",
            "package.sealcast-proto.opt-level=0",
        ] {
            command.args(["--config", &format!("profile.{profile}.{setting}")]);
        }
    }
    places.forget(&mut command, &[]);
    command.current_dir(&places.root).env("CARGO_HOME", &places.cargo_home);
    run(&mut command)?;
    let folder = if profile == "dev" { "debug" } else { profile };
    let program = places.target.join(host).join(folder).join("sealcast");
    forget_assembly(&program)?;
    Ok(program)
}

/// A home of its own: it has the sources of dependencies under another name.
fn copy(places: &Places) -> Result<(), String> {
    let told = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let from = root();
    for file in sources(&from)? {
        let to = places.root.join(&file);
        if let Some(folder) = to.parent() {
            std::fs::create_dir_all(folder).map_err(|error| told(folder, error))?;
        }
        std::fs::copy(from.join(&file), &to).map_err(|error| told(&to, error))?;
    }
    std::fs::create_dir_all(&places.cargo_home).map_err(|error| told(&places.cargo_home, error))?;
    for name in ["registry", "config.toml"] {
        let (real, link) = (cargo_home().join(name), places.cargo_home.join(name));
        if real.exists() {
            symlink(&real, &link).map_err(|error| told(&link, error))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_found_and_counted() {
        assert_eq!(difference(b"abcd", b"abxy"), (2, 2));
        assert_eq!(difference(b"abcd", b"ab"), (2, 2));
    }
}
