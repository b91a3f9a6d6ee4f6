//! Records that arrive more than once. Copies that repair explains are counted separately from replays, which are
//! refused.

use std::time::Duration;

use sealcast_proto::seal::Refusal;
use sealcast_proto::session::{Delivery, Fec, Handled, InboundCounts, Input};
use sealcast_proto::sim::{Direction, Verdict};
use sealcast_testkit::show::{CAMERA, PUBLISHER, Show, VIEWER, setup, steady};

const MS: Duration = Duration::from_millis(1);

fn replays(show: &Show) -> u64 {
    show.world.initiator.session.refusals().of(Refusal::Replay)
}

fn came(show: &Show) -> InboundCounts {
    show.world.initiator.session.inbound_counts().expect("over datagrams")
}

fn resent(show: &Show) -> u64 {
    let counts = show.world.responder.session.outbound_counts();
    counts.expect("over datagrams").resent
}

fn is_media(to: Direction, datagram: &[u8]) -> bool {
    to == VIEWER && datagram[4] == 0x10
}

/// Publishes `count` frames and returns the media datagrams that left.
fn recorded(show: &mut Show, count: u64) -> Vec<Vec<u8>> {
    let mut left = Vec::new();
    show.play_judged(count, &mut |to, datagram| {
        if is_media(to, datagram) {
            left.push(datagram.clone());
        }
        Verdict::Deliver
    });
    left
}

/// Delivers each of these datagrams to the viewer `times` times. Returns how many counted as expected duplicates, and
/// how many were refused as replays.
fn replay(show: &mut Show, datagrams: &[Vec<u8>], times: usize) -> (u64, u64) {
    let (mut duplicates, mut refused) = (0, 0);
    for datagram in datagrams {
        for _ in 0..times {
            let now = show.world.now;
            let session = &mut show.world.initiator.session;
            match session.handle(now, Input::Message(&mut datagram.clone())) {
                Ok(Handled::Duplicate) => duplicates += 1,
                Ok(Handled::Refused(reason)) => {
                    assert_eq!(reason, Refusal::Replay);
                    refused += 1;
                }
                // It had been lost before.
                Ok(_) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
    (duplicates, refused)
}

#[test]
fn minutes_on_a_lossy_link_have_duplicates_and_no_replay() {
    let policies = [
        (Fec::Adaptive, true),
        (Fec::Fixed(30), true),
        (Fec::Off, true),
        (Fec::Fixed(30), false),
    ];
    for (seed, (fec, nack)) in (1..).zip(policies) {
        let delivery = Delivery { fec, nack, ..steady() };
        let mut show = Show::new(setup(delivery), "delay=20ms jitter=10ms loss=5%", seed, CAMERA);
        show.play(30 * 120);
        show.pause(MS * 500);
        show.both_live();
        let counts = came(&show);
        println!("repair {fec:?}, asking again {nack}: {counts:?}");
        assert_eq!(replays(&show), 0, "repair {fec:?}, asking again {nack}: {counts:?}");
        assert!(counts.duplicates > 0, "repair {fec:?}, asking again {nack}: {counts:?}");
    }
}

#[test]
fn the_end_that_is_sent_again_after_each_pause_is_no_replay() {
    for (profile, seed) in [
        ("delay=1ms", 1),
        ("delay=20ms jitter=10ms", 2),
        ("delay=20ms jitter=10ms loss=5%", 3),
    ] {
        let mut show = Show::new(setup(steady()), profile, seed, CAMERA);
        // No report gets through, as if the publisher stood still: it cannot know that everything has arrived.
        let mut unheard = |to: Direction, _: &mut Vec<u8>| match to {
            PUBLISHER => Verdict::Drop,
            VIEWER => Verdict::Deliver,
        };
        for round in 0..100 {
            show.play(6);
            show.play_judged(1, &mut unheard);
            show.world.run(MS * round * 4, &mut unheard);
            show.watch();
        }
        show.pause(MS * 500);
        show.both_live();
        let (counts, resent) = (came(&show), resent(&show));
        assert_eq!(replays(&show), 0, "{profile}: {resent} sent again, {counts:?}");
        assert!(
            resent > 100 && counts.duplicates > 100,
            "{profile}: {resent} sent again, {counts:?}"
        );
    }
}

#[test]
fn what_an_attacker_repeats_on_a_clean_link_is_a_replay_each_time() {
    let mut show = Show::new(setup(steady()), "delay=20ms", 1, CAMERA);
    show.play(30);
    let (mut all, mut repeated) = (Vec::new(), 0);
    for _ in 0..200 {
        let left = recorded(&mut show, 1);
        // Some packets of a long frame wait for the pacer or are in flight: the attacker's copies overtake them.
        let (duplicates, _) = replay(&mut show, &left, 1);
        assert_eq!(duplicates, 0);
        let (duplicates, refused) = replay(&mut show, &left, 3);
        assert_eq!((duplicates, refused), (0, left.len() as u64 * 3));
        repeated += left.len();
        all.extend(left);
    }
    assert!(repeated > 2_000, "{repeated}");
    // All of it again, later.
    show.play(60);
    let (duplicates, refused) = replay(&mut show, &all, 1);
    assert_eq!((duplicates, refused), (0, all.len() as u64));
    assert_eq!(came(&show).duplicates, 0);
}

#[test]
fn what_is_repeated_of_a_stream_that_is_repaired_is_a_replay_beyond_what_repair_explains() {
    let mut show = Show::new(setup(steady()), "delay=20ms jitter=10ms loss=5%", 4, CAMERA);
    let (mut duplicates, mut refused, mut repeated) = (0, 0, 0);
    for _ in 0..600 {
        let left = recorded(&mut show, 1);
        let found = replay(&mut show, &left, 10);
        (duplicates, refused) = (duplicates + found.0, refused + found.1);
        repeated += left.len() as u64 * 10;
    }
    let counts = came(&show);
    let explained = counts.asked + counts.recovered;
    // If a copy overtook a packet in flight, that packet is refused as well.
    assert!(replays(&show) >= refused, "{refused}");
    assert!(counts.duplicates <= explained, "{counts:?}");
    assert!(duplicates <= explained, "{duplicates}: {counts:?}");
    // The first of ten copies may be of a packet that was lost.
    assert!(
        refused >= repeated * 9 / 10 - explained,
        "{refused} of {repeated}: {counts:?}"
    );
}

#[test]
fn of_the_last_records_before_a_pause_few_copies_are_no_replay() {
    let mut show = Show::new(setup(steady()), "delay=20ms", 1, CAMERA);
    let left = recorded(&mut show, 60);
    show.pause(Duration::from_secs(1));
    let before = came(&show).duplicates;
    let (duplicates, refused) = replay(&mut show, &left, 20);
    // Of the last four records, as many copies are accepted as the sender makes while it keeps them.
    assert!(
        (4..=4 * 4).contains(&(before + duplicates)),
        "{before} and {duplicates}"
    );
    assert_eq!(duplicates + refused, left.len() as u64 * 20);
}
