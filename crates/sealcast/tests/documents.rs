//! The commands that the documents show are commands that the program has.

use std::path::{Path, PathBuf};
use std::process::Command;

const SEALCAST: &str = env!("CARGO_BIN_EXE_sealcast");

/// Commands of the program in the fenced blocks of a document, without comments, pipes and prompts.
fn commands(document: &str) -> Vec<Vec<String>> {
    let mut fenced = false;
    let mut found = Vec::new();
    for line in document.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        let shown = line.trim_start();
        let rest = shown
            .strip_prefix("sealcast ")
            .or_else(|| shown.strip_prefix("cargo run --release -- "));
        if let (true, Some(rest)) = (fenced, rest) {
            let words = rest.split(" #").next().unwrap_or_default();
            let words = words.split(" | ").next().unwrap_or_default();
            found.push(words.split_whitespace().map(str::to_owned).collect());
        }
    }
    found
}

fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let markdown = |dir: PathBuf| {
        let entries = std::fs::read_dir(dir).expect("the folder of documents");
        entries
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
            .collect::<Vec<_>>()
    };
    [markdown(root.clone()), markdown(root.join("docs"))].concat()
}

#[test]
fn every_command_shown_in_a_document_is_understood() {
    let mut tried = 0;
    for path in documents() {
        let text = std::fs::read_to_string(&path).expect("a document");
        for command in commands(&text) {
            // With --help last, the whole line is parsed and nothing is done.
            let output = Command::new(SEALCAST)
                .args(&command)
                .arg("--help")
                .output()
                .expect("it runs");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success(),
                "{}: sealcast {command:?}: {said}",
                path.display()
            );
            tried += 1;
        }
    }
    assert!(
        tried >= 6,
        "only {tried} commands were found: has the form of the documents changed?"
    );
}

#[test]
fn a_command_that_does_not_exist_would_be_noticed() {
    let shown = commands("```\nsealcast publish --no-such-flag # why\n```\nsealcast prose\n");
    assert_eq!(shown, [["publish", "--no-such-flag"]]);
    let status = Command::new(SEALCAST)
        .args(&shown[0])
        .arg("--help")
        .output()
        .expect("it runs")
        .status;
    assert_eq!(status.code(), Some(2));
}

#[test]
fn the_readme_names_the_two_commands() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(readme).expect("the README");
    let first = readme.find("cargo run --release -- demo").expect("the first command");
    let second = readme.find("cargo xtask test").expect("the second command");
    assert!(first < second);
}
