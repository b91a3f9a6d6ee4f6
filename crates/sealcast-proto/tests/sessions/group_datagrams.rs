//! Groups whose members are reached over UDP, where media and control messages are lost.

use std::collections::BTreeSet;
use std::time::Duration;

use sealcast_proto::group::MemberId;
use sealcast_proto::live::LivenessState;
use sealcast_proto::session::{Fec, GroupPolicy};
use sealcast_proto::sign::SignMode;
use sealcast_proto::sim::Verdict;
use sealcast_proto::unit::Assembled;

use super::group_show::{Show, VIEWER, Way, policy, shown};

const SIGNED: Option<GroupPolicy> = Some(policy(SignMode::Frame));
const UNSIGNED: Option<GroupPolicy> = Some(policy(SignMode::Off));
const LOSSY: Way = Way::Udp("delay=20ms loss=5%");

/// Plays until all viewers are members and have shown something.
fn begin(show: &mut Show) {
    for _ in 0..200 {
        show.play(1);
        let begun = |world: &sealcast_proto::sim::World| {
            let frame = |(_, one): &(Duration, Assembled)| matches!(one, Assembled::Frame(_));
            world.responder.session.is_member() && world.initiator.assembled.iter().any(frame)
        };
        if show.viewers.iter().all(begun) {
            return;
        }
    }
    panic!("not all are members after eight seconds");
}

#[test]
fn two_viewers_over_a_lossy_path_get_every_frame_of_the_same_records() {
    for (sign, policy) in [
        (SignMode::Off, UNSIGNED),
        (SignMode::Frame, SIGNED),
        (SignMode::Both, SIGNED),
    ] {
        let mut show = Show::over(sign, &[LOSSY, LOSSY], policy, Fec::Adaptive);
        begin(&mut show);
        show.play(250);
        show.pass(Duration::from_secs(1));
        let first = show.frames - 250;
        let all: Vec<u64> = (first..show.frames).collect();
        for viewer in 0..2 {
            let numbers = shown(&mut show, viewer);
            let from = numbers
                .iter()
                .position(|number| *number == first)
                .expect("it had begun");
            assert_eq!(numbers[from..], all, "{sign}: viewer {viewer}");
            let session = &show.viewers[viewer].responder.session;
            let counts = session.outbound_counts().expect("packets");
            assert!(counts.repairs > 0 && counts.resent > 0, "{counts:?}");
            assert_eq!(show.viewers[viewer].initiator.error, None);
            let refused = show.viewers[viewer].initiator.session.refusals();
            assert_eq!(refused.total(), 0, "{sign}: {refused:?}");
        }
        // Each record was sealed once: both were sent the same bytes, but for those before they were members.
        let both: BTreeSet<&Vec<u8>> = show.wire[0].intersection(&show.wire[1]).collect();
        let sources = show.viewers[0]
            .responder
            .session
            .outbound_counts()
            .expect("packets")
            .sources;
        assert!(both.len() as u64 > sources * 9 / 10, "{} of {sources}", both.len());
    }
}

/// Plays this many frames, and asserts that the viewer shows all of them.
#[track_caller]
fn shows_all(show: &mut Show, viewer: usize, count: u64) {
    shown(show, viewer);
    let first = show.frames;
    show.play(count);
    show.pass(Duration::from_secs(1));
    let numbers = shown(show, viewer);
    let from = numbers.iter().position(|number| *number == first);
    let all: Vec<u64> = (first..show.frames).collect();
    assert_eq!(numbers[from.expect("the first one")..], all);
}

#[test]
fn whoever_is_removed_opens_nothing_new_and_the_other_goes_on() {
    let mut show = Show::over(SignMode::Frame, &[LOSSY, LOSSY], SIGNED, Fec::Adaptive);
    begin(&mut show);
    let now = show.viewers[0].now;
    show.sealer.remove(now, MemberId(1)).expect("a member");
    let epoch = show.sealer.epoch();
    // Within a second nothing more is sealed under the old epoch. Its session still gets all bytes.
    shows_all(&mut show, 0, 50);
    assert!(show.sealer.epoch() > epoch);
    shown(&mut show, 1);
    shows_all(&mut show, 0, 50);
    assert_eq!(shown(&mut show, 1), [0; 0]);
}

