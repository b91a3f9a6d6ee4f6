//! Sessions whose media is sealed once for a group, on a virtual clock.

use std::time::Duration;

use sealcast_proto::group::MemberId;
use sealcast_proto::group_media::GroupSealer;
use sealcast_proto::live::{AlarmCause, LivenessState};
use sealcast_proto::session::{Event, GroupPolicy, Input, OpenedBy, SessionError};
use sealcast_proto::sign::SignMode;
use sealcast_proto::sim::World;
use sealcast_proto::unit::Assembled;
use sealcast_proto::wire::{Control, GroupMessage, MediaFrom};
use sealcast_testkit::ends::{self, Setup};

use super::group_show::{FRAME, PUBLISHER, STREAM, Show, VIEWER, policy, sealer};

const SIGNED: Option<GroupPolicy> = Some(policy(SignMode::Frame));

#[test]
fn two_viewers_get_what_was_sealed_once() {
    for sign in [SignMode::Frame, SignMode::Both] {
        let mut show = Show::new(sign, 2, SIGNED);
        show.play(60);
        assert_eq!(show.sealed, 60, "each frame once");
        let [first, second] = [show.numbers(0), show.numbers(1)];
        assert_eq!(first, second);
        assert_eq!(first.last(), Some(&59));
        assert_eq!(show.viewers[0].initiator.error, None);
    }
}

#[test]
fn a_viewer_that_insists_on_signatures_joins_no_group_without_and_is_served_alone() {
    for (sign, policy, joins) in [
        (SignMode::Off, SIGNED, false),
        (SignMode::Frame, None, false),
        (SignMode::Off, Some(policy(SignMode::Off)), true),
        (SignMode::Both, SIGNED, true),
    ] {
        let mut show = Show::new(sign, 1, policy);
        show.pass(FRAME);
        assert_eq!(
            show.viewers[0].responder.session.is_member(),
            joins,
            "{sign} {policy:?}"
        );
        let world = &mut show.viewers[0];
        if !joins {
            ends::publish(world, 0, true, &[7; 100]);
            world.run_cleanly(FRAME);
            assert!(
                world
                    .initiator
                    .assembled
                    .iter()
                    .any(|one| matches!(one, (_, Assembled::Frame(_))))
            );
        }
    }
}

#[test]
fn the_age_of_the_picture_is_bounded_and_a_path_that_withholds_or_delays_raises_the_alarm() {
    let mut show = Show::new(SignMode::Frame, 1, SIGNED);
    show.play(50);
    let LivenessState::Live { at_most } = show.age(0) else {
        panic!("{:?}", show.age(0));
    };
    // The next challenge follows an answered one after a third of a group of pictures, which lasts a second here.
    assert!(at_most <= Duration::from_millis(450), "{at_most:?}");
    // Pictures are withheld; everything else comes.
    show.withholds = true;
    show.play(50);
    assert_eq!(show.age(0), LivenessState::Alarm(AlarmCause::Freeze));
    show.withholds = false;
    // With the next keyframe it goes on.
    show.play(30);
    assert!(matches!(show.age(0), LivenessState::Live { .. }), "{:?}", show.age(0));
}

#[test]
fn a_removed_viewer_is_given_nothing_and_the_others_go_on() {
    let mut show = Show::new(SignMode::Frame, 2, SIGNED);
    show.play(30);
    let now = show.viewers[0].now;
    show.sealer.remove(now, MemberId(1)).expect("a member");
    show.numbers(0);
    show.numbers(1);
    let sealer = &show.sealer;
    let epoch = sealer.epoch();
    show.play(40);
    assert!(show.sealer.epoch() > epoch, "a new epoch is in force");
    assert_eq!(show.numbers(0).last(), Some(&69));
    // Its session still gets all bytes, and opens none that were sealed under the new epoch: from a second later on at
    // the latest.
    let opened = show.numbers(1);
    assert!(
        opened.len() < 25 && opened.last().is_none_or(|last| *last < 55),
        "{opened:?}"
    );
}

