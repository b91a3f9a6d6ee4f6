//! Two sessions on a virtual clock.

use std::sync::Arc;
use std::time::Duration;

use sealcast_proto::clock::ClockEstimate;
use sealcast_proto::keys::{HandshakeError, HelloKeys, Invite};
use sealcast_proto::seal::Refusal;
use sealcast_proto::session::{Event, Input, RekeyCause, RekeyPolicy, SessionError};
use sealcast_proto::sim::{Direction, Verdict};
use sealcast_proto::unit::PREAMBLE_LEN;
use sealcast_proto::wire::{CameraName, CloseReason, Orientation};
use sealcast_testkit::ends::{self, Setup, identity, of_one_mind, publish};

#[test]
fn an_invited_viewer_is_admitted_and_receives_media_bit_for_bit() {
    let mut world = Setup::default().established();
    let proved = world.responder.events.iter().find_map(|event| match event {
        Event::PeerProved(peer) => Some(*peer),
        _ => None,
    });
    let proved = proved.expect("the publisher learns who came");
    assert!(proved.psk.is_some());
    assert_eq!(proved.id, identity(1).peer_id());
    let picture: Vec<u8> = (0..50_000_u32).map(|byte| byte as u8).collect();
    publish(&mut world, 0, true, &picture);
    world.run_cleanly(Duration::from_millis(50));
    assert_eq!(world.initiator.media.len(), 1);
    assert_eq!(world.initiator.media[0][PREAMBLE_LEN..], picture);
}

#[test]
fn how_the_picture_is_turned_is_said_by_the_publisher_alone() {
    let mut world = Setup::default().established();
    let turned = Orientation::new(3, true);
    world.tell(Direction::ToResponder, Input::Orient(turned));
    world.run_cleanly(Duration::from_millis(50));
    assert!(world.initiator.events.contains(&Event::Oriented(turned)));
    assert_eq!((world.initiator.error, world.responder.error), (None, None));
    world.tell(Direction::ToInitiator, Input::Orient(turned));
    assert_eq!(world.initiator.error, Some(SessionError::Misuse));
}

#[test]
fn the_cameras_are_told_by_the_publisher_alone_and_there_is_one_at_least() {
    let name = |name: &str| CameraName::new(name).expect("a name");
    for (names, told) in [
        (vec![name("front")], true),
        (vec![name("front"), name("back yard")], true),
        ((0..32).map(|at| name(&at.to_string())).collect(), true),
        (Vec::new(), false),
        ((0..33).map(|at| name(&at.to_string())).collect(), false),
    ] {
        let mut world = Setup::default().established();
        world.tell(Direction::ToResponder, Input::TellCameras(names.clone()));
        world.run_cleanly(Duration::from_millis(50));
        assert_eq!(world.initiator.events.contains(&Event::CamerasTold(names)), told);
    }
    let mut world = Setup::default().established();
    world.tell(Direction::ToInitiator, Input::TellCameras(vec![name("front")]));
    assert_eq!(world.initiator.error, Some(SessionError::Misuse));
}

#[test]
fn a_frame_above_the_record_limit_travels_in_several_records() {
    let mut world = Setup::default().established();
    let picture = vec![7; (8 << 20) + 1];
    publish(&mut world, 0, true, &picture);
    world.run_cleanly(Duration::from_millis(50));
    let total: usize = world.initiator.media.iter().map(Vec::len).sum();
    assert_eq!((world.initiator.media.len(), total), (2, picture.len() + PREAMBLE_LEN));
}

#[test]
fn a_viewer_pinned_to_another_publisher_refuses_and_sees_nothing() {
    let mut setup = Setup::default();
    // The MAC of its hello fits by chance or malice.
    setup.viewer.handshake.pinned = Some(identity(77).peer_id());
    let mut world = setup.world();
    world.run_cleanly(Duration::from_secs(1));
    let wrong = HandshakeError::WrongPeer(identity(2).peer_id());
    assert_eq!(world.initiator.error, Some(SessionError::Handshake(wrong)));
    assert_eq!(
        world.responder.error,
        Some(SessionError::Handshake(HandshakeError::Alert))
    );
    assert!(world.responder.events.is_empty(), "the publisher was told no identity");
}

