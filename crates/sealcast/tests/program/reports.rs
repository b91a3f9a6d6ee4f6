//! The results of a run: its report, logs and metrics, without a secret in any of them.

use super::stages::check_stages;
use jiff::Timestamp;
use sealcast::keys::files;
use sealcast_testkit::media::path;
use sealcast_testkit::program::{PATIENCE, home, invite, number, publish, report, unbroken, value_of, watch};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use tempfile::TempDir;

const PHASES: [&str; 4] = ["handshake", "steady", "rekey", "idle"];

/// One end, and its output.
struct End {
    home: TempDir,
    said: String,
    metrics: String,
}

impl End {
    fn report(&self) -> Value {
        report(&self.home.path().join("report.json"))
    }

    /// The rows of a log, each as a map from column to value.
    fn log(&self, name: &str) -> Vec<BTreeMap<String, String>> {
        let mut log = csv::Reader::from_path(self.home.path().join("logs").join(name)).expect("a log");
        log.deserialize()
            .map(|row| row.expect("a row as wide as its header"))
            .collect()
    }

    /// All of its output, except for its key files: reports, logs, messages and metrics.
    fn everything(&self) -> String {
        let mut text = self.said.clone() + &self.metrics;
        let files = [
            "report.json",
            "logs/handshake.csv",
            "logs/steady_stream.csv",
            "logs/frames_latency.csv",
        ];
        for file in files {
            text += &std::fs::read_to_string(self.home.path().join(file)).expect(file);
        }
        text
    }
}

/// Number of frames in a session.
const FRAMES: f64 = 75.0;

/// Runs a session with all reports, logs and metrics. Returns publisher, viewer and ticket.
fn observed() -> (End, End, String) {
    let homes = [home(), home()];
    let files = [0, 1].map(|end: usize| (homes[end].path().join("report.json"), homes[end].path().join("logs")));
    let options = |end: usize| {
        let (report, logs) = &files[end];
        [
            "--report",
            path(report),
            "--log-dir",
            path(logs),
            "--metrics",
            "127.0.0.1:0",
        ]
    };
    let mut publisher = publish(homes[0].path(), "test:640x480@25", &options(0));
    let to = ["--to", "http://127.0.0.1:0"];
    let mut viewer = watch(homes[1].path(), &publisher.ticket, &[&to[..], &options(1)].concat());
    viewer.says("watching", PATIENCE);
    publisher
        .program
        .has_counted("sealcast_frames_total{dir=\"out\"}", FRAMES);
    for frames in ["frames_total{dir=\"in\"}", "stage_seconds_count{stage=\"decode\"}"] {
        viewer.has_counted(&format!("sealcast_{frames}"), FRAMES);
    }
    let served = [publisher.program.metrics(), viewer.metrics()];
    viewer.stop();
    publisher.program.stop();
    let ([publisher_home, viewer_home], [publisher_metrics, viewer_metrics]) = (homes, served);
    let end = |home, said, metrics| End { home, said, metrics };
    (
        end(publisher_home, publisher.program.said(), publisher_metrics),
        end(viewer_home, viewer.said(), viewer_metrics),
        publisher.ticket,
    )
}

fn figure(row: &BTreeMap<String, String>, column: &str) -> f64 {
    let text = row.get(column).unwrap_or_else(|| panic!("no column {column}"));
    text.parse().unwrap_or_else(|_| panic!("{column} is '{text}'"))
}

fn time(text: &str) -> Timestamp {
    assert!(
        text.len() == 27 && text.ends_with('Z'),
        "'{text}' is no time in UTC with microseconds"
    );
    text.parse().expect("ISO 8601")
}

fn check_handshake(end: &End) -> (f64, f64) {
    let report = end.report();
    let rows = report["handshakes"].as_array().expect("handshakes");
    let logged = end.log("handshake.csv");
    assert_eq!((rows.len(), logged.len()), (1, 1));
    let (row, logged) = (&rows[0], &logged[0]);
    for (column, value) in [
        ("phase", "handshake"),
        ("mechanism", "x25519-mlkem768"),
        ("suite", "aes-256-gcm"),
        ("outcome", "established"),
    ] {
        assert_eq!((row[column].as_str(), logged[column].as_str()), (Some(value), value));
    }
    assert!(time(&logged["end"]) > time(&logged["start"]));
    let cpu = figure(logged, "cpu_ms");
    assert!(cpu > 0.0 && cpu <= figure(logged, "duration_ms"), "{logged:?}");
    assert!(figure(logged, "startup_ms") > 0.0, "{logged:?}");
    let initiates = logged["role"] == "initiator";
    assert_eq!(!logged["keygen_ms"].is_empty(), initiates, "{logged:?}");
    assert!(!initiates || figure(logged, "keygen_ms") > 0.0, "{logged:?}");
    let bytes = ["bytes_sent", "bytes_received"].map(|column| {
        assert_eq!(number(row, &format!("/{column}")), figure(logged, column));
        figure(logged, column)
    });
    (bytes[0], bytes[1])
}

