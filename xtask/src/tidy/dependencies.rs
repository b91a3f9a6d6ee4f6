//! Checks that each dependency says in its manifest why it is there.

use super::file::{File, Finding};

/// Examines what a manifest takes from a registry. A line that takes the workspace's needs no reason of its own.
pub(crate) fn examine(file: &File, findings: &mut Vec<Finding>) {
    if !file.path.ends_with("Cargo.toml") {
        return;
    }
    let (mut among, mut explained) = (false, false);
    for (number, line) in (1..).zip(file.text.lines()) {
        if line.starts_with('[') {
            among = line.trim_end().ends_with("dependencies]");
        } else if among && !explained && is_foreign(line) {
            findings.push(Finding::new(
                file,
                number,
                "a dependency says why it is there, in the line above",
            ));
        }
        explained = line.starts_with('#');
    }
}

/// True for the first line of a dependency with a version.
fn is_foreign(line: &str) -> bool {
    let Some((name, value)) = line.split_once(" = ") else {
        return false;
    };
    let named = name
        .chars()
        .all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter));
    named && (value.starts_with('"') || value.contains("version = "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    fn lines(text: &str) -> Vec<usize> {
        let (path, text) = ("crates/a/Cargo.toml".to_owned(), text.to_owned());
        let mut findings = Vec::new();
        examine(&File { path, text }, &mut findings);
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_dependency_without_a_reason_is_found() {
        assert_eq!(
            lines("[dependencies]\na = \"1\"\n# Sockets.\nb = { version = \"2\" }\nc = \"3\""),
            [2, 5]
        );
        let ours = "[workspace.dependencies]\nours = { path = \"crates/ours\" }\n[dependencies]\na.workspace = true";
        assert_eq!(lines(ours), NONE);
        assert_eq!(lines("[package]\nversion = \"1\"\n[dev-dependencies]\na = \"1\""), [4]);
        let long = "[dependencies]\n# Sockets.\ntokio = { version = \"1\", features = [\n    \"net\",\n] }";
        assert_eq!(lines(long), NONE);
    }
}