#[test]
fn who_has_a_ticket_of_somebody_else_hears_nothing() {
    let mut setup = Setup::default();
    let other = identity(77).peer_id();
    setup.viewer.handshake.pinned = Some(other);
    setup.viewer.handshake.hello_keys = ends::hello_keys(other, None);
    let mut world = setup.world();
    let mut answers = 0;
    world.run(Duration::from_secs(1), &mut |to, _| {
        answers += u32::from(to == Direction::ToInitiator);
        Verdict::Deliver
    });
    assert_eq!(
        world.responder.error,
        Some(SessionError::Handshake(HandshakeError::Mac))
    );
    assert_eq!(answers, 0);
}

#[test]
fn an_invite_that_is_not_known_is_refused_with_its_reason() {
    let mut setup = Setup::default();
    setup.viewer.handshake.hello_keys = ends::hello_keys(identity(2).peer_id(), Some(&Invite::new([8; 16])));
    let mut world = setup.world();
    world.run_cleanly(Duration::from_secs(1));
    let unknown = Some(SessionError::Handshake(HandshakeError::Psk));
    assert_eq!((world.initiator.error, world.responder.error), (unknown, unknown));
    assert!(world.responder.events.is_empty());
}

#[test]
fn a_viewer_without_an_invite_is_answered_and_proves_none() {
    let mut setup = Setup::default();
    setup.viewer.handshake.hello_keys = ends::hello_keys(identity(2).peer_id(), None);
    let world = setup.established();
    let uninvited = |event: &Event| matches!(event, Event::PeerProved(peer) if peer.psk.is_none());
    assert!(world.responder.events.iter().any(uninvited));
}

#[test]
fn an_enrolled_pair_meets_again_by_the_secret_it_kept() {
    let mut world = Setup::default().established();
    let [kept, theirs] = [&mut world.initiator, &mut world.responder].map(|end| end.session.take_enrolment());
    let kept = kept.expect("a secret to keep");
    assert_eq!(kept.name(), theirs.expect("a secret to keep").name());
    assert!(world.initiator.session.take_enrolment().is_none(), "it is taken once");
    let mut setup = Setup::default();
    let keys = Arc::new(HelloKeys::new(&identity(2).peer_id(), [&kept]));
    setup.viewer.handshake.hello_keys = Arc::clone(&keys);
    setup.publisher.handshake.hello_keys = keys;
    let world = setup.established();
    let name = Some(kept.name());
    let known = |event: &Event| matches!(event, Event::PeerProved(peer) if peer.psk == name);
    assert!(world.responder.events.iter().any(known));
}

#[test]
fn a_refused_viewer_learns_the_reason_under_encryption() {
    let mut world = Setup::default().world();
    world.admit = false;
    world.run_cleanly(Duration::from_millis(100));
    assert!(!world.initiator.session.is_established());
    world.tell(
        Direction::ToResponder,
        Input::Close(CloseReason::NotAuthorised, "not on the allow list"),
    );
    world.run_cleanly(Duration::from_millis(50));
    let closed = Event::Closed {
        reason: CloseReason::NotAuthorised,
        text: "not on the allow list".to_owned(),
    };
    assert!(world.initiator.events.contains(&closed));
    assert!(world.initiator.session.is_over());
}

#[test]
fn every_flipped_bit_of_every_handshake_message_ends_the_handshake_or_changes_nothing_agreed() {
    let mut lengths = Vec::new();
    Setup::default()
        .world()
        .run(Duration::from_millis(60), &mut |_, message| {
            lengths.push(message.len());
            Verdict::Deliver
        });
    let mut refused = 0;
    for (index, length) in lengths.iter().take(3).enumerate() {
        for bit in 0..length * 8 {
            let mut world = Setup::default().world();
            let mut count = 0;
            world.run(Duration::from_millis(100), &mut |_, message| {
                if count == index {
                    message[bit / 8] ^= 1 << (bit % 8);
                }
                count += 1;
                Verdict::Deliver
            });
            let both = world.initiator.session.is_established() && world.responder.session.is_established();
            assert!(!both, "message {index}, bit {bit} went unnoticed");
            refused += 1;
        }
    }
    assert!(refused > 2000, "{refused} bits were tried");
}

