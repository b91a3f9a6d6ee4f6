//! Verifpal: searches for attacks in a bounded number of sessions.

use std::path::{Path, PathBuf};

use super::{compare, expected, models, verify_all};
use crate::shell::{cargo, command, exists, output, run};
use crate::summary::Outcome;

/// The language changes between releases of Verifpal; the models are written for this one.
const VERSION: &str = "1.6.7";
const EXPECT: &str = "// expect: ";
const SESSIONS: &str = "// sessions: ";

pub(crate) fn step() -> Outcome {
    if !exists("verifpal") {
        return Outcome::Skipped("no verifpal: cargo xtask formal --install (four minutes)".to_owned());
    }
    verify_all(&all(), verify)
}

/// Verifpal declares a newer compiler than it needs; the variable limits its dependencies to versions that our
/// compiler supports.
pub(crate) fn install() -> Outcome {
    let version = format!("verifpal@{VERSION}");
    let mut command = cargo(&["install", &version, "--ignore-rust-version"]);
    Outcome::of(run(command.env("CARGO_RESOLVER_INCOMPATIBLE_RUST_VERSIONS", "fallback")))
}

fn all() -> Vec<PathBuf> {
    models("docs/formal", "vp")
}

fn verify(name: &str, model: &Path, source: &str) -> Result<(), String> {
    let sessions = source.lines().find_map(|line| line.strip_prefix(SESSIONS));
    let arguments = [
        "verify",
        "--quiet",
        "--result-code",
        "--color",
        "never",
        "--sessions",
        sessions.unwrap_or("2"),
    ];
    let report = output(command("verifpal", &arguments).arg(model));
    let report = report.ok_or(format!("{name}: verifpal cannot read it"))?;
    compare(name, &expectations(name, source)?, &outcomes(&report))
}

fn expectations(name: &str, source: &str) -> Result<Vec<bool>, String> {
    let lines = source.lines().filter_map(|line| line.trim().strip_prefix(EXPECT));
    expected(lines, "pass", "fail").map_err(|reason| format!("{name}: {reason}"))
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
    fn outcomes_are_read_in_order() {
        assert_eq!(outcomes("some words\nc0a1\n"), [true, false]);
    }

    #[test]
    fn every_model_says_what_to_expect() {
        for model in all() {
            let source = std::fs::read_to_string(&model).unwrap();
            let is_query = |line: &&str| line.contains("? ") && !line.trim().starts_with("//");
            let queries = source.lines().filter(is_query).count();
            let expectations = expectations("a model", &source).unwrap();
            assert_eq!(expectations.len(), queries, "{}", model.display());
        }
    }
}
