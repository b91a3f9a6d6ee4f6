//! Sessions whose keys are given by vectors or by the test, without a handshake.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use super::config::{Carrier, QuicMedia, RekeyPolicy, SessionConfig};
use super::keyring::KeyRing;
use super::machine::{Established, Session, State};
use super::{Delivery, Event, Facts, Handled, Input, OutgoingFrame, Output, SessionError};
use crate::clock::Now;
use crate::keys::{
    EpochSecret, HandshakeConfig, HelloKeys, Identity, Peer, PeerId, RekeySignature, Role, Secret, Side, Wish,
};
use crate::seal::suite::RECOMMENDED;
use crate::seal::{RecordMeta, Refusal, SealLimits, Suite};
use crate::sim::{Direction, InsecureMechanism, World};
use crate::unit::{Codec, Preamble, Selection, Unit};
use crate::wire::{CloseReason, Control, Flags, Kind, LENGTH_PREFIX};
use sealcast_testkit::vectors::{Hex, load};

#[derive(Deserialize)]
struct File {
    key_sets: BTreeMap<String, KeySet>,
    connections: Vec<Connection>,
}

#[derive(Deserialize)]
struct KeySet {
    suite: u8,
    direction: String,
    epochs: Vec<Epoch>,
}

#[derive(Deserialize)]
struct Epoch {
    epoch: u64,
    secret: Hex,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Connection {
    name: String,
    expect: String,
    #[serde(rename = "why")]
    _why: String,
    key_set: String,
    steps: Vec<Step>,
    ends_after: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    record: Hex,
    expect: String,
}

fn now(millis: u64) -> Now {
    Now {
        monotonic: Duration::from_millis(millis),
        wall: 1_000_000 * millis,
    }
}

/// An established session on a byte stream with the given epoch secrets: the first is the current epoch's, the second,
/// if there is one, the next epoch's.
fn session(suite: Suite, side: Side, role: Role, secrets: Vec<EpochSecret>) -> Session {
    session_over(Carrier::Stream, Delivery::default(), suite, side, role, secrets)
}

/// The name of every session in signatures.
const BINDING: [u8; 32] = [0; 32];

/// A message of rekeying about this epoch, with the signature of either end: an answer to `offer`, or an offer.
pub(super) fn signed(epoch: u64, offer: Option<&[u8]>, message: &Control<'_>) -> Vec<u8> {
    let signature = RekeySignature {
        binding: &BINDING,
        epoch,
        offer,
    };
    let mut message = message.to_bytes();
    signature.sign(&Identity::from_seed(&[1; 32]), &mut message);
    message
}

/// As [`session`], on any carrier.
pub(super) fn session_over(
    carrier: Carrier,
    delivery: Delivery,
    suite: Suite,
    side: Side,
    role: Role,
    mut secrets: Vec<EpochSecret>,
) -> Session {
    let config = SessionConfig {
        handshake: HandshakeConfig {
            role,
            identity: Arc::new(Identity::from_seed(&[1; 32])),
            suites: vec![suite],
            mechanisms: vec![Arc::new(InsecureMechanism::new(1))],
            pinned: None,
            hello_keys: Arc::new(HelloKeys::new(&PeerId([2; 32]), [])),
            wish: Wish::default(),
        },
        side,
        carrier,
        rekey: RekeyPolicy::default(),
        delivery,
        unit: Unit::Frame,
        selection_seed: 1,
        shape: None,
        group: None,
    };
    let next = secrets.split_off(1).pop();
    let first = secrets.pop().expect("one epoch at least");
    let mut ring = KeyRing::new(first, suite, side, SealLimits::COUNTER, Duration::ZERO);
    if let Some(next) = next {
        ring.install_next(next);
    }
    let facts = Facts {
        peer: Peer {
            // Its own: both ends of a pair have the same identity.
            id: Identity::from_seed(&[1; 32]).peer_id(),
            psk: None,
            wish: None,
        },
        suite,
        mechanism: "insecure-simulation",
        session_id: [0; 8],
    };
    let mechanism = Arc::clone(&config.handshake.mechanisms[0]);
    let established = Established {
        ring,
        facts,
        mechanism,
        enrolment: None,
        binding: BINDING,
        exporter: zeroize::Zeroizing::new([0; 32]),
    };
    Session::new(config, State::Established(Box::new(established)), now(0))
}

#[test]
fn connections_end_after_the_record_after_which_the_reference_ends_them() {
    let file = load::<File>("records");
    assert_eq!(file.connections.len(), 5);
    for case in &file.connections {
        let set = &file.key_sets[&case.key_set];
        let suite = *RECOMMENDED.iter().find(|suite| suite.id == set.suite).expect("a suite");
        let side = if set.direction == "i" {
            Side::Responder
        } else {
            Side::Initiator
        };
        let secret = |epoch: &Epoch| EpochSecret::new(Secret::from_bytes(&epoch.secret.array()), epoch.epoch);
        let mut session = session(suite, side, Role::Viewer, set.epochs.iter().map(secret).collect());
        // These records contain no frames, since only the record layer is compared.
        session.assembler = None;
        for (number, step) in case.steps.iter().enumerate() {
            let mut record = step.record.0.clone();
            let handled = session.handle(now(number as u64), Input::Message(&mut record));
            let ends = case.ends_after == Some(number);
            match &handled {
                Ok(Handled::Refused(reason)) => assert_eq!(reason.to_string(), step.expect, "{}: {number}", case.name),
                Ok(_) => assert_eq!(step.expect, "ok", "{}: {number}", case.name),
                Err(_) => assert!(ends, "{}: ended after step {number}", case.name),
            }
            assert_eq!(
                (handled.is_err(), session.is_over()),
                (ends, ends),
                "{}: {number}",
                case.name
            );
        }
        assert_eq!(
            case.expect,
            if session.is_over() { "ends" } else { "ok" },
            "{}",
            case.name
        );
    }
}

pub(super) fn pair(number: u64) -> World {
    let secret = || vec![EpochSecret::new(Secret::from_bytes(&[5; 32]), number)];
    let viewer = session(RECOMMENDED[0], Side::Initiator, Role::Viewer, secret());
    let publisher = session(RECOMMENDED[0], Side::Responder, Role::Publisher, secret());
    World::new(viewer, publisher, Duration::from_millis(5), now(0))
}

/// Seal a frame at the publisher and put it on the link.
fn publish(world: &mut World, number: u64) {
    let frame = OutgoingFrame {
        stream: 1,
        codec: Codec::H264,
        keyframe: true,
        preamble: Preamble {
            frame: number,
            ..Preamble::default()
        },
        data: b"picture",
    };
    let (now, mut out) = (world.now, Vec::new());
    let sealed = world.responder.session.seal_frame(now, &frame, &mut out);
    sealed.expect("the key is good");
    world.send(Direction::ToInitiator, out.split_off(LENGTH_PREFIX));
}

#[test]
fn epochs_count_on_where_their_sixteen_bits_begin_again() {
    let mut world = pair(65_534);
    for number in 0..100 {
        publish(&mut world, number);
        world.run_cleanly(Duration::from_millis(40));
        if number % 20 == 10 {
            world.tell(Direction::ToResponder, Input::Rekey);
        }
    }
    assert_eq!(world.initiator.media.len(), 100);
    assert_eq!((world.initiator.error, world.responder.error), (None, None));
    for end in [&world.initiator, &world.responder] {
        assert_eq!(end.session.epoch(), Some(65_539));
        assert_eq!(end.session.refusals().total(), 0);
    }
    let epochs = world.initiator.events.iter().filter_map(|event| match event {
        Event::Rekeyed { epoch, .. } => Some(*epoch),
        _ => None,
    });
    assert_eq!(epochs.collect::<Vec<_>>(), [65_535, 65_536, 65_537, 65_538, 65_539]);
}

/// Make an end send a payload that an honest one would not send, sealed under its valid keys.
pub(super) fn say(world: &mut World, from: Direction, kind: Kind, payload: &[u8]) {
    let (sealing, to) = match from {
        Direction::ToInitiator => (&mut world.initiator, Direction::ToResponder),
        Direction::ToResponder => (&mut world.responder, Direction::ToInitiator),
    };
    let keys = sealing.session.keys().expect("the session has keys");
    let (sealer, flags, stream) = match kind {
        Kind::Control => (&mut keys.ring.current.control_sealer, Flags::CONTROL, 0),
        Kind::Media => (&mut keys.ring.current.media_sealer, Flags::frame(true, true, true), 1),
        Kind::Cell => (&mut keys.ring.current.cell_sealer, Flags::CELL, 0),
        Kind::Data => {
            let data = keys.ring.current.data.as_mut().expect("it has channels");
            (&mut data.sealer, Flags::DATA, 0)
        }
    };
    let meta = RecordMeta {
        flags,
        stream,
        timestamp: 0,
    };
    let mut record = Vec::new();
    sealer.seal(meta, &[payload], &mut record).expect("a fresh key");
    world.send(to, record);
    world.run_cleanly(Duration::from_millis(20));
}

const VIEWER: Direction = Direction::ToInitiator;
const PUBLISHER: Direction = Direction::ToResponder;

#[test]
fn what_the_other_role_says_ends_the_session() {
    let share = [7; 32];
    let offer = |epoch, mechanism| Control::RekeyOffer {
        epoch,
        mechanism,
        share: &share,
        signature: [0; 64],
    };
    let answer = Control::RekeyAnswer {
        epoch: 1,
        ciphertext: &share,
        signature: [0; 64],
    };
    let cases = [
        (VIEWER, offer(1, 0xFF).to_bytes(), "a viewer leads no rekeying"),
        (VIEWER, Control::Welcome.to_bytes(), "a second welcome"),
        (PUBLISHER, Control::Welcome.to_bytes(), "a second welcome"),
        (PUBLISHER, answer.to_bytes(), "a publisher answers no offer"),
        (
            PUBLISHER,
            Control::RekeyRequest.to_bytes(),
            "a publisher asks for no epoch",
        ),
        (
            PUBLISHER,
            Control::KeyframeRequest { stream: 1 }.to_bytes(),
            "a publisher wants no keyframe",
        ),
        (PUBLISHER, offer(0, 0xFF).to_bytes(), "an offer for the current epoch"),
        (
            PUBLISHER,
            offer(2, 0xFF).to_bytes(),
            "an offer for the epoch after the next",
        ),
        (PUBLISHER, offer(1, 2).to_bytes(), "an offer with another mechanism"),
        (PUBLISHER, vec![3, 0, 1, 0xFF, 0, 0], "a malformed offer"),
        (PUBLISHER, vec![], "an empty control message"),
        (
            VIEWER,
            selection(1, Selection::None).to_bytes(),
            "a viewer selects nothing",
        ),
        (
            PUBLISHER,
            Control::SelectionAck { number: 1 }.to_bytes(),
            "a publisher acknowledges no selection",
        ),
        (PUBLISHER, vec![9, 0, 1, 6, 0, 0], "a malformed selection"),
    ];
    for (from, payload, what) in cases {
        let mut world = pair(0);
        say(&mut world, from, Kind::Control, &payload);
        let (told, teller) = match from {
            VIEWER => (&world.responder, &world.initiator),
            PUBLISHER => (&world.initiator, &world.responder),
        };
        assert_eq!(told.error, Some(SessionError::PeerMisbehaved), "{what}");
        let closed = |event: &Event| {
            matches!(
                event,
                Event::Closed {
                    reason: CloseReason::ProtocolError,
                    ..
                }
            )
        };
        assert!(teller.events.iter().any(closed), "{what}");
    }
}

fn selection(number: u16, selection: Selection) -> Control<'static> {
    Control::Selection { number, selection }
}

