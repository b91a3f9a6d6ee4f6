//! Format of the output of `sealcast-lab throughput`. Speeds are not checked, since they depend on the machine.

use std::collections::BTreeMap;
use std::process::{Command, Output};

use serde_json::Value;

const LAB: &str = env!("CARGO_BIN_EXE_sealcast-lab");
const SUITES: [&str; 4] = ["aes-128-gcm", "aes-256-gcm", "aegis-128x4", "chacha20-poly1305"];
/// A program that no machine has.
const NOBODY: &str = "/nonexistent/boringtun-cli";

fn lab(arguments: &[&str]) -> Output {
    let mut command = Command::new(LAB);
    command.arg("throughput").args(arguments);
    command.output().expect("the laboratory starts")
}

#[test]
fn a_quick_run_measures_every_suite_and_the_bare_carriers_and_names_who_is_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("new");
    let run = lab(&[
        "--quick",
        "--rounds",
        "1",
        "--boringtun",
        NOBODY,
        "--out",
        &out.display().to_string(),
    ]);
    let (said, told) = (
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr),
    );
    assert!(run.status.success(), "{said}{told}");
    let read = |name: &str| std::fs::read_to_string(out.join(name)).expect(name);

    let mut table = csv::Reader::from_path(out.join("table.csv")).expect("a table");
    let rows: Vec<BTreeMap<String, String>> = table.deserialize().map(|row| row.expect("a row")).collect();
    for case in ["udp", "tcp-64k", "tcp-1m"] {
        let row = |system: &str| {
            let mut own = rows.iter().filter(|row| row["case"] == case && row["system"] == system);
            own.next().unwrap_or_else(|| panic!("{case} {system}: {said}{told}"))
        };
        check_row(row("bare"));
        for suite in SUITES {
            let row = row(&format!("sealcast-{suite}"));
            check_row(row);
            assert!(row["suite"] == suite && row["counted"] == "both ends", "{row:?}");
            // The publisher sends one frame however late it is.
            let [bytes, frame] = ["bytes", "frame_bytes"].map(|name| row[name].parse::<u64>().expect(name));
            assert!(bytes > 0 && bytes.is_multiple_of(frame), "{row:?}");
        }
    }
    assert!(
        said.contains("not measured: boringtun: ") && told.contains("boringtun is left out: "),
        "{said}{told}"
    );
    // It is measured, or it is said why not.
    let stunnel = rows
        .iter()
        .any(|row| row["system"] == "stunnel" && row["counted"] == "its two processes");
    assert!(stunnel || said.contains("not measured: stunnel"), "{said}");
    assert!(
        said.contains("processor time: of both ends") && said.contains("TCP congestion control: "),
        "{said}"
    );

    let record = read("record.jsonl");
    let lines: Vec<Value> = record
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert!(lines[0]["environment"]["machine"]["cpu_model"].is_string());
    let samples = lines.iter().filter(|line| line["sample"].is_object()).count();
    assert_eq!(samples, rows.len(), "one round");
    let page = read("report.html");
    assert!(page.contains("To find: sealcast-lab throughput --rounds 7") && !page.contains("class=\"verdict\""));
}

fn check_row(row: &BTreeMap<String, String>) {
    let udp = row["case"] == "udp";
    for name in ["gbit_per_second", "gbit_per_core", "elapsed_s", "cpu_s"] {
        assert!(
            row[name].parse::<f64>().is_ok_and(|figure| figure >= 0.0),
            "{name}: {row:?}"
        );
    }
    assert_eq!(row["loss"].is_empty(), !udp, "a stream loses nothing: {row:?}");
    if udp {
        let share = row["loss"].parse::<f64>().expect("a share");
        assert!((0.0..=1.0).contains(&share), "{row:?}");
    }
    assert_eq!(row["rounds"], "1");
}

#[test]
fn a_name_that_nobody_has_is_refused_with_those_that_there_are() {
    let run = lab(&["--quick", "--only", "rot13"]);
    let told = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{told}");
    assert!(
        told.contains("rot13") && told.contains("sealcast-aegis-128x4"),
        "{told}"
    );
}
