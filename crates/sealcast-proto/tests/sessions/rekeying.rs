//! Epoch changes, and the effects of time on a session.

use std::time::Duration;

use sealcast_proto::seal::Refusal;
use sealcast_proto::session::{Carrier, Event, Input, QuicMedia, RekeyCause, RekeyPolicy, SessionError};
use sealcast_proto::sim::{Direction, Verdict, World};
use sealcast_proto::wire::CloseReason;
use sealcast_testkit::ends::{Setup, of_one_mind, publish};

fn policy(records: u64, age: Duration) -> RekeyPolicy {
    RekeyPolicy::new(records, age).expect("within bounds")
}

fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}

/// Asserts that both ends are alive and agree, and that neither refused anything.
fn assert_healthy(world: &World) {
    assert_eq!((world.initiator.error, world.responder.error), (None, None));
    assert!(of_one_mind(world), "the viewer is more than a switch behind");
    assert_eq!(world.initiator.session.refusals().total(), 0);
    assert_eq!(world.responder.session.refusals().total(), 0);
}

/// After every timeout the world itself asserts that the next deadline is later than now.
#[test]
fn deadlines_move_forward_for_ten_minutes_under_any_policy() {
    let ages = [100, 333, 1_000, 10_000, 600_000];
    for (age, records) in ages.into_iter().flat_map(|age| [(age, 16), (age, 50), (age, 1 << 20)]) {
        for stricter in [Direction::ToInitiator, Direction::ToResponder] {
            let mut setup = Setup::default();
            let strict = policy(records, Duration::from_millis(age));
            match stricter {
                Direction::ToInitiator => setup.viewer.rekey = strict,
                Direction::ToResponder => setup.publisher.rekey = strict,
            }
            let mut world = setup.established();
            world.run_cleanly(minutes(10));
            assert_healthy(&world);
        }
    }
}

#[test]
fn deadlines_move_forward_on_a_link_that_loses_every_other_message() {
    let mut setup = Setup::default();
    setup.publisher.rekey = policy(1 << 20, Duration::from_millis(700));
    let mut world = setup.established();
    let mut count = 0;
    world.run(minutes(10), &mut |_, _| {
        count += 1;
        if count % 2 == 0 {
            Verdict::Drop
        } else {
            Verdict::Deliver
        }
    });
    assert!(count > 100);
}

#[test]
fn an_idle_session_outlives_a_policy_of_few_records() {
    let mut setup = Setup::default();
    setup.publisher.rekey = policy(16, minutes(10));
    setup.viewer.rekey = policy(16, minutes(10));
    let mut world = setup.established();
    world.run_cleanly(minutes(2));
    assert_healthy(&world);
    assert!(world.responder.session.epoch() > Some(10), "the control keys count too");
}

#[test]
fn a_viewer_that_is_stricter_than_the_publisher_asks_and_is_heard() {
    let mut setup = Setup::default();
    setup.viewer.rekey = policy(1 << 20, Duration::from_secs(1));
    let mut world = setup.established();
    world.run_cleanly(minutes(5));
    assert_healthy(&world);
    let epoch = world.initiator.session.epoch().expect("established");
    assert!(
        (20..40).contains(&epoch),
        "{epoch}: one each 11 s, not a storm of requests"
    );
}

#[test]
fn answers_that_come_late_are_repeated_and_nothing_is_lost() {
    let mut setup = Setup {
        delay: Duration::from_millis(450),
        ..Setup::default()
    };
    setup.publisher.rekey = policy(1 << 20, Duration::from_secs(2));
    let mut world = setup.world();
    world.run_cleanly(Duration::from_secs(3));
    for number in 0..1_000 {
        publish(&mut world, number, number % 10 == 0, &number.to_be_bytes());
        world.run_cleanly(Duration::from_millis(40));
    }
    world.run_cleanly(Duration::from_secs(1));
    assert_eq!(world.initiator.media.len(), 1_000);
    assert_eq!(world.initiator.session.refusals().total(), 0);
    assert_eq!(world.responder.session.refusals().total(), 0);
    assert!(world.responder.session.epoch() > Some(8));
}

#[test]
fn wishes_for_new_epochs_from_both_ends_at_any_time_lose_nothing() {
    let mut world = Setup::default().established();
    for number in 0..2_000_u64 {
        publish(&mut world, number, number % 7 == 0, &number.to_be_bytes());
        if number % 3 == 0 {
            world.tell(Direction::ToInitiator, Input::Rekey);
        }
        if number % 5 == 0 {
            world.tell(Direction::ToResponder, Input::Rekey);
        }
        world.run_cleanly(Duration::from_millis(3 + number % 20));
    }
    world.run_cleanly(Duration::from_secs(2));
    assert_eq!(world.initiator.media.len(), 2_000);
    assert_healthy(&world);
    assert!(world.responder.session.epoch() > Some(100));
}

#[test]
fn a_viewers_wishes_are_granted_once_a_second() {
    let mut world = Setup::default().established();
    for _ in 0..100 {
        world.tell(Direction::ToInitiator, Input::Rekey);
        world.run_cleanly(Duration::from_millis(100));
    }
    let epoch = world.responder.session.epoch().expect("established");
    assert!((5..=10).contains(&epoch), "{epoch} epochs in 10 s");
    assert_healthy(&world);
}