#[test]
fn two_selections_under_one_number_end_the_session_and_a_repeated_one_does_not() {
    let mut world = pair(0);
    for _ in 0..3 {
        say(
            &mut world,
            PUBLISHER,
            Kind::Control,
            &selection(7, Selection::None).to_bytes(),
        );
    }
    say(
        &mut world,
        PUBLISHER,
        Kind::Control,
        &selection(6, Selection::All).to_bytes(),
    );
    assert_eq!(world.initiator.session.selection(), Selection::None);
    assert_eq!((world.initiator.error, world.responder.error), (None, None));
    say(
        &mut world,
        PUBLISHER,
        Kind::Control,
        &selection(7, Selection::Headers).to_bytes(),
    );
    assert_eq!(world.initiator.error, Some(SessionError::PeerMisbehaved));
}

#[test]
fn an_acknowledgement_of_nothing_changes_nothing() {
    for number in [1, 2, 65_535] {
        let mut world = pair(0);
        let ack = Control::SelectionAck { number }.to_bytes();
        say(&mut world, VIEWER, Kind::Control, &ack);
        assert_eq!(world.responder.session.selection(), Selection::All);
        let now = world.now;
        world.tell(PUBLISHER, Input::Select(Selection::None));
        while !matches!(world.responder.session.poll(), Output::Timeout(_)) {}
        let foreign = Control::SelectionAck { number: 9 }.to_bytes();
        say(&mut world, VIEWER, Kind::Control, &foreign);
        assert_eq!(
            (world.responder.session.selection(), world.responder.error),
            (Selection::All, None)
        );
        assert!(world.now.monotonic < now.monotonic + Duration::from_millis(500));
    }
}

