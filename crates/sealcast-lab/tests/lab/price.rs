//! Output and files of `sealcast-lab price` and `sealcast-lab resolution`. Times have no upper bounds here, since they
//! depend on the machine.

use std::path::Path;

use serde_json::Value;

use crate::output::{Line, line, record, run, table, value};

fn price(only: &str, more: &[&str], folder: &Path) -> Vec<Line> {
    let arguments = [
        "price",
        "--quick",
        "--meter",
        "none",
        "--rounds",
        "1",
        "--seconds",
        "1",
        "--only",
        only,
    ];
    let (code, said) = run(arguments.into_iter().chain(more.iter().copied()), folder);
    assert_eq!(code, Some(0), "{said}");
    table(&folder.join("table.csv"))
}

fn report(run: &Path, end: &str) -> Value {
    let text = std::fs::read(run.join(format!("{end}.json"))).expect("a report");
    serde_json::from_slice(&text).expect("JSON")
}

#[test]
fn what_protection_adds_is_a_difference_to_a_stream_without_any() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines = price("udp,none,aes-128-gcm", &[], folder.path());
    let (none, sealed) = (line(&lines, "udp", "none"), line(&lines, "udp", "aes-128-gcm"));
    for (added, of) in [
        ("over_none_ms", "video_p50_ms"),
        ("over_none_network_ms", "network_p50_ms"),
        ("over_none_cpu_us", "cpu_us"),
        ("over_none_mb", "memory_mb"),
        ("over_none_bytes", "bytes_per_frame"),
    ] {
        let difference = value(sealed, of) - value(none, of);
        assert!((value(sealed, added) - difference).abs() < 1e-6, "{added}: {sealed:?}");
        assert_eq!(none[added], "", "the baseline adds nothing to itself");
    }
    for system in ["none", "aes-128-gcm"] {
        let runs = folder.path().join("runs").join(format!("udp-{system}-1"));
        let suite = if system == "none" { "insecure-none" } else { system };
        for end in ["publisher", "viewer"] {
            assert_eq!(report(&runs, end)["handshakes"][0]["suite"], suite);
        }
        let decoded = &report(&runs, "viewer")["stages"]["decode"]["count"];
        assert!(decoded.as_u64() > Some(0), "the viewer decodes: {decoded}");
    }
}

#[test]
fn a_delay_that_is_put_in_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines = price("delayed,none,5ms", &[], folder.path());
    let held = line(&lines, "delayed", "5ms");
    let clock = &report(&folder.path().join("runs/delayed-5ms-1"), "viewer")["clock"];
    let millis = |name: &str| clock[name].as_f64().expect("a time") / 1e6;
    // Both ways are held for 5 ms. What else the shortest exchange took may have been on one way alone: by half of it
    // the offset of the clocks, and with it the latency, may be wrong on a busy machine.
    let unheld = millis("shortest_round_trip_ns") - 10.0;
    assert!(unheld >= 0.0, "{clock}");
    let wrong = unheld / 2.0 + millis("spread_ns");
    for column in ["network_p50_ms", "video_p50_ms"] {
        assert!(value(held, column) >= 5.0 - wrong, "{clock} {held:?}");
    }
}

#[test]
fn by_dose_there_is_a_slope_for_each_block_and_an_estimate_of_everything_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines = price("dose", &[], folder.path());
    let dose = line(&lines, "dose", "dose");
    let known = [
        "seal_first_us",
        "seal_slope_us",
        "open_first_us",
        "open_slope_us",
        "video_slope_us",
        "publisher_slope_us",
        "viewer_slope_us",
    ];
    assert!(known.iter().all(|column| value(dose, column).is_finite()), "{dose:?}");
    let positive = ["bare_seal_us", "bare_open_us", "video_rest_us", "cpu_rest_us"];
    assert!(positive.iter().all(|column| value(dose, column) > 0.0), "{dose:?}");
    assert_eq!(dose["energy_slope_uj"], "", "no meter: {dose:?}");
    let sample = &record(folder.path())[1]["sample"];
    // A block in which a dose has no frame, as on a machine that stood still, has no slope.
    let blocks = sample["series"]["seal_slope_of"].as_array().map(Vec::len);
    assert!(blocks.is_some_and(|count| (1..=2).contains(&count)), "{sample}");
    let lacks = sample["lacks"].to_string();
    assert!(lacks.contains("no power was logged"), "{lacks}");
    // Whatever a record's dose is, it opens.
    let viewer = report(&folder.path().join("runs/dose-dose-1"), "viewer");
    assert_eq!(viewer["totals"]["open_failures"]["tag"], 0, "{viewer}");
}

#[test]
fn each_resolution_has_its_stages_drawn_or_passed_through() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["resolution", "--quick", "--meter", "none", "--seconds", "1", "--only"];
    let only = ["480p-card,480p-clip,aes-128-gcm"];
    let (code, said) = run(arguments.into_iter().chain(only), folder.path());
    assert_eq!(code, Some(0), "{said}");
    let lines = table(&folder.path().join("table.csv"));
    for case in ["480p-card", "480p-clip"] {
        let line = line(&lines, case, "aes-128-gcm");
        let stages = ["encode_us", "seal_us", "open_us", "decode_us", "video_p50_ms", "fps"];
        let measured = stages
            .iter()
            .filter(|stage| case == "480p-card" || **stage != "encode_us");
        assert!(measured.into_iter().all(|column| value(line, column) > 0.0), "{line:?}");
    }
    let clip = folder.path().join("clip-640x480@30.mp4");
    assert!(
        clip.metadata().is_ok_and(|file| file.len() > 0),
        "the clip is kept for the next turn"
    );
}

#[test]
fn a_system_without_a_suite_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = include_str!("../../definitions/price.toml").replace("study = \"dose\"\n", "");
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, own).expect("a file");
    let (code, said) = run(["run", file.to_str().expect("a path")], &folder.path().join("out"));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("`dose` must have either `suite` or `study`"), "{said}");
}