#[test]
fn records_that_overtake_their_key_sheet_wait_for_it() {
    let mut show = Show::over(SignMode::Frame, &[Way::Udp("delay=20ms")], SIGNED, Fec::Off);
    begin(&mut show);
    shown(&mut show, 0);
    let (first, epoch) = (show.frames, show.sealer.epoch());
    let now = show.viewers[0].now;
    show.sealer.rekey(now);
    // Half a second after it was announced the new epoch is in force, and no sheet has come.
    show.judge = Box::new(|_, direction, message| {
        let control = message.get(4) == Some(&0x11);
        if direction == VIEWER && control {
            Verdict::Drop
        } else {
            Verdict::Deliver
        }
    });
    show.play(25);
    assert!(show.sealer.epoch() > epoch);
    let before = shown(&mut show, 0);
    assert!(before.len() < 25, "{before:?}");
    show.judge = Box::new(|_, _, _| Verdict::Deliver);
    show.play(25);
    show.pass(Duration::from_secs(1));
    let all = [before, shown(&mut show, 0)].concat();
    let from = all.iter().position(|number| *number == first).expect("the first one");
    assert_eq!(all[from..], (first..show.frames).collect::<Vec<u64>>());
}

#[test]
fn on_a_path_that_loses_a_third_viewers_join_and_follow_new_keys() {
    let bad = Way::Udp("delay=20ms loss=30%");
    let mut show = Show::over(SignMode::Both, &[bad, bad, LOSSY], SIGNED, Fec::Adaptive);
    begin(&mut show);
    for _ in 0..5 {
        let now = show.viewers[0].now;
        show.sealer.rekey(now);
        show.play(50);
    }
    show.pass(Duration::from_secs(1));
    for viewer in 0..3 {
        let numbers = shown(&mut show, viewer);
        assert!(
            numbers.iter().any(|number| *number >= show.frames - 25),
            "viewer {viewer}: {numbers:?}"
        );
        assert_eq!(show.viewers[viewer].initiator.error, None);
        assert_eq!(show.viewers[viewer].responder.error, None);
    }
}

#[test]
fn the_age_of_the_picture_raises_no_false_alarm_where_records_and_answers_are_lost() {
    let mut show = Show::over(SignMode::Frame, &[LOSSY, LOSSY], SIGNED, Fec::Adaptive);
    begin(&mut show);
    show.play(25);
    for _ in 0..500 {
        show.play(1);
        for viewer in 0..2 {
            let age = show.age(viewer);
            assert!(matches!(age, LivenessState::Live { .. }), "{age:?}");
        }
    }
}

#[test]
fn a_byte_stream_gets_the_same_records_while_another_member_needs_packets() {
    let mut show = Show::over(SignMode::Both, &[Way::Stream, LOSSY], SIGNED, Fec::Fixed(25));
    begin(&mut show);
    shows_all(&mut show, 0, 50);
    shows_all(&mut show, 1, 50);
    let sealing = show.frame(true).expect("a group has begun");
    assert!(!sealing.frame.blocks.is_empty());
    // Nobody needs packets any more: a frame is one record again, and its proof another. The stream has no gap.
    let now = show.viewers[0].now;
    show.sealer.remove(now, MemberId(1)).expect("a member");
    show.skipped = vec![1];
    show.play(2);
    let sealing = show.frame(false).expect("a group has begun");
    assert_eq!((sealing.frame.blocks.len(), sealing.frame.records.records), (0, 2));
    show.pass(Duration::from_millis(40));
    shows_all(&mut show, 0, 50);
    let world = &show.viewers[0].initiator;
    let lost = world
        .assembled
        .iter()
        .filter(|(_, one)| matches!(one, Assembled::Lost))
        .count();
    assert_eq!((lost, world.session.refusals().total()), (0, 0));
}