#[test]
fn a_peer_that_selects_without_end_brings_a_new_epoch_about_and_not_the_end() {
    let mut world = pair(0);
    let policy = RekeyPolicy::new(32, Duration::from_secs(600)).expect("within bounds");
    world.initiator.session.config.rekey = policy;
    for number in 1..400 {
        let selected = [Selection::None, Selection::Headers][usize::from(number % 2)];
        say(
            &mut world,
            PUBLISHER,
            Kind::Control,
            &selection(number, selected).to_bytes(),
        );
    }
    assert_eq!((world.initiator.error, world.responder.error), (None, None));
    assert!(world.initiator.session.epoch() > Some(3));
}

#[test]
fn a_repair_record_on_a_byte_stream_ends_the_session() {
    let mut world = pair(0);
    let keys = world.responder.session.keys().expect("the session has keys");
    let meta = RecordMeta {
        flags: Flags::REPAIR,
        stream: 1,
        timestamp: 0,
    };
    let mut record = Vec::new();
    let sealer = &mut keys.ring.current.media_sealer;
    sealer.seal(meta, &[&[0; 50]], &mut record).expect("a fresh key");
    world.send(VIEWER, record);
    world.run_cleanly(Duration::from_millis(20));
    assert_eq!(world.initiator.error, Some(SessionError::PeerMisbehaved));
    assert!(world.initiator.media.is_empty());
}

