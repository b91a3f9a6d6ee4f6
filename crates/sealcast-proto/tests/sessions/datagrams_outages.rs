//! Sessions over datagrams with an outage, with a publisher that forgot the session, and without feedback.

use std::time::Duration;

use sealcast_proto::keys::ticket_mac;
use sealcast_proto::session::{Delivery, Elsewhere, Event, Fec, SessionError};
use sealcast_proto::sim::{Verdict, WORLD_ADDRESS};
use sealcast_proto::wire::{RetryCookies, Unconnected};
use sealcast_testkit::ends::{START, Setup, identity};
use sealcast_testkit::show::{CAMERA, Kind, PUBLISHER, Show, VIEWER, setup, steady};

/// Another address of the viewer.
const MOVED: Elsewhere = Elsewhere {
    address: [9; 18],
    random: [8; 8],
};
const MS: Duration = Duration::from_millis(1);
const S: Duration = Duration::from_secs(1);

#[test]
fn an_outage_of_half_a_minute_ends_no_session_and_is_over_two_seconds_after_the_link_is() {
    // The outage lasts from the 10th to the 40th second; the handshake takes the first five.
    let mut show = Show::new(setup(steady()), "delay=30ms outage=110s+30s", 21, CAMERA);
    let id = show.world.initiator.session.facts().map(|facts| facts.session_id);
    let back = START.monotonic + S * 40;
    while show.world.now.monotonic + CAMERA.interval < back {
        show.play(1);
    }
    let last = show.shown.last().expect("shown before the outage").at;
    assert!(last < START.monotonic + S * 11, "nothing gets through an outage");
    // The viewer now sends from another address.
    show.world.moved = Some(MOVED);
    show.play(60);
    let stalled = |event: &&Event| matches!(event, Event::Stalled | Event::Resumed);
    let told = show.world.responder.events.iter().filter(stalled).count();
    assert_eq!(told, 2, "stalled once, resumed once");
    let first = show.shown.iter().find(|shown| shown.at > last);
    let first = first.expect("shown again").at;
    assert!(first <= back + S * 2, "{:?} after the link", first - back);
    show.play(300);
    show.pause(S);
    assert!(show.shown.iter().filter(|shown| shown.at > first).count() >= 330);
    assert_eq!(id, show.world.initiator.session.facts().map(|facts| facts.session_id));
    show.both_live();
}

#[test]
fn an_outage_of_more_packets_than_are_looked_for_is_passed_over() {
    // About 220 records per frame; the viewer looks for 4096.
    let fast = Kind {
        keyframe_bytes: 250_000,
        bytes: 250_000,
        ..CAMERA
    };
    let delivery = Delivery {
        rate: None,
        nack: false,
        fec: Fec::Off,
        ..steady()
    };
    for count in [4_090, 4_096, 4_150, 4_233, 7_000] {
        let mut show = Show::new(setup(delivery), "delay=10ms", 22, fast);
        show.play(30);
        let mut lost = 0;
        show.play_judged(120, &mut |to, _| {
            lost += u32::from(to == VIEWER);
            if to == VIEWER && lost <= count {
                Verdict::Drop
            } else {
                Verdict::Deliver
            }
        });
        show.pause(S);
        let resumed = show.shown.iter().filter(|shown| shown.number >= 90).count();
        assert_eq!(resumed, 60, "{count} packets were lost");
        show.both_live();
    }
}

#[test]
fn a_viewer_whose_publisher_was_restarted_is_told_within_three_seconds() {
    let mut world = Show::new(Setup::default(), "delay=20ms", 23, CAMERA).world;
    let cookies = RetryCookies::new(ticket_mac(&identity(2).peer_id()), [99; 32]);
    let forgotten = world.now.monotonic;
    let mut lost = Vec::new();
    while world.initiator.error.is_none() && world.now.monotonic < forgotten + S * 10 {
        // Nobody holds the session any more. The responder's port answers the knocks, and no record.
        world.run(MS * 10, &mut |to, datagram| {
            if to == PUBLISHER {
                lost.push(datagram.clone());
            }
            Verdict::Drop
        });
        for datagram in lost.drain(..) {
            match cookies.judge(&WORLD_ADDRESS, &datagram) {
                Unconnected::Retry(answer) => world.send(VIEWER, answer.to_vec()),
                Unconnected::Unknown => {}
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(world.initiator.error, Some(SessionError::PeerForgot));
    let after = world.now.monotonic - forgotten;
    assert!(after >= S * 2 && after <= S * 3, "{after:?}");
}

#[test]
fn a_cookie_in_the_middle_of_a_session_ends_it_not() {
    let mut show = Show::new(setup(steady()), "delay=20ms", 24, CAMERA);
    let cookie = |random: [u8; 16]| [&0xC0FF_EE00_u32.to_be_bytes()[..], &[8], &random, &[1; 16]].concat();
    for number in 0..150_u128 {
        // The knock's number is 7…7 at first, and counts up.
        let random = u128::from_be_bytes([7; 16]) + number;
        show.world.send(VIEWER, cookie(random.to_be_bytes()));
        show.world.send(PUBLISHER, cookie(random.to_be_bytes()));
        show.play(1);
    }
    show.pause(MS * 200);
    assert_eq!(show.shown.len(), 150);
    show.both_live();
}

/// True for datagrams that may be feedback: longer than a ping and not as long as a pong.
fn may_be_feedback(datagram: &[u8]) -> bool {
    datagram.len() >= 60 && datagram.len() != 69
}

#[test]
fn a_viewer_whose_feedback_never_comes_still_gets_its_stream() {
    let mut show = Show::new(setup(steady()), "delay=20ms", 25, CAMERA);
    let mut dropped = 0;
    show.play_judged(600, &mut |to, datagram| {
        if to == PUBLISHER && may_be_feedback(datagram) {
            dropped += 1;
            return Verdict::Drop;
        }
        Verdict::Deliver
    });
    show.pause(S);
    assert!(dropped > 300, "{dropped}");
    println!(
        "without feedback: {} of 600 shown, target {:?}",
        show.shown.len(),
        show.world.responder.session.target()
    );
    // A publisher that receives nothing must neither go on as if all were well nor stop.
    assert!(show.shown.len() >= 500, "{}", show.shown.len());
    show.both_live();
}
