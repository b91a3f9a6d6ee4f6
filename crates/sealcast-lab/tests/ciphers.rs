//! What `sealcast-lab ciphers` and `sealcast-lab verify` leave and say; not the speed, which is the machine's.

#[path = "../../sealcast/tests/counter/mod.rs"]
mod counter;

use std::path::Path;
use std::process::{Command, Output};

use counter::Counter;
use serde_json::Value;

const LAB: &str = env!("CARGO_BIN_EXE_sealcast-lab");

fn lab(arguments: &[&str], out: Option<&Path>) -> (Option<i32>, String) {
    let mut command = Command::new(LAB);
    command.args(arguments);
    if let Some(out) = out {
        command.arg("--out").arg(out);
    }
    let Output { status, stdout, stderr } = command.output().expect("it runs");
    let said = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (status.code(), said.concat())
}

fn record(folder: &Path) -> Value {
    let text = std::fs::read(folder.join("record.json")).expect("a record");
    serde_json::from_slice(&text).expect("JSON")
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

/// Of one contender on one workload: a figure of each round's cell.
fn samples(record: &Value, contender: usize, workload: usize, figure: fn(&Value) -> f64) -> Vec<f64> {
    let rounds = record["rounds"].as_array().expect("rounds").iter();
    let cells = rounds.flat_map(|round| round["cells"].as_array().expect("cells"));
    let here = cells.filter(|cell| cell["contender"] == contender && cell["workload"] == workload);
    here.map(figure).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    assert!(values.len() % 2 == 1, "three rounds");
    values[values.len() / 2]
}

#[test]
fn the_table_and_the_report_come_from_the_rounds_in_the_record() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["ciphers", "--quick", "--only", "trivium,xor,aes-128-gcm"];
    let (code, said) = lab(&arguments, Some(folder.path()));
    assert_eq!(code, Some(0), "{said}");
    let record = record(folder.path());
    let contenders = record["contenders"].as_array().expect("contenders");
    let workloads = record["settings"]["workloads"].as_array().expect("workloads");
    assert_eq!(
        (record["rounds"].as_array().map(Vec::len), workloads.len()),
        (Some(3), 11)
    );
    let place = |list: &[Value], field: &str, name: &str| list.iter().position(|one| one[field] == name);

    let mut table = csv::Reader::from_path(folder.path().join("table.csv")).expect("a table");
    let columns = table.headers().expect("a line of names").clone();
    let column = |name: &str| columns.iter().position(|column| column == name).expect("a column");
    let report = std::fs::read_to_string(folder.path().join("report.html")).expect("a report");
    assert!(
        report.contains("<svg") && !report.contains("src=") && !report.contains("href="),
        "one file"
    );
    let mut lines = 0;
    for line in table.records() {
        let line = line.expect("a line");
        let (cipher, implementation) = (&line[column("cipher")], &line[column("implementation")]);
        let own = |one: &Value| one["cipher"] == cipher && one["implementation"] == implementation;
        let contender = contenders.iter().position(own).expect("one of those in the record");
        let workload = place(workloads, "name", &line[column("workload")]).expect("one of those in the record");
        let ns_per_byte = samples(&record, contender, workload, |cell| {
            number(&cell["seal_ns"]) / number(&cell["bytes"])
        });
        let expected = 1e3 / median(ns_per_byte);
        let said: f64 = line[column("mb_per_s")].parse().expect("a number");
        assert!(
            (said / expected - 1.0).abs() < 1e-9,
            "{cipher} {implementation}: {said}, not {expected}"
        );
        assert!(
            report.contains(&format!("<td>{cipher}</td><td>{implementation}</td><td>")),
            "{cipher}"
        );
        lines += 1;
    }
    // Those that are too slow for a quick run have no line for raw frames.
    assert!(lines >= 4 * 9, "{lines} lines");
}

