//! The help of each command: a screen for people with `-h`, and everything with `--help`.

use std::process::{Command, Output, Stdio};

use sealcast::cli;

use super::documents::parse;

const SEALCAST: &str = env!("CARGO_BIN_EXE_sealcast");
/// A screen: lines and columns.
const LINES: usize = 40;
const COLUMNS: usize = 100;

/// Runs the program with these words.
fn run(words: &[&str]) -> Output {
    let mut command = Command::new(SEALCAST);
    command.args(words).stdin(Stdio::null());
    for name in ["COLUMNS", "LINES", "SEALCAST_CONFIG"] {
        command.env_remove(name);
    }
    command.output().expect("it runs")
}

fn said(words: &[&str]) -> String {
    let output = run(words);
    assert!(output.status.success(), "{words:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// The words of each command that is not hidden, the program alone among them.
fn commands() -> Vec<Vec<String>> {
    fn below(command: &clap::Command, before: &[String], found: &mut Vec<Vec<String>>) {
        found.push(before.to_vec());
        for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
            let words = [before, &[command.get_name().to_owned()]].concat();
            below(command, &words, found);
        }
    }
    let mut found = Vec::new();
    below(&cli::command(), &[], &mut found);
    found
}

fn with(command: &[String], more: &'static str) -> String {
    let words: Vec<&str> = command.iter().map(String::as_str).chain([more]).collect();
    said(&words)
}

#[test]
fn the_short_help_of_each_command_is_a_screen() {
    for command in commands() {
        let help = with(&command, "-h");
        assert!(help.lines().count() <= LINES, "{command:?}: {help}");
        for line in help.lines() {
            assert!(line.chars().count() <= COLUMNS, "{command:?}: {line}");
        }
    }
}

#[test]
fn each_main_command_shows_examples_that_the_program_understands() {
    for main in [
        "",
        "completions",
        "demo",
        "publish",
        "watch",
        "gateway",
        "gateway camera",
        "gateway viewer",
        "status",
        "peers",
        "control",
        "clock",
        "probe",
        "archive record",
        "replay",
        "doctor",
    ] {
        let words: Vec<String> = main.split_whitespace().map(str::to_owned).collect();
        let help = with(&words, "-h");
        let examples = help.split_once("\nExamples:\n").map(|(_, examples)| examples);
        let examples: Vec<&str> = examples
            .unwrap_or_else(|| panic!("{main}: {help}"))
            .lines()
            .map_while(|line| line.strip_prefix("  sealcast "))
            .collect();
        assert!(examples.len() >= 2, "{main}: {help}");
        for example in examples {
            let typed = example.split(" #").next().unwrap_or_default();
            assert!(typed.starts_with(main), "{main}: {example}");
            let output = parse(typed);
            assert!(
                output.status.success(),
                "{example}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
    }
}

#[test]
fn the_long_help_has_every_option_beneath_its_heading() {
    let [short, long] = ["-h", "--help"].map(|flag| with(&["publish".to_owned()], flag));
    for heading in [
        "Network:",
        "Who may watch:",
        "Groups, relays and archives:",
        "Keys and sealing:",
        "Observation:",
        "Study:",
    ] {
        assert!(long.lines().any(|line| line == heading), "no {heading}: {long}");
    }
    for option in ["--rekey-seconds", "--archive-node", "--encrypt-seed", "--mech"] {
        assert!(long.contains(option) && !short.contains(option), "{option}");
    }
    for option in ["--listen", "--web", "--retry", "--ticket-file"] {
        assert!(long.contains(option) && short.contains(option), "{option}");
    }
    assert!(!long.contains("[default: ]"), "{long}");
}

/// Words that only who made the program knows.
const OURS: [&str; 29] = [
    "seal",
    "seals",
    "sealed",
    "sealing",
    "epoch",
    "epochs",
    "carrier",
    "carriers",
    "suite",
    "suites",
    "mechanism",
    "mechanisms",
    "unit",
    "units",
    "selection",
    "secmpeg",
    "tesla",
    "padme",
    "fec",
    "nack",
    "sink",
    "sinks",
    "annex",
    "enrol",
    "enrols",
    "enrolled",
    "enrolment",
    "psk",
    "capsule",
];

/// Fails if a text has one of them.
fn assert_plain(name: &str, text: &str) {
    let lower = text.to_lowercase();
    for phrase in ["group of pictures", "groups of pictures", "hold back", "in decoder"] {
        assert!(!lower.contains(phrase), "{name}: {phrase}");
    }
    // An option may be called so.
    let words = lower.split(|letter: char| !(letter.is_alphanumeric() || "-_./".contains(letter)));
    for word in words.map(|word| word.trim_matches(['.', '/'])) {
        assert!(!OURS.contains(&word), "{name}: {word}");
    }
}

#[test]
fn those_who_want_a_picture_need_none_of_our_words() {
    for main in [
        "",
        "publish",
        "watch",
        "invite",
        "peers",
        "peers list",
        "gateway",
        "gateway camera",
        "gateway viewer",
        "control",
        "doctor",
        "demo",
        "devices",
        "config",
        "config check",
    ] {
        let words: Vec<String> = main.split_whitespace().map(str::to_owned).collect();
        // A length of time has one.
        assert_plain(
            main,
            &with(&words, "-h")
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .replace("without a unit", ""),
        );
    }
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |file: &str| std::fs::read_to_string(root.join(file)).expect(file);
    for guide in ["pilot", "home", "integrator", "researcher"] {
        let text = read(&format!("docs/guide/{guide}.md"));
        // systemd calls a service so.
        assert_plain(guide, &text.replace("has units", ""));
        let count = text.split_whitespace().count();
        assert!((200..=250).contains(&count), "{guide} has {count} words");
    }
    let readme: Vec<String> = read("README.md").lines().take(45).map(str::to_owned).collect();
    assert_plain("README.md", &readme.join("\n"));
}

#[test]
fn completions_are_for_every_shell_and_those_of_bash_are_a_script() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = said(&["completions", shell]);
        assert!(text.contains("rekey-seconds") && !text.contains("decoder"), "{shell}");
    }
    // What stands in the place of an option of many words is completed.
    let bash = said(&["completions", "bash"]);
    assert!(bash.contains("aes-256-gcm"), "no suites");
    let mut checked = Command::new("bash")
        .arg("-n")
        .stdin(Stdio::piped())
        .spawn()
        .expect("bash");
    let mut input = checked.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut input, bash.as_bytes()).expect("bash reads");
    drop(input);
    assert!(checked.wait().expect("it ends").success(), "bash -n");
    assert_eq!(run(&["completions", "tcsh"]).status.code(), Some(2));
}
