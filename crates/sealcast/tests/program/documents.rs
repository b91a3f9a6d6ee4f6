//! Every command shown in the documents is accepted by the program.

use std::path::Path;
use std::process::{Command, Output};

use sealcast_testkit::shown;

const SEALCAST: &str = env!("CARGO_BIN_EXE_sealcast");
const PROMPTS: &[&str] = &["sealcast ", "cargo run --release -- "];

/// Parses a command without running it: with `--help` at the end, the program only parses the line up to a pipe or a
/// file that it is written to.
pub(crate) fn parse(command: &str) -> Output {
    let own = command.split(" | ").next().unwrap_or_default();
    let own = own.split(" > ").next().unwrap_or_default();
    Command::new(SEALCAST)
        .args(words(own))
        .arg("--help")
        .output()
        .expect("it runs")
}

/// The words of a command as a shell takes them: what is in single quotes is one.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for letter in command.chars() {
        match letter {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            letter => words.last_mut().expect("one").push(letter),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn every_command_shown_in_a_document_is_understood() {
    shown::assert_understood(PROMPTS, 6, parse);
}

#[test]
fn a_command_that_does_not_exist_would_be_noticed() {
    let document = "```\nsealcast publish --no-such-flag # why\n```\nsealcast prose\n";
    let shown = shown::commands(document, PROMPTS);
    assert_eq!(shown, ["publish --no-such-flag"]);
    assert_eq!(parse(&shown[0]).status.code(), Some(2));
}

#[test]
fn the_readme_names_the_two_commands() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(readme).expect("the README");
    let first = readme.find("cargo run --release -- demo").expect("the first command");
    let second = readme.find("cargo xtask test").expect("the second command");
    assert!(first < second);
}
