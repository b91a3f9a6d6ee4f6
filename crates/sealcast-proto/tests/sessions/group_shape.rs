//! A group whose members' sessions send nothing but cells, on a virtual clock.

use std::time::Duration;

use sealcast_proto::group::MemberId;
use sealcast_proto::live::LivenessState;
use sealcast_proto::session::{Fec, ShapePlan};
use sealcast_proto::sign::SignMode;
use sealcast_proto::sim::Verdict;
use sealcast_testkit::ends::Setup;

use super::group_show::{FRAME, Show, VIEWER, Way, policy, shown};

/// A rate with room for the frames of a show, 1 Mbit/s, and their proofs.
const RATE: u64 = 2_000_000;
/// A rate of whose cells each is too short for a record that fits any packet.
const SLOW: u64 = 500_000;
const CELL: u8 = 0x12;

fn show(ways: &[Way]) -> Show {
    Show::over(SignMode::Frame, ways, Some(policy(SignMode::Frame)), Fec::Adaptive)
}

#[test]
fn members_with_a_constant_rate_get_the_records_of_all_and_the_wire_shows_only_cells() {
    const CLEAN: &str = "delay=5ms";
    let mut show = show(&[
        Way::Cells(RATE),
        Way::UdpCells(CLEAN, RATE),
        Way::Stream,
        Way::Udp(CLEAN),
    ]);
    let cells = move |viewer: usize, direction, message: &[u8]| {
        let prefix = if viewer == 1 { 4 } else { 0 };
        if viewer < 2 && direction == VIEWER {
            assert_eq!(message[prefix], CELL, "viewer {viewer}");
        }
        Verdict::Deliver
    };
    show.pass(Duration::from_millis(500));
    show.judge = Box::new(cells);
    for world in &show.viewers {
        assert!(world.responder.session.is_member());
    }
    show.play(75);
    for viewer in 0..4 {
        let age = show.age(viewer);
        assert!(matches!(age, LivenessState::Live { .. }), "viewer {viewer}: {age:?}");
    }
    show.pass(Duration::from_secs(1));
    assert_eq!(show.sealed, 75, "each frame once");
    for viewer in 0..4 {
        let frames = shown(&mut show, viewer);
        assert!(frames.iter().copied().eq(0..75), "viewer {viewer}: {frames:?}");
        assert_eq!(show.viewers[viewer].initiator.error, None);
    }
    for viewer in 0..2 {
        let waits = std::iter::from_fn(|| show.viewers[viewer].responder.session.take_shape_wait());
        assert!(waits.count() > 0, "viewer {viewer}: the wait for cells is told");
    }
}

#[test]
fn on_a_path_that_loses_cells_members_ask_for_what_they_miss() {
    let mut show = show(&[
        Way::UdpCells("delay=10ms loss=3%", RATE),
        Way::UdpCells("delay=10ms", RATE),
    ]);
    show.pass(Duration::from_secs(1));
    show.play(100);
    show.pass(Duration::from_secs(1));
    let lossy = shown(&mut show, 0).len();
    assert!(lossy >= 97, "{lossy} of 100");
    assert!(shown(&mut show, 1).into_iter().eq(0..100));
}

#[test]
fn a_removed_member_opens_nothing_new_and_the_others_follow_the_new_keys_in_cells() {
    let mut show = show(&[Way::Cells(RATE), Way::UdpCells("delay=5ms", RATE), Way::Cells(RATE)]);
    show.pass(Duration::from_millis(500));
    show.play(30);
    let (now, before) = (show.viewers[0].now, show.sealer.epoch());
    show.sealer.remove(now, MemberId(2)).expect("a member");
    show.play(45);
    show.pass(Duration::from_secs(1));
    assert!(show.sealer.epoch() > before);
    for viewer in 0..2 {
        assert!(shown(&mut show, viewer).into_iter().eq(0..75), "viewer {viewer}");
    }
    assert!(shown(&mut show, 2).last().is_none_or(|last| *last < 56));
}

#[test]
fn where_cells_are_too_short_for_the_groups_records_datagrams_offer_no_group() {
    // On a byte stream records go on in the next cell.
    let mut show = show(&[Way::Cells(SLOW)]);
    show.pass(Duration::from_millis(500));
    assert!(show.viewers[0].responder.session.is_member());
    let mut setup = Setup::default();
    setup.publisher.shape = ShapePlan::constant(SLOW);
    let mut world = setup.datagrams("delay=5ms", 1);
    world.run_cleanly(FRAME * 25);
    assert!(world.responder.session.is_shaped());
    assert!(!world.responder.session.may_have_group());
}