#[test]
fn records_of_an_old_epoch_are_accepted_for_five_seconds_and_then_unknown() {
    for (wait, refused) in [(Duration::from_millis(4_900), 0), (Duration::from_millis(5_100), 1)] {
        let mut setup = Setup::default();
        // A record of epoch 0 that the network delays. On a byte stream that would be impossible.
        let quic = Carrier::Quic(QuicMedia::Streams);
        (setup.viewer.carrier, setup.publisher.carrier) = (quic, quic);
        setup.publisher.delivery.nack = false;
        let mut world = setup.established();
        let now = world.now;
        let frame = sealcast_proto::session::OutgoingFrame {
            stream: 1,
            codec: sealcast_proto::unit::Codec::H264,
            keyframe: true,
            preamble: Default::default(),
            data: b"late",
        };
        let session = &mut world.responder.session;
        session
            .seal_frame(now, &frame, &mut Vec::new())
            .expect("the key is good");
        let held = session.poll_packets(now).expect("a record").bytes.to_vec();
        session.packets_sent(now);
        world.tell(Direction::ToResponder, Input::Rekey);
        let mut switched = false;
        while !switched {
            world.run_cleanly(Duration::from_millis(10));
            switched = world.initiator.session.epoch() == Some(1);
        }
        world.run_cleanly(wait - Duration::from_millis(10));
        world.send(Direction::ToInitiator, held);
        world.run_cleanly(Duration::from_millis(20));
        assert_eq!(
            world.initiator.session.refusals().of(Refusal::UnknownEpoch),
            refused,
            "after {wait:?}"
        );
        assert_eq!(world.initiator.assembled.len() as u64, 1 - refused);
    }
}

#[test]
fn nothing_is_sealed_past_the_hard_age_even_if_no_timeout_was_handled() {
    let mut setup = Setup::default();
    setup.publisher.rekey = policy(1 << 20, Duration::from_secs(1));
    let mut world = setup.established();
    let late = world.now.plus(Duration::from_secs(61));
    let frame = sealcast_proto::session::OutgoingFrame {
        stream: 1,
        codec: sealcast_proto::unit::Codec::H264,
        keyframe: true,
        preamble: Default::default(),
        data: b"frame",
    };
    let mut out = Vec::new();
    let sealed = world.responder.session.seal_frame(late, &frame, &mut out);
    assert_eq!((sealed, out.len()), (Err(SessionError::KeyLimit), 0));
    world.run_cleanly(Duration::from_millis(50));
    let closed = |event: &Event| {
        matches!(
            event,
            Event::Closed {
                reason: CloseReason::KeyLimit,
                ..
            }
        )
    };
    assert!(world.initiator.events.iter().any(closed));
}

#[test]
fn the_publisher_is_told_why_each_epoch_was_begun() {
    let mut setup = Setup::default();
    setup.publisher.rekey = policy(16, minutes(10));
    let mut world = setup.established();
    world.run_cleanly(Duration::from_secs(5));
    let causes = |event: &Event| {
        matches!(
            event,
            Event::Rekeyed {
                cause: Some(RekeyCause::Count),
                ..
            }
        )
    };
    assert!(world.responder.events.iter().any(causes));
    let told = |event: &Event| matches!(event, Event::Rekeyed { cause: Some(_), .. });
    assert!(!world.initiator.events.iter().any(told), "the viewer is not told");
}

#[test]
fn a_restarted_publisher_seals_under_other_keys() {
    let first_record = |mechanism_seed| {
        let mut setup = Setup::default();
        // Even if the random bytes of hello and reply were repeated, the mechanism's secret is different.
        let mechanism = sealcast_proto::sim::InsecureMechanism::new(mechanism_seed);
        let mechanism: std::sync::Arc<dyn sealcast_proto::keys::Mechanism> = std::sync::Arc::new(mechanism);
        setup.viewer.handshake.mechanisms = vec![std::sync::Arc::clone(&mechanism)];
        setup.publisher.handshake.mechanisms = vec![mechanism];
        let mut world = setup.established();
        publish(&mut world, 0, true, &[0; 64]);
        let mut record = Vec::new();
        world.run(Duration::from_millis(50), &mut |_, _| Verdict::Deliver);
        let frame = sealcast_proto::session::OutgoingFrame {
            stream: 1,
            codec: sealcast_proto::unit::Codec::H264,
            keyframe: true,
            preamble: Default::default(),
            data: &[0; 64],
        };
        let now = world.now;
        world
            .responder
            .session
            .seal_frame(now, &frame, &mut record)
            .expect("the key is good");
        record
    };
    let (before, after) = (first_record(7), first_record(1_000));
    assert_eq!(before[..28], after[..28], "the same header, with the same number");
    let payloads = before[28..].iter().zip(&after[28..]);
    let equal = payloads.filter(|(one, other)| one == other).count();
    assert!(
        equal < 10,
        "{equal} of {} bytes agree: the key stream was used twice",
        before.len() - 28
    );
}
