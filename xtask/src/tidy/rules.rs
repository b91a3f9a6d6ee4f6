//! Rules that check one file at a time.

use super::code::code_only;
use super::file::{File, Finding};
use super::functions;

const CODE_WIDTH: usize = 120;
const PROSE_WIDTH: usize = 160;
const FILE_LINES: usize = 600;
/// The document that a newcomer reads first, and most bytes of it.
const FIRST_READ: (&str, usize) = ("ARCHITECTURE.md", 12_000);
const FUNCTION_LINES: usize = 70;

/// The one module with `unsafe` outside the cipher crate: options of OpenH264 for which no crate has a safe function.
const UNSAFE_MODULE: &str = "crates/sealcast/src/codec/openh264_options.rs";

/// Spelled in two halves, so that this file does not break its own rules.
const LEFTOVERS: [&str; 2] = [concat!("TO", "DO"), concat!("FIX", "ME")];
const UNFINISHED: [&str; 3] = [
    concat!("to", "do!"),
    concat!("unimple", "mented!"),
    concat!("#[ign", "ore"),
];
const MACHINE: [&str; 4] = [
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
    concat!("/tmp/", "bash"),
];
const HOME: &str = concat!("/ho", "me/");

/// Words with which no doc comment begins: a clause without a head does not say what the item is or does.
const HEADLESS: [&str; 6] = ["What", "Who", "Whose", "Whom", "How", "Why"];
/// Files whose doc comments are the help texts of options.
const HELP_TEXTS: [&str; 5] = [
    "crates/sealcast/src/cli/args.rs",
    "crates/sealcast/src/cli/peers_args.rs",
    "crates/sealcast/src/config/options.rs",
    "crates/sealcast-lab/src/cli/args.rs",
    "crates/sealcast-lab/src/cli/common_args.rs",
];

/// Names that the protocol crate must not use: time and random bytes are inputs, and it does no I/O.
const IMPURE: [&str; 9] = [
    "Instant::now",
    "SystemTime::now",
    "std::net",
    "std::fs",
    "std::thread",
    "std::env",
    "std::process",
    "tokio",
    "rand",
];

pub(crate) fn examine(file: &File, findings: &mut Vec<Finding>) {
    for (number, line) in file.text.lines().enumerate() {
        for message in line_rules(file, line) {
            findings.push(Finding::new(file, number + 1, message));
        }
    }
    let lines = file.text.lines().count();
    if file.is_code() && lines > FILE_LINES {
        findings.push(Finding::new(
            file,
            lines,
            format!("{lines} lines; a file has at most {FILE_LINES}"),
        ));
    }
    let (first_read, bytes) = FIRST_READ;
    if file.path == first_read && file.text.len() > bytes {
        let message = format!(
            "{} bytes; it has at most {bytes}, decisions are in docs/decisions",
            file.text.len()
        );
        findings.push(Finding::new(file, lines, message));
    }
    match file.extension() {
        "rs" => rust_rules(file, findings),
        "py" => function_rule(file, functions::python(&file.text), findings),
        _ => {}
    }
}

fn line_rules(file: &File, line: &str) -> Vec<String> {
    let mut messages = Vec::new();
    let width = line.chars().count();
    if file.is_code() && width > CODE_WIDTH {
        messages.push(format!("{width} columns; code has at most {CODE_WIDTH}"));
    }
    let exempt = line.trim_start().starts_with('|') || line.contains("](") || line.contains("://");
    if file.extension() == "md" && width > PROSE_WIDTH && !exempt {
        messages.push(format!("{width} columns; prose has at most {PROSE_WIDTH}"));
    }
    let unfinished = UNFINISHED.iter().filter(|_| file.extension() == "rs");
    for word in LEFTOVERS.iter().chain(unfinished) {
        if line.contains(word) {
            messages.push(format!("{word} was left behind"));
        }
    }
    let home = line
        .split(HOME)
        .skip(1)
        .any(|rest| rest.starts_with(|c: char| c.is_alphanumeric()));
    let machine = MACHINE.iter().any(|path| starts_a_path(line, path));
    if (home || machine) && !line.contains("://") {
        messages.push("a path of somebody's machine".to_owned());
    }
    messages
}