#[test]
fn a_run_that_was_stopped_goes_on_and_another_one_does_not_take_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let rounds = |count: &str, only: &str| {
        let arguments = ["ciphers", "--quick", "--only", only, "--rounds", count];
        lab(&arguments, Some(folder.path()))
    };
    let (code, said) = rounds("1", "rabbit");
    assert_eq!(code, Some(0), "{said}");
    let first = record(folder.path())["rounds"][0].clone();
    let (code, said) = rounds("2", "rabbit");
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("round 2 of 2") && !said.contains("round 1 of 2"),
        "{said}"
    );
    let both = record(folder.path());
    assert_eq!(
        (both["rounds"].as_array().map(Vec::len), &both["rounds"][0]),
        (Some(2), &first)
    );

    let (code, said) = rounds("2", "rc4");
    assert_eq!(code, Some(4), "{said}");
    assert!(
        said.contains("another measurement") && record(folder.path()) == both,
        "{said}"
    );
}

#[test]
fn energy_is_that_of_the_meter_less_what_it_shows_when_idle() {
    let counter = Counter::start(5.0);
    let folder = tempfile::tempdir().expect("a folder");
    let meter = format!("rapl:{}", counter.tree().display());
    let arguments = [
        "ciphers", "--quick", "--only", "rabbit", "--rounds", "1", "--meter", &meter,
    ];
    let (code, said) = lab(&arguments, Some(folder.path()));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("energy: rapl: processor packages"), "{said}");
    let record = record(folder.path());
    let contenders = record["contenders"].as_array().expect("contenders").len();
    let energies = record["rounds"][0]["energies"].as_array().expect("energies");
    assert_eq!(energies.len(), 4 * contenders, "{said}");
    for energy in energies {
        let [joules, seconds, idle] = ["joules", "seconds", "idle_watts"].map(|field| number(&energy[field]));
        assert!((idle - 5.0).abs() < 0.5 && seconds >= 0.5, "{energy}");
        assert!((joules / seconds).abs() < 0.7, "the counter knows no work: {energy}");
        assert!(number(&energy["bytes"]) > number(&energy["packets"]), "{energy}");
    }

    let (code, said) = lab(
        &["ciphers", "--quick", "--only", "rabbit", "--meter", "none"],
        Some(folder.path()),
    );
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("meter or --quick differ"), "{said}");
    let (code, said) = lab(&["ciphers", "--quick", "--meter", "rapl:/nonexistent"], None);
    assert!(
        code == Some(3) && said.contains("no energy counter in /nonexistent"),
        "{said}"
    );
}

#[test]
fn a_cipher_that_does_not_exist_is_named_with_those_that_do() {
    let (code, said) = lab(&["ciphers", "--only", "rot13"], None);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("rot13") && said.contains("mickey-v2") && said.contains("ascon-aead128"),
        "{said}"
    );
}

#[test]
fn verify_ends_with_a_code_of_its_own_for_what_is_wrong_and_for_what_is_not_understood() {
    let right = r#"{"cipher": "RC4", "vectors": [{"set": 1, "number": 5, "key": "0102030405", "iv": "", "stream_len": 4,
        "stream": [{"from": 0, "to": 3, "hex": "B2396305"}]}]}"#;
    let cases = [
        (right.to_owned(), 0, "| rc4          | definition   |      1 |"),
        (
            right.replace("B239", "B238"),
            1,
            "rc4 definition: set 1, vector 5: other bytes from 0 on",
        ),
        (right.replace("RC4", "RC5"), 3, "there is no cipher `RC5` here"),
    ];
    for (text, code, words) in cases {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("rc4.json"), text).expect("a file");
        let (ended, said) = lab(&["verify", "--vectors", folder.path().to_str().expect("UTF-8")], None);
        assert_eq!(ended, Some(code), "{said}");
        assert!(said.contains(words), "{said}");
    }
    let (ended, said) = lab(&["verify", "--vectors", "/nowhere"], None);
    assert_eq!(ended, Some(3), "{said}");
}
