//! Output and files of `sealcast-lab pipeline`. Times have no bounds here, since they depend on the machine.

use std::process::Command;

use serde_json::Value;

#[test]
fn a_stream_leaves_values_curves_and_a_report_of_its_logs() {
    let out = tempfile::tempdir().expect("a folder");
    let run = Command::new(env!("CARGO_BIN_EXE_sealcast-lab"))
        .args(["pipeline", "--quick", "--rounds", "1", "--seconds", "3", "--out"])
        .arg(out.path())
        .output()
        .expect("it runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let record = std::fs::read_to_string(out.path().join("record.jsonl")).expect("a record");
    let lines: Vec<Value> = record
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 2, "a header and a turn");
    let sample = &lines[1]["sample"];
    let value = |name: &str| sample["values"][name].as_f64();
    for name in [
        "sender_frames_per_s",
        "sender_mbit_per_s",
        "sender_cpu_percent",
        "sender_memory_mb",
        "receiver_frames_per_s",
        "receiver_mbit_per_s",
        "receiver_cpu_percent",
        "receiver_memory_mb",
        "latency_frames",
        "handshake_ms",
        "handshake_bytes",
    ] {
        assert!(value(name).is_some_and(|value| value > 0.0), "{name} in {sample}");
    }
    let quantiles = ["latency_p10_ms", "latency_median_ms", "latency_p90_ms"].map(value);
    assert!(quantiles.is_sorted() && quantiles[0].is_some(), "{quantiles:?}");
    let latencies = sample["series"]["latency_ms_of"].as_array().expect("a curve");
    assert_eq!(latencies.len(), 101);
    let ascending: Vec<f64> = latencies.iter().filter_map(Value::as_f64).collect();
    assert!(ascending.len() == 101 && ascending.is_sorted(), "{ascending:?}");
    // What `report` makes of the same logs.
    let report = out.path().join("runs/tcp-p256-aes-128-gcm-1/report");
    let tables = std::fs::read_to_string(report.join("tables.md")).expect("tables");
    assert!(tables.contains("aes-128-gcm") && tables.contains("p256"), "{tables}");
    let page = std::fs::read_to_string(out.path().join("report.html")).expect("a report");
    assert!(page.contains("id=\"tcp-p256--aes-128-gcm\""), "a place to link to");
}
