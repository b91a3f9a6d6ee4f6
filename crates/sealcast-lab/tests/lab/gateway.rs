//! The price of the gateway pair, short: that it is measured as a user would, and the form of what is written. What it
//! finds is not judged here, since other tests keep the machine busy.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

const LAB: &str = env!("CARGO_BIN_EXE_sealcast-lab");

/// A program that no machine has.
const NOBODY: &str = "/nonexistent/boringtun-cli";

fn lab(arguments: &[&str]) -> Command {
    let mut command = Command::new(LAB);
    command.arg("gateway").args(arguments);
    command
}

#[test]
fn a_quick_run_measures_the_pair_and_the_relay_and_names_who_is_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("new");
    let mut command = lab(&[
        "--quick",
        "--rounds",
        "1",
        "--seconds",
        "1",
        "--boringtun",
        NOBODY,
        "--out",
    ]);
    let run = command.arg(&out).output().expect("the laboratory starts");
    let (said, told) = (
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr),
    );
    assert!(run.status.success(), "{said}{told}");
    let record: Value = serde_json::from_str(&read(&out, "record.json")).expect("JSON");
    let missing: Vec<&str> = list(&record["not_measured"]).map(text).collect();
    let rows: Vec<(&str, &str)> = list(&record["rows"])
        .map(|row| (text(&row["load"]), text(&row["system"])))
        .collect();
    for load in ["udp-250", "udp-10000", "tcp-30", "cameras-udp", "cameras-tcp"] {
        for system in ["relay", "sealcast"] {
            assert!(rows.contains(&(load, system)), "{load} {system}: {missing:?}");
        }
    }
    for system in ["boringtun", "stunnel", "rtsps"] {
        let measured = rows.iter().any(|row| row.1 == system);
        let named = missing.iter().any(|why| why.starts_with(system));
        assert!(measured != named, "{system}: {missing:?}");
        assert!(said.contains(system), "{said}");
    }
    assert!(
        missing.iter().any(|why| why.contains(NOBODY) || why.contains("root")),
        "{missing:?}"
    );
    list(&record["rows"]).for_each(check_row);
    check_rest(&record, rows.len(), &out);
}

fn check_row(row: &Value) {
    let middle = |name: &str| number(&row[name]["median"]);
    let (p50, p99, p999) = (middle("p50_us"), middle("p99_us"), middle("p999_us"));
    assert!(0.0 < p50 && p50 <= p99 && p99 <= p999, "{row}");
    assert!(
        middle("cpu_us_per_packet") > 0.0 && middle("core_percent") > 0.0,
        "{row}"
    );
    assert!(
        row["rounds"] == 1 && number(&row["lost"]) < number(&row["packets"]),
        "{row}"
    );
    let over = &row["p50_more_than_relay_us"];
    assert_eq!(over.is_null(), row["system"] == "relay", "{row}");
}

fn check_rest(record: &Value, rows: usize, out: &Path) {
    for key in ["machine", "tcp_congestion_control", "load_average", "method", "made"] {
        assert!(!record[key].is_null(), "{key}");
    }
    let packets = list(&record["samples"]).map(|of| number(&of["samples"][0]["packets"]));
    assert!(packets.clone().count() == rows && packets.clone().all(|packets| packets >= 200.0));
    assert!(list(&record["verdicts"]).all(|verdict| text(verdict).contains(": sealcast: ")));
    let table = read(out, "table.md");
    let lines = table.lines().filter(|line| line.starts_with('|')).count();
    assert_eq!(lines, 2 + rows, "{table}");
    let page = read(out, "report.html");
    assert_eq!(page.matches("<svg").count(), 5 + 1, "delays of each load, and bars");
    assert!(
        !page.contains("<script") && !page.contains("src=\"http"),
        "it needs nothing else"
    );
}

fn read(out: &Path, name: &str) -> String {
    std::fs::read_to_string(out.join(name)).expect(name)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> + Clone {
    value.as_array().expect("a list").iter()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("words")
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn a_run_that_is_stopped_ends_what_it_started() {
    let mut command = lab(&["--only", "sealcast,udp-250", "--seconds", "40"]);
    let mut run = command.stdout(Stdio::null()).spawn().expect("the laboratory starts");
    let began = Instant::now();
    let gateways = loop {
        let gateways = children(run.id());
        if gateways.len() == 2 {
            break gateways;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "there are two gateways");
        thread::sleep(Duration::from_millis(20));
    };
    let told = Command::new("kill").arg(run.id().to_string()).status();
    assert!(told.is_ok_and(|status| status.success()));
    assert!(!run.wait().expect("a child of ours").success(), "nothing was measured");
    for gateway in gateways {
        assert!(!Path::new("/proc").join(gateway).exists(), "a gateway is left");
    }
}

/// The processes that a process has started.
fn children(process: u32) -> Vec<String> {
    let all = std::fs::read_dir("/proc").expect("Linux").filter_map(Result::ok);
    let of_it = all.filter(|entry| {
        // The fourth field is the parent; the second, the name, may hold anything.
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        rest.split_whitespace().nth(1) == Some(&process.to_string())
    });
    of_it
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn a_name_that_nobody_has_is_refused_with_those_that_there_are() {
    let run = lab(&["--only", "udp-9"]).output().expect("the laboratory starts");
    let told = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{told}");
    assert!(
        told.contains("udp-9") && told.contains("udp-250") && told.contains("relay"),
        "{told}"
    );
}
