//! Checks that no files of a crate import each other in a circle: a reader who follows the imports gets to the bottom.

use std::collections::{BTreeMap, BTreeSet};

use super::file::{File, Finding};
use super::imports::{Imports, imports};

/// Crates that have circles still, by their roots, and how many. The numbers only fall.
const NOT_YET: [(&str, usize); 1] = [("crates/sealcast/src/lib.rs", 6)];

pub(crate) fn examine(files: &[File], findings: &mut Vec<Finding>) {
    judge(files, &NOT_YET, findings);
}

fn judge(files: &[File], not_yet: &[(&str, usize)], findings: &mut Vec<Finding>) {
    let rust = files.iter().filter(|file| file.extension() == "rs");
    let texts: BTreeMap<&str, &str> = rust.map(|file| (&*file.path, &*file.text)).collect();
    for root in files.iter().filter(|file| is_root(&file.path)) {
        let imports = imports(&root.path, &texts);
        let circles = circles(&imports);
        let listed = not_yet.iter().find(|(path, _)| *path == root.path);
        let allowed = listed.map_or(0, |(_, allowed)| *allowed);
        if circles.len() < allowed {
            let message = format!(
                "{} circles of imports, and {allowed} in the list of circles.rs: lower it",
                circles.len()
            );
            findings.push(Finding::new(root, 1, message));
        }
        if circles.len() > allowed {
            findings.extend(
                circles
                    .iter()
                    .map(|circle| Finding::new(root, 1, shown(circle, &imports))),
            );
        }
    }
}

/// True for the root of a library or a program.
fn is_root(path: &str) -> bool {
    path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs")
}

/// Files that can be reached from each other, each once.
fn circles(imports: &Imports) -> Vec<Vec<&str>> {
    let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (from, to) in imports.keys() {
        next.entry(from).or_default().push(to);
    }
    let reached: BTreeMap<&str, BTreeSet<&str>> = next.keys().map(|from| (*from, reached(from, &next))).collect();
    let mut circles = Vec::new();
    let mut seen = BTreeSet::new();
    for (file, others) in &reached {
        if others.contains(file) && !seen.contains(file) {
            let back = |other: &&&str| reached.get(*other).is_some_and(|from| from.contains(file));
            let circle: Vec<&str> = others.iter().filter(back).copied().collect();
            seen.extend(circle.iter().copied());
            circles.push(circle);
        }
    }
    circles
}

fn reached<'a>(from: &str, next: &BTreeMap<&'a str, Vec<&'a str>>) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut waiting = vec![from];
    while let Some(file) = waiting.pop() {
        for &to in next.get(file).into_iter().flatten() {
            if reached.insert(to) {
                waiting.push(to);
            }
        }
    }
    reached
}

/// The circle in words, with the names that tie it.
fn shown(circle: &[&str], imports: &Imports) -> String {
    let inside = |file: &String| circle.contains(&file.as_str());
    let ties = imports.iter().filter(|((from, to), _)| inside(from) && inside(to));
    let ties = ties.map(|((from, to), names)| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        format!("\n  {from} takes from {to}: {}", names.join(", "))
    });
    format!(
        "{} files import each other in a circle:{}",
        circle.len(),
        ties.collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(files: &[(&str, &str)], not_yet: &[(&str, usize)]) -> Vec<String> {
        let files: Vec<File> = files
            .iter()
            .map(|(path, text)| File {
                path: format!("crates/x/src/{path}"),
                text: (*text).to_owned(),
            })
            .collect();
        let mut findings = Vec::new();
        judge(&files, not_yet, &mut findings);
        let messages = findings.into_iter().map(|finding| finding.message);
        messages.map(|message| message.replace("crates/x/src/", "")).collect()
    }

    const ROOT: (&str, &str) = ("lib.rs", "mod a;\nmod b;\nmod c;\n");
    const TWO: [(&str, &str); 3] = [
        ROOT,
        ("a.rs", "use crate::b::B;\npub struct A(B);\n"),
        ("b.rs", "use super::a::A;\npub struct B(Vec<A>);\n"),
    ];

    #[test]
    fn files_without_a_circle_pass() {
        let files = [
            ROOT,
            ("a.rs", "use crate::{b::B, c::C};\n"),
            ("b.rs", "use super::c::C;\npub struct B(C);\n"),
            ("c.rs", "pub struct C;\n"),
        ];
        assert_eq!(findings(&files, &[]), [""; 0]);
    }

    #[test]
    fn a_circle_of_two_is_named_with_what_ties_it() {
        let told = "2 files import each other in a circle:\n  a.rs takes from b.rs: B\n  b.rs takes from a.rs: A";
        assert_eq!(findings(&TWO, &[]), [told]);
    }

    #[test]
    fn a_circle_of_three_is_one_circle() {
        let files = [
            ROOT,
            ("a.rs", "use crate::{b::B, b::D};\npub struct A(B, D);\n"),
            ("b.rs", "pub struct B;\npub struct D(super::c::C);\n"),
            ("c.rs", "pub struct C;\nfn f(a: crate::a::A) {}\n"),
        ];
        let told = "3 files import each other in a circle:\n  a.rs takes from b.rs: B, D\n  \
                    b.rs takes from c.rs: C\n  c.rs takes from a.rs: A";
        assert_eq!(findings(&files, &[]), [told]);
    }

    #[test]
    fn a_child_that_uses_its_parent_closes_a_circle_if_the_parent_calls_it() {
        let child = ("a/deep.rs", "use super::LIMIT;\npub fn f() -> u8 { LIMIT }\n");
        let calls = ("a/mod.rs", "mod deep;\nconst LIMIT: u8 = 1;\nfn g() { deep::f(); }\n");
        let told = "2 files import each other in a circle:\n  a/deep.rs takes from a/mod.rs: LIMIT\n  \
                    a/mod.rs takes from a/deep.rs: f";
        assert_eq!(findings(&[ROOT, child, calls], &[]), [told]);
        let hands_on = ("a/mod.rs", "mod deep;\npub use deep::f;\nconst LIMIT: u8 = 1;\n");
        assert_eq!(findings(&[ROOT, child, hands_on], &[]), [""; 0]);
    }

    #[test]
    fn a_circle_through_grouped_imports_and_what_is_handed_on_is_found() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\npub use b::B;\npub use a::{A, f};\n"),
            ("a.rs", "use crate::{B, other::{C}};\npub struct A(B);\n"),
            ("b.rs", "use std::{fmt, io};\nuse super::{A};\npub struct B(Vec<A>);\n"),
        ];
        assert_eq!(findings(&files, &[]).len(), 1);
    }

    #[test]
    fn a_test_may_use_what_stands_above_it() {
        let files = [
            ROOT,
            ("a.rs", "use crate::b::B;\npub struct A(B);\n"),
            (
                "b.rs",
                "pub struct B;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n",
            ),
        ];
        assert_eq!(findings(&files, &[]), [""; 0]);
    }

    #[test]
    fn a_crate_in_the_list_has_as_many_circles_as_the_list_says() {
        let root = "crates/x/src/lib.rs";
        assert_eq!(findings(&TWO, &[(root, 1)]), [""; 0]);
        let fewer = "1 circles of imports, and 2 in the list of circles.rs: lower it";
        assert_eq!(findings(&TWO, &[(root, 2)]), [fewer]);
        assert_eq!(findings(&TWO, &[("crates/y/src/lib.rs", 1)]).len(), 1);
    }
}