#[test]
fn a_flipped_bit_in_a_record_is_refused_counted_and_survived() {
    let mut world = Setup::default().established();
    publish(&mut world, 0, true, b"one");
    world.run_cleanly(Duration::from_millis(20));
    let mut out = Vec::new();
    let frame = sealcast_proto::session::OutgoingFrame {
        stream: 1,
        codec: sealcast_proto::unit::Codec::H264,
        keyframe: false,
        preamble: Default::default(),
        data: b"two",
    };
    let now = world.now;
    world
        .responder
        .session
        .seal_frame(now, &frame, &mut out)
        .expect("good key");
    let mut record = ends::records(&out).remove(0);
    *record.last_mut().expect("not empty") ^= 1;
    world.send(Direction::ToInitiator, record);
    publish(&mut world, 2, true, b"three");
    world.run_cleanly(Duration::from_millis(20));
    assert_eq!(world.initiator.session.refusals().of(Refusal::Tag), 1);
    assert_eq!(world.initiator.media.len(), 2);
}

#[test]
fn a_replayed_record_is_refused() {
    let mut world = Setup::default().established();
    world.run(Duration::from_secs(2), &mut |direction, _| match direction {
        Direction::ToInitiator => Verdict::Duplicate,
        Direction::ToResponder => Verdict::Deliver,
    });
    assert!(world.initiator.session.refusals().of(Refusal::Replay) >= 3);
    assert!(world.initiator.session.is_established());
}

#[test]
fn rekeying_by_time_and_on_demand_loses_no_frame() {
    let causes = rekey_causes(1 << 20, Duration::from_secs(1));
    assert!(causes.len() >= 40, "{} epochs", causes.len());
    assert!(causes.contains(&RekeyCause::Time) && causes.contains(&RekeyCause::Demand));
}

#[test]
fn rekeying_by_count_loses_no_frame() {
    let causes = rekey_causes(20, Duration::from_secs(600));
    assert!(causes.len() >= 40 && causes.contains(&RekeyCause::Count), "{causes:?}");
}

/// Publishes 2000 frames at 25 per second under a strict policy, checks that all arrive, and returns why epochs were
/// begun.
fn rekey_causes(records: u64, age: Duration) -> Vec<RekeyCause> {
    let mut setup = Setup::default();
    setup.publisher.rekey = RekeyPolicy::new(records, age).expect("within bounds");
    let mut world = setup.established();
    for number in 0..2_000 {
        publish(&mut world, number, number % 50 == 0, &number.to_be_bytes());
        world.run_cleanly(Duration::from_millis(40));
        if number % 500 == 252 {
            world.tell(Direction::ToInitiator, Input::Rekey);
        }
    }
    assert_eq!(world.initiator.media.len(), 2_000);
    assert_eq!(world.initiator.session.refusals().total(), 0);
    assert!(of_one_mind(&world), "the viewer is more than a switch behind");
    let cause = |event: &Event| match event {
        Event::Rekeyed { cause, .. } => *cause,
        _ => None,
    };
    world.responder.events.iter().filter_map(cause).collect()
}

#[test]
fn without_an_answer_to_rekeying_the_stream_stops_with_an_error() {
    let mut setup = Setup::default();
    setup.publisher.rekey = RekeyPolicy::new(16, Duration::from_secs(600)).expect("within bounds");
    let mut world = setup.established();
    let mut sealed = 0;
    let error = loop {
        let mut out = Vec::new();
        let frame = sealcast_proto::session::OutgoingFrame {
            stream: 1,
            codec: sealcast_proto::unit::Codec::H264,
            keyframe: true,
            preamble: Default::default(),
            data: b"frame",
        };
        let now = world.now;
        match world.responder.session.seal_frame(now, &frame, &mut out) {
            Ok(_) => sealed += 1,
            Err(error) => {
                assert!(out.is_empty(), "nothing is written once the key is spent");
                break error;
            }
        }
        // Control records are lost, so the viewer never answers the offer.
        world.run(Duration::from_millis(1), &mut |_, _| Verdict::Drop);
    };
    assert_eq!((error, sealed), (SessionError::KeyLimit, 32));
}

#[test]
fn a_silent_peer_is_lost_within_two_seconds() {
    let mut world = Setup::default().established();
    world.run_cleanly(Duration::from_secs(3));
    assert!(
        world.initiator.session.is_established(),
        "pings keep an idle session alive"
    );
    world.run(Duration::from_millis(2_100), &mut |_, _| Verdict::Drop);
    assert_eq!(world.initiator.error, Some(SessionError::PeerLost));
    assert_eq!(world.responder.error, Some(SessionError::PeerLost));
}

#[test]
fn a_handshake_that_stalls_ends_after_five_seconds() {
    let mut world = Setup::default().world();
    world.run(Duration::from_secs(6), &mut |_, _| Verdict::Drop);
    assert_eq!(
        world.initiator.error,
        Some(SessionError::Handshake(HandshakeError::Timeout))
    );
}

