//! Recordings over the restart of a publisher: no time is lost, and none is added.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use sealcast_testkit::media::times;
use sealcast_testkit::program::{PATIENCE, Publisher, file_url, free_port, home, publish};

use super::archives::{recipient, text};
use super::groups::{FRAMES_IN, watching};

const CARD: &str = "test:320x240@25?gop=10";
/// Time between two pictures, ms.
const STEP: i64 = 40;
/// For how long the camera is away, at least.
const AWAY: Duration = Duration::from_secs(3);
/// By how much a busy machine may place a session's first picture later than it was made.
const LATE: i64 = 1000;

/// Time that something lasted, at least and at most.
struct Lasted {
    away: Duration,
    all: Duration,
}

/// Records a test card to `url`, which is killed in between and started again.
fn recorded(url: &str) -> Lasted {
    let (own, theirs) = (home(), home());
    let listen = format!("tcp://127.0.0.1:{}", free_port());
    let start = || publish(own.path(), CARD, &["--listen", &listen]);
    let began = Instant::now();
    let first = start();
    let mut viewer = watching(theirs.path(), &first.ticket, &["--to", url]);
    viewer.has_counted(FRAMES_IN, 50.0);
    first.program.signal("KILL");
    drop::<Publisher>(first);
    let killed = Instant::now();
    viewer.says("the publisher may be restarting", PATIENCE);
    thread::sleep(AWAY.saturating_sub(killed.elapsed()));
    let away = killed.elapsed();
    let second = start();
    second.program.says("a viewer watches", PATIENCE);
    let before = viewer.counts(FRAMES_IN);
    viewer.has_counted(FRAMES_IN, before + 50.0);
    viewer.stop();
    Lasted {
        away,
        all: began.elapsed(),
    }
}

fn assert_lasts(file: &Path, lasted: &Lasted) {
    let times = times(file);
    let steps: Vec<i64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let squashed = steps.iter().filter(|step| **step < STEP - 5).count();
    assert_eq!(squashed, 0, "pictures lie too close together: {steps:?}");
    let millis = |time: Duration| i64::try_from(time.as_millis()).expect("short");
    let gap = steps.iter().max().copied().unwrap_or(0);
    assert!(
        gap >= millis(lasted.away) - STEP,
        "the gap is {gap} ms of {:?}",
        lasted.away
    );
    let length = times.last().copied().unwrap_or(0);
    assert!(length <= millis(lasted.all) + LATE, "{length} ms of {:?}", lasted.all);
    assert!(times.len() >= 100, "{} pictures", times.len());
}

#[test]
fn a_file_goes_on_after_the_time_for_which_the_publisher_was_away() {
    let dir = home();
    let file = dir.path().join("out.mp4");
    let lasted = recorded(&file_url(&file));
    assert_lasts(&file, &lasted);
}

#[test]
fn what_an_archive_has_of_two_sessions_is_replayed_with_the_time_between_them() {
    let (recipient, dir) = (recipient(), home());
    let (archive, file) = (recipient.archive("two"), dir.path().join("out.mp4"));
    let lasted = recorded(&recipient.url(&archive, "&segment=1s"));
    let exported = recipient.export(&archive, &file, &[]);
    assert!(exported.status.success(), "{}", text(&exported.stderr));
    assert_lasts(&file, &lasted);
}