#[test]
fn of_the_repair_symbols_each_viewer_gets_as_many_as_its_path_needs() {
    let mut show = Show::over(SignMode::Frame, &[Way::Udp("delay=20ms"), LOSSY], SIGNED, Fec::Adaptive);
    begin(&mut show);
    show.play(250);
    shows_all(&mut show, 0, 50);
    shows_all(&mut show, 1, 50);
    let counts = [0, 1].map(|viewer| {
        show.viewers[viewer]
            .responder
            .session
            .outbound_counts()
            .expect("packets")
    });
    assert_eq!((counts[0].repairs, counts[0].resent), (0, 0));
    assert!(counts[1].repairs > 100, "{counts:?}");
    let clean = show.viewers[0].initiator.session.inbound_counts().expect("packets");
    assert_eq!((clean.given_up, clean.asked), (0, 0));
}

#[test]
fn a_viewer_that_was_left_out_for_a_while_goes_on_at_a_keyframe() {
    let ways = [Way::Udp("delay=20ms"), LOSSY];
    let mut show = Show::over(SignMode::Frame, &ways, SIGNED, Fec::Adaptive);
    begin(&mut show);
    show.skipped = vec![0];
    while !show.frames.is_multiple_of(25) {
        show.play(1);
    }
    show.play(100);
    show.skipped.clear();
    shows_all(&mut show, 0, 50);
    assert_eq!(show.viewers[0].initiator.error, None);
}

#[test]
fn a_viewer_that_does_not_want_the_group_goes_on_alone() {
    let mut show = Show::over(SignMode::Frame, &[LOSSY], None, Fec::Adaptive);
    show.pass(Duration::from_secs(30));
    let world = &mut show.viewers[0];
    assert!(!world.responder.session.is_member());
    assert_eq!((world.initiator.error, world.responder.error), (None, None));
}

#[test]
fn no_path_makes_a_group_end_a_session_or_show_what_was_not_sealed() {
    for profile in [
        "delay=5ms jitter=20ms reorder=10% loss=3%",
        "delay=40ms duplicate=10% loss=5%",
        "delay=20ms burst=5%/4 corrupt=2%",
        "delay=100ms jitter=30ms loss=10%",
        "delay=10ms rate=3mbit queue=64kib",
        "delay=20ms loss=2% outage=8s+3s",
    ] {
        let ways = [Way::Udp(profile), Way::Udp(profile), Way::Stream];
        let mut show = Show::over(SignMode::Both, &ways, SIGNED, Fec::Adaptive);
        for _ in 0..6 {
            show.play(50);
            let now = show.viewers[0].now;
            show.sealer.rekey(now);
        }
        show.pass(Duration::from_secs(2));
        for viewer in 0..3 {
            let numbers = shown(&mut show, viewer);
            assert!(
                numbers.is_sorted_by(|before, after| before < after),
                "{profile}: {numbers:?}"
            );
            assert!(
                numbers.last().is_some_and(|last| *last >= 275),
                "{profile}: {numbers:?}"
            );
            let world = &show.viewers[viewer];
            assert_eq!(
                (world.initiator.error, world.responder.error),
                (None, None),
                "{profile}"
            );
        }
    }
}

#[test]
fn a_description_that_fits_no_packet_comes_whole_on_every_carrier() {
    for (sign, policy) in [(SignMode::Off, UNSIGNED), (SignMode::Frame, SIGNED)] {
        let mut show = Show::over(sign, &[Way::Stream, Way::Udp("delay=20ms")], policy, Fec::Fixed(50));
        show.info.parameters = (0..5_000_u32).map(|byte| byte as u8).collect();
        begin(&mut show);
        show.play(30);
        show.pass(Duration::from_secs(1));
        for viewer in 0..2 {
            let assembled = &show.viewers[viewer].initiator.assembled;
            let info = |(_, one): &(Duration, Assembled)| match one {
                Assembled::Info(info) => Some(info.clone()),
                _ => None,
            };
            assert_eq!(
                assembled.iter().find_map(info).as_ref(),
                Some(&show.info),
                "{sign}: {viewer}"
            );
            shows_all(&mut show, viewer, 30);
            assert_eq!(show.viewers[viewer].initiator.session.refusals().total(), 0);
        }
    }
}
