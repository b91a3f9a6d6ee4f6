//! Costs of the program in memory and processor time, by its own figures.

use sealcast_testkit::media::path;
use sealcast_testkit::program::{PATIENCE, home, number, publish, report, watch};
use serde_json::Value;

/// Number of pictures on which the figures are based.
const FRAMES: u32 = 100;

const MAX_BYTES: f64 = 40e6;

/// Publishes a test card and decodes many frames of it. Returns the reports of publisher and viewer.
fn decoded(card: &str) -> [Value; 2] {
    let homes = [home(), home()];
    let reports = [0, 1].map(|end| homes[end as usize].path().join("report.json"));
    let mut publisher = publish(homes[0].path(), card, &["--report", path(&reports[0])]);
    let to = ["--to", "http://127.0.0.1:0", "--report", path(&reports[1])];
    let options = [&to[..], &["--metrics", "127.0.0.1:0"]].concat();
    let mut viewer = watch(homes[1].path(), &publisher.ticket, &options);
    viewer.says("watching", PATIENCE);
    viewer.has_counted("sealcast_stage_seconds_count{stage=\"decode\"}", FRAMES.into());
    viewer.stop();
    publisher.program.stop();
    reports.map(|file| report(&file))
}

/// Fails unless every frame was decoded that was not dropped before. A busy machine drops some.
fn assert_every_frame_decoded(viewer: &Value) {
    let frames = number(viewer, "/totals/frames_in");
    let dropped = number(viewer, "/totals/frames_dropped/queue");
    assert_eq!(number(viewer, "/stages/decode/count"), frames - dropped);
}

#[test]
fn both_ends_take_little_memory() {
    let reports = decoded("test:640x480@25");
    assert_every_frame_decoded(&reports[1]);
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
    let reports = decoded("test:1280x720@30");
    assert_every_frame_decoded(&reports[1]);
    // Measured by frame and not by second: on a busy machine there are fewer frames, but the cost of each is the same.
    let frames = ["/stages/encode/count", "/stages/decode/count"];
    let seconds: f64 = reports
        .iter()
        .zip(frames)
        .map(|(report, frames)| number(report, "/resources/cpu_seconds") / number(report, frames))
        .sum();
    let cores = 30.0 * seconds;
    println!("{cores:.2} cores for both ends");
    assert!(
        cores > 0.01 && cores <= 1.0,
        "{cores} cores for encoding, sealing, opening and decoding"
    );
}
