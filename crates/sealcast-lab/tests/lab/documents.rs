//! Every laboratory command shown in the documents is accepted by the laboratory.

use std::process::{Command, Output};

use sealcast_testkit::shown;

const LAB: &str = env!("CARGO_BIN_EXE_sealcast-lab");
const PROMPTS: &[&str] = &["sealcast-lab "];

/// Parses a command without running it: with `--help` after its options, the shell and the program only parse the line.
fn parse(arguments: &str) -> Output {
    let (own, rest) = arguments.split_once(" -- ").unwrap_or((arguments, ""));
    let script = format!("\"$LAB\" {own} --help -- {rest}");
    Command::new("sh")
        .args(["-c", &script])
        .env("LAB", LAB)
        .output()
        .expect("sh runs")
}

#[test]
fn every_command_shown_in_a_document_is_understood() {
    shown::assert_understood(PROMPTS, 5, parse);
}

#[test]
fn a_command_that_does_not_exist_would_be_noticed() {
    let document = "```\nsealcast-lab net --no-such-flag # why\n```\nsealcast-lab prose\n";
    let shown = shown::commands(document, PROMPTS);
    assert_eq!(shown, ["net --no-such-flag"]);
    assert_eq!(parse(&shown[0]).status.code(), Some(2));
}