/// A session with a camera that has offered a group, and whose viewer gets the frames through a relay.
fn attending() -> (World, GroupSealer) {
    let sign = SignMode::Frame;
    let mut setup = Setup::default();
    let opened_by = OpenedBy::Program;
    setup.viewer.group = Some(GroupPolicy { sign, opened_by });
    let mut world = setup.established();
    let sealer = sealer(sign, world.now);
    world.tell(PUBLISHER, Input::Group(GroupMessage::Terms(sealer.terms())));
    world.run_cleanly(FRAME);
    (world, sealer)
}

#[test]
fn who_gets_its_media_through_a_relay_is_told_keys_and_answers_and_no_frame() {
    for media in [MediaFrom::Relay, MediaFrom::RelayEnrolled] {
        let (mut world, _) = attending();
        let enrolled = media == MediaFrom::RelayEnrolled;
        let early = world.initiator.session.handle(world.now, Input::Challenge([1; 16]));
        assert_eq!(early.map(drop), Err(SessionError::Misuse), "it has not joined");
        let (mut world, _) = attending();
        world.tell(VIEWER, Input::JoinGroup(media));
        world.run_cleanly(FRAME);
        let events = std::mem::take(&mut world.responder.events);
        assert!(events.contains(&Event::JoinsGroup(media)), "{events:?}");
        // It misses a sheet.
        world.tell(VIEWER, Input::JoinGroup(media));
        world.run_cleanly(FRAME);
        assert_eq!(std::mem::take(&mut world.responder.events), [Event::JoinsGroup(media)]);
        let now = world.now;
        let other = [MediaFrom::Relay, MediaFrom::RelayEnrolled, MediaFrom::Sealed].map(Input::JoinGroup);
        let other = other
            .into_iter()
            .find(|other| !matches!(other, Input::JoinGroup(as_before) if *as_before == media));
        let other = other.expect("there are others");
        let other = world.initiator.session.handle(now, other);
        assert_eq!(other.map(drop), Err(SessionError::Misuse), "another kind of member");
        let (mut world, sealer) = attending();
        world.tell(VIEWER, Input::JoinGroup(media));
        world.run_cleanly(FRAME);
        world.responder.events.clear();
        // Who is enrolled gets its sheets through the relay as well.
        assert_eq!(world.responder.session.is_member(), enrolled);
        let said = |message| Event::GroupSaid(Control::Group(message).to_bytes());
        world.tell(PUBLISHER, Input::Group(GroupMessage::Sheet(b"sheet")));
        world.tell(VIEWER, Input::Challenge([7; 16]));
        world.run_cleanly(FRAME);
        let challenged = std::mem::take(&mut world.responder.events);
        assert!(
            matches!(&challenged[..], [Event::Challenged(challenge)] if challenge.0 == [7; 16]),
            "{challenged:?}"
        );
        world.tell(PUBLISHER, Input::Group(GroupMessage::Answer(b"answer")));
        world.run_cleanly(FRAME);
        let heard: Vec<Event> = std::mem::take(&mut world.initiator.events)
            .into_iter()
            .filter(|event| matches!(event, Event::GroupSaid(_) | Event::JoinedGroup(_)))
            .collect();
        let expected = [
            said(GroupMessage::Terms(sealer.terms())),
            said(GroupMessage::Sheet(b"sheet")),
            said(GroupMessage::Answer(b"answer")),
        ];
        assert_eq!(heard, expected);
        assert_eq!(world.initiator.session.picture_age(world.now.monotonic), None);
    }
}

#[test]
fn messages_of_a_group_out_of_turn_are_refused() {
    let mut show = Show::new(SignMode::Frame, 1, SIGNED);
    show.play(1);
    let world = &mut show.viewers[0];
    let now = world.now;
    let terms = GroupMessage::Terms(show.sealer.terms());
    let again = world.responder.session.handle(now, Input::Group(terms));
    assert_eq!(again.map(drop), Err(SessionError::Misuse));

    let mut world = Setup::default().established();
    let sheet = world
        .responder
        .session
        .handle(now, Input::Group(GroupMessage::Sheet(b"")));
    assert_eq!(sheet.map(drop), Err(SessionError::Misuse), "nobody wants to join");
    let mut world = Setup::default().established();
    let media = MediaFrom::Session;
    let join = GroupMessage::Join { stream: STREAM, media };
    let by_publisher = world.responder.session.handle(now, Input::Group(join));
    assert_eq!(by_publisher.map(drop), Err(SessionError::Misuse));
}
