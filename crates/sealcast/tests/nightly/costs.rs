//! What the program takes of a machine, by its own figures.

use std::thread::sleep;
use std::time::Duration;

use sealcast_testkit::media::path;
use sealcast_testkit::program::{PATIENCE, home, number, publish, report, watch};
use serde_json::Value;

const MAX_BYTES: f64 = 40e6;

/// Publish a test card and decode every frame of it for some seconds; both ends' reports.
fn decoded(card: &str, seconds: u64) -> [Value; 2] {
    let homes = [home(), home()];
    let reports = [0, 1].map(|end| homes[end as usize].path().join("report.json"));
    let mut publisher = publish(homes[0].path(), card, &["--report", path(&reports[0])]);
    let to = ["--to", "http://127.0.0.1:0", "--report", path(&reports[1])];
    let mut viewer = watch(homes[1].path(), &publisher.ticket, &to);
    viewer.says("watching", PATIENCE);
    sleep(Duration::from_secs(seconds));
    viewer.stop();
    publisher.program.stop();
    reports.map(|file| report(&file))
}

fn assert_every_frame_decoded(viewer: &Value, at_least: f64) {
    let frames = number(viewer, "/totals/frames_in");
    assert!(frames >= at_least, "{frames} frames");
    assert_eq!(number(viewer, "/stages/decode/count"), frames);
}

#[test]
fn both_ends_take_little_memory() {
    let reports = decoded("test:640x480@25", 4);
    assert_every_frame_decoded(&reports[1], 90.0);
    for report in &reports {
        let bytes = number(report, "/resources/max_rss_bytes");
        println!("{}: {:.1} MB", report["command"], bytes / 1e6);
        assert!(
            (1e6..=MAX_BYTES).contains(&bytes),
            "{}: {bytes} bytes",
            report["command"]
        );
    }
}

#[test]
fn high_definition_at_thirty_frames_takes_less_than_one_core() {
    let reports = decoded("test:1280x720@30", 5);
    assert_every_frame_decoded(&reports[1], 135.0);
    let cores: f64 = reports
        .iter()
        .map(|report| number(report, "/resources/cpu_seconds") / number(report, "/resources/seconds"))
        .sum();
    println!("{cores:.2} cores for both ends");
    assert!(
        cores > 0.01 && cores <= 1.0,
        "{cores} cores for encoding, sealing, opening and decoding"
    );
}
