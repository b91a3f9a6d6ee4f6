//! The commands of the laboratory that documents show are commands that it has.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const LAB: &str = env!("CARGO_BIN_EXE_sealcast-lab");

/// Lines of shell in the fenced blocks of a document that begin with the program, without comments.
fn commands(document: &str) -> Vec<String> {
    let mut fenced = false;
    let mut found = Vec::new();
    for line in document.lines().map(str::trim_start) {
        if line.starts_with("```") {
            fenced = !fenced;
        } else if let (true, Some(rest)) = (fenced, line.strip_prefix("sealcast-lab ")) {
            // The floor plan draws arrows.
            if rest.is_ascii() {
                found.push(rest.split(" #").next().unwrap_or_default().trim().to_owned());
            }
        }
    }
    found
}

/// With `--help` behind its options, the line is parsed by the shell and by the program, and nothing is done.
fn parse(arguments: &str) -> Output {
    let (own, rest) = arguments.split_once(" -- ").unwrap_or((arguments, ""));
    let script = format!("\"$LAB\" {own} --help -- {rest}");
    Command::new("sh")
        .args(["-c", &script])
        .env("LAB", LAB)
        .output()
        .expect("sh runs")
}

fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let markdown = |dir: PathBuf| {
        let entries = std::fs::read_dir(dir).expect("the folder of documents");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        paths
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
            let output = parse(&command);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success(),
                "{}: sealcast-lab {command}: {said}",
                path.display()
            );
            tried += 1;
        }
    }
    assert!(
        tried >= 5,
        "only {tried} commands were found: has the form of the documents changed?"
    );
}

#[test]
fn a_command_that_does_not_exist_would_be_noticed() {
    let shown = commands("```\nsealcast-lab net --no-such-flag # why\n```\nsealcast-lab prose\n");
    assert_eq!(shown, ["net --no-such-flag"]);
    assert_eq!(parse(&shown[0]).status.code(), Some(2));
}
