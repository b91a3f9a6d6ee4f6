//! Checks that each bound says what it counts: a reader must see whether it is large enough, and for whom.

use super::file::{File, Finding};

/// Examines the constants whose names begin with `MAX_`, but for those of tests. One comment may serve those that
/// follow one another.
pub(crate) fn examine(file: &File, findings: &mut Vec<Finding>) {
    if file.extension() != "rs" || is_of_tests(&file.path) {
        return;
    }
    let mut explained = false;
    for (number, line) in (1..).zip(file.text.lines()) {
        let line = line.trim_start();
        if line.starts_with("mod tests") {
            return;
        }
        let constant = constant(line);
        if constant.is_some_and(|name| name.starts_with("MAX_")) && !explained {
            findings.push(Finding::new(
                file,
                number,
                "a bound says what it counts, in which unit, and why",
            ));
        }
        explained = line.starts_with("//") || (explained && constant.is_some());
    }
}

fn is_of_tests(path: &str) -> bool {
    let folders = ["fuzz/", "crates/sealcast-testkit/"];
    folders.iter().any(|folder| path.starts_with(folder))
        || ["/tests/", "/benches/", "_tests.rs"]
            .iter()
            .any(|part| path.contains(part))
}

/// Name of the constant that a line declares.
fn constant(line: &str) -> Option<&str> {
    let line = match line.strip_prefix("pub") {
        Some(rest) => rest.split_once(' ').map_or(rest, |(_, rest)| rest),
        None => line,
    };
    let (name, _) = line.strip_prefix("const ")?.split_once(':')?;
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let (path, text) = (path.to_owned(), text.to_owned());
        let mut findings = Vec::new();
        examine(&File { path, text }, &mut findings);
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_bound_without_a_comment_is_found_and_neighbours_share_one() {
        let path = "crates/sealcast/src/a.rs";
        assert_eq!(lines(path, "const MAX_A: usize = 8;"), [1]);
        assert_eq!(lines(path, "/// Bytes.\npub(crate) const MAX_A: usize = 8;"), NONE);
        assert_eq!(
            lines(
                path,
                "/// Two.\nconst A: u8 = 1;\nconst MAX_B: u8 = 2;\n\nconst MAX_C: u8 = 3;"
            ),
            [5]
        );
        assert_eq!(lines(path, "fn f() {\n    const MAX_A: u32 = 1;\n}"), [2]);
        assert_eq!(
            lines(path, "#[cfg(test)]\nmod tests {\n    const MAX_A: u32 = 1;\n}"),
            NONE
        );
        assert_eq!(lines("crates/sealcast/tests/a.rs", "const MAX_A: usize = 8;"), NONE);
        assert_eq!(lines(path, "let max = MAX_A;"), NONE);
    }
}
