//! Writes the manual pages and completions, which a test compares with the program's options.

use crate::shell::{cargo, command, exists, root, run};
use crate::summary::Outcome;

pub(crate) fn step() -> Outcome {
    let mut tests = cargo(&[
        "test",
        "--locked",
        "--package",
        "sealcast",
        "--test",
        "program",
        "--",
        "manual::",
    ]);
    Outcome::of(run(tests.env("SEALCAST_WRITE_MANUAL", "1")).and_then(|()| judged()))
}

/// Judges the pages by what mandoc finds; everything it finds is a failure.
fn judged() -> Result<(), String> {
    if !exists("mandoc") {
        println!("mandoc is not installed: the pages were not looked at");
        return Ok(());
    }
    let folder = root().join("packaging/man");
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut pages: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    pages.sort();
    run(command("mandoc", &["-Tlint", "-Wwarning"]).args(pages))
}