#[test]
fn a_viewer_that_sends_media_ends_the_session() {
    let mut world = pair(0);
    say(&mut world, VIEWER, Kind::Media, &[0; 50]);
    assert_eq!(world.responder.error, Some(SessionError::PeerMisbehaved));
    assert!(world.responder.media.is_empty());
}

#[test]
fn a_second_offer_before_the_switch_ends_the_session_and_a_repeated_one_does_not() {
    let offer = |share: &[u8]| {
        let (epoch, mechanism) = (1, 0xFF);
        let offer = Control::RekeyOffer {
            epoch,
            mechanism,
            share,
            signature: [0; 64],
        };
        signed(1, None, &offer)
    };
    let mut world = pair(0);
    for _ in 0..3 {
        say(&mut world, PUBLISHER, Kind::Control, &offer(&[7; 32]));
    }
    assert_eq!((world.initiator.error, world.responder.error), (None, None));
    say(&mut world, PUBLISHER, Kind::Control, &offer(&[8; 32]));
    assert_eq!(world.initiator.error, Some(SessionError::PeerMisbehaved));
}

#[test]
fn an_offer_that_its_epoch_overtook_changes_nothing_where_messages_may() {
    let secret = || vec![EpochSecret::new(Secret::from_bytes(&[5; 32]), 65_534)];
    let end = |side, role| {
        let carrier = Carrier::Quic(QuicMedia::Datagrams(1200));
        session_over(carrier, Delivery::default(), RECOMMENDED[0], side, role, secret())
    };
    let (viewer, publisher) = (
        end(Side::Initiator, Role::Viewer),
        end(Side::Responder, Role::Publisher),
    );
    let mut world = World::new(viewer, publisher, Duration::from_millis(5), now(0));
    for _ in 0..3 {
        world.tell(PUBLISHER, Input::Rekey);
        world.run_cleanly(Duration::from_millis(2500));
    }
    assert_eq!(world.initiator.session.epoch(), Some(65_537));
    let offer = |epoch| {
        let (mechanism, share) = (0xFF, &[9; 32][..]);
        let offer = Control::RekeyOffer {
            epoch,
            mechanism,
            share,
            signature: [0; 64],
        };
        signed(65_538, None, &offer)
    };
    for overtaken in [65_535, 0, 1] {
        say(&mut world, PUBLISHER, Kind::Control, &offer(overtaken));
        assert_eq!(world.initiator.error, None, "epoch {overtaken}");
    }
    say(&mut world, PUBLISHER, Kind::Control, &offer(3));
    assert_eq!(world.initiator.error, Some(SessionError::PeerMisbehaved));
}

