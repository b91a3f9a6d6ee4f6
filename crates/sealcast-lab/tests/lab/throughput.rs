//! Format of the output of `sealcast-lab throughput`. Speeds are not checked, since they depend on the machine.

use std::process::Command;

const LAB: &str = env!("CARGO_BIN_EXE_sealcast-lab");

fn number(value: &serde_json::Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn a_quick_run_gives_a_table_and_a_record_of_every_contender() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("new");
    let output = Command::new(LAB)
        .args(["throughput", "--quick", "--all", "--out"])
        .arg(&out)
        .output()
        .expect("it runs");
    let (said, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{said} {errors}");
    let record = std::fs::read(out.join("record.json")).expect("a record");
    let record: serde_json::Value = serde_json::from_slice(&record).expect("JSON");
    let rows = record["rows"].as_array().expect("rows");
    // The two carriers alone, four suites over UDP, and four suites over TCP with frames of two lengths.
    assert_eq!(rows.len(), 2 + 4 + 8, "{said}");
    for row in rows {
        let name = row["name"].as_str().expect("a name");
        assert!(said.contains(name), "{name}");
        let (rate, core) = (&row["gbit_per_second"], &row["gbit_per_core"]);
        assert!(
            number(&rate["median"]) > 0.0 && number(&core["least"]) > 0.0,
            "{name}: {rate} {core}"
        );
        assert!((0.0..=1.0).contains(&number(&row["loss"]["median"])), "{name}");
        assert_eq!(row["rounds"], 1);
    }
    assert!(record["machine"]["cpu_model"].is_string() && record["tcp_congestion_control"].is_string());
    let missing = record["not_measured"].as_array().expect("a list");
    assert!(
        !missing.is_empty(),
        "peers are no part of a quick run, and that is said"
    );
    let table = std::fs::read_to_string(out.join("table.csv")).expect("a table");
    assert_eq!(table.lines().count(), 1 + rows.len(), "{table}");
}

#[test]
fn a_suite_that_does_not_exist_is_named_with_those_that_do() {
    let output = Command::new(LAB)
        .args(["throughput", "--quick", "--suite", "rot13"])
        .output();
    let output = output.expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("rot13") && errors.contains("aegis-128x4"), "{errors}");
}
