//! Checks that relative links in the documents have existing targets.

use std::path::Path;

use super::file::{File, Finding};

pub(crate) fn examine(root: &Path, file: &File, findings: &mut Vec<Finding>) {
    if file.extension() != "md" {
        return;
    }
    let folder = root.join(&file.path);
    let folder = folder.parent().unwrap_or(root);
    for (line, target) in targets(&file.text) {
        let path = target.split('#').next().unwrap_or_default();
        let elsewhere = path.is_empty() || path.contains("://") || path.starts_with("mailto:");
        if !elsewhere && !folder.join(path).exists() {
            findings.push(Finding::new(file, line, format!("the link leads nowhere: {target}")));
        }
    }
}

/// The targets in `[…](target)` and `[…]: target`, with their lines, outside of code.
fn targets(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut fenced = false;
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let inline = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let reference = prose
            .starts_with('[')
            .then(|| prose.split_once("]: "))
            .flatten()
            .map(|(_, rest)| rest);
        for target in inline.chain(reference) {
            let target = target.split_whitespace().next().unwrap_or_default();
            found.push((number + 1, target.to_owned()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_and_reference_links_are_found_and_code_is_not() {
        let text = "see [a](b.md) and [c](d.md#e \"title\")\n`[x](y)`\n```\n[x](z)\n```\n[f]: g.md\n";
        let expected = [(1, "b.md"), (1, "d.md#e"), (6, "g.md")];
        assert_eq!(targets(text), expected.map(|(line, target)| (line, target.to_owned())));
    }

    #[test]
    fn a_dead_link_is_found_and_a_living_one_is_not() {
        let root = crate::shell::root();
        let text = "[here](Cargo.toml)\n[nowhere](no-such-file.md)\n[web](https://example.org/x)\n[up](#heading)\n";
        let file = File {
            path: "x.md".to_owned(),
            text: text.to_owned(),
        };
        let mut findings = Vec::new();
        examine(&root, &file, &mut findings);
        assert_eq!(
            findings,
            [Finding::new(&file, 2, "the link leads nowhere: no-such-file.md")]
        );
    }
}
