//! Every suite with every mechanism, and keys that change while frames flow.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use sealcast_testkit::media::path;
use sealcast_testkit::program::{PATIENCE, home, number, publish, report, sealcast, watch};
use serde_json::Value;

/// Sessions at once.
const AT_ONCE: usize = 4;

/// The names that this build offers.
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
    let rest = ["--to", "null:", "--report", path(&seen)];
    let mut viewer = watch(homes[1].path(), &publisher.ticket, &[&choice[..], &rest].concat());
    viewer.says("watching", PATIENCE);
    thread::sleep(Duration::from_secs(1));
    viewer.stop();
    publisher.program.stop();
    let report = report(&seen);
    let handshakes = report["handshakes"].as_array().expect("a list");
    assert_eq!(handshakes.len(), 1, "{suite} {mechanism}");
    assert_eq!(handshakes[0]["suite"], suite);
    assert_eq!(handshakes[0]["mechanism"], mechanism);
    assert_eq!(handshakes[0]["outcome"], "established");
    let frames = number(&report, "/totals/frames_in");
    assert!(frames >= 15.0, "{suite} {mechanism}: {frames} frames in a second");
    for lost in ["frames_dropped", "open_failures"] {
        let counts = report["totals"][lost].as_object().expect("counts");
        assert!(
            counts.values().all(|count| count == 0),
            "{suite} {mechanism}: {counts:?}"
        );
    }
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

/// Six seconds of a card under keys that last one; how many new epochs there were.
fn rekeyed(card: &str) -> f64 {
    let homes = [home(), home()];
    let published = homes[0].path().join("report.json");
    let options = ["--rekey-seconds", "1", "--report", path(&published)];
    let mut publisher = publish(homes[0].path(), card, &options);
    let (logs, seen) = (homes[1].path().join("logs"), homes[1].path().join("report.json"));
    let options = ["--to", "null:", "--log-dir", path(&logs), "--report", path(&seen)];
    let mut viewer = watch(homes[1].path(), &publisher.ticket, &options);
    viewer.says("watching", PATIENCE);
    thread::sleep(Duration::from_secs(6));
    viewer.stop();
    publisher.program.stop();

    let mut log = csv::Reader::from_path(logs.join("frames_latency.csv")).expect("a log");
    let rows = log.records().map(|row| row.expect("a row"));
    let numbers: Vec<u64> = rows.map(|row| row[2].parse().expect("a number")).collect();
    assert!(numbers.len() >= 140, "{} frames in six seconds", numbers.len());
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
    let (published, seen) = (report(&published), report(&seen));
    let refused = seen["totals"]["open_failures"].as_object().expect("counts");
    assert!(refused.values().all(|count| count == 0), "{refused:?}");
    let rekeys = number(&published, "/totals/rekeys/time");
    // The last one may not have reached the viewer when it left.
    assert!(number(&seen, "/totals/rekeys/demand") >= rekeys - 1.0);
    rekeys
}

#[test]
fn keys_change_every_second_and_no_frame_is_lost() {
    // At the first picture in the last eighth of a key's second; the session stands a little longer than six.
    let rekeys = rekeyed("test:640x480@25?codec=mjpeg");
    assert!((5.0..=7.0).contains(&rekeys), "{rekeys} epochs in six seconds");
}

#[test]
fn keys_change_without_waiting_for_a_keyframe_that_does_not_come_and_no_frame_is_lost() {
    let rekeys = rekeyed("test:640x480@25?gop=0");
    assert!((5.0..=6.0).contains(&rekeys), "{rekeys} epochs in six seconds");
}
