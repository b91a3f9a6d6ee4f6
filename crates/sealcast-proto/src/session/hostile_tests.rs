//! Misbehaving peers with valid keys, on a carrier that may lose media.

use std::time::Duration;

use super::tests::{say, session_over};
use super::{Carrier, Delivery, Event, OutgoingFrame, QuicMedia, SessionError};
use crate::clock::Now;
use crate::keys::{EpochSecret, Role, Secret, Side};
use crate::rate::RateConfig;
use crate::seal::suite::AES_128_GCM;
use crate::sim::{Direction, World};
use crate::unit::{Codec, Preamble};
use crate::wire::{Addresses, Control, Feedback, Kind, MAX_NACK_ENTRIES, MAX_RECEIVED_BYTES, Numbers};

const VIEWER: Direction = Direction::ToInitiator;
const START: Now = Now {
    monotonic: Duration::ZERO,
    wall: 1_700_000_000_000_000_000,
};

fn pair(rate: Option<RateConfig>) -> World {
    let end = |side, role| {
        let secret = EpochSecret::new(Secret::from_bytes(&[5; 32]), 0);
        let delivery = Delivery {
            rate,
            ..Delivery::default()
        };
        let carrier = Carrier::Quic(QuicMedia::Datagrams(1200));
        session_over(carrier, delivery, AES_128_GCM, side, role, vec![secret])
    };
    let (viewer, publisher) = (
        end(Side::Initiator, Role::Viewer),
        end(Side::Responder, Role::Publisher),
    );
    World::new(viewer, publisher, Duration::from_millis(5), START)
}

fn publish(world: &mut World, number: u64) {
    let frame = OutgoingFrame {
        stream: 1,
        codec: Codec::H264,
        keyframe: true,
        preamble: Preamble {
            frame: number,
            ..Preamble::default()
        },
        data: &[7; 10_000],
    };
    world.publish(Direction::ToResponder, &frame).expect("the key is good");
}

/// A session in which the viewer asks for all records, again and again, for two seconds. Returns the bytes sent, and
/// the number of records sent again.
fn ask_for_everything(rate: Option<RateConfig>) -> (u64, u64) {
    let mut world = pair(rate);
    for number in 0..100 {
        publish(&mut world, number);
        let everything = (0..MAX_NACK_ENTRIES as u32).flat_map(|run| (0..256).map(move |more| run * 256 + more));
        let mut entries = Vec::new();
        let nack = Control::Nack(Numbers::collect(everything, &mut entries)).to_bytes();
        say(&mut world, VIEWER, Kind::Control, &nack);
    }
    assert_eq!((world.initiator.error, world.responder.error), (None, None));
    let counts = world.responder.session.outbound_counts().expect("a publisher");
    (counts.bytes, counts.resent)
}

#[test]
fn a_viewer_that_asks_for_everything_gets_no_more_than_the_rate() {
    let rate = RateConfig {
        min: 2_000_000,
        start: 8_000_000,
        max: 8_000_000,
        unsteered: false,
    };
    let (bytes, resent) = ask_for_everything(Some(rate));
    // Two seconds at the rate, times three for the pacer's surplus above the rate and for one burst.
    let most = 2 * 1_000_000 * 3;
    assert!(
        resent > 50 && bytes < most,
        "{bytes} bytes, {resent} records sent again"
    );
}

#[test]
fn a_viewer_that_asks_for_everything_gets_what_is_kept_once_for_each_time() {
    let (_, resent) = ask_for_everything(None);
    // Each of the 100 requests brings every record that is kept once. A frame has ten records, and is kept for at most
    // the budget and two round trips: 320 ms while none was measured, which is 16 frames of 20 ms.
    assert!((1_000..100 * 10 * 16).contains(&resent), "{resent}");
}

