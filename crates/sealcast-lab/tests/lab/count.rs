//! Output and files of `sealcast-lab count`. Counts hang on how packets meet, so only those that cannot be otherwise
//! are judged.

use std::process::Command;

use sealcast_testkit::media;
use serde_json::Value;

use crate::output::run;

/// The command's answer where strace is missing, or may not trace.
const ABSENT: [&str; 2] = ["apt-get install strace", "strace cannot trace"];

/// Counts, and returns what was counted and what was said; `None` where strace cannot be used. If the machine stands
/// still for as long as the load takes, nothing comes through meanwhile, and it is counted again.
fn counted(arguments: &[&str]) -> Option<(Vec<Value>, String)> {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut code, mut said) = (None, String::new());
    for _ in 0..5 {
        (code, said) = run(["count"].iter().chain(arguments).copied(), folder.path());
        if !said.contains("* not counted") {
            break;
        }
    }
    if ABSENT.iter().any(|words| said.contains(words)) {
        println!("SKIPPED: no strace that may trace: {said}");
        return None;
    }
    assert_eq!(code, Some(0), "{said}");
    let json = std::fs::read_to_string(folder.path().join("count.json")).expect("a file");
    assert!(said.contains(&std::fs::read_to_string(folder.path().join("table.md")).expect("a table")));
    Some((serde_json::from_str(&json).expect("JSON"), said))
}

fn figure(counted: &Value, what: &str) -> f64 {
    counted["figures"][what].as_f64().unwrap_or_default()
}

#[test]
fn both_gateways_and_both_relays_are_counted_for_a_burst_and_a_packet() {
    let Some((counted, said)) = counted(&["--seconds", "1", "--only", "tcp-frames,relay,sealcast"]) else {
        return;
    };
    let names = |one: &Value| ["system", "side"].map(|name| one[name].as_str().expect("a name").to_owned());
    let seen: Vec<[String; 2]> = counted.iter().map(names).collect();
    let sides = [
        ("relay", "camera"),
        ("relay", "viewer"),
        ("sealcast", "camera"),
        ("sealcast", "viewer"),
    ];
    assert_eq!(
        seen,
        sides.map(|(system, side)| [system.to_owned(), side.to_owned()]),
        "{said}"
    );
    for one in &counted {
        assert_eq!(
            (one["bursts"].as_f64(), one["packets"].as_f64()),
            (Some(25.0), Some(20.0)),
            "{one}"
        );
        assert!(
            ["voluntary switches", "epoll_wait", "reads", "writes"]
                .iter()
                .all(|what| figure(one, what) > 0.0),
            "{one}"
        );
    }
    assert!(
        said.contains("tcp-frames for each burst") && said.contains("tcp-frames for each packet"),
        "{said}"
    );
}

#[test]
fn a_publisher_is_counted_for_a_frame_and_a_viewer() {
    let folder = tempfile::tempdir().expect("a folder");
    let clip = media::clip(media::STREET, folder.path());
    let arguments = [
        "viewers",
        "--seconds",
        "1",
        "--only",
        "tcp-4,alone",
        "--clip",
        media::path(&clip),
    ];
    let Some((counted, said)) = counted(&arguments) else {
        return;
    };
    assert_eq!(counted.len(), 1, "{said}");
    let one = &counted[0];
    assert!(
        one["packets"].as_f64() == Some(4.0) && one["bursts"].as_f64() > Some(0.0),
        "{one}"
    );
    assert!(
        ["epoll_wait", "reads", "writes"]
            .iter()
            .all(|what| figure(one, what) > 0.0),
        "{one}"
    );
}

#[test]
fn a_tool_that_is_missing_is_named_with_its_package() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sealcast-lab"));
    let run = command.arg("count").env("PATH", "").output().expect("it runs");
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(
        run.status.code() == Some(2) && said.contains("apt-get install strace"),
        "{said}"
    );
}