fn check_report(end: &End, stages: &[&str], frames: &str) {
    let report = end.report();
    assert_eq!(report["schema"], "sealcast-report/1");
    assert_eq!(report["outcome"], "completed");
    let count = number(&report, &format!("/totals/{frames}"));
    assert!(count >= FRAMES, "{count} frames");
    for stage in stages {
        let figures = ["min", "p50", "p90", "p99", "max"].map(|f| number(&report, &format!("/stages/{stage}/{f}_ns")));
        assert!(figures.is_sorted() && figures[4] > 0.0, "{stage}: {figures:?}");
        assert!(number(&report, &format!("/stages/{stage}/count")) > 0.0);
    }
    assert!(number(&report, "/resources/cpu_seconds") > 0.0);
    assert!(number(&report, "/resources/max_rss_bytes") > 1e6);
    assert!(number(&report, "/clock/exchanges") > 0.0);
    assert_eq!(number(&report, "/logs/lost_rows"), 0.0);
    assert!(time(report["end"].as_str().expect("a time")) > time(report["start"].as_str().expect("a time")));
}

fn check_steady(end: &End) {
    let rows = end.log("steady_stream.csv");
    for pair in rows.windows(2) {
        assert!(time(&pair[1]["time"]) > time(&pair[0]["time"]));
        for total in ["frames", "bytes", "records_sealed", "records_opened"] {
            assert!(figure(&pair[1], total) >= figure(&pair[0], total), "{total} goes back");
        }
    }
    assert!(rows.iter().all(|row| PHASES.contains(&row["phase"].as_str())));
    // However short the handshake was, what was used before it, in it and after it stands in different rows.
    let mut phases: Vec<&str> = rows.iter().map(|row| row["phase"].as_str()).collect();
    phases.dedup();
    assert!(phases.starts_with(&["idle", "handshake", "steady"]), "{phases:?}");
    let steady: Vec<_> = rows.iter().filter(|row| row["phase"] == "steady").collect();
    let frames = steady.last().map_or(0.0, |row| figure(row, "frames"));
    assert!(frames > 0.0, "{} rows of a steady stream", steady.len());
    // Whatever the interval between two rows, the frame rate is positive exactly if the frame count grew.
    for pair in rows.windows(2) {
        let came = figure(&pair[1], "frames") > figure(&pair[0], "frames");
        assert_eq!(figure(&pair[1], "fps") > 0.0, came, "{pair:?}");
    }
}

fn check_latencies(viewer: &End) {
    let rows = viewer.log("frames_latency.csv");
    assert!(rows.len() as f64 >= FRAMES, "{} rows", rows.len());
    for row in &rows {
        time(&row["time"]);
        assert_eq!(
            (row["phase"].as_str(), row["stamp"].as_str()),
            ("steady", "exposure_start")
        );
        for clock in [
            ["stamped", "captured", "encoded", "sealed"].as_slice(),
            &["received", "opened", "taken", "decoded", "presented"],
        ] {
            let stamps = clock.iter().map(|stamp| row[&format!("{stamp}_ns")].parse::<u64>());
            let stamps: Vec<u64> = stamps.map(|stamp| stamp.expect("a stamp")).collect();
            assert!(stamps.is_sorted(), "{row:?}");
        }
    }
    // Once a value is known, it stays known.
    for stage in ["network_us", "total_us"] {
        let known: Vec<bool> = rows.iter().map(|row| !row[stage].is_empty()).collect();
        assert!(known.is_sorted() && known.last() == Some(&true), "{stage}: {known:?}");
    }
    check_stages(&rows);
}

fn check_metrics(end: &End, frames: &str) {
    let value = |name: &str| value_of(&end.metrics, name);
    assert!(value(frames) >= FRAMES);
    assert!(value("sealcast_cpu_seconds_total") > 0.0 && value("sealcast_rss_bytes") > 1e6);
    assert_eq!(value("sealcast_handshakes_total{outcome=\"established\"}"), 1.0);
    assert_eq!(value("sealcast_open_failures_total{reason=\"tag\"}"), 0.0);
    for family in ["build_info", "open_failures_total", "stage_seconds_bucket"] {
        assert!(
            end.metrics.contains(&format!("\nsealcast_{family}{{")),
            "{}",
            end.metrics
        );
    }
}

/// The secret seed of an identity, as text from its file.
fn seed(home: &Path, end: files::End) -> String {
    let text = std::fs::read_to_string(home.join("keys").join(end.file_name())).expect("an identity");
    text.lines().nth(1).expect("a seed").to_owned()
}

#[test]
fn a_run_leaves_figures_behind_and_no_secrets() {
    let (publisher, viewer, ticket) = unbroken(|| {
        let run = observed();
        (!run.0.said.contains("WARN") && !run.1.said.contains("WARN")).then_some(run)
    });
    check_report(
        &publisher,
        &["capture", "encode", "queue", "seal", "send"],
        "frames_out",
    );
    check_report(
        &viewer,
        &["network", "link", "open", "wait", "decode", "present", "end_to_end"],
        "frames_in",
    );
    let (sent, received) = check_handshake(&publisher);
    assert!(sent > 1_088.0 && received > 1_184.0, "more than the key exchange alone");
    assert_eq!(check_handshake(&viewer), (received, sent));
    for end in [&publisher, &viewer] {
        check_steady(end);
    }
    check_latencies(&viewer);
    check_metrics(&publisher, "sealcast_frames_total{dir=\"out\"}");
    check_metrics(&viewer, "sealcast_frames_total{dir=\"in\"}");

    let secrets = [
        invite(&ticket).to_owned(),
        seed(publisher.home.path(), files::End::Publisher),
        seed(viewer.home.path(), files::End::Viewer),
    ];
    for end in [&publisher, &viewer] {
        let everything = end.everything();
        assert!(everything.contains("x25519-mlkem768"));
        for secret in &secrets {
            assert!(
                secret.len() >= 26 && !everything.contains(secret),
                "a secret shows in {everything}"
            );
        }
    }
}
