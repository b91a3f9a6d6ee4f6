//! `sealcast-lab slow`: an encoder over a slow link. The test needs root and `/dev/net/tun`; without them it is
//! skipped.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use sealcast_lab::net::Net;
use sealcast_testkit::skips::skipped;

const LAB: &str = env!("CARGO_BIN_EXE_sealcast-lab");

/// Bits a second that the case `2mbit-card` carries, and the frames a second of its source.
const CARRIES: f64 = 2e6;
const FRAMES: f64 = 25.0;

/// Bytes a frame of each system, by the table of a run.
fn bytes_per_frame(table: &Path) -> Vec<(String, f64)> {
    let mut table = csv::Reader::from_path(table).expect("a table");
    let lines = table.deserialize::<HashMap<String, String>>();
    let row = |line: HashMap<String, String>| {
        let bytes = line["bytes_per_frame"].parse().expect("a number");
        (line["system"].clone(), bytes)
    };
    lines.map(|line| row(line.expect("a line"))).collect()
}

#[test]
fn an_encoder_follows_a_slow_link_over_tcp_as_over_udp() {
    if let Some(obstacle) = Net::obstacle() {
        skipped(obstacle);
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let ran = Command::new(LAB)
        .args(["slow", "--quick", "--meter", "none", "--out"])
        .arg(folder.path())
        .output()
        .expect("it runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let systems = bytes_per_frame(&folder.path().join("table.csv"));
    assert_eq!(systems.len(), 2, "{systems:?}");
    // The encoder is configured for three times as much. The first seconds, before it is told of the path, are in these
    // figures too.
    for (system, bytes) in systems {
        let rate = bytes * 8.0 * FRAMES;
        assert!((CARRIES * 0.3..CARRIES * 1.5).contains(&rate), "{system}: {rate} bit/s");
    }
}
