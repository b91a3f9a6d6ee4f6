//! First handshakes over datagrams of which the path alters some, on a virtual clock.

use std::sync::Arc;
use std::time::Duration;

use sealcast_proto::keys::{HandshakeError, Mechanism};
use sealcast_proto::session::{Event, HANDSHAKE_TIMEOUT, SessionError};
use sealcast_proto::sim::{Direction, InsecureMechanism, Verdict, World};
use sealcast_testkit::ends::{START, Setup, identity};

const PROFILE: &str = "delay=20ms";
/// Changes of a byte: of its lowest bit and its highest.
const CHANGES: [u8; 2] = [0x01, 0x80];

/// Ends that agree after a retry: the responder prefers another mechanism than the one that the initiator guesses. One
/// bit makes its identifier that of a third one, which both have.
fn retrying() -> Setup {
    let mut setup = Setup::default();
    let mechanism = |id| Arc::new(InsecureMechanism::named(7, id)) as Arc<dyn Mechanism>;
    let ids = |ids: [u8; 3]| ids.map(mechanism).to_vec();
    setup.viewer.handshake.mechanisms = ids([0xF0, 0xFE, 0xFF]);
    setup.publisher.handshake.mechanisms = ids([0xFF, 0xFE, 0xF0]);
    setup
}

fn established(world: &World) -> bool {
    let event = |events: &[Event]| {
        let found = events.iter().filter(|event| matches!(event, Event::Established(_)));
        found.count() == 1
    };
    event(&world.initiator.events) && event(&world.responder.events)
}

/// The lengths of all datagrams of a handshake without a fault, in the order in which they were sent.
fn lengths(setup: fn() -> Setup) -> Vec<usize> {
    let mut world = setup().datagrams(PROFILE, 1);
    let mut lengths = Vec::new();
    // No longer, for then come probes of the path.
    while !established(&world) {
        assert!(world.now.monotonic < START.monotonic + HANDSHAKE_TIMEOUT);
        world.run(Duration::from_millis(1), &mut |_, datagram| {
            lengths.push(datagram.len());
            Verdict::Deliver
        });
    }
    lengths
}

/// Runs a handshake in which `alter` may change each datagram, by its number; returns the world after the longest time
/// that it may take.
fn altered(setup: Setup, alter: impl Fn(usize, Direction, &mut Vec<u8>)) -> World {
    let mut world = setup.datagrams(PROFILE, 1);
    let mut number = 0;
    world.run(
        HANDSHAKE_TIMEOUT + Duration::from_secs(1),
        &mut |direction, datagram| {
            alter(number, direction, datagram);
            number += 1;
            Verdict::Deliver
        },
    );
    world
}

#[test]
fn a_handshake_survives_an_altered_datagram_whichever_and_wherever() {
    for (what, setup) in [("plain", Setup::default as fn() -> Setup), ("with a retry", retrying)] {
        for (number, length) in lengths(setup).into_iter().enumerate() {
            for at in 0..length {
                for change in CHANGES {
                    let world = altered(setup(), |this, _, datagram| {
                        if this == number {
                            datagram[at] ^= change;
                        }
                    });
                    let errors = (world.initiator.error, world.responder.error);
                    assert!(
                        established(&world) && errors == (None, None),
                        "{what}: byte {at} of datagram {number} ^ {change:#x}: {errors:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_handshake_on_a_path_that_alters_everything_fails_at_its_deadline_and_says_so() {
    let broken = |number: usize, direction, datagram: &mut Vec<u8>| {
        // The knock and the cookie pass: without them the responder is silent.
        if number >= 2 && direction == Direction::ToInitiator {
            let last = datagram.len() - 1;
            datagram[last] ^= 1;
        }
    };
    let mut world = Setup::default().datagrams(PROFILE, 1);
    let mut number = 0;
    let mut run = |world: &mut World, length| {
        world.run(length, &mut |direction, datagram| {
            broken(number, direction, datagram);
            number += 1;
            Verdict::Deliver
        });
    };
    run(&mut world, HANDSHAKE_TIMEOUT - Duration::from_millis(1));
    assert_eq!(world.initiator.error, None);
    run(&mut world, Duration::from_millis(2));
    let expected = Some(SessionError::Handshake(HandshakeError::Unfit));
    assert_eq!(world.initiator.error, expected);
    assert!(world.initiator.session.refusals().total() > 5);
    assert!(!world.initiator.session.is_established() && !world.responder.session.is_established());
}

/// The ticket's peer id is what a hello's MAC is made with, so another publisher would not answer at all. This one has
/// the ticket's key, and not its identity.
#[test]
fn a_peer_that_is_not_the_pinned_one_still_ends_the_handshake_within_a_second() {
    let mut setup = Setup::default();
    setup.publisher.handshake.identity = identity(5);
    let mut world = setup.datagrams(PROFILE, 1);
    world.run_cleanly(Duration::from_millis(1200));
    let expected = HandshakeError::WrongPeer(identity(5).peer_id());
    assert_eq!(world.initiator.error, Some(SessionError::Handshake(expected)));
}

/// Anybody on the path may send cookies and retries. Each costs the initiator at most what the responder's own do.
#[test]
fn forged_cookies_and_retries_cost_an_initiator_no_more_than_its_own_repetitions() {
    let mut world = retrying().datagrams(PROFILE, 1);
    let (mut sent, mut cookie) = (0_usize, None);
    for round in 0_u32..4000 {
        world.run(Duration::from_millis(1), &mut |direction, datagram| {
            sent += usize::from(direction == Direction::ToResponder);
            match direction {
                Direction::ToInitiator if datagram.get(4) == Some(&0x08) => {
                    cookie.get_or_insert_with(|| datagram.clone());
                    Verdict::Drop
                }
                // The publisher's answers are lost.
                Direction::ToInitiator => Verdict::Drop,
                Direction::ToResponder => Verdict::Deliver,
            }
        });
        if let Some(mut forged) = cookie.clone() {
            let last = forged.len() - 4;
            forged[last..].copy_from_slice(&round.to_be_bytes());
            world.send(Direction::ToInitiator, forged);
        }
    }
    // In 4 s there are about nine repetitions, each with a knock, a message and the message with another cookie.
    assert!(sent < 60, "{sent} datagrams");
}
