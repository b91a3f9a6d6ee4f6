//! Report of each frame's way from the camera to the sink.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use sealcast_testkit::attack::{Home, until};
use sealcast_testkit::program::write_private;

/// A row of a log by its columns.
pub(super) type Row = BTreeMap<String, String>;

/// The stages of a frame, which follow one another without a gap.
const STAGES: [&str; 11] = [
    "capture_us",
    "encode_us",
    "queue_us",
    "seal_us",
    "send_us",
    "network_us",
    "reassembly_us",
    "open_us",
    "wait_us",
    "decode_us",
    "present_us",
];

/// Figures have three decimals or are whole nanoseconds, so a sum of eleven is off by no more than this, in µs.
const ROUNDING: f64 = 0.05;

/// A figure of a row, if it is known.
fn known(row: &Row, column: &str) -> Option<f64> {
    let text = row.get(column).unwrap_or_else(|| panic!("no column {column}"));
    (!text.is_empty()).then(|| text.parse().unwrap_or_else(|_| panic!("{column} is '{text}'")))
}

/// The complete rows of a log.
pub(super) fn rows(log: &[u8]) -> Vec<Row> {
    let mut reader = csv::Reader::from_reader(log);
    // The last row may be half written.
    reader.deserialize().filter_map(Result::ok).collect()
}

/// Checks that the stages of each frame make its latency, and that each is what it can be.
pub(super) fn check_stages(rows: &[Row]) {
    for row in rows {
        for stage in STAGES.into_iter().filter(|&stage| stage != "network_us") {
            assert!(known(row, stage).is_none_or(|value| value >= 0.0), "{stage} of {row:?}");
        }
        let Some(total) = known(row, "total_us") else { continue };
        let uncertainty = known(row, "clock_uncertainty_us").expect("known with the total");
        let sum: f64 = STAGES.into_iter().filter_map(|stage| known(row, stage)).sum();
        // The network ends and the frame is presented at different times, when the offset may be read differently.
        assert!(
            (sum - total).abs() <= uncertainty + ROUNDING,
            "the stages make {sum} and not {total}: {row:?}"
        );
    }
    // A frame carries what sealing and sending the one before it took; only the last, and any before a gap, has none.
    let sealed = rows.iter().filter(|row| known(row, "seal_us").is_some()).count();
    let number = |row: &Row| row["frame"].parse::<u64>().expect("a number");
    let followed = rows.windows(2).filter(|pair| number(&pair[0]) + 1 == number(&pair[1]));
    assert_eq!(sealed, followed.count());
}

/// Keeps both of a small machine's processors busy until it is dropped.
struct Busy(&'static AtomicBool);

impl Busy {
    fn begin() -> Self {
        let busy: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(true)));
        for _ in 0..4 {
            thread::spawn(|| while busy.load(Ordering::Relaxed) {});
        }
        Self(busy)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

#[test]
fn on_a_busy_machine_the_stages_of_each_frame_make_its_latency() {
    let busy = Busy::begin();
    for listen in ["tcp://127.0.0.1:0", "udp://127.0.0.1:0", "quic://127.0.0.1:0"] {
        let (near, far) = (Home::new(), Home::new());
        let (mut publisher, ticket) = near.publish_at(listen, "test:320x240@25", "");
        write_private(&far.file("ticket"), ticket);
        let mut viewer = far.start("watch @ticket --to http://127.0.0.1:0 --log-dir logs");
        let log = || rows(&fs::read(far.file("logs/frames_latency.csv")).unwrap_or_default());
        until("frames are logged with their latency", || {
            (log().iter().filter(|row| !row["total_us"].is_empty()).count() >= 40).then_some(())
        });
        viewer.stop();
        publisher.stop();
        let rows = log();
        check_stages(&rows);
        assert!(rows.iter().all(|row| row["stamp"] == "exposure_start"), "{listen}");
    }
    drop(busy);
}

#[test]
fn a_stamp_says_what_it_means() {
    let (near, far) = (Home::new(), Home::new());
    let (mut publisher, ticket) = near.publish("test:160x120@25", "");
    write_private(&far.file("ticket"), ticket);
    let mut viewer = far.start("watch @ticket --to file:out.mp4 --log-dir logs");
    let log = || rows(&fs::read(far.file("logs/frames_latency.csv")).unwrap_or_default());
    until("frames are logged", || (log().len() >= 30).then_some(()));
    viewer.stop();
    publisher.stop();
    // A file's frames were captured at some other time: they are stamped as they are read.
    let (near, again) = (Home::new(), Home::new());
    fs::copy(far.file("out.mp4"), near.file("out.mp4")).expect("a copy");
    let (mut publisher, ticket) = near.publish("file:out.mp4", "");
    write_private(&again.file("ticket"), ticket);
    let mut viewer = again.start("watch @ticket --to null: --log-dir logs");
    assert_eq!(viewer.ends(), 0, "{}", viewer.said());
    publisher.stop();
    let rows = rows(&fs::read(again.file("logs/frames_latency.csv")).expect("a log"));
    assert!(
        rows.len() >= 25 && rows.iter().all(|row| row["stamp"] == "arrival"),
        "{rows:?}"
    );
    assert!(rows.iter().all(|row| known(row, "capture_us") == Some(0.0)));
}
