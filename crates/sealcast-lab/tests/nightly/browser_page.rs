//! `sealcast-lab browser --quick`, whole. Times have no bounds here, since they depend on the machine.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Output};

use sealcast_testkit::skips::skipped;

/// Words of the laboratory where it has no browser, or nothing that drives one.
const ABSENT: &str = "there is nothing to measure";

fn table(file: &Path) -> Vec<HashMap<String, String>> {
    let mut table = csv::Reader::from_path(file).expect("a table");
    table.deserialize().map(|line| line.expect("a line")).collect()
}

#[test]
fn a_page_in_chromium_is_measured_over_both_carriers() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_sealcast-lab"));
    command.args(["browser", "--quick", "--out"]).arg(folder.path());
    let Output { status, stdout, stderr } = command.output().expect("it runs");
    let said = [stdout, stderr]
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .concat();
    if said.contains(ABSENT) {
        skipped(said);
        return;
    }
    assert_eq!(status.code(), Some(0), "{said}");
    let lines = table(&folder.path().join("table.csv"));
    assert_eq!(lines.len(), 8, "{said}");
    for line in &lines {
        let value = |column: &str| -> f64 { line[column].parse().unwrap_or_else(|_| panic!("{column}: {line:?}")) };
        assert!(value("picture_ms") > 0.0, "{line:?}");
        if line["case"] == "heap" {
            assert!(value("objects_times") > 0.0 && value("heaps") == 7.0, "{line:?}");
            continue;
        }
        let positive = [
            "total_p50_ms",
            "frames",
            "worker_percent",
            "renderer_percent",
            "opening_percent",
            "records_per_s",
        ];
        assert!(positive.iter().all(|column| value(column) > 0.0), "{line:?}");
        assert!(value("total_p99_ms") >= value("total_p50_ms"), "{line:?}");
        assert_eq!(value("refused"), 0.0, "{line:?}");
        let name = format!("{}-{}-1", line["case"], line["system"]);
        let frames = table(&folder.path().join("runs").join(name).join("frames.csv"));
        let timed = frames.iter().filter(|frame| !frame["total_ms"].is_empty()).count();
        assert_eq!(timed as f64, value("frames"), "{line:?}");
    }
}
