//! Runs the models in docs/formal and compares Verifpal's results with the expectations in each model.

use std::fs;
use std::path::{Path, PathBuf};

use crate::shell::{cargo, command, exists, output, root, run};
use crate::summary::Outcome;

/// The language changes between releases of Verifpal; the models are written for this one.
const VERIFPAL: &str = "1.6.7";
const EXPECT: &str = "// expect: ";
const SESSIONS: &str = "// sessions: ";

pub(crate) fn step() -> Outcome {
    if !exists("verifpal") {
        return Outcome::Skipped("no verifpal: cargo xtask formal --install (four minutes)".to_owned());
    }
    let models = models();
    if models.is_empty() {
        return Outcome::Failed("there is no model in docs/formal".to_owned());
    }
    let broken: Vec<String> = models.iter().filter_map(|model| verify(model).err()).collect();
    match broken.is_empty() {
        true => Outcome::Ok(format!("{} models", models.len())),
        false => Outcome::Failed(broken.join("; ")),
    }
}

/// Verifpal declares a newer compiler than it needs; the variable limits its dependencies to versions that our
/// compiler supports.
pub(crate) fn install() -> Outcome {
    let version = format!("verifpal@{VERIFPAL}");
    let mut command = cargo(&["install", &version, "--ignore-rust-version"]);
    Outcome::of(run(command.env("CARGO_RESOLVER_INCOMPATIBLE_RUST_VERSIONS", "fallback")))
}

fn models() -> Vec<PathBuf> {
    let files = fs::read_dir(root().join("docs/formal")).into_iter().flatten().flatten();
    let mut models: Vec<PathBuf> = files
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "vp"))
        .collect();
    models.sort();
    models
}

fn verify(model: &Path) -> Result<(), String> {
    let name = model.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let source = fs::read_to_string(model).map_err(|error| format!("{name}: {error}"))?;
    let expected = expected(&source).map_err(|reason| format!("{name}: {reason}"))?;
    let sessions = source
        .lines()
        .find_map(|line| line.strip_prefix(SESSIONS))
        .unwrap_or("2");
    let arguments = [
        "verify",
        "--quiet",
        "--result-code",
        "--color",
        "never",
        "--sessions",
        sessions,
    ];
    let report =
        output(command("verifpal", &arguments).arg(model)).ok_or(format!("{name}: verifpal cannot read it"))?;
    let found = outcomes(&report);
    println!(
        "{name}: {} queries; attacks found for {} of them",
        found.len(),
        found.iter().filter(|holds| !**holds).count()
    );
    if found.len() != expected.len() {
        return Err(format!(
            "{name}: {} queries, but {} lines with `{EXPECT}`",
            found.len(),
            expected.len()
        ));
    }
    let words = |holds: bool| if holds { "pass" } else { "fail" };
    for (number, (expected, found)) in expected.iter().zip(&found).enumerate() {
        if expected != found {
            let (number, expected, found) = (number + 1, words(*expected), words(*found));
            return Err(format!(
                "{name}: query {number} should {expected}, but Verifpal says {found}"
            ));
        }
    }
    Ok(())
}

/// The expectations for the model's queries, in order: `pass`, or `fail because …`.
fn expected(source: &str) -> Result<Vec<bool>, String> {
    let lines = source.lines().filter_map(|line| line.trim().strip_prefix(EXPECT));
    lines
        .map(|line| match line {
            "pass" => Ok(true),
            line if line.starts_with("fail because ") => Ok(false),
            line => Err(format!("`{line}` is neither `pass` nor `fail because …`")),
        })
        .collect()
}

/// Parses Verifpal's result code: for each query a letter for its kind, then 0 if it holds and 1 if it is broken.
fn outcomes(report: &str) -> Vec<bool> {
    let code = report.lines().last().unwrap_or_default().trim();
    code.chars()
        .filter(char::is_ascii_digit)
        .map(|digit| digit == '0')
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expectations_and_outcomes_are_read_in_order() {
        let source = "// expect: pass\n\t// expect: fail because the key is known\nqueries[]\n";
        assert_eq!(expected(source), Ok(vec![true, false]));
        assert_eq!(outcomes("some words\nc0a1\n"), [true, false]);
        assert!(expected("// expect: maybe\n").is_err());
    }

    #[test]
    fn every_model_says_what_to_expect() {
        for model in models() {
            let source = fs::read_to_string(&model).unwrap();
            let queries = source
                .lines()
                .filter(|line| line.contains("? ") && !line.trim().starts_with("//"))
                .count();
            assert_eq!(
                expected(&source).map(|lines| lines.len()),
                Ok(queries),
                "{}",
                model.display()
            );
        }
    }
}
