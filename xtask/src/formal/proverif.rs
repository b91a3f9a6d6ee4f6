//! ProVerif: proves properties for any number of sessions.

use std::path::{Path, PathBuf};

use super::{compare, expected, models, verify_all};
use crate::shell::{command, exists, output};
use crate::summary::Outcome;

const FOLDER: &str = "docs/formal/proverif";

pub(crate) fn step() -> Outcome {
    if !exists("proverif") {
        let reason = "no proverif 2.04 or later in PATH: docs/formal/README.md says where it comes from";
        return Outcome::Skipped(reason.to_owned());
    }
    verify_all(&all(), verify)
}

fn all() -> Vec<PathBuf> {
    models(FOLDER, "pv")
}

fn verify(name: &str, model: &Path, source: &str) -> Result<(), String> {
    let mut command = command("proverif", &[]);
    for library in models(FOLDER, "pvl") {
        command.arg("-lib").arg(library);
    }
    let report = output(command.arg(model)).ok_or(format!("{name}: proverif cannot read it"))?;
    let found = outcomes(&report).map_err(|reason| format!("{name}: {reason}"))?;
    compare(name, &expectations(name, source)?, &found)
}

fn expectations(name: &str, source: &str) -> Result<Vec<bool>, String> {
    let lines = source
        .lines()
        .filter_map(|line| line.strip_prefix("(* expect: ")?.strip_suffix(" *)"));
    expected(lines, "true", "false").map_err(|reason| format!("{name}: {reason}"))
}

/// Parses the summary at the end of a report: a line for each query, and one for an equivalence. Where a model has
/// restrictions, the queries are a list with dashes.
fn outcomes(report: &str) -> Result<Vec<bool>, String> {
    let summary = report
        .lines()
        .skip_while(|line| !line.starts_with("Verification summary"))
        .map(|line| line.strip_prefix(" - ").unwrap_or(line));
    let results = summary.filter(|line| line.starts_with("Query ") || line.starts_with("Observational equivalence "));
    results
        .map(|line| match line {
            line if line.ends_with(" is true.") => Ok(true),
            line if line.ends_with(" is false.") => Ok(false),
            line => Err(format!("neither proved nor refuted: {line}")),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_those_of_the_summary_in_order() {
        let report = "RESULT not attacker(a) is true.\nVerification summary:\n\nQuery not attacker(a) is true.\n\n\
                      Query event(B) ==> event(A) is false.\n\nObservational equivalence is true.\n";
        assert_eq!(outcomes(report), Ok(vec![true, false, true]));
        let restricted = "Verification summary:\n\nQuery(ies):\n - Query not attacker(a) is true.\n\
                          Associated restriction(s):\n - Restriction event(A) ==> x = y in process 1.\n";
        assert_eq!(outcomes(restricted), Ok(vec![true]));
        assert!(outcomes("Verification summary:\nQuery not attacker(a) cannot be proved.\n").is_err());
    }

    #[test]
    fn every_model_says_what_to_expect() {
        assert!(!all().is_empty());
        for model in all() {
            let source = std::fs::read_to_string(&model).unwrap();
            let queries = source.lines().filter(|line| line.starts_with("query ")).count();
            let equivalences = usize::from(source.contains("choice["));
            let expectations = expectations("a model", &source).unwrap();
            assert_eq!(expectations.len(), queries + equivalences, "{}", model.display());
        }
    }
}
