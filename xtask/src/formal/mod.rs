//! Runs the models in docs/formal and compares what the tools find with the expectations in each model.

mod proverif;
mod verifpal;

use std::fs;
use std::path::{Path, PathBuf};

use crate::shell::root;
use crate::summary::Outcome;

pub(crate) use proverif::step as proverif;
pub(crate) use verifpal::{install, step as verifpal};

/// The models with this extension in a folder of the repository, in alphabetical order.
fn models(folder: &str, extension: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(root().join(folder)).into_iter().flatten().flatten();
    let mut models: Vec<PathBuf> = files
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    models.sort();
    models
}

/// Verifies each model and reports those whose results are not the expected ones.
fn verify_all(models: &[PathBuf], verify: impl Fn(&str, &Path, &str) -> Result<(), String>) -> Outcome {
    if models.is_empty() {
        return Outcome::Failed("there are no models".to_owned());
    }
    let verified = models.iter().map(|model| {
        let name = model.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let source = fs::read_to_string(model).map_err(|error| format!("{name}: {error}"))?;
        verify(&name, model, &source)
    });
    let broken: Vec<String> = verified.filter_map(Result::err).collect();
    match broken.is_empty() {
        true => Outcome::Ok(format!("{} models", models.len())),
        false => Outcome::Failed(broken.join("; ")),
    }
}

/// The expectations for a model's queries, in order: true where the query holds. `holds` and `fails` are the words of
/// the model's language; what fails says why.
fn expected<'a>(lines: impl Iterator<Item = &'a str>, holds: &str, fails: &str) -> Result<Vec<bool>, String> {
    let because = format!("{fails} because ");
    lines
        .map(|line| match line {
            line if line == holds => Ok(true),
            line if line.starts_with(&because) => Ok(false),
            line => Err(format!("`{line}` is neither `{holds}` nor `{because}…`")),
        })
        .collect()
}

fn compare(name: &str, expected: &[bool], found: &[bool]) -> Result<(), String> {
    let fail = found.iter().filter(|holds| !**holds).count();
    println!("{name}: {} queries hold, {fail} fail", found.len() - fail);
    if found.len() != expected.len() {
        let (found, expected) = (found.len(), expected.len());
        return Err(format!("{name}: {found} results for {expected} expectations"));
    }
    let words = |holds: bool| if holds { "hold" } else { "fail" };
    let different = expected
        .iter()
        .zip(found)
        .position(|(expected, found)| expected != found);
    different.map_or(Ok(()), |query| {
        let (expected, found) = (words(expected[query]), words(found[query]));
        Err(format!(
            "{name}: query {} should {expected}, but the tool says {found}s",
            query + 1
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expectations_are_read_in_order() {
        let read = |lines: &[&str]| expected(lines.iter().copied(), "pass", "fail");
        assert_eq!(read(&["pass", "fail because the key is known"]), Ok(vec![true, false]));
        assert!(read(&["maybe"]).is_err());
        assert!(read(&["fail"]).is_err());
    }

    #[test]
    fn a_result_that_differs_is_named() {
        assert_eq!(compare("a", &[true, false], &[true, false]), Ok(()));
        let wrong = compare("a", &[true, false], &[true, true]).unwrap_err();
        assert_eq!(wrong, "a: query 2 should fail, but the tool says holds");
        assert!(compare("a", &[true], &[true, true]).is_err());
    }
}