#[test]
fn who_says_nothing_hears_nothing_when_its_time_is_up_or_the_end_stops() {
    for stops in [false, true] {
        let mut world = Setup::default().world();
        let mut answers = 0;
        let mut silence = |to, _: &mut Vec<u8>| {
            answers += u32::from(to == Direction::ToInitiator);
            Verdict::Drop
        };
        world.run(Duration::from_secs(1), &mut silence);
        if stops {
            world.tell(
                Direction::ToResponder,
                Input::Close(CloseReason::GoingAway, "the publisher stops"),
            );
        }
        world.run(Duration::from_secs(6), &mut silence);
        let timeout = Some(SessionError::Handshake(HandshakeError::Timeout));
        assert_eq!(world.responder.error, timeout.filter(|_| !stops));
        assert_eq!(answers, 0, "{stops}");
    }
}

#[test]
fn who_showed_its_ticket_and_then_says_nothing_is_told_that_its_time_is_up() {
    let mut world = Setup::default().world();
    let mut heard = Vec::new();
    world.run(Duration::from_secs(6), &mut |to, message| match to {
        Direction::ToResponder if message.first() == Some(&1) => Verdict::Deliver,
        Direction::ToResponder => Verdict::Drop,
        Direction::ToInitiator => {
            heard.push(message[0]);
            Verdict::Drop
        }
    });
    // A reply, and an alert.
    assert_eq!(heard, [3, 5]);
}

#[test]
fn a_publisher_may_connect_to_a_viewer() {
    let mut setup = Setup::default();
    std::mem::swap(&mut setup.viewer.handshake.role, &mut setup.publisher.handshake.role);
    let world = setup.established();
    assert_eq!(world.initiator.session.epoch(), Some(0));
}

#[test]
fn two_viewers_refuse_each_other() {
    let mut setup = Setup::default();
    setup.publisher.handshake.role = setup.viewer.handshake.role;
    let mut world = setup.world();
    world.run_cleanly(Duration::from_secs(1));
    assert_eq!(
        world.responder.error,
        Some(SessionError::Handshake(HandshakeError::Role))
    );
    assert_eq!(
        world.initiator.error,
        Some(SessionError::Handshake(HandshakeError::Alert))
    );
}

#[test]
fn garbage_is_not_answered() {
    let mut world = Setup::default().world();
    let mut answers = 0;
    world.run(Duration::from_secs(1), &mut |to, message| {
        answers += usize::from(to == Direction::ToInitiator);
        *message = b"GET / HTTP/1.1".to_vec();
        Verdict::Deliver
    });
    assert_eq!(
        world.responder.error,
        Some(SessionError::Handshake(HandshakeError::Mac))
    );
    assert_eq!((answers, world.initiator.error), (0, None), "the initiator waits");
}

/// The last estimate of the peer's clock.
fn clock(events: &[Event]) -> ClockEstimate {
    let told = events.iter().rev().find_map(|event| match event {
        Event::Clock(estimate) => Some(*estimate),
        _ => None,
    });
    told.expect("an exchange each half second")
}

#[test]
fn both_ends_find_how_fast_the_others_clock_is_and_where_it_stands() {
    for profile in ["delay=150us jitter=60us", "delay=20ms jitter=4ms loss=5%"] {
        let mut world = Setup::default().datagrams(profile, 3);
        world.drift_ppm = 50;
        world.run_cleanly(Duration::from_secs(120));
        let (viewer, publisher) = (clock(&world.initiator.events), clock(&world.responder.events));
        let truth = 50 * (world.now.monotonic.as_nanos() / 1_000_000) as i64;
        let seen = viewer.at(world.now.wall);
        assert!(
            seen.offset.abs_diff(truth) <= seen.spread,
            "{profile}: {truth} and {seen:?}"
        );
        let seen = publisher.at(world.now.wall.saturating_add_signed(truth));
        assert!(
            seen.offset.abs_diff(-truth) <= seen.spread,
            "{profile}: {} and {seen:?}",
            -truth
        );
        for (estimate, truth) in [(viewer, 50.0), (publisher, -50.0)] {
            let (rate, spread) = estimate.rate_ppm();
            assert!((rate - truth).abs() <= spread, "{profile}: {rate} ± {spread} ppm");
        }
    }
}