/// True if the path stands by itself and not in the middle of a relative one.
fn starts_a_path(line: &str, path: &str) -> bool {
    line.match_indices(path)
        .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-".contains(c)))
}

/// Lint of a crate root against `unsafe`: that of the library with [`UNSAFE_MODULE`] cannot forbid it.
fn unsafe_lint(path: &str) -> &'static str {
    if path == "crates/sealcast/src/lib.rs" {
        "#![deny(unsafe_code)]"
    } else {
        "#![forbid(unsafe_code)]"
    }
}

fn rust_rules(file: &File, findings: &mut Vec<Finding>) {
    let code = code_only(&file.text);
    function_rule(file, functions::rust(&code), findings);
    let cipher = file.path.starts_with("crates/sealcast-cipher/");
    let lint = unsafe_lint(&file.path);
    if !cipher && is_crate_root(&file.path) && !code.contains(lint) {
        findings.push(Finding::new(file, 1, format!("a crate root says {lint}")));
    }
    wire_rule(file, &code, findings);
    doc_rule(file, findings);
    let proto = file.path.starts_with("crates/sealcast-proto/src/");
    for (number, line) in code.lines().enumerate() {
        if !cipher && file.path != UNSAFE_MODULE && (has_word(line, "unsafe") || line.contains("allow(unsafe_code")) {
            let message = format!("unsafe outside crates/sealcast-cipher and {UNSAFE_MODULE}");
            findings.push(Finding::new(file, number + 1, message));
        }
        for name in IMPURE.iter().filter(|name| proto && names(line, name)) {
            findings.push(Finding::new(file, number + 1, format!("the protocol names {name}")));
        }
    }
}

/// A doc comment begins with a noun or a verb.
fn doc_rule(file: &File, findings: &mut Vec<Finding>) {
    if HELP_TEXTS.contains(&file.path.as_str()) {
        return;
    }
    let mut before = "";
    for (number, line) in file.text.lines().map(str::trim_start).enumerate() {
        if let Some(word) = headless(before, line) {
            let message = format!("a doc comment begins with a noun or a verb, not with {word}");
            findings.push(Finding::new(file, number + 1, message));
        }
        before = line;
    }
}

/// Word of [`HEADLESS`] with which a doc comment begins in this line, if one begins after the line before.
fn headless(before: &str, line: &str) -> Option<&'static str> {
    let marks = ["///", "//!"];
    let mark = marks
        .into_iter()
        .find(|mark| line.starts_with(mark) && !before.starts_with(mark))?;
    let first = line[mark.len()..].trim_start().split(|c: char| !is_word(c)).next()?;
    HEADLESS.into_iter().find(|word| *word == first)
}

/// The wire module is the lowest layer of the protocol and must not use other modules, except in tests, and but for the
/// words of others, which stand beneath all.
fn wire_rule(file: &File, code: &str, findings: &mut Vec<Finding>) {
    let tests = file.path.ends_with("_tests.rs") || file.path.ends_with("_vectors.rs");
    if tests || !file.path.starts_with("crates/sealcast-proto/src/wire/") {
        return;
    }
    let tested = code.lines().take_while(|line| !line.starts_with("mod tests {"));
    for (number, line) in tested.enumerate() {
        for (_, rest) in line
            .match_indices("crate::")
            .map(|(at, name)| line.split_at(at + name.len()))
        {
            let name: String = rest.chars().take_while(|c| is_word(*c)).collect();
            if name != "wire" && name != "words" {
                findings.push(Finding::new(
                    file,
                    number + 1,
                    format!("wire names crate::{name}, which stands above it"),
                ));
            }
        }
    }
}

fn function_rule(file: &File, functions: Vec<functions::Function>, findings: &mut Vec<Finding>) {
    for (line, name, length) in functions {
        if length > FUNCTION_LINES {
            let message = format!("{name} has {length} lines; a function has at most {FUNCTION_LINES}");
            findings.push(Finding::new(file, line, message));
        }
    }
}

