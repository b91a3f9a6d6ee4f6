//! Pictures that a relay may have kept.

use std::path::{Path, PathBuf};

use sealcast_testkit::program::{PATIENCE, file_url, home};
use sealcast_testkit::relay::Relay;

use super::groups::{AGE, FRAMES_IN, goes_on};
use super::relays::{ANSWERED, KEYED, camera, viewer_by};

const CARD: &str = "test:320x240@25";

#[test]
fn what_a_relay_has_kept_is_not_shown_as_live_to_a_viewer_that_starts() {
    let homes = [home(), home()];
    let relay = Relay::start();
    let mut camera = camera(&relay, homes[0].path(), CARD, &["rov"], &[]);
    let ticket = camera.program.line();
    let to = ["--to", "null:"];
    let mut enrols = viewer_by(&relay, homes[1].path(), &ticket, &to);
    enrols.says(ANSWERED, PATIENCE);
    goes_on(&enrols);
    enrols.stop();
    // The relay lets no session through, and goes on giving what the camera sends, or has sent.
    relay.refuse_sessions("rov");
    let mut starts = viewer_by(&relay, homes[1].path(), &ticket, &to);
    starts.says(KEYED, PATIENCE);
    starts.says("are not shown: the camera has not answered", PATIENCE);
    assert!(starts.counts(FRAMES_IN) < 1.0, "{}", starts.said());
    assert!(starts.counts(AGE).is_infinite());
    starts.stop();
    // Who wants it all the same is told, and has no age to trust.
    let file = homes[1].path().join("without.mp4");
    let to = file_url(&file);
    let mut does_without = viewer_by(&relay, homes[1].path(), &ticket, &["--to", &to, "--without-session"]);
    does_without.says("they may be old", PATIENCE);
    goes_on(&does_without);
    assert!(does_without.counts(AGE).is_infinite());
    does_without.stop();
    // Who has the file alone is told as well.
    let file = std::fs::read(&file).expect("a recording");
    let words = b"the picture may be old: it is shown with --without-session";
    assert!(file.windows(words.len()).any(|bytes| bytes == words));
    camera.program.stop();
}

#[test]
fn what_a_relay_has_kept_is_refused_by_a_viewer_that_has_seen_more_also_without_a_session() {
    let homes = [home(), home()];
    let relay = Relay::start();
    let card = "test:320x240@25?gop=25";
    let mut first = camera(&relay, homes[0].path(), card, &["rov"], &[]);
    let ticket = first.program.line();
    let without = ["--to", "null:", "--without-session"];
    let mut enrols = viewer_by(&relay, homes[1].path(), &ticket, &without);
    enrols.says(KEYED, PATIENCE);
    goes_on(&enrols);
    relay.record("rov");
    // At least one group of pictures more.
    enrols.has_counted(FRAMES_IN, enrols.counts(FRAMES_IN) + 60.0);
    enrols.stop();
    let own = only_entry(&homes[1].path().join("keys/seen"));
    assert!(own.is_dir(), "a folder for the viewer's identity: {}", own.display());
    relay.rewind("rov");
    let starts = viewer_by(&relay, homes[1].path(), &ticket, &without);
    starts.says(KEYED, PATIENCE);
    starts.says("the relay gives pictures or sound of before", PATIENCE);
    assert!(starts.counts(FRAMES_IN) < 1.0, "{}", starts.said());
    // The run goes on, and so does the camera that is started again.
    relay.hang("rov", false);
    starts.has_counted(FRAMES_IN, 30.0);
    first.program.stop();
    let again = camera(&relay, homes[0].path(), card, &["rov"], &[]);
    again.program.says("metrics", PATIENCE);
    starts.has_counted(FRAMES_IN, starts.counts(FRAMES_IN) + 60.0);
}

/// The only thing in a folder.
fn only_entry(folder: &Path) -> PathBuf {
    let entries: Vec<_> = std::fs::read_dir(folder).expect("a folder").collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries[0].as_ref().expect("readable").path()
}
