//! Every suite with every mechanism, and rekeying while frames flow.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use sealcast_testkit::media::path;
use sealcast_testkit::program::{PATIENCE, assert_accounted, home, number, publish, report, sealcast, watch};
use serde_json::Value;

/// Number of sessions at the same time.
const AT_ONCE: usize = 2;

/// The names that this build offers, from a list in the configuration.
fn offered(list: &str) -> Vec<String> {
    let output = sealcast(Path::new("/nonexistent"))
        .args(["print-config", "--json"])
        .output();
    let config: Value = serde_json::from_slice(&output.expect("it runs").stdout).expect("JSON");
    let names = config.pointer(list).and_then(Value::as_array);
    let names = names.unwrap_or_else(|| panic!("no {list} in {config:#}"));
    names
        .iter()
        .map(|name| name.as_str().expect("a name").to_owned())
        .collect()
}

fn one_session(suite: &str, mechanism: &str) {
    let homes = [home(), home()];
    let choice = ["--suite", suite, "--mech", mechanism];
    let mut publisher = publish(homes[0].path(), "test:320x240@25", &choice);
    let seen = homes[1].path().join("report.json");
    let rest = ["--to", "null:", "--report", path(&seen), "--metrics", "127.0.0.1:0"];
    let mut viewer = watch(homes[1].path(), &publisher.ticket, &[&choice[..], &rest].concat());
    viewer.says("watching", PATIENCE);
    viewer.has_counted("sealcast_frames_total{dir=\"in\"}", 5.0);
    viewer.stop();
    publisher.program.stop();
    let report = report(&seen);
    let handshakes = report["handshakes"].as_array().expect("a list");
    // If the machine stood still, a handshake may have failed, or there may be several.
    let mut established = handshakes
        .iter()
        .filter(|row| row["outcome"] == "established")
        .peekable();
    assert!(established.peek().is_some(), "{suite} {mechanism}");
    for handshake in established {
        assert_eq!(handshake["suite"], suite);
        assert_eq!(handshake["mechanism"], mechanism);
    }
    assert_none_refused(&report, &format!("{suite} {mechanism}"));
}

fn assert_none_refused(viewer: &Value, what: &str) {
    let refused = viewer["totals"]["open_failures"].as_object().expect("counts");
    assert!(refused.values().all(|count| count == 0), "{what}: {refused:?}");
}

#[test]
fn every_suite_works_with_every_mechanism() {
    let (suites, mechanisms) = (offered("/suites"), offered("/mechanisms"));
    assert!(suites.len() >= 4 && mechanisms.len() >= 6, "{suites:?} {mechanisms:?}");
    let pairs: Vec<_> = suites
        .iter()
        .flat_map(|suite| mechanisms.iter().map(move |mechanism| (suite, mechanism)))
        .collect();
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((suite, mechanism)) = pairs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    one_session(suite, mechanism);
                }
            });
        }
    });
}

/// Streams a test card for some seconds under keys that last one second each, and checks that no new key comes sooner
/// than `least` seconds after the one before it.
fn rekeyed(card: &str, least: f64) {
    let began = Instant::now();
    let homes = [home(), home()];
    let published = homes[0].path().join("report.json");
    let options = [
        "--rekey-seconds",
        "1",
        "--report",
        path(&published),
        "--metrics",
        "127.0.0.1:0",
    ];
    let mut publisher = publish(homes[0].path(), card, &options);
    let (logs, seen) = (homes[1].path().join("logs"), homes[1].path().join("report.json"));
    let options = ["--to", "null:", "--log-dir", path(&logs), "--report", path(&seen)];
    let mut viewer = watch(homes[1].path(), &publisher.ticket, &options);
    viewer.says("watching", PATIENCE);
    publisher
        .program
        .has_counted("sealcast_rekeys_total{cause=\"time\"}", 5.0);
    viewer.stop();
    publisher.program.stop();

    let mut log = csv::Reader::from_path(logs.join("frames_latency.csv")).expect("a log");
    let rows = log.records().map(|row| row.expect("a row"));
    let numbers: Vec<u64> = rows.map(|row| row[2].parse().expect("a number")).collect();
    let (published, seen) = (report(&published), report(&seen));
    assert_accounted(&numbers, &seen);
    assert_none_refused(&seen, card);
    let rekeys = number(&published, "/totals/rekeys/time");
    let longest = began.elapsed().as_secs_f64();
    assert!(
        rekeys * least <= longest,
        "{rekeys} new keys in {longest} s, one before its time"
    );
    // In each session the last rekeying may not have reached the viewer when the session ended.
    let sessions = seen["handshakes"].as_array().map_or(0, Vec::len);
    assert!(number(&seen, "/totals/rekeys/demand") >= rekeys - sessions as f64);
}

#[test]
fn keys_change_every_second_and_no_frame_is_lost() {
    // The switch happens at the first picture in the last eighth of the key's second.
    rekeyed("test:640x480@25?codec=mjpeg", 0.875);
}

#[test]
fn keys_change_without_waiting_for_a_keyframe_that_does_not_come_and_no_frame_is_lost() {
    rekeyed("test:640x480@25?gop=0", 1.0);
}
