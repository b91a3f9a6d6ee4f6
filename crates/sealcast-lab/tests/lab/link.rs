//! The comparison of frames in time, short and without root: that it runs, and the form of what it writes. What it
//! finds is not judged here, since other tests keep the machine busy.

use std::path::Path;
use std::process::{Command, Output};

const LAB: &str = env!("CARGO_BIN_EXE_sealcast-lab");

fn lab(arguments: &[&str], out: &Path) -> Output {
    let mut command = Command::new(LAB);
    command.arg("link").args(arguments).arg("--out").arg(out);
    command.output().expect("the laboratory starts")
}

#[test]
fn a_quick_run_writes_a_table_a_record_and_a_page() {
    let out = tempfile::tempdir().expect("a folder");
    let run = lab(&["--quick", "--loss", "2r", "--seconds", "3", "--proxy"], out.path());
    let (said, told) = (
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr),
    );
    assert!(run.status.success(), "{said}{told}");
    assert!(
        said.contains("TCP congestion control: ") && said.contains("a proxy in this process"),
        "{said}"
    );
    let srt = !told.contains("SRT is left out");

    let rows = check_table(out.path(), srt);
    check_record(out.path(), rows);
    for file in ["sent.csv", "received.csv", "sender.prom"] {
        let path = out.path().join("runs/2-random-sealcast-1").join(file);
        assert!(path.exists(), "{file}");
    }
}

fn read(out: &Path, name: &str) -> String {
    std::fs::read_to_string(out.join(name)).expect(name)
}

/// The number of rows.
fn check_table(out: &Path, srt: bool) -> usize {
    let table = read(out, "table.csv");
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let header = reader.headers().expect("a header").clone();
    let column = |name: &str| header.iter().position(|column| column == name).expect("a column");
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.expect("a row")).collect();
    let systems: Vec<&str> = rows.iter().map(|row| &row[column("system")]).collect();
    let all = [
        "sealcast-none",
        "sealcast-fec",
        "sealcast-nack",
        "sealcast",
        "srt",
        "srt-aes",
        "rtp",
    ];
    let expected: Vec<&str> = all
        .into_iter()
        .filter(|system| srt || !system.starts_with("srt"))
        .collect();
    assert_eq!(systems, expected);
    for row in &rows {
        let number = |name: &str| row[column(name)].parse::<f64>().expect(name);
        assert_eq!(number("frames"), 90.0, "{row:?}");
        let (low, share, high) = (number("shown_low"), number("shown_in_time"), number("shown_high"));
        assert!(0.0 <= low && low <= share && share <= high && high <= 1.0, "{row:?}");
        assert!(
            share <= number("whole_in_time") + 1e-9 && number("overhead") > 0.0,
            "{row:?}"
        );
        let lost = number("packets_lost");
        assert!((0.001..0.1).contains(&lost), "{row:?}");
    }
    rows.len()
}

fn check_record(out: &Path, rows: usize) {
    let record: serde_json::Value = serde_json::from_str(&read(out, "record.json")).expect("JSON");
    assert_eq!(record["table"].as_array().map(Vec::len), Some(rows));
    assert_eq!(record["profiles"][0], "delay=20ms loss=2%");
    for key in [
        "machine",
        "versions",
        "congestion_control",
        "seed",
        "method",
        "verdicts",
        "load_average",
    ] {
        assert!(!record[key].is_null(), "{key}");
    }
    let page = read(out, "report.html");
    assert_eq!(page.matches("<svg").count(), 2, "bars, and one figure of delays");
    assert!(
        !page.contains("<script") && !page.contains("src=\"http"),
        "it needs nothing else"
    );
}

#[test]
fn what_cannot_be_measured_is_refused_in_words() {
    let out = tempfile::tempdir().expect("a folder");
    for (arguments, words) in [
        (["--only", "quic"], "choose among sealcast-none"),
        (["--loss", "2%"], "such as 2, 2r"),
    ] {
        let run = lab(&arguments, out.path());
        let told = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.code() == Some(2) && told.contains(words), "{told}");
    }
}
