//! A short comparison of frames in time, without root: it runs, and the format of its output is checked. The values are
//! not checked, since other tests keep the machine busy.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

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
    let srt = !told.contains("srt is left out");

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

/// Checks `table.csv`. Returns the number of its rows.
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
        let (whole, overhead) = (number("whole_in_time"), number("overhead"));
        assert!(share <= whole + 1e-9, "{row:?}");
        // The sender of a busy machine leaves frames out: then less is sent than was made.
        let least = if whole < 1.0 { -1.0 } else { 0.0 };
        assert!(overhead > least, "{row:?}");
        let lost = number("packets_lost");
        assert!((0.001..0.1).contains(&lost), "{row:?}");
    }
    rows.len()
}

fn check_record(out: &Path, rows: usize) {
    let text = read(out, "record.jsonl");
    let mut lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let header = lines.next().expect("a first line");
    assert_eq!(header["definition"]["case"][0]["link"], "delay=20ms loss=2%");
    assert!(header["environment"]["machine"].is_object() && header["definition"]["method"].is_array());
    let turns: Vec<Value> = lines.collect();
    assert_eq!(turns.len(), rows);
    assert!(
        turns
            .iter()
            .all(|turn| turn["load_average"].is_string() && turn["sample"].is_object()),
        "{turns:?}"
    );
    let page = read(out, "report.html");
    assert_eq!(page.matches("<svg").count(), 1, "one figure of delays");
    assert!(
        !page.contains("<script") && !page.contains("src=\"http"),
        "it needs nothing else"
    );
}

#[test]
fn a_run_that_was_killed_goes_on_and_another_one_is_refused() {
    let out = tempfile::tempdir().expect("a folder");
    let begin = [
        "--quick",
        "--loss",
        "0r",
        "--seconds",
        "1",
        "--proxy",
        "--only",
        "sealcast,rtp",
    ];
    let run = lab(&begin, out.path());
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let whole = read(out.path(), "record.jsonl");
    let ends: Vec<usize> = whole.match_indices('\n').map(|(at, _)| at).collect();
    assert_eq!(ends.len(), 3, "what is measured, and two turns: {whole}");
    // Truncate the record, as if the program had been killed while it wrote the second turn.
    std::fs::write(out.path().join("record.jsonl"), &whole[..ends[1] + 20]).expect("written");

    let run = lab(&begin, out.path());
    let told = String::from_utf8_lossy(&run.stderr);
    assert!(
        run.status.success() && told.contains("1 of 2 turns are in the record already"),
        "{told}"
    );
    let again = read(out.path(), "record.jsonl");
    assert!(
        again.starts_with(&whole[..=ends[1]]) && again.lines().count() == 3,
        "{again}"
    );

    let run = lab(&["--quick", "--loss", "1r", "--proxy"], out.path());
    let told = String::from_utf8_lossy(&run.stderr);
    assert!(
        run.status.code() == Some(2) && told.contains("another definition"),
        "{told}"
    );
}

#[test]
fn what_cannot_be_measured_is_refused_in_words() {
    let out = tempfile::tempdir().expect("a folder");
    for (arguments, words) in [
        (["--only", "quic"], "sealcast-none, sealcast-fec"),
        (["--loss", "2%"], "such as 2, 2r"),
    ] {
        let run = lab(&arguments, out.path());
        let told = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.code() == Some(2) && told.contains(words), "{told}");
    }
}
