//! Finds and checks the commands in the documents.

use std::path::{Path, PathBuf};
use std::process::Output;

/// Lines in the fenced blocks of a document that begin with one of these prompts; prompt and comments are removed.
pub fn commands(document: &str, prompts: &[&str]) -> Vec<String> {
    let mut fenced = false;
    let mut found = Vec::new();
    // A line that ends with a backslash continues on the next.
    let document = document.replace("\\\n", " ");
    for line in document.lines().map(str::trim_start) {
        if line.starts_with("```") {
            fenced = !fenced;
            continue;
        }
        let rest = prompts.iter().find_map(|prompt| line.strip_prefix(prompt));
        // Skips lines of diagrams, which draw arrows that look like a prompt but are not ASCII.
        if let (true, Some(rest)) = (fenced, rest.filter(|rest| rest.is_ascii())) {
            found.push(rest.split(" #").next().unwrap_or_default().trim().to_owned());
        }
    }
    found
}

/// Fails if `parse` does not succeed for every command, or if there are fewer than `least` commands.
pub fn assert_understood(prompts: &[&str], least: usize, parse: impl Fn(&str) -> Output) {
    let mut tried = 0;
    for path in documents() {
        let text = std::fs::read_to_string(&path).expect("a document");
        for command in commands(&text, prompts) {
            let output = parse(&command);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: {command}: {said}", path.display());
            tried += 1;
        }
    }
    assert!(
        tried >= least,
        "only {tried} commands were found: has the form of the documents changed?"
    );
}

/// The documents in the root, in `docs` and in `docs/guide`.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let markdown = |dir: PathBuf| {
        let entries = std::fs::read_dir(dir).expect("the folder of documents");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        paths
            .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
            .collect::<Vec<_>>()
    };
    ["", "docs", "docs/guide"]
        .map(|folder| markdown(root.join(folder)))
        .concat()
}
