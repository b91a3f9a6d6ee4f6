//! Checks SECURITY.md: it is short, and each promise in its table is held by a test that exists and is not left out.

use super::file::{File, Finding};

const DOCUMENT: &str = "SECURITY.md";
/// Most bytes beside the table.
const TEXT_BYTES: usize = 12_000;
/// Fewest promises: with fewer the table was not found.
const FEWEST: usize = 50;
const HEAD: &str = "| promise | test | tier |";
/// Places of the tests that `cargo xtask nightly` alone runs.
const NIGHTLY: [&str; 3] = ["/tests/nightly/", "crates/sealcast-moq/", "crates/sealcast/tests/gst/"];
const TIERS: [&str; 2] = ["test", "nightly"];

pub(crate) fn examine(files: &[File], findings: &mut Vec<Finding>) {
    let Some(document) = files.iter().find(|file| file.path == DOCUMENT) else {
        return;
    };
    let rows = rows(&document.text);
    let table: usize = rows.iter().map(|(_, row)| row.len() + 1).sum();
    let beside = document.text.len() - table;
    if beside > TEXT_BYTES {
        let message = format!("{beside} bytes beside the table of promises; there may be {TEXT_BYTES}");
        findings.push(Finding::new(document, 1, message));
    }
    if rows.len() < FEWEST + 2 {
        findings.push(Finding::new(document, 1, format!("few promises below {HEAD}")));
    }
    for (line, row) in rows.iter().skip(2) {
        if let Some(message) = fault(row, files) {
            findings.push(Finding::new(document, *line, message));
        }
    }
}

/// The lines of the table, its head first, with their numbers.
fn rows(text: &str) -> Vec<(usize, &str)> {
    let lines = (1..).zip(text.lines());
    lines
        .skip_while(|(_, line)| *line != HEAD)
        .take_while(|(_, line)| line.starts_with('|'))
        .collect()
}

/// Fault of a row.
fn fault(row: &str, files: &[File]) -> Option<String> {
    let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
    let [_, test, tier] = cells[..] else {
        return Some("a promise has a test and a tier".to_owned());
    };
    let Some(named) = test.strip_prefix('`').and_then(|test| test.strip_suffix('`')) else {
        return Some(format!("no name of a test: {test}"));
    };
    if !TIERS.contains(&tier) {
        return Some(format!("no tier: {tier}"));
    }
    let (place, name) = named
        .split_once(".rs: ")
        .map_or(("", named), |(file, name)| (file, name));
    let place = match place {
        "" => String::new(),
        stem => format!("/{stem}.rs"),
    };
    let holding = files
        .iter()
        .filter(|file| file.path.ends_with(&place) && has_test(file, name));
    let paths: Vec<&str> = holding.map(|file| file.path.as_str()).collect();
    match paths[..] {
        [] => Some(format!("no test is called {name}, or it is left out")),
        [path] => {
            let nightly = NIGHTLY.iter().any(|place| path.contains(place));
            (nightly != (tier == "nightly")).then(|| format!("{name} is not in the tier {tier}"))
        }
        _ => Some(format!("several tests are called {name}: name the file")),
    }
}

fn has_test(file: &File, name: &str) -> bool {
    match file.extension() {
        "rs" => has_rust_test(&file.text, name),
        "ts" => file.path.starts_with("web/test/") && file.text.contains(&format!("test(\"{name}\"")),
        _ => false,
    }
}

/// True if the attributes before the function say that it is a test and nothing that leaves it out.
fn has_rust_test(text: &str, name: &str) -> bool {
    let head = format!("fn {name}(");
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let Some(at) = lines.iter().position(|line| line.contains(&head)) else {
        return false;
    };
    let before = lines[..at].iter().rev();
    let attributes: Vec<&&str> = before
        .take_while(|line| line.starts_with("#[") || line.starts_with("//"))
        .collect();
    let says = |begins: &str| attributes.iter().any(|line| line.starts_with(begins));
    (says("#[test]") || says("#[tokio::test")) && !says(concat!("#[ign", "ore")) && !says("#[cfg")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    fn fault_of(row: &str) -> Option<String> {
        let left_out = concat!("#[test]\n#[ign", "ore = \"slow\"]\nfn left_out() {}\n");
        let files = [
            file(
                "crates/a/src/b.rs",
                "#[test]\nfn held() {}\n#[test]\nfn twice() {}\nfn no_test() {}\n",
            ),
            file(
                "crates/a/tests/nightly/c.rs",
                "#[tokio::test]\nasync fn long() {}\n#[test]\nfn twice() {}\n",
            ),
            file("crates/a/src/d.rs", left_out),
            file("web/test/e.test.ts", "void test(\"a page holds it\", () => {"),
        ];
        fault(row, &files)
    }

    #[test]
    fn a_promise_is_held_by_a_test_of_its_tier() {
        for row in [
            "| it holds | `held` | test |",
            "| it holds | `long` | nightly |",
            "| it holds | `b.rs: twice` | test |",
            "| it holds | `a page holds it` | test |",
        ] {
            assert_eq!(fault_of(row), None, "{row}");
        }
    }

    #[test]
    fn a_promise_without_such_a_test_is_found() {
        for (row, expected) in [
            (
                "| it holds | `nothing` | test |",
                "no test is called nothing, or it is left out",
            ),
            (
                "| it holds | `no_test` | test |",
                "no test is called no_test, or it is left out",
            ),
            (
                "| it holds | `left_out` | test |",
                "no test is called left_out, or it is left out",
            ),
            (
                "| it holds | `twice` | test |",
                "several tests are called twice: name the file",
            ),
            ("| it holds | `held` | nightly |", "held is not in the tier nightly"),
            ("| it holds | `long` | test |", "long is not in the tier test"),
            ("| it holds | `held` | never |", "no tier: never"),
            ("| it holds | held | test |", "no name of a test: held"),
            ("| it holds | test |", "a promise has a test and a tier"),
        ] {
            assert_eq!(fault_of(row).as_deref(), Some(expected), "{row}");
        }
    }

    #[test]
    fn a_text_that_grows_and_a_table_that_is_gone_are_found() {
        let mut findings = Vec::new();
        examine(&[file(DOCUMENT, &"x".repeat(TEXT_BYTES + 1))], &mut findings);
        let messages: Vec<&str> = findings.iter().map(|finding| finding.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "12001 bytes beside the table of promises; there may be 12000",
                "few promises below | promise | test | tier |"
            ]
        );
    }
}
