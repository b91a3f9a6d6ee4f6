//! Output and files of `sealcast-lab load`. Rates are not checked, since they depend on the machine.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn load(arguments: &[&str], out: Option<&Path>) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sealcast-lab"));
    command.arg("load").args(arguments);
    if let Some(out) = out {
        command.arg("--out").arg(out);
    }
    let Output { status, stdout, stderr } = command.output().expect("it runs");
    let said = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (status.code(), said.concat())
}

fn record(folder: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join("record.jsonl")).expect("a record");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// The rates of a system in a case, sorted.
fn rates(turns: &[Value], case: &str, system: &str) -> Vec<f64> {
    let own = turns
        .iter()
        .filter(|turn| turn["case"] == case && turn["system"] == system);
    let rates = own.map(|turn| turn["sample"]["values"]["frames_per_s"].as_f64().expect("a rate"));
    let mut rates: Vec<f64> = rates.collect();
    rates.sort_by(f64::total_cmp);
    rates
}

#[test]
fn the_table_and_the_report_come_from_the_turns_in_the_record() {
    let folder = tempfile::tempdir().expect("a folder");
    let only = ["--sink", "memory", "--only", "aes-128-gcm,trivium/definition"];
    let run = |rounds: &str| {
        load(
            &[&["--quick", "--rounds", rounds], &only[..]].concat(),
            Some(folder.path()),
        )
    };
    let (code, said) = run("1");
    assert_eq!(code, Some(0), "{said}");
    let first = record(folder.path());
    assert_eq!(
        first.len(),
        7,
        "a header, then none and two ciphers without and with the filter"
    );
    let (code, said) = run("3");
    assert_eq!(code, Some(0), "{said}");
    let all = record(folder.path());
    assert_eq!((all.len(), &all[..7]), (19, &first[..]), "it goes on");

    let report = std::fs::read_to_string(folder.path().join("report.html")).expect("a report");
    assert_eq!(report.matches("class=\"bar ").count(), 6, "a bar for each");
    assert!(!report.contains("src=") && !report.contains("href="), "one file");

    let mut table = csv::Reader::from_path(folder.path().join("table.csv")).expect("a table");
    let lines: Vec<HashMap<String, String>> = table.deserialize().map(|line| line.expect("a line")).collect();
    assert_eq!(lines.len(), 6);
    assert!(
        lines
            .iter()
            .any(|line| line["implementation"] == "definition" && line["filter"] == "true")
    );
    for line in &lines {
        let value = |column: &str| line[column].parse::<f64>().expect("a number");
        let rates = rates(&all[1..], &line["case"], &line["system"]);
        let ends = ["frames_per_s_low", "frames_per_s", "frames_per_s_high"].map(value);
        assert_eq!(ends[..], rates, "{line:?}");
        let mbit = rates[1] * 460_800.0 * 8e-6;
        assert!((value("mbit_per_s") - mbit).abs() <= 1e-9 * mbit, "{line:?}");
    }
}

#[test]
fn packets_go_over_the_loopback_interface_unless_told_otherwise() {
    let (code, said) = load(&["--quick", "--only", "xor"], None);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("sink: udp") && said.contains("| filtered | none ") && said.contains("| plain    | xor/"),
        "{said}"
    );
}

#[test]
fn a_cipher_or_a_clip_that_does_not_exist_is_named() {
    let (code, said) = load(&["--only", "rot13"], None);
    assert!(code == Some(2) && said.contains("rot13"), "{said}");
    let (code, said) = load(&["--only", "xor", "--clip", "/nonexistent.mp4"], None);
    assert!(code == Some(3) && said.contains("/nonexistent.mp4"), "{said}");
}
