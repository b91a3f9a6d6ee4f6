//! Energy in the program's output, with and without a meter.

use std::path::Path;

use sealcast_testkit::counter::Counter;
use sealcast_testkit::media::path;
use sealcast_testkit::program::{PATIENCE, Program, number, report, sealcast, until};
use serde_json::Value;

const WATTS: f64 = 5.0;
/// Energy in joules that is more than the counter can count before it wraps around.
const ENOUGH: f64 = 4.0;

/// Starts a demo with this meter.
fn demo(meter: &str, folder: &Path, more: &[&str]) -> Program {
    let (report, logs) = (folder.join("report.json"), folder.join("logs"));
    let mut command = sealcast(folder);
    command.args(["demo", "test:320x240@10", "--headless", "--meter", meter]);
    command.args(["--report", path(&report), "--log-dir", path(&logs)]);
    command.args(more);
    Program::run("the demo", command)
}

#[test]
fn energy_is_the_counters_in_report_phases_and_log_though_it_wraps() {
    let counter = Counter::start(WATTS);
    let folder = tempfile::tempdir().expect("a folder");
    let meter = format!("rapl:{}", counter.tree().display());
    let mut demo = demo(&meter, folder.path(), &["--metrics", "127.0.0.1:0"]);
    demo.says("http://", PATIENCE);
    demo.has_counted(
        "sealcast_energy_joules_total{domain=\"package-0 (intel-rapl:0)\"}",
        ENOUGH,
    );
    let log = folder.path().join("logs/steady_stream.csv");
    until("energy is drawn by a steady stream", || {
        std::fs::read_to_string(&log).is_ok_and(|rows| rows.contains(",steady,"))
    });
    demo.stop();
    let report = report(&folder.path().join("report.json"));
    let joules = number(&report, "/resources/joules");
    let counted = counter.joules();
    assert!((ENOUGH..=counted).contains(&joules), "{joules} J of {counted} J");
    assert_eq!(
        number(&report, "/resources/energy_joules/package-0 (intel-rapl:0)"),
        joules
    );
    assert_eq!(number(&report, "/resources/energy_missed_seconds"), 0.0);
    let phases = report["energy_joules_by_phase"].as_object().expect("phases");
    let sum: f64 = phases.values().filter_map(Value::as_f64).sum();
    assert!(
        (sum - joules).abs() < 1e-6 && ["handshake", "steady"].iter().all(|phase| phases.contains_key(*phase)),
        "{phases:?}"
    );
    let meter = report["configuration"]["meter"].as_str().expect("words");
    assert!(meter.starts_with("rapl: processor packages"), "{meter}");

    let mut log = csv::Reader::from_path(log).expect("a log");
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
    let watts = figures("power_watts");
    assert!(
        !watts.is_empty() && watts.iter().all(|watts| *watts >= 0.0),
        "{watts:?}"
    );
}

#[test]
fn without_a_meter_there_is_no_energy_and_that_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    demo("none", folder.path(), &["--seconds", "1"]).succeeds(PATIENCE);
    let report = report(&folder.path().join("report.json"));
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
        let mut demo = demo(meter, folder.path(), &["--seconds", "1"]);
        let (ended, said) = (demo.ends(PATIENCE), demo.said());
        assert!(ended == code && said.contains(words), "{meter}: {ended} {said}");
        assert!(!folder.path().join("report.json").exists(), "{meter}");
    }
}
