//! Output and files of `sealcast-lab handshake`. Times have no bounds here, since they depend on the machine.

use std::path::Path;
use std::process::{Command, Output};

use crate::output::{record, table, value};
use sealcast_testkit::counter::Counter;

fn handshake(arguments: &[&str], out: Option<&Path>) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sealcast-lab"));
    command.arg("handshake").args(arguments);
    if let Some(out) = out {
        command.arg("--out").arg(out);
    }
    let Output { status, stdout, stderr } = command.output().expect("it runs");
    let said = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (status.code(), said.concat())
}

/// Few handshakes with mechanisms whose key pairs are quick to make.
const SMALL: [&str; 7] = [
    "--quick",
    "--handshakes",
    "4",
    "--meter",
    "none",
    "--only",
    "p256,x25519-mlkem768",
];

#[test]
fn the_table_and_the_report_come_from_the_turns_in_the_record() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |rounds: &str| handshake(&[&SMALL[..], &["--rounds", rounds]].concat(), Some(folder.path()));
    let (code, said) = run("1");
    assert_eq!(code, Some(0), "{said}");
    let first = record(folder.path());
    assert_eq!(first.len(), 5, "a header, then two mechanisms in memory and over TCP");
    let (code, said) = run("3");
    assert_eq!(code, Some(0), "{said}");
    let all = record(folder.path());
    assert_eq!((all.len(), &all[..5]), (13, &first[..]), "it goes on");

    let lines = table(&folder.path().join("table.csv"));
    assert_eq!(lines.len(), 5, "four of ours, and the published one");
    for line in lines.iter().filter(|line| !line["mechanism"].is_empty()) {
        let own = all[1..]
            .iter()
            .filter(|turn| turn["case"] == line["case"] && turn["system"] == line["system"]);
        let mut means: Vec<f64> = own
            .map(|turn| turn["sample"]["values"]["duration_ms"].as_f64().expect("a time"))
            .collect();
        means.sort_by(f64::total_cmp);
        let ends = ["duration_ms_low", "duration_ms", "duration_ms_high"].map(|column| value(line, column));
        assert_eq!(ends[..], means, "{line:?}");
        assert!(
            ["duration_sd_ms", "keygen_ms", "initiator_cpu_ms", "responder_cpu_ms"]
                .iter()
                .all(|column| value(line, column) > 0.0),
            "{line:?}"
        );
        assert!(
            value(line, "duration_p50_ms") <= value(line, "duration_p95_ms"),
            "{line:?}"
        );
        assert_eq!(
            value(line, "bytes"),
            value(line, "sent_bytes") + value(line, "received_bytes")
        );
        assert_eq!((value(line, "handshakes"), value(line, "round_trips")), (4.0, 2.0));
        assert_eq!(line["mj_per_handshake"], "", "there is no meter");
    }
    let bytes = |case: &str, system: &str| {
        let line = lines
            .iter()
            .find(|line| line["case"] == case && line["system"] == system);
        value(line.expect("it was measured"), "bytes")
    };
    assert_eq!(bytes("memory", "p256"), bytes("tcp", "p256"), "a carrier adds nothing");
    // The public key and the ciphertext of ML-KEM-768 (FIPS 203), and X25519 for P-256.
    let more = 1184.0 + 1088.0 - 2.0 * (65.0 - 32.0);
    assert_eq!(bytes("tcp", "x25519-mlkem768") - bytes("tcp", "p256"), more);

    let report = std::fs::read_to_string(folder.path().join("report.html")).expect("a report");
    assert!(
        report.contains("Table II") && report.contains("not measurable here"),
        "the published row, and the missing meter"
    );
    assert!(!report.contains("src=") && !report.contains("href="), "one file");
}

#[test]
fn with_a_meter_handshakes_and_key_pairs_have_energy() {
    let counter = Counter::start(5.0);
    let meter = format!("rapl:{}", counter.tree().display());
    let folder = tempfile::tempdir().expect("a folder");
    let only = [
        "--quick",
        "--rounds",
        "1",
        "--handshakes",
        "2",
        "--only",
        "memory,x25519",
    ];
    let (code, said) = handshake(&[&only[..], &["--meter", &meter]].concat(), Some(folder.path()));
    assert_eq!(code, Some(0), "{said}");
    let turns = record(folder.path());
    let sample = &turns[1]["sample"];
    let lacks = sample["lacks"].as_array().is_some_and(|lacks| !lacks.is_empty());
    // On a machine that is too busy to read the meter in time, that is said and there is no figure.
    let values = ["mj_per_handshake", "mj_per_keygen", "joules", "idle_watts"];
    for name in values {
        assert_eq!(sample["values"][name].is_f64(), !lacks, "{name} of {sample}");
    }
    assert!(said.contains("energy: rapl"), "{said}");
}

#[test]
fn a_machine_without_a_meter_says_so_in_the_cell() {
    let (code, said) = handshake(
        &[
            "--quick",
            "--rounds",
            "1",
            "--handshakes",
            "1",
            "--meter",
            "none",
            "--wide",
            "--only",
            "tcp,x25519",
        ],
        None,
    );
    assert_eq!(code, Some(0), "{said}");
    let row = said.lines().find(|line| line.contains("| x25519 "));
    assert!(row.is_some_and(|row| row.contains("not measurable here")), "{said}");
    let published = said.lines().find(|line| line.contains("Briano"));
    assert!(
        published.is_some_and(|row| row.contains("4.00") && !row.contains("not measurable")),
        "{said}"
    );
}

#[test]
fn a_mechanism_or_a_meter_that_does_not_exist_is_named() {
    let (code, said) = handshake(&["--only", "rot13"], None);
    assert!(code == Some(2) && said.contains("rot13"), "{said}");
    let (code, said) = handshake(&["--quick", "--rounds", "2", "--meter", "rapl:/nonexistent"], None);
    assert!(code == Some(3) && said.contains("/nonexistent"), "{said}");
}
