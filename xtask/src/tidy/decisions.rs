//! Checks the decisions in docs/decisions, and writes their index.

use std::fs;

use super::file::{File, Finding};
use crate::shell::root;
use crate::summary::Outcome;

const FOLDER: &str = "docs/decisions/";
const INDEX: &str = "docs/decisions/README.md";
/// Most lines of a decision: what stood to choose, what was chosen, and its price.
const LINES: usize = 15;
const HEAD: &str = "\
# Decisions

Each page says what was decided, why, and what it costs. Its number is a name, and says nothing of when that was. A new
page takes the next number, and `cargo xtask decisions` writes this index.
";

/// A decision, as its page begins.
#[derive(Debug, PartialEq, Eq)]
struct Decision<'a> {
    number: &'a str,
    title: &'a str,
    area: &'a str,
    /// Name of the file in its folder.
    file: &'a str,
}

impl<'a> Decision<'a> {
    fn of(file: &'a File) -> Result<Self, &'static str> {
        let name = &file.path[FOLDER.len()..];
        let mut lines = file.text.lines();
        let heading = lines.next().and_then(|line| line.strip_prefix("# "));
        let (number, title) = heading
            .and_then(|heading| heading.split_once(". "))
            .ok_or("a decision begins with `# NUMBER. Title`")?;
        let area = lines.nth(1).and_then(|line| line.strip_prefix('*')?.strip_suffix('*'));
        let area = area.ok_or("below its title stands its area, `*Gateways*`")?;
        if number.len() != 3 || !name.starts_with(&format!("{number}-")) {
            return Err("its number has three digits, and its file's name begins with it");
        }
        Ok(Self {
            number,
            title,
            area,
            file: name,
        })
    }
}

/// The index of decisions that are in order of their numbers. Areas are in the order in which they first come.
fn index(decisions: &[Decision<'_>]) -> String {
    let mut areas: Vec<&str> = Vec::new();
    for decision in decisions {
        if !areas.contains(&decision.area) {
            areas.push(decision.area);
        }
    }
    let mut text = HEAD.to_owned();
    for area in areas {
        text += &format!("\n## {area}\n\n");
        for Decision {
            number, title, file, ..
        } in decisions.iter().filter(|decision| decision.area == area)
        {
            text += &format!("* [{number}]({file}) {title}\n");
        }
    }
    text
}

/// The pages, and the index that they give.
fn read(files: &[File], findings: &mut Vec<Finding>) -> String {
    let pages = files
        .iter()
        .filter(|file| file.path.starts_with(FOLDER) && file.path != INDEX);
    let mut decisions = Vec::new();
    for (number, file) in (1..).zip(pages) {
        let lines = file.text.lines().count();
        if lines > LINES {
            findings.push(Finding::new(
                file,
                lines,
                format!("{lines} lines; a decision has at most {LINES}"),
            ));
        }
        match Decision::of(file) {
            Ok(decision) if decision.number == format!("{number:03}") => decisions.push(decision),
            Ok(_) => findings.push(Finding::new(
                file,
                1,
                format!("the number after the one before is {number:03}"),
            )),
            Err(message) => findings.push(Finding::new(file, 1, message)),
        }
    }
    index(&decisions)
}

pub(crate) fn examine(files: &[File], findings: &mut Vec<Finding>) {
    let expected = read(files, findings);
    if let Some(file) = files.iter().find(|file| file.path == INDEX && file.text != expected) {
        findings.push(Finding::new(
            file,
            1,
            "it is not what the pages give: cargo xtask decisions",
        ));
    }
}

/// Writes the index of these pages.
pub(crate) fn write(files: &[File]) -> Outcome {
    let mut findings = Vec::new();
    let text = read(files, &mut findings);
    let written = fs::write(root().join(INDEX), text).map_err(|error| format!("{INDEX}: {error}"));
    Outcome::of(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(name: &str, text: &str) -> File {
        File {
            path: format!("{FOLDER}{name}"),
            text: text.to_owned(),
        }
    }

    fn messages(files: &[File]) -> Vec<String> {
        let mut findings = Vec::new();
        examine(files, &mut findings);
        findings.into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn the_index_has_the_pages_by_area() {
        let pages = [
            page("001-a.md", "# 001. A\n\n*One*\n\nText.\n"),
            page("002-b.md", "# 002. B\n\n*Two*\n\nText.\n"),
            page("003-c.md", "# 003. C\n\n*One*\n\nText.\n"),
        ];
        let expected = "\n## One\n\n* [001](001-a.md) A\n* [003](003-c.md) C\n\n## Two\n\n* [002](002-b.md) B\n";
        let text = read(&pages, &mut Vec::new());
        assert_eq!(text.strip_prefix(HEAD), Some(expected));
        let [a, b, c] = pages;
        assert!(messages(&[a, b, c, page("README.md", &text)]).is_empty());
    }

    #[test]
    fn a_page_that_is_none_and_an_old_index_are_found() {
        let good = || page("001-a.md", "# 001. A\n\n*One*\n\nText.\n");
        for (other, words) in [
            (page("002-b.md", "# B\n\n*One*\n"), "begins with"),
            (page("002-b.md", "# 002. B\n\nText.\n"), "its area"),
            (page("003-b.md", "# 003. B\n\n*One*\n"), "is 002"),
            (page("002-b.md", "# 2. B\n\n*One*\n"), "three digits"),
            (
                page("002-b.md", &format!("# 002. B\n\n*One*\n{}", "line\n".repeat(13))),
                "at most 15",
            ),
            (page("README.md", "# Decisions\n"), "cargo xtask decisions"),
        ] {
            let found = messages(&[good(), other]);
            assert!(
                found.iter().any(|message| message.contains(words)),
                "{words}: {found:?}"
            );
        }
    }
}
