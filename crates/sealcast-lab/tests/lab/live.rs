//! Output and files of `sealcast-lab live`. Times have no bounds here, since they depend on the machine.

use std::path::Path;
use std::process::Command;

use sealcast_testkit::counter::Counter;
use serde_json::Value;

use crate::output::{Line, record, run, table, value};

fn live(arguments: &[&str], out: &Path) -> (Option<i32>, String) {
    run(["live", "--quick"].into_iter().chain(arguments.iter().copied()), out)
}

/// Holds the files of a run of the first round to its turn.
fn assert_files(folder: &Path, line: &Line, turns: &[Value]) {
    let name = format!("{}-{}-1", line["case"], line["system"]);
    let runs = folder.join("runs").join(name);
    let periods = table(&runs.join("periods.csv"));
    let frames: f64 = periods.iter().map(|period| value(period, "frames")).sum();
    let is_its = |turn: &&Value| turn["round"] == 0 && turn["case"] == line["case"] && turn["system"] == line["system"];
    let measured = &turns.iter().find(is_its).expect("a turn")["sample"]["values"];
    assert_eq!(periods.len(), 3, "{line:?}");
    assert_eq!(Some(frames), measured["frames"].as_f64(), "{line:?}");
    let report = std::fs::read_to_string(runs.join("viewer.json")).expect("a report");
    let suite = match &*line["system"] {
        "rc4" => "insecure-rc4",
        suite => suite,
    };
    assert!(report.contains(&format!("\"suite\": \"{suite}\"")), "{report}");
}

#[test]
fn a_stream_under_a_suite_and_under_a_study_cipher_is_measured_on_loopback_and_over_a_link() {
    let folder = tempfile::tempdir().expect("a folder");
    let only = [
        "--only",
        "loopback,lossy,aes-256-gcm,rc4",
        "--meter",
        "none",
        "--rounds",
    ];
    let round = |rounds: &str| live(&[&only[..], &[rounds]].concat(), folder.path());
    let (code, said) = round("1");
    assert_eq!(code, Some(0), "{said}");
    let first = record(folder.path());
    assert_eq!(first.len(), 5, "a header, and two suites in two cases: {said}");
    let (code, said) = round("2");
    assert_eq!(code, Some(0), "{said}");
    let all = record(folder.path());
    assert_eq!((all.len(), &all[..5]), (9, &first[..]), "it goes on");

    let lines = table(&folder.path().join("table.csv"));
    assert_eq!(lines.len(), 4);
    for line in &lines {
        let known = [
            "fps",
            "delay_p50_ms",
            "seal_us",
            "open_us",
            "publisher_cpu_us",
            "viewer_cpu_us",
            "bytes_per_frame",
        ];
        assert!(known.iter().all(|column| value(line, column) > 0.0), "{line:?}");
        assert!(value(line, "delay_p95_ms") >= value(line, "delay_p50_ms"), "{line:?}");
        assert_eq!(line["mj_per_frame"], "", "no meter: {line:?}");
        assert_files(folder.path(), line, &all[1..]);
    }
    let delay = |case: &str| {
        lines
            .iter()
            .find(|line| line["case"] == case)
            .map(|line| value(line, "network_p50_ms"))
    };
    assert!(
        delay("lossy").is_some_and(|ms| ms >= 20.0),
        "the link's own delay: {lines:?}"
    );
    let page = std::fs::read_to_string(folder.path().join("report.html")).expect("a page");
    assert!(
        page.contains("class=\"bar ") && page.contains("not measurable here"),
        "charts and words"
    );
}

#[test]
fn energy_of_a_stream_is_read_from_the_meter_that_is_named() {
    let counter = Counter::start(5.0);
    let folder = tempfile::tempdir().expect("a folder");
    let meter = format!("rapl:{}", counter.tree().display());
    let (code, said) = live(&["--only", "loopback,trivium", "--meter", &meter], folder.path());
    assert_eq!(code, Some(0), "{said}");
    let sample = record(folder.path())[1]["sample"].clone();
    let values = &sample["values"];
    assert!(values["frames"].as_f64().is_some_and(|frames| frames > 0.0), "{sample}");
    // A machine that is busy may not read the counter for too long, which is said then.
    if sample["lacks"].is_null() {
        assert!(
            values["mj_per_frame"].is_f64() && values["idle_watts"].as_f64() > Some(0.0),
            "{sample}"
        );
    } else {
        assert!(
            sample["lacks"][0].as_str().is_some_and(|why| why.starts_with("energy")),
            "{sample}"
        );
    }
}

#[test]
fn a_suite_that_the_program_does_not_know_is_said_with_the_programs_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = include_str!("../../definitions/live.toml").replace("study = \"rc4\"", "study = \"des\"");
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, own).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_sealcast-lab"));
    command.args(["run", "--quick", "--only", "loopback,rc4"]).arg(&file);
    let output = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("there is no study suite of a cipher \"des\""), "{said}");
}
