//! Builds another commit like this tree, and has the laboratory tell by how much this tree is slower at most.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::Deserialize;

use crate::shell::{cargo_program, command, output, root, run, target_dir};
use crate::summary::Outcome;

/// Packages that are built at once, so that both builds have the same features: the program, and the laboratory.
const PROGRAMS: [&str; 6] = ["-p", "sealcast", "-p", "sealcast-lab", "--bins", "--locked"];
/// The benchmark of the record layer.
const BENCHMARK: [&str; 5] = ["-p", "sealcast-proto", "--bench", "record_layer", "--locked"];

/// Request on the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    /// The commit; the last tag if none is named.
    against: Option<String>,
    /// Options that the laboratory takes: `--bound 3%`.
    options: Vec<String>,
}

/// Reads the words of the command line; `None` if they are not understood.
pub(crate) fn asked(words: &[&str]) -> Option<Asked> {
    let mut asked = Asked::default();
    for pair in words.chunks(2) {
        match *pair {
            ["--against", commit] => asked.against = Some(commit.to_owned()),
            [option @ ("--bound" | "--time" | "--only" | "--clip"), value] => {
                asked.options.extend([option, value].map(str::to_owned));
            }
            _ => return None,
        }
    }
    Some(asked)
}

/// Compares this tree with the commit asked for, or else with the last tag, or else with a commit of a week ago.
pub(crate) fn step(asked: &Asked) -> Outcome {
    let Some(commit) = asked.against.clone().or_else(last_tag).or_else(a_week_ago) else {
        return Outcome::Failed(
            "there is no tag, and no commit is a week old: name a commit, --against COMMIT".to_owned(),
        );
    };
    Outcome::of(compare(&commit, &asked.options))
}

/// The last tag before this commit.
fn last_tag() -> Option<String> {
    let tag = output(&mut command("git", &["describe", "--tags", "--abbrev=0"]))?;
    Some(tag.trim().to_owned())
}

/// The newest commit that was there a week before this one: what a week of small losses adds up to is seen.
fn a_week_ago() -> Option<String> {
    let this = output(&mut command("git", &["log", "-1", "--format=%ct"]))?;
    let before = this.trim().parse::<u64>().ok()?.checked_sub(7 * 24 * 3600)?;
    let before = format!("--before={before}");
    let commit = output(&mut command(
        "git",
        &["log", "-1", "--first-parent", "--format=%H", &before],
    ))?;
    let commit = commit.trim();
    (!commit.is_empty()).then(|| commit.to_owned())
}

fn compare(commit: &str, options: &[String]) -> Result<(), String> {
    let name = format!("{commit}^{{commit}}");
    let hash = output(&mut command("git", &["rev-parse", "--verify", "--short=12", &name]));
    let hash = hash.ok_or_else(|| format!("there is no commit `{commit}`"))?;
    let all = target_dir().join("speed");
    let folder = all.join(hash.trim());
    let tree = folder.join("tree");
    if !tree.exists() {
        let to = tree.to_string_lossy();
        // One that was removed by hand is still in git's list.
        run(&mut command("git", &["worktree", "prune"]))?;
        run(&mut command("git", &["worktree", "add", "--detach", &to, hash.trim()]))?;
    }
    take_profile(&root(), &tree)?;
    let (this, that) = (all.join("this"), folder.join("programs"));
    build(&tree, &tree.join("target"), &that)?;
    build(&root(), &target_dir(), &this)?;
    let out = folder.join("results");
    // A record of an earlier build of this tree is not one of this.
    if out.exists() {
        fs::remove_dir_all(&out).map_err(|error| format!("{} cannot be removed ({error})", out.display()))?;
    }
    let mut laboratory = command(this.join("sealcast-lab"), &["speed"]);
    for (option, folder) in [("--this", &this), ("--that", &that), ("--out", &out)] {
        laboratory.arg(option).arg(folder);
    }
    run(laboratory.args(options)).map_err(|why| {
        let table = out.join("table.md");
        match table.exists() {
            true => format!(
                "something is slower than at {commit}, or nothing was measured: {}",
                table.display()
            ),
            false => why,
        }
    })
}

/// Gives one tree the profile of releases of another: the profile alone can make a program slower or faster.
fn take_profile(from: &Path, to: &Path) -> Result<(), String> {
    let manifest = to.join("Cargo.toml");
    let read = |file: &Path| -> Result<toml::Table, String> {
        let text = fs::read_to_string(file).map_err(|error| format!("{} cannot be read ({error})", file.display()))?;
        toml::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))
    };
    let with = with_profile(read(&manifest)?, &read(&from.join("Cargo.toml"))?);
    fs::write(&manifest, with.to_string())
        .map_err(|error| format!("{} cannot be written ({error})", manifest.display()))
}