#[test]
fn what_a_publisher_never_sent_is_neither_sent_again_nor_believed() {
    let mut world = pair(None);
    publish(&mut world, 0);
    let before = world.responder.session.outbound_counts().expect("a publisher");
    let mut entries = Vec::new();
    let unsent = Numbers::collect((100..200).chain([1 << 31]), &mut entries);
    say(&mut world, VIEWER, Kind::Control, &Control::Nack(unsent).to_bytes());
    for highest in [100, 1 << 31, u32::MAX] {
        let feedback = Feedback {
            highest,
            arrived: 0,
            budget: u16::MAX,
            received: &[0xFF; MAX_RECEIVED_BYTES],
        };
        let feedback = Control::Feedback(feedback).to_bytes();
        say(&mut world, VIEWER, Kind::Control, &feedback);
    }
    let after = world.responder.session.outbound_counts().expect("a publisher");
    assert_eq!(after.resent, before.resent);
    assert_eq!((world.initiator.error, world.responder.error), (None, None));
}

#[test]
fn a_part_of_a_part_is_a_protocol_error() {
    let mut world = pair(None);
    let part = |index: u8, bytes: &'static [u8]| {
        let (message, count) = (0, 2);
        let part = Control::Part {
            message,
            index,
            count,
            bytes,
        };
        part.to_bytes()
    };
    say(&mut world, VIEWER, Kind::Control, &part(0, &[11, 0, 0]));
    assert_eq!(world.responder.error, None);
    say(&mut world, VIEWER, Kind::Control, &part(1, &[0, 2, 7]));
    assert_eq!(world.responder.error, Some(SessionError::PeerMisbehaved));
}

#[test]
fn of_ten_thousand_lists_of_addresses_each_is_at_most_four_that_are_understood() {
    const PUBLISHER: Direction = Direction::ToResponder;
    let mut world = pair(None);
    let texts: [&[u8]; 9] = [
        b"10.0.0.7:9",
        b"[2001:db8::7]:9",
        b"camera.example:9",
        b"10.0.0.7:9",
        b"10.0.0.7",
        b"10.0.0.7:0",
        b"[fe80::1%eth0]:9",
        b"\x00\xff",
        &[b'a'; 255],
    ];
    for round in 0..10_000 {
        let told = Addresses::new((0..4).map(|nth| texts[(round + nth) % texts.len()]));
        say(
            &mut world,
            PUBLISHER,
            Kind::Control,
            &Control::Addresses(told).to_bytes(),
        );
        let told = world.initiator.events.drain(..).filter_map(|event| match event {
            Event::AddressesTold(addresses) => Some(addresses),
            _ => None,
        });
        let told: Vec<_> = told.collect();
        assert!(told.len() == 1 && told[0].len() <= 3, "{told:?}");
    }
    assert_eq!((world.initiator.error, world.responder.error), (None, None));
    say(&mut world, PUBLISHER, Kind::Control, &[37, 5]);
    assert_eq!(world.initiator.error, Some(SessionError::PeerMisbehaved));
    let mut world = pair(None);
    say(&mut world, VIEWER, Kind::Control, &[37, 0]);
    assert_eq!(
        world.responder.error,
        Some(SessionError::PeerMisbehaved),
        "a viewer has none to tell"
    );
}

#[test]
fn an_answer_to_a_ping_that_was_never_sent_says_nothing_of_the_clock() {
    let mut world = pair(None);
    world.run_cleanly(Duration::from_millis(100));
    let exchanges = |world: &World| {
        let told = |event: &&Event| matches!(event, Event::Clock(_));
        world.responder.events.iter().filter(told).count()
    };
    let before = exchanges(&world);
    assert_eq!(before, 1);
    let (t1, t2) = (world.now.wall - 1, world.now.wall + 3_600_000_000_000);
    let pong = Control::Pong { t1, t2, t3: t2 };
    say(&mut world, VIEWER, Kind::Control, &pong.to_bytes());
    assert_eq!((exchanges(&world), world.responder.error), (before, None));
}
