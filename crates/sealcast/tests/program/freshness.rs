//! Pictures that a relay may have kept.

use sealcast_testkit::program::{PATIENCE, home};
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
    let does_without = viewer_by(
        &relay,
        homes[1].path(),
        &ticket,
        &[&to[..], &["--without-session"]].concat(),
    );
    does_without.says("they may be old", PATIENCE);
    goes_on(&does_without);
    assert!(does_without.counts(AGE).is_infinite());
    camera.program.stop();
}
