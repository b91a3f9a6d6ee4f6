//! Messages between two gateways, and the media of several cameras, over every carrier.

use std::time::Duration;

use sealcast_proto::rtsp::{
    CameraNumber, CarriedStatus, GatewayMessage, MAX_GATEWAY_MESSAGE, Parameters, TrackSet, Verb,
};
use sealcast_proto::session::{Carrier, Event, Input, OutgoingFrame, QuicMedia, SessionError};
use sealcast_proto::sim::{Direction, World};
use sealcast_proto::unit::{Assembled, Codec, Preamble};
use sealcast_proto::wire::BASE_DATAGRAM;
use sealcast_testkit::ends::Setup;

fn camera(number: u8) -> CameraNumber {
    CameraNumber::new(number).expect("a camera")
}

fn over_quic(media: QuicMedia) -> World {
    let mut setup = Setup::default();
    setup.viewer.carrier = Carrier::Quic(media);
    setup.publisher.carrier = Carrier::Quic(media);
    setup.established()
}

/// A session over each carrier; the viewer is the initiator.
fn worlds() -> Vec<World> {
    let mut datagrams = Setup::default().datagrams("delay=10ms", 3);
    datagrams.run_cleanly(Duration::from_millis(300));
    assert!(datagrams.initiator.session.is_established());
    vec![
        Setup::default().established(),
        datagrams,
        over_quic(QuicMedia::Streams),
        over_quic(QuicMedia::Datagrams(BASE_DATAGRAM)),
    ]
}

fn say(world: &mut World, to: Direction, message: &GatewayMessage) {
    let bytes = message.to_bytes().expect("it fits");
    world.tell(to, Input::Gateway(&bytes));
}

fn heard(events: &[Event]) -> Vec<GatewayMessage> {
    let messages = events.iter().filter_map(|event| match event {
        Event::Gateway(message) => Some(message.clone()),
        _ => None,
    });
    messages.collect()
}

fn question() -> GatewayMessage {
    GatewayMessage::Command {
        request: 7,
        camera: camera(1),
        verb: Verb::Play(TrackSet::from_bits(3)),
        with: Parameters::default(),
    }
}

/// An answer of the maximum length.
fn long_answer() -> GatewayMessage {
    let answer = |body: usize| GatewayMessage::Answer {
        request: 7,
        camera: Some(camera(1)),
        status: CarriedStatus::OK,
        with: Parameters::of_body((0..body).map(|byte| byte as u8).collect()),
    };
    let around = answer(0).to_bytes().expect("short").len();
    answer(MAX_GATEWAY_MESSAGE - around)
}

#[test]
fn questions_and_the_longest_answers_cross_on_every_carrier() {
    for mut world in worlds() {
        // An input to one end is received by the other.
        say(&mut world, Direction::ToInitiator, &question());
        say(&mut world, Direction::ToResponder, &long_answer());
        world.run_cleanly(Duration::from_millis(100));
        assert_eq!(heard(&world.responder.events), [question()]);
        assert_eq!(heard(&world.initiator.events), [long_answer()]);
        assert_eq!((world.initiator.error, world.responder.error), (None, None));
    }
}

#[test]
fn what_is_the_other_gateways_to_say_ends_the_session() {
    for mut world in worlds() {
        say(&mut world, Direction::ToResponder, &question());
        world.run_cleanly(Duration::from_millis(100));
        assert_eq!(world.initiator.error, Some(SessionError::PeerMisbehaved));
        assert_eq!(heard(&world.initiator.events), []);
    }
    for mut world in worlds() {
        say(&mut world, Direction::ToInitiator, &long_answer());
        world.run_cleanly(Duration::from_millis(100));
        assert_eq!(world.responder.error, Some(SessionError::PeerMisbehaved));
    }
}

#[test]
fn a_message_that_breaks_the_form_ends_the_session_and_one_of_a_later_version_is_ignored() {
    let mut world = Setup::default().established();
    world.tell(Direction::ToInitiator, Input::Gateway(&[200, 1, 2, 3]));
    world.run_cleanly(Duration::from_millis(100));
    assert_eq!((heard(&world.responder.events), world.responder.error), (vec![], None));
    world.tell(Direction::ToInitiator, Input::Gateway(&[1, 0]));
    world.run_cleanly(Duration::from_millis(100));
    assert_eq!(world.responder.error, Some(SessionError::PeerMisbehaved));
}

#[test]
fn a_message_that_could_not_cross_is_misuse() {
    for bytes in [&[][..], &[1; MAX_GATEWAY_MESSAGE + 1]] {
        let mut world = Setup::default().established();
        world.tell(Direction::ToInitiator, Input::Gateway(bytes));
        assert_eq!(world.initiator.error, Some(SessionError::Misuse));
    }
    let mut early = Setup::default().world();
    early.tell(Direction::ToInitiator, Input::Gateway(&[200]));
    assert_eq!(early.initiator.error, Some(SessionError::Misuse));
}

#[test]
fn frames_of_several_cameras_are_told_apart_where_media_may_be_lost() {
    for mut world in worlds().into_iter().skip(1) {
        for number in 0..20_u64 {
            let frame = OutgoingFrame {
                stream: camera(1 + (number % 3) as u8).stream(),
                codec: Codec::Mjpeg,
                keyframe: true,
                preamble: Preamble {
                    frame: number / 3,
                    ..Preamble::default()
                },
                data: &[number as u8; 3000],
            };
            world.publish(Direction::ToResponder, &frame).expect("established");
            world.run_cleanly(Duration::from_millis(5));
        }
        world.run_cleanly(Duration::from_millis(500));
        let frames = world.initiator.assembled.iter().map(|(_, media)| match media {
            Assembled::Frame(frame) => (frame.stream, frame.preamble.frame, frame.data[0]),
            other => panic!("{other:?}"),
        });
        let sent = (0..20_u8).map(|number| (1 + u32::from(number % 3), u64::from(number / 3), number));
        assert!(frames.eq(sent));
    }
}
