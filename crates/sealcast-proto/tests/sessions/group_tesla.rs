//! Groups whose frames are shown at once and proved later, with TESLA, on paths that lose and delay.

use std::time::Duration;

use sealcast_proto::session::{Fec, GroupPolicy};
use sealcast_proto::sign::{FrameRefusal, SignMode, TeslaNews};

use super::group_show::{FRAME, Show, TESLA, Way, policy};

const SIGN: SignMode = SignMode::Tesla;
const CONTENT: Option<GroupPolicy> = Some(policy(SIGN));
const LOSSY: Way = Way::Udp("delay=20ms jitter=10ms loss=5%");

/// What a viewer has heard since the last call.
#[derive(Default)]
struct Heard {
    waits: usize,
    proved: Vec<(u64, Duration)>,
    forged: usize,
    unprovable: usize,
}

fn heard(show: &mut Show, viewer: usize) -> Heard {
    let mut heard = Heard::default();
    for news in std::mem::take(&mut show.tesla[viewer]) {
        match news {
            TeslaNews::Waits => heard.waits += 1,
            TeslaNews::Proved { statement, after } => heard.proved.push((statement.frame, after)),
            TeslaNews::Forged(_) => heard.forged += 1,
            TeslaNews::Unprovable(_) => heard.unprovable += 1,
        }
    }
    heard
}

/// Plays until a viewer has had a frame proved.
fn begin(show: &mut Show, viewer: usize) {
    let proves = |news: &TeslaNews| matches!(news, TeslaNews::Proved { .. });
    for _ in 0..200 {
        show.play(1);
        if show.tesla[viewer].iter().any(proves) {
            return;
        }
    }
    panic!("nothing is proved after eight seconds");
}

#[test]
fn every_frame_that_comes_over_a_lossy_path_is_proved_within_the_delay_over_several_chains() {
    let mut show = Show::over(SIGN, &[LOSSY, LOSSY, Way::Stream], CONTENT, Fec::Adaptive);
    (0..3).for_each(|viewer| begin(&mut show, viewer));
    for viewer in 0..3 {
        show.numbers(viewer);
        heard(&mut show, viewer);
        show.viewers[viewer].initiator.not_the_cameras.clear();
    }
    // Ten seconds: two and a half chains.
    show.play(250);
    show.pass(Duration::from_secs(1));
    for viewer in 0..3 {
        let shown = show.numbers(viewer);
        assert!(shown.len() >= 245, "viewer {viewer}: {} frames", shown.len());
        let heard = heard(&mut show, viewer);
        assert_eq!((heard.forged, heard.unprovable), (0, 0), "viewer {viewer}");
        assert_eq!(heard.waits, shown.len(), "viewer {viewer}: what is shown came in time");
        // The last half second is proved by keys that are disclosed after the end.
        let last = show.frames - 1 - u64::from(TESLA.delay) * 100 / 40;
        let numbers: Vec<u64> = heard.proved.iter().map(|(number, _)| *number).collect();
        let owed: Vec<u64> = shown.iter().copied().filter(|number| *number < last - 1).collect();
        assert!(
            owed.iter().all(|number| numbers.contains(number)),
            "viewer {viewer}: {owed:?} {numbers:?}"
        );
        // To the end of the delay, to the next frame, and what that one is later on its way than this one.
        let longest = heard.proved.iter().map(|(_, after)| *after).max().expect("frames");
        let bound = TESLA.interval * u32::from(TESLA.delay) + FRAME + Duration::from_millis(200);
        assert!(longest <= bound, "viewer {viewer}: {longest:?}");
        assert_eq!(show.viewers[viewer].initiator.not_the_cameras, []);
        assert_eq!(show.viewers[viewer].initiator.error, None);
    }
}

#[test]
fn who_comes_late_has_frames_proved_by_the_chain_that_is_under_way() {
    let mut show = Show::over(SIGN, &[LOSSY], CONTENT, Fec::Adaptive);
    begin(&mut show, 0);
    show.play(180);
    show.join(SIGN, LOSSY, CONTENT);
    begin(&mut show, 1);
    heard(&mut show, 1);
    show.play(150);
    let heard = heard(&mut show, 1);
    assert!(heard.proved.len() >= 145, "{} frames", heard.proved.len());
    assert_eq!((heard.forged, heard.unprovable), (0, 0));
}

#[test]
fn on_a_path_that_takes_longer_than_the_delay_every_frame_is_refused_as_unsafe() {
    let mut show = Show::over(SIGN, &[Way::Udp("delay=600ms")], CONTENT, Fec::Off);
    show.play(150);
    show.pass(Duration::from_secs(1));
    let refused = &show.viewers[0].initiator.not_the_cameras;
    assert!(refused.len() > 20, "{refused:?}");
    assert!(
        refused.iter().all(|reason| *reason == FrameRefusal::Unsafe),
        "{refused:?}"
    );
    let heard = heard(&mut show, 0);
    assert_eq!((heard.waits, heard.proved.len()), (0, 0));
}

#[test]
fn frames_are_shown_at_once_to_who_is_content_with_tesla_and_nobody_else_joins() {
    let mut show = Show::over(SIGN, &[Way::Stream], Some(policy(SignMode::Frame)), Fec::Off);
    show.play(25);
    assert!(!show.viewers[0].responder.session.is_member());
    let mut show = Show::over(SignMode::Frame, &[Way::Stream], CONTENT, Fec::Off);
    show.play(25);
    assert!(
        show.viewers[0].responder.session.is_member(),
        "signatures prove no less"
    );
    let mut show = Show::over(SIGN, &[Way::Stream], CONTENT, Fec::Off);
    show.play(30);
    show.numbers(0);
    show.tesla[0].clear();
    show.play(1);
    let heard = heard(&mut show, 0);
    let earliest = heard.proved.iter().map(|(_, after)| *after).min();
    assert_eq!((show.numbers(0).len(), heard.waits), (1, 1), "shown, and not proved");
    assert!(earliest > Some(TESLA.interval * 4), "{earliest:?}");
}
