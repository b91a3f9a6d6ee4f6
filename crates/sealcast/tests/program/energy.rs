//! What the program says of energy, where a meter is and where none is.

use std::path::Path;
use std::process::Command;

use sealcast_testkit::counter::Counter;
use serde_json::Value;

const WATTS: f64 = 5.0;

/// A demo of some seconds with this meter: its exit code, what it said, and its report if there is one.
fn demo(meter: &str, folder: &Path) -> (Option<i32>, String, Option<Value>) {
    let report = folder.join("report.json");
    let output = Command::new(env!("CARGO_BIN_EXE_sealcast"))
        .args([
            "demo",
            "test:320x240@10",
            "--headless",
            "--seconds",
            "3",
            "--meter",
            meter,
        ])
        .args([
            Path::new("--report"),
            &report,
            Path::new("--log-dir"),
            &folder.join("logs"),
        ])
        .env("HOME", folder)
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let report = std::fs::read(report)
        .ok()
        .map(|text| serde_json::from_slice(&text).expect("JSON"));
    (output.status.code(), said, report)
}

fn number(report: &Value, place: &str) -> f64 {
    report
        .pointer(place)
        .and_then(Value::as_f64)
        .unwrap_or_else(|| panic!("no {place} in {report}"))
}

#[test]
fn energy_is_the_counters_in_report_phases_and_log_though_it_wraps() {
    let counter = Counter::start(WATTS);
    let folder = tempfile::tempdir().expect("a folder");
    let (code, said, report) = demo(&format!("rapl:{}", counter.tree().display()), folder.path());
    assert_eq!(code, Some(0), "{said}");
    let report = report.expect("a report");
    let (joules, seconds) = (
        number(&report, "/resources/joules"),
        number(&report, "/resources/seconds"),
    );
    assert!(
        (joules / seconds / WATTS - 1.0).abs() < 0.1,
        "{joules} J in {seconds} s"
    );
    assert_eq!(
        number(&report, "/resources/energy_joules/package-0 (intel-rapl:0)"),
        joules
    );
    assert_eq!(number(&report, "/resources/energy_missed_seconds"), 0.0);
    let phases = report["energy_joules_by_phase"].as_object().expect("phases");
    let sum: f64 = phases.values().filter_map(Value::as_f64).sum();
    assert!(
        (sum - joules).abs() < 1e-6 && phases.contains_key("steady"),
        "{phases:?}"
    );
    let meter = report["configuration"]["meter"].as_str().expect("words");
    assert!(meter.starts_with("rapl: processor packages"), "{meter}");

    let mut log = csv::Reader::from_path(folder.path().join("logs/steady_stream.csv")).expect("a log");
    let columns = log.headers().expect("a header").clone();
    let column = |name: &str| columns.iter().position(|column| column == name).expect("a column");
    let rows: Vec<_> = log.records().map(|row| row.expect("a row")).collect();
    let figures = |name: &str| {
        let texts = rows
            .iter()
            .map(|row| &row[column(name)])
            .filter(|text| !text.is_empty());
        texts.map(|text| text.parse().expect("a number")).collect::<Vec<f64>>()
    };
    assert!(figures("energy_joules").is_sorted());
    let mut watts = figures("power_watts");
    watts.sort_by(f64::total_cmp);
    assert!(watts.len() >= 20, "{} rows", watts.len());
    assert!((watts[watts.len() / 2] / WATTS - 1.0).abs() < 0.2, "{watts:?}");
}

#[test]
fn without_a_meter_there_is_no_energy_and_that_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, said, report) = demo("none", folder.path());
    assert_eq!(code, Some(0), "{said}");
    let report = report.expect("a report");
    assert!(report["resources"]["joules"].is_null() && report["energy_joules_by_phase"] == serde_json::json!({}));
    assert_eq!(report["configuration"]["meter"], "not measured: no meter was asked for");
}

#[test]
fn a_meter_that_is_not_there_ends_the_program_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    for (meter, code, words) in [
        (
            "rapl:/nonexistent",
            3,
            "no energy counter in /nonexistent; virtual machines have none",
        ),
        ("ina219:/nonexistent/i2c-1", 3, "/nonexistent/i2c-1 cannot be read"),
        ("serial:/nonexistent/tty", 3, "serial:/nonexistent/tty cannot be opened"),
        ("wattmeter", 2, "\"wattmeter\" names no meter; say auto, none, rapl"),
    ] {
        let (ended, said, report) = demo(meter, folder.path());
        assert!(
            ended == Some(code) && said.contains(words) && report.is_none(),
            "{meter}: {ended:?} {said}"
        );
    }
}
