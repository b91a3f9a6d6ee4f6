//! Two ends whose clocks differ.

use std::fs;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use super::stages::{Row, rows};
use sealcast_testkit::attack::{Home, Program, until};
use sealcast_testkit::program::{MANY_USES, write_private};
use serde_json::Value;

/// Rate of the publisher's clock over that of the viewer.
const TOO_FAST: f64 = 50e-6;

/// Frames: 20 s, in which the publisher's clock gains a millisecond.
const FRAMES: usize = 500;

fn now_us() -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    now.as_nanos() as f64 / 1e3
}

/// The library that changes what a program sees of the clock. The command `faketime` would stay between us and the
/// program, and leave it behind when it is stopped.
fn library() -> PathBuf {
    let folders = fs::read_dir("/usr/lib").expect("a folder").filter_map(Result::ok);
    let mut places = folders.map(|folder| folder.path().join("faketime/libfaketime.so.1"));
    places
        .find(|place| place.exists())
        .expect("libfaketime, which `cargo xtask packages` installs")
}

/// A publisher that runs with a clock that is too fast, from the time when it starts on.
fn fast_publisher(home: &Home) -> Program {
    let mut command = home.command();
    command.env("LD_PRELOAD", library()).env("FAKETIME", "+0 x1.00005");
    command.args([
        "publish",
        "test:320x240@25",
        "--listen",
        "tcp://127.0.0.1:0",
        "--ticket-file",
        "-",
    ]);
    command.args(MANY_USES);
    Program::start(command)
}

#[test]
fn a_clock_that_is_too_fast_stays_within_the_uncertainty_and_its_rate_is_reported() {
    let (ours, theirs) = (Home::new(), Home::new());
    let before = now_us();
    let mut publisher = fast_publisher(&theirs);
    let ticket = publisher.ticket();
    let after = now_us();
    write_private(&ours.file("ticket"), ticket);
    let mut viewer = ours.start("watch @ticket --to null: --log-dir logs --report report.json");
    let log = || fs::read(ours.file("logs/frames_latency.csv")).unwrap_or_default();
    until("the viewer logs its frames", || {
        (log().iter().filter(|&&byte| byte == b'\n').count() > FRAMES).then_some(())
    });
    viewer.stop();
    publisher.stop();
    let rows = rows(&log());
    let within = |row: &&Row| {
        let figure = |column: &str| row[column].parse::<f64>().expect("a figure");
        let at = figure("received_ns") / 1e3;
        // Its clock began to gain when it started, between these two times.
        let (most, least) = ((at - before) * TOO_FAST, (at - after) * TOO_FAST);
        let (offset, uncertainty) = (figure("clock_offset_us"), figure("clock_uncertainty_us"));
        // The uncertainty is half a 95 % interval.
        offset >= least - 3.0 * uncertainty && offset <= most + 3.0 * uncertainty
    };
    let known: Vec<_> = rows.iter().filter(|row| !row["clock_offset_us"].is_empty()).collect();
    let outside = known.iter().copied().find(|row| !within(row));
    assert!(
        known.len() + 25 >= FRAMES && outside.is_none(),
        "{} rows; {outside:?}",
        known.len()
    );
    let clock = &ours.report("report.json")["clock"];
    let figure = |name: &str| clock[name].as_f64().unwrap_or_else(|| panic!("{name} in {clock}"));
    let off = (figure("rate_ppm") - TOO_FAST * 1e6).abs();
    // Three times half the 95 % interval.
    assert!(off <= 3.0 * figure("rate_uncertainty_ppm"), "{clock}");
    assert!(figure("spread_ns") <= figure("uncertainty_ns"), "{clock}");
}

#[test]
fn a_report_has_what_the_kernel_says_of_its_clock_beside_our_own_estimate() {
    let home = Home::new();
    let (mut publisher, ticket) = home.publish("test:160x120@25", "--report published.json");
    let other = Home::new();
    write_private(&other.file("ticket"), ticket);
    let mut viewer = other.start("watch @ticket --to null: --report watched.json");
    viewer.says("watching");
    viewer.stop();
    publisher.stop();
    assert_eq!(
        viewer.count("the kernel says of this machine's clock"),
        2,
        "{}",
        viewer.said()
    );
    for report in [home.report("published.json"), other.report("watched.json")] {
        for kernel in report["kernel_clock"].as_array().expect("at the start and at the end") {
            assert!(kernel["synchronised"].is_boolean(), "{kernel}");
            assert!(
                kernel["maximum_error_us"].as_u64() >= kernel["estimated_error_us"].as_u64(),
                "{kernel}"
            );
        }
        assert_ne!(report["kernel_clock"], Value::Null);
    }
}
