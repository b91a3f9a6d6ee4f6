//! Output of the laboratory's commands, and the files that they write.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// A line of `table.csv`.
pub(crate) type Line = HashMap<String, String>;

/// Runs a command of the laboratory. Returns its exit code, and what it printed.
pub(crate) fn run<'a>(arguments: impl IntoIterator<Item = &'a str>, out: &Path) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sealcast-lab"));
    command.args(arguments).arg("--out").arg(out);
    let Output { status, stdout, stderr } = command.output().expect("it runs");
    let said = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (status.code(), said.concat())
}

/// The lines of a record: its head, and the turns.
pub(crate) fn record(folder: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join("record.jsonl")).expect("a record");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// The lines of a table.
pub(crate) fn table(file: &Path) -> Vec<Line> {
    let mut table = csv::Reader::from_path(file).expect("a table");
    table.deserialize().map(|line| line.expect("a line")).collect()
}

/// The line of a system in a case.
pub(crate) fn line<'a>(lines: &'a [Line], case: &str, system: &str) -> &'a Line {
    let found = lines
        .iter()
        .find(|line| line["case"] == case && line["system"] == system);
    found.unwrap_or_else(|| panic!("{system} in {case} is missing: {lines:?}"))
}

/// A number in a line.
pub(crate) fn value(line: &Line, column: &str) -> f64 {
    let text = &line[column];
    text.parse()
        .unwrap_or_else(|_| panic!("{column} is '{text}' in {line:?}"))
}
