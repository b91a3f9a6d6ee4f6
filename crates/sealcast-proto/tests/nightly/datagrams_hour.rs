//! New keys every second for an hour cost no frame.

use std::collections::BTreeSet;
use std::time::Duration;

use sealcast_proto::seal::Refusal;
use sealcast_proto::session::{Delivery, Event, Fec, RekeyPolicy};
use sealcast_proto::sim::{Direction, Verdict};
use sealcast_testkit::ends::Setup;
use sealcast_testkit::show::{Kind, PUBLISHER, Show, VIEWER, setup, steady};

/// Ten small frames per second, of two or three records each.
const SMALL: Kind = Kind {
    interval: Duration::from_millis(100),
    group: 20,
    keyframe_bytes: 2_800,
    bytes: 1_500,
    honours: true,
};

fn rekeying(mut setup: Setup, age: Duration) -> Setup {
    setup.publisher.rekey = RekeyPolicy::new(1 << 20, age).expect("within bounds");
    setup
}

fn is_media(to: Direction, datagram: &[u8]) -> bool {
    to == VIEWER && datagram[4] == 0x10
}

/// Refusals for reasons that keys can cause, at both ends.
fn refused_for_keys(show: &mut Show) -> [u64; 4] {
    let [viewer, publisher] = [VIEWER, PUBLISHER].map(|end| show.world.end(end).session.refusals());
    let of = |reason| [viewer.of(reason), publisher.of(reason)];
    let [unknown, tag] = [Refusal::UnknownEpoch, Refusal::Tag].map(of);
    [unknown[0], unknown[1], tag[0], tag[1]]
}

fn epochs(show: &Show) -> usize {
    let rekeyed = |event: &&Event| matches!(event, Event::Rekeyed { .. });
    show.world.initiator.events.iter().filter(rekeyed).count()
}

fn missing(show: &Show) -> BTreeSet<u64> {
    let shown: BTreeSet<u64> = show.numbers().into_iter().collect();
    (0..show.sent.len() as u64)
        .filter(|number| !shown.contains(number))
        .collect()
}

/// Plays an hour, and returns the frames of which the link lost a packet. The judge drops packets instead of the link's
/// loss model, so that these frames are known.
fn hour(setup: Setup) -> (Show, BTreeSet<u64>) {
    let mut show = Show::new(setup, "delay=50ms jitter=20ms reorder=2%", 31, SMALL);
    let mut random = sealcast_proto::sim::Random::new(32);
    let mut hit = BTreeSet::new();
    for number in 0..36_000 {
        let sealed = show.world.now.monotonic;
        // The pacer still holds packets of the previous frame, which leave now.
        let held = show.world.responder.session.media_backlog() > 0;
        show.play_judged(1, &mut |to, datagram| {
            if !random.chance(0.05) {
                return Verdict::Deliver;
            }
            if is_media(to, datagram) {
                // The packet may also be a retransmission from the previous frame. Then that frame has lost a packet
                // before, and is already in `hit`.
                hit.insert(number);
                if held {
                    hit.insert(number - 1);
                }
            }
            Verdict::Drop
        });
        assert!(show.world.now.monotonic > sealed);
    }
    show.pause(Duration::from_secs(1));
    (show, hit)
}

#[test]
fn an_hour_of_new_keys_each_second_costs_no_frame() {
    let (mut show, hit) = hour(rekeying(setup(steady()), Duration::from_secs(1)));
    show.both_live();
    assert_eq!(refused_for_keys(&mut show), [0; 4]);
    let (epochs, missing) = (epochs(&show), missing(&show));
    let (mut unexplained, mut before) = (Vec::new(), None);
    for &number in &missing {
        // The frames after a lost one are lost with it, up to the next keyframe.
        let follows = before.is_some_and(|before| before + 1 == number);
        if !follows && !hit.contains(&number) {
            unexplained.push(number);
        }
        before = Some(number);
    }
    let (without, _) = hour(setup(steady()));
    let usual = self::missing(&without).len();
    let lost = missing.len();
    println!(
        "{epochs} epochs; {lost} of 36000 frames lost, {usual} with six keys; the link took packets of {} frames",
        hit.len()
    );
    assert!(epochs > 3_400, "{epochs}");
    assert!(unexplained.is_empty(), "{unexplained:?}");
    // Frames this short have at most one repair symbol, and the round trip leaves time for one NACK.
    assert!(
        lost <= 1_200 && usual <= 1_200 && lost <= usual * 5 / 4,
        "{lost} and {usual}"
    );
}

/// Returns the missing frames and the number of epochs of a stream in which the fate of a frame depends only on its
/// number: no repair, and no keyframes on request.
fn fated(age: Option<Duration>) -> (BTreeSet<u64>, usize) {
    let delivery = Delivery {
        fec: Fec::Off,
        nack: false,
        rate: None,
        ..steady()
    };
    let setup = match age {
        Some(age) => rekeying(setup(delivery), age),
        None => setup(delivery),
    };
    let kind = Kind {
        honours: false,
        ..SMALL
    };
    let mut show = Show::new(setup, "delay=50ms jitter=20ms reorder=2%", 33, kind);
    for number in 0..5_000_u64 {
        let mut packets = 0;
        show.play_judged(1, &mut |to: Direction, datagram: &mut Vec<u8>| {
            if !is_media(to, datagram) {
                return Verdict::Deliver;
            }
            packets += 1;
            let lost = sealcast_proto::sim::Random::new(number * 64 + packets).chance(0.05);
            if lost { Verdict::Drop } else { Verdict::Deliver }
        });
    }
    show.pause(Duration::from_secs(1));
    show.both_live();
    assert_eq!(refused_for_keys(&mut show), [0; 4]);
    (missing(&show), epochs(&show))
}

#[test]
fn the_same_frames_are_lost_with_one_key_and_with_many() {
    let (one, none) = fated(None);
    assert_eq!(none, 0);
    assert!(one.len() > 600, "{} are lost", one.len());
    for age in [100, 1_000] {
        let (many, epochs) = fated(Some(Duration::from_millis(age)));
        assert!(epochs > 250, "{epochs}");
        assert_eq!(many, one, "keys of {age} ms");
    }
}