/// True for `src/lib.rs`, `src/main.rs` and `src/bin/*.rs` of a crate.
fn is_crate_root(path: &str) -> bool {
    let Some((package, file)) = path.split_once("src/") else {
        return false;
    };
    let crates = package == "xtask/" || package.starts_with("crates/");
    crates && (file == "lib.rs" || file == "main.rs" || file.starts_with("bin/"))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(is_word) && !line[at + word.len()..].starts_with(is_word))
}

/// True if the line uses the name, alone or inside `use std::{…}`.
fn names(line: &str, name: &str) -> bool {
    let grouped = name.strip_prefix("std::").is_some_and(|part| {
        line.split_once("std::{").is_some_and(|(_, group)| {
            group
                .match_indices(part)
                .any(|(at, _)| group[..at].trim_end().ends_with(['{', ',']) || at == 0)
                && has_word(group, part)
        })
    });
    grouped || has_word(line, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        let mut findings = Vec::new();
        examine(
            &File {
                path: path.to_owned(),
                text: text.to_owned(),
            },
            &mut findings,
        );
        findings
            .into_iter()
            .map(|finding| format!("{}: {}", finding.line, finding.message))
            .collect()
    }

    #[test]
    fn long_lines_are_found_in_code_and_in_prose() {
        let line = |columns: usize| "é".repeat(columns);
        assert_eq!(findings("a.py", &line(120)), [""; 0]);
        assert_eq!(findings("a.py", &line(121)), ["1: 121 columns; code has at most 120"]);
        assert_eq!(findings("a.md", &line(160)), [""; 0]);
        assert_eq!(findings("a.md", &line(161)), ["1: 161 columns; prose has at most 160"]);
        assert_eq!(
            findings("a.md", &format!("| {} |\n[x](y) {}", line(200), line(200))),
            [""; 0]
        );
    }

    #[test]
    fn long_files_are_found() {
        assert_eq!(findings("a.ts", &"x\n".repeat(600)), [""; 0]);
        assert_eq!(
            findings("a.ts", &"x\n".repeat(601)),
            ["601: 601 lines; a file has at most 600"]
        );
        assert_eq!(findings("a.md", &"x\n".repeat(601)), [""; 0]);
    }

    #[test]
    fn a_function_of_71_lines_is_found() {
        let function = |lines: usize| format!("\nfn f() {{\n{}}}\n", "    x();\n".repeat(lines - 2));
        assert_eq!(findings("a.rs", &function(70)), [""; 0]);
        assert_eq!(
            findings("a.rs", &function(71)),
            ["2: f has 71 lines; a function has at most 70"]
        );
        let python = format!("def f():\n{}", "    x()\n".repeat(70));
        assert_eq!(
            findings("a.py", &python),
            ["1: f has 71 lines; a function has at most 70"]
        );
    }

    #[test]
    fn leftovers_and_machine_paths_are_found() {
        for word in LEFTOVERS.into_iter().chain(UNFINISHED) {
            assert_eq!(
                findings("a.rs", &format!("// {word}")),
                [format!("1: {word} was left behind")]
            );
        }
        for path in MACHINE {
            assert_eq!(
                findings("a.md", &format!("see `{path}x`")),
                ["1: a path of somebody's machine"]
            );
        }
        assert_eq!(
            findings("a.toml", &format!("dir = \"{HOME}ann/x\"")),
            ["1: a path of somebody's machine"]
        );
        assert_eq!(findings("a.md", &format!("{HOME}<name>, net{}x", MACHINE[0])), [""; 0]);
    }

    #[test]
    fn danger_is_allowed_in_the_cipher_crate_only() {
        let code = "#![forbid(unsafe_code)]\nfn f() { unsafe { g() } } // unsafe\nlet s = \"unsafe\";\n";
        assert_eq!(findings("crates/sealcast-cipher/src/x.rs", code), [""; 0]);
        assert_eq!(
            findings("crates/sealcast/src/x.rs", code),
            ["2: unsafe outside crates/sealcast-cipher and crates/sealcast/src/codec/openh264_options.rs"]
        );
        assert_eq!(findings(UNSAFE_MODULE, code), [""; 0]);
        assert_eq!(findings("crates/sealcast/src/x.rs", "#[allow(unsafe_code)]\n").len(), 1);
    }

    #[test]
    fn every_crate_root_but_the_cipher_forbids_danger() {
        let missing = ["1: a crate root says #![forbid(unsafe_code)]"];
        for path in [
            "crates/sealcast/src/main.rs",
            "crates/x/src/lib.rs",
            "xtask/src/main.rs",
            "crates/x/src/bin/y.rs",
        ] {
            assert_eq!(findings(path, "// #![forbid(unsafe_code)]"), missing);
            assert_eq!(findings(path, "#![forbid(unsafe_code)]"), [""; 0]);
        }
        assert_eq!(findings("crates/sealcast/src/lib.rs", "#![deny(unsafe_code)]"), [""; 0]);
        assert_eq!(findings("crates/sealcast/src/lib.rs", "").len(), 1);
        assert_eq!(findings("crates/sealcast-cipher/src/lib.rs", ""), [""; 0]);
        assert_eq!(findings("crates/sealcast/src/cli/main_loop.rs", ""), [""; 0]);
    }

    #[test]
    fn doc_comments_that_begin_with_a_headless_clause_are_found() {
        for word in HEADLESS {
            let message = format!("a doc comment begins with a noun or a verb, not with {word}");
            for (text, line) in [
                (format!("/// {word} it is.\nstruct X;\n"), 1),
                (format!("//! {word} it is.\n"), 1),
                (format!("struct X {{\n    /// {word}.\n    a: u8,\n}}\n"), 2),
                (format!("//! Of X.\n/// {word} it is.\nstruct X;\n"), 2),
            ] {
                assert_eq!(findings("fuzz/x.rs", &text), [format!("{line}: {message}")], "{text}");
                for path in HELP_TEXTS {
                    assert_eq!(findings(path, &text), [""; 0], "{path}: {text}");
                }
                assert_eq!(findings("x.md", &text), [""; 0], "{text}");
            }
            for text in [
                format!("/// State of a thing.\n/// {word} it is.\n///\n/// {word} it was.\nstruct X;\n"),
                format!("// {word} it is.\nfn f() {{ let text = \"/// {word}\"; }}\n"),
                format!("/// {word}ever: `{word}`, {word}.\nstruct X;\n"),
            ] {
                assert_eq!(findings("crates/x/src/x.rs", &text), [""; 0], "{text}");
            }
        }
    }

    #[test]
    fn the_wire_names_nothing_above_it() {
        let code = "use crate::wire::Reader; use crate::words::plain;\nuse crate::keys::PeerId;\n\
                    fn f() -> crate::unit::Codec {}\n// crate::seal\nmod tests {\n    use crate::vectors::load;\n}\n";
        assert_eq!(
            findings("crates/sealcast-proto/src/wire/x.rs", code),
            [
                "2: wire names crate::keys, which stands above it",
                "3: wire names crate::unit, which stands above it"
            ]
        );
        for path in ["wire/x_tests.rs", "wire/x_vectors.rs", "keys/x.rs"] {
            assert_eq!(findings(&format!("crates/sealcast-proto/src/{path}"), code), [""; 0]);
        }
    }

    #[test]
    fn the_protocol_names_no_clock_no_network_and_no_dice() {
        let path = "crates/sealcast-proto/src/x.rs";
        for (line, name) in [
            ("let now = std::time::Instant::now();", "Instant::now"),
            ("let now = SystemTime::now();", "SystemTime::now"),
            ("use std::net::UdpSocket;", "std::net"),
            ("use std::{fmt, fs::File};", "std::fs"),
            ("use std::{thread, time::Duration};", "std::thread"),
            ("std::env::var(x)", "std::env"),
            ("use tokio::time;", "tokio"),
            ("use aws_lc_rs::rand::SystemRandom;", "rand"),
        ] {
            assert_eq!(
                findings(path, line),
                [format!("1: the protocol names {name}")],
                "{line}"
            );
            assert_eq!(findings("crates/sealcast/src/x.rs", line), [""; 0]);
        }
        let innocent = "// Instant::now\nlet random = operand; // rand\nuse std::{fmt, time::Duration};\n";
        assert_eq!(findings(path, innocent), [""; 0]);
    }
}
