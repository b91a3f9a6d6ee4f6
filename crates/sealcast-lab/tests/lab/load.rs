//! Output and files of `sealcast-lab load`. Rates are not checked, since they depend on the machine.

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

/// The median over all rounds of the record of one contender's rate, with or without the filter.
fn median(record: &Value, contender: &Value, filtered: bool) -> f64 {
    let rounds = record["rounds"].as_array().expect("rounds").iter();
    let all = rounds.flat_map(|round| round.as_array().expect("figures"));
    let own = all.filter(|held| held["contender"] == *contender && held["filtered"] == filtered);
    let mut rates: Vec<f64> = own.map(|held| held["frames_per_s"].as_f64().unwrap_or(0.0)).collect();
    rates.sort_by(f64::total_cmp);
    assert_eq!(rates.len(), 3);
    rates[1]
}

#[test]
fn the_table_and_the_report_come_from_the_rounds_in_the_record() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = [
        "--quick",
        "--rounds",
        "3",
        "--sink",
        "memory",
        "--only",
        "aes-128-gcm,trivium/definition",
    ];
    let (code, said) = load(&arguments, Some(folder.path()));
    assert_eq!(code, Some(0), "{said}");
    let text = std::fs::read(folder.path().join("record.json")).expect("a record");
    let record: Value = serde_json::from_slice(&text).expect("JSON");
    assert_eq!(record["contenders"].as_array().map(Vec::len), Some(2), "{record}");

    let report = std::fs::read_to_string(folder.path().join("report.html")).expect("a report");
    assert_eq!(report.matches("<svg").count(), 2, "with and without the filter");
    assert!(!report.contains("src=") && !report.contains("href="), "one file");

    let mut table = csv::Reader::from_path(folder.path().join("table.csv")).expect("a table");
    let columns = table.headers().expect("a line of names").clone();
    let column = |name: &str| columns.iter().position(|column| column == name).expect("a column");
    let lines: Vec<_> = table.records().map(|line| line.expect("a line")).collect();
    assert_eq!(lines[1][column("implementation")], *"definition");
    assert_eq!(lines.len(), 6, "none and two ciphers, without and with the filter");
    for line in &lines {
        let contenders = record["contenders"].as_array().expect("contenders");
        let place = contenders.iter().position(|one| one[0] == line[column("cipher")]);
        let contender = place.map_or(Value::Null, Value::from);
        let rate: f64 = line[column("frames_per_s")].parse().expect("a number");
        assert_eq!(
            rate,
            median(&record, &contender, line[column("filter")] != *"none"),
            "{line:?}"
        );
        let ends =
            ["frames_per_s_low", "frames_per_s_high"].map(|end| line[column(end)].parse::<f64>().expect("an end"));
        assert!(ends[0] <= rate && rate <= ends[1], "{line:?}");
    }
}

#[test]
fn packets_go_over_the_loopback_interface_unless_told_otherwise() {
    let (code, said) = load(&["--quick", "--only", "xor"], None);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("sink: udp") && said.contains("| none | - | 3x3 Gaussian |"),
        "{said}"
    );
}

#[test]
fn a_cipher_or_a_clip_that_does_not_exist_is_named() {
    let (code, said) = load(&["--only", "rot13"], None);
    assert!(code == Some(2) && said.contains("rot13"), "{said}");
    let (code, said) = load(&["--clip", "/nonexistent.mp4"], None);
    assert!(code == Some(3) && said.contains("/nonexistent.mp4"), "{said}");
}