/// A manifest with the release profile of another one in place of its own.
fn with_profile(mut manifest: toml::Table, other: &toml::Table) -> toml::Table {
    let profiles = manifest.entry("profile").or_insert_with(|| toml::Table::new().into());
    let release = other.get("profile").and_then(|profiles| profiles.get("release"));
    if let Some(profiles) = profiles.as_table_mut() {
        profiles.remove("release");
        profiles.extend(release.map(|release| ("release".to_owned(), release.clone())));
    }
    manifest
}

/// Builds what is measured of the tree in a folder, and puts it into another.
fn build(tree: &Path, target: &Path, to: &Path) -> Result<(), String> {
    fs::create_dir_all(to).map_err(|error| format!("{} cannot be made ({error})", to.display()))?;
    let mut programs = built(tree, target, &PROGRAMS)?;
    programs.extend(built(tree, target, &BENCHMARK)?);
    for name in ["sealcast", "sealcast-lab", "record_layer"] {
        // A library may have the program's name.
        let named = |built: &&Built| built.target.name == name;
        let program = programs
            .iter()
            .filter(named)
            .find_map(|built| built.executable.as_ref());
        let program = program.ok_or_else(|| format!("{} has no program `{name}`", tree.display()))?;
        let file = to.join(name);
        // A file that runs cannot be written to, but a new one can take its place.
        let _ = fs::remove_file(&file);
        fs::copy(program, &file).map_err(|error| format!("{} cannot be copied ({error})", program.display()))?;
    }
    Ok(())
}

/// A line of what cargo says about a build.
#[derive(Deserialize)]
struct Built {
    executable: Option<PathBuf>,
    target: Target,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

fn built(tree: &Path, target: &Path, what: &[&str]) -> Result<Vec<Built>, String> {
    let mut build = command(cargo_program(), &["build", "--release"]);
    build.args(what).arg("--message-format=json-render-diagnostics");
    build
        .current_dir(tree)
        .env("CARGO_TARGET_DIR", target)
        .stderr(Stdio::inherit());
    println!("$ cargo build --release {} in {}", what.join(" "), tree.display());
    let built = build
        .output()
        .map_err(|error| format!("cargo did not start: {error}"))?;
    if !built.status.success() {
        return Err(format!("{} could not be built", tree.display()));
    }
    let said = String::from_utf8_lossy(&built.stdout);
    Ok(said
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_documents_show_is_understood_and_options_of_the_laboratory_are_passed_on() {
        let both = asked(&["--against", "abc", "--bound", "2%"]).expect("understood");
        assert_eq!(
            (both.against.as_deref(), both.options.join(" ")),
            (Some("abc"), "--bound 2%".to_owned())
        );
        assert_eq!(asked(&[]), Some(Asked::default()));
        let documents = [include_str!("../../docs/lab.md"), include_str!("../../CONTRIBUTING.md")];
        let lines = documents.iter().flat_map(|document| document.lines());
        let shown: Vec<&str> = lines
            .filter_map(|line| line.strip_prefix("cargo xtask speed "))
            .collect();
        for line in &shown {
            let words = line.split(" #").next().unwrap_or_default().split_whitespace();
            assert!(asked(&words.collect::<Vec<_>>()).is_some(), "{line}");
        }
        assert!(shown.len() >= 3, "{shown:?}");
        for wrong in [&["--against"][..], &["abc"], &["--seconds", "3"]] {
            assert_eq!(asked(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn the_other_tree_is_built_with_the_profile_of_this_one() {
        let parse = |text: &str| toml::from_str::<toml::Table>(text).expect("TOML");
        let old =
            parse("[workspace]\nresolver = \"3\"\n[profile.release]\nlto = \"fat\"\n[profile.dist]\nlto = true\n");
        let new = parse("[profile.release]\ndebug = true\n[profile.release.package.a]\noverflow-checks = true\n");
        let with = with_profile(old.clone(), &new);
        assert_eq!(with["profile"]["release"], new["profile"]["release"]);
        assert_eq!(
            (&with["workspace"], &with["profile"]["dist"]),
            (&old["workspace"], &old["profile"]["dist"])
        );
        assert_eq!(
            with_profile(old, &parse(""))
                .get("profile")
                .and_then(|all| all.get("release")),
            None
        );
    }
}
