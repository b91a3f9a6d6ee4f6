//! A short measurement of the cost of the gateway pair: the commands work as users run them, and the format of the
//! output is checked. The values are not checked, since other tests keep the machine busy.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

const LAB: &str = env!("CARGO_BIN_EXE_sealcast-lab");

/// Time limit for starting programs, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// Path of a program that does not exist.
const NOBODY: &str = "/nonexistent/boringtun-cli";

fn lab(arguments: &[&str]) -> Command {
    let mut command = Command::new(LAB);
    command.arg("gateway").args(arguments);
    command
}

/// Measures each system for a second. If the machine stands still for as long, nothing comes through meanwhile, and it
/// is measured again.
fn quick_run(folder: &Path) -> (PathBuf, Output) {
    let words = [
        "--quick",
        "--rounds",
        "1",
        "--seconds",
        "1",
        "--boringtun",
        NOBODY,
        "--out",
    ];
    let mut silent = Vec::new();
    for attempt in 0..5 {
        let out = folder.join(format!("new-{attempt}"));
        let run = lab(&words).arg(&out).output().expect("the laboratory starts");
        if !run.status.success() {
            return (out, run);
        }
        let all_lost = |row: &BTreeMap<String, String>| row["lost"] == row["packets"];
        silent = table(&out).into_iter().filter(all_lost).collect();
        if silent.is_empty() {
            return (out, run);
        }
    }
    panic!("nothing came through: {silent:?}");
}

#[test]
fn a_quick_run_measures_the_pair_and_the_relay_and_names_who_is_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (out, run) = quick_run(folder.path());
    let (said, told) = (
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr),
    );
    assert!(run.status.success(), "{said}{told}");
    let [header, turns] = record(&out);
    let rows = table(&out);
    for case in ["udp-250", "udp-10000", "tcp-30", "cameras-udp", "cameras-tcp"] {
        for system in ["relay", "sealcast"] {
            let row = rows
                .iter()
                .any(|row| (row["case"].as_str(), row["system"].as_str()) == (case, system));
            assert!(row, "{case} {system}: {said}{told}");
        }
    }
    let failed: Vec<&Value> = list(&turns).filter(|turn| turn["failure"].is_string()).collect();
    for system in ["boringtun", "stunnel", "rtsps"] {
        let measured = rows.iter().any(|row| row["system"] == system);
        let named = failed.iter().any(|turn| turn["system"] == system);
        assert!(measured != named, "{system}: {failed:?}");
        assert!(said.contains(system), "{said}");
    }
    assert!(said.contains(NOBODY) || said.contains("root"), "{said}");
    rows.iter().for_each(check_row);
    let samples = list(&turns).filter_map(|turn| turn["sample"]["values"]["packets"].as_f64());
    assert!(samples.clone().count() == rows.len() && samples.clone().all(|packets| packets >= 200.0));
    check_rest(&header, &out);
}

fn check_row(row: &BTreeMap<String, String>) {
    let figure = |name: &str| {
        row[name]
            .parse::<f64>()
            .unwrap_or_else(|error| panic!("{name}: {error}: {row:?}"))
    };
    let (p50, p99, p999) = (figure("p50_us"), figure("p99_us"), figure("p999_us"));
    assert!(0.0 < p50 && p50 <= p99 && p99 <= p999, "{row:?}");
    assert!(
        figure("cpu_us_per_packet") > 0.0 && figure("core_percent") > 0.0,
        "{row:?}"
    );
    assert!(row["rounds"] == "1" && figure("lost") < figure("packets"), "{row:?}");
    assert_eq!(
        row["p50_more_than_relay_us"].is_empty(),
        row["system"] == "relay",
        "{row:?}"
    );
}

fn check_rest(header: &Value, out: &Path) {
    let known = [
        &header["made"],
        &header["environment"]["machine"],
        &header["definition"]["disproved_by"],
    ];
    assert!(known.iter().all(|value| !value.is_null()), "{header}");
    let page = read(out, "report.html");
    assert_eq!(page.matches("<svg").count(), 5, "delays of each case");
    assert!(
        page.contains("To find: sealcast-lab gateway --rounds 7") && !page.contains("class=\"verdict\""),
        "a single round finds nothing"
    );
    let judged: Vec<&str> = page.lines().filter(|line| line.contains("times is m")).collect();
    assert_eq!(
        judged.len(),
        2,
        "processor time of lone packets is judged by the relay of the round: {judged:?}"
    );
    assert!(
        judged
            .iter()
            .all(|line| line.contains("processor time beside the relay")),
        "{judged:?}"
    );
    assert!(
        !page.contains("<script") && !page.contains("src=\"http"),
        "it needs nothing else"
    );
}

/// The first line of the record, and an array of all others.
fn record(out: &Path) -> [Value; 2] {
    let text = read(out, "record.jsonl");
    let mut lines = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let header = lines.next().expect("a first line");
    [header, lines.collect()]
}

/// The rows of `table.csv`, each as a map from column to value.
fn table(out: &Path) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(out.join("table.csv")).expect("a table");
    reader.deserialize().map(|row| row.expect("a row")).collect()
}

fn read(out: &Path, name: &str) -> String {
    std::fs::read_to_string(out.join(name)).expect(name)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> + Clone {
    value.as_array().expect("a list").iter()
}

#[test]
fn a_run_that_is_stopped_ends_what_it_started() {
    let mut command = lab(&["--only", "sealcast,udp-250", "--seconds", "600"]);
    let mut run = command.stdout(Stdio::null()).spawn().expect("the laboratory starts");
    let began = Instant::now();
    let gateways = loop {
        let gateways = children(run.id());
        if gateways.len() == 2 {
            break gateways;
        }
        assert!(began.elapsed() < PATIENCE, "there are two gateways");
        thread::sleep(Duration::from_millis(20));
    };
    let told = Command::new("kill").arg(run.id().to_string()).status();
    assert!(told.is_ok_and(|status| status.success()));
    assert!(!run.wait().expect("a child of ours").success(), "nothing was measured");
    for gateway in gateways {
        assert!(!Path::new("/proc").join(gateway).exists(), "a gateway is left");
    }
}

/// The child processes of a process.
fn children(process: u32) -> Vec<String> {
    let all = std::fs::read_dir("/proc").expect("Linux").filter_map(Result::ok);
    let of_it = all.filter(|entry| {
        // The fourth field is the parent. The second one, the name, may contain any characters.
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