#[test]
fn an_answer_to_no_offer_changes_nothing() {
    for epoch in [0, 1, 2, 65_535] {
        let mut world = pair(0);
        let answer = Control::RekeyAnswer {
            epoch,
            ciphertext: &[7; 32],
            signature: [0; 64],
        };
        for _ in 0..20 {
            say(&mut world, VIEWER, Kind::Control, &answer.to_bytes());
        }
        assert_eq!(
            (world.responder.error, world.responder.session.epoch()),
            (None, Some(0))
        );
    }
}

#[test]
fn a_peers_last_words_cannot_move_the_cursor() {
    let mut world = pair(0);
    let close = Control::Close {
        reason: CloseReason::Other(99),
        text: "bye\x1b[2J\r\nroot# \u{9b}31m",
    };
    say(&mut world, PUBLISHER, Kind::Control, &close.to_bytes());
    let shown = world.initiator.events.iter().find_map(|event| match event {
        Event::Closed { text, .. } => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(shown, Some("bye\u{fffd}[2J\u{fffd}\u{fffd}root# \u{fffd}31m"));
}

#[test]
fn a_peer_that_pings_without_end_brings_a_new_epoch_about_and_not_the_end() {
    let mut world = pair(0);
    let policy = RekeyPolicy::new(32, Duration::from_secs(600)).expect("within bounds");
    world.responder.session.config.rekey = policy;
    for _ in 0..500 {
        say(&mut world, VIEWER, Kind::Control, &Control::Ping { t1: 1 }.to_bytes());
    }
    assert_eq!((world.initiator.error, world.responder.error), (None, None));
    assert!(world.responder.session.epoch() > Some(3));
}

#[test]
fn refused_datagrams_are_counted_without_end() {
    let secret = vec![EpochSecret::new(Secret::from_bytes(&[5; 32]), 0)];
    let mut session = session(RECOMMENDED[0], Side::Initiator, Role::Viewer, secret);
    session.config.carrier = Carrier::Quic(QuicMedia::Streams);
    session.refusals_in_a_row = u32::MAX;
    for _ in 0..3 {
        let mut message = [0; 100];
        let handled = session.handle(now(1), Input::Message(&mut message));
        assert!(matches!(handled, Ok(Handled::Refused(Refusal::Malformed))));
    }
}

#[test]
fn a_session_that_is_over_takes_no_notice_of_what_was_under_way() {
    let mut world = pair(0);
    world.tell(PUBLISHER, Input::Close(CloseReason::EndOfStream, ""));
    world.run_cleanly(Duration::from_millis(50));
    assert!(world.initiator.session.is_over() && world.responder.session.is_over());
    let mut message = [0; 100];
    let handled = world.initiator.session.handle(now(99), Input::Message(&mut message));
    assert!(matches!(handled, Ok(Handled::Done)));
    assert!(matches!(world.initiator.session.poll(), Output::Timeout(Duration::MAX)));
}

#[test]
fn what_only_the_other_role_may_do_is_misuse() {
    let world = pair(0);
    let (mut viewer, mut publisher) = (world.initiator.session, world.responder.session);
    let frame = |stream| OutgoingFrame {
        stream,
        codec: Codec::H264,
        keyframe: true,
        preamble: Preamble::default(),
        data: &[],
    };
    let mut out = Vec::new();
    assert_eq!(
        viewer.seal_frame(now(0), &frame(1), &mut out),
        Err(SessionError::Misuse)
    );
    for stream in [0, 16, u32::MAX] {
        assert_eq!(
            publisher.seal_frame(now(0), &frame(stream), &mut out),
            Err(SessionError::Misuse)
        );
    }
    assert!(out.is_empty() && viewer.is_established() && publisher.is_established());
    let asked = publisher.handle(now(0), Input::RequestKeyframe(1));
    assert_eq!(asked.map(drop), Err(SessionError::Misuse));
}
