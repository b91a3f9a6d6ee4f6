//! House rules that rustfmt and clippy do not check. A test runs them, so that `cargo test` fails if one is broken.

mod bounds;
mod circles;
mod code;
mod decisions;
mod dependencies;
mod file;
mod functions;
mod imports;
mod links;
mod names;
mod promises;
mod rules;

use std::fs;
use std::path::{Path, PathBuf};

use crate::shell::root;
use crate::summary::Outcome;
use file::{File, Finding};

const TEXT: [&str; 14] = [
    "rs", "ts", "js", "py", "md", "toml", "sh", "vp", "html", "css", "yml", "yaml", "service", "example",
];

/// Names of folders without handwritten files.
const SKIPPED: [&str; 10] = [
    "target",
    "bundle",
    "node_modules",
    "corpus",
    "artifacts",
    "__pycache__",
    "dist",
    ".git",
    ".venv",
    "shared",
];

pub(crate) fn step() -> Outcome {
    let (count, findings) = examine(&root());
    for finding in &findings {
        println!("{}:{}: {}", finding.path, finding.line, finding.message);
    }
    match findings.len() {
        0 if count == 0 => Outcome::Failed("there is no file to look at: run it as `cargo xtask`".to_owned()),
        0 => Outcome::Ok(format!("{count} files")),
        broken => Outcome::Failed(format!("{broken} findings in {count} files")),
    }
}

/// Writes the index of the decisions.
pub(crate) fn write_decisions() -> Outcome {
    decisions::write(&examined(&root()))
}

fn examine(root: &Path) -> (usize, Vec<Finding>) {
    let mut findings = Vec::new();
    let files = examined(root);
    for file in &files {
        rules::examine(file, &mut findings);
        bounds::examine(file, &mut findings);
        dependencies::examine(file, &mut findings);
        links::examine(root, file, &mut findings);
    }
    promises::examine(&files, &mut findings);
    decisions::examine(&files, &mut findings);
    circles::examine(&files, &mut findings);
    (files.len(), findings)
}

/// The files that are examined, by their paths.
fn examined(root: &Path) -> Vec<File> {
    let mut paths = Vec::new();
    walk(root, &mut paths);
    paths.sort();
    paths.iter().filter_map(|path| read(root, path)).collect()
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() && !path.is_symlink() {
            if !SKIPPED.contains(&name.as_str()) {
                walk(&path, found);
            }
        } else if path
            .extension()
            .is_some_and(|extension| TEXT.iter().any(|text| *text == extension))
            || path.ends_with(".ci/run")
        {
            found.push(path);
        }
    }
}

fn read(root: &Path, path: &Path) -> Option<File> {
    let text = fs::read_to_string(path).ok()?;
    let path = path.strip_prefix(root).ok()?.to_str()?.replace('\\', "/");
    Some(File { path, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_house_is_tidy() {
        let (count, findings) = examine(&root());
        assert!(
            count > 20,
            "only {count} files were looked at: is this the root of the repository?"
        );
        let lines: Vec<String> = findings
            .iter()
            .map(|finding| format!("{}:{}: {}", finding.path, finding.line, finding.message))
            .collect();
        assert!(findings.is_empty(), "\n{}\n", lines.join("\n"));
    }
}
