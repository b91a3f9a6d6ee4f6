//! Data channels beside the picture, over every carrier, on a virtual clock.

use std::collections::BTreeMap;
use std::time::Duration;

use sealcast_proto::rate::RateConfig;
use sealcast_proto::seal::Refusal;
use sealcast_proto::session::{
    Carrier, DataCounts, Delivery, Event, Input, QuicMedia, RekeyPolicy, Session, SessionError, ShapePlan,
};
use sealcast_proto::sim::{LinkProfile, Verdict, World};
use sealcast_proto::wire::{
    BASE_DATAGRAM, DataChannel, DataName, DataOrder, DataStanding, MAX_DATAGRAM_ON_CHANNEL, MAX_RECORD,
};
use sealcast_testkit::ends::{self, START, Setup};
use sealcast_testkit::show::{CAMERA, PUBLISHER, Show, VIEWER, setup, steady};

const MS: Duration = Duration::from_millis(1);
/// Longest wait of an ordered channel for a missing datagram (protocol.md §12).
const ORDER_PATIENCE: Duration = Duration::from_millis(60);
const DATA_RECORD: u8 = 0x13;

fn channel(name: &str, order: DataOrder, standing: DataStanding) -> DataChannel {
    let name = DataName::new(name).expect("a name");
    DataChannel { name, order, standing }
}

/// The viewer wants a channel in this way, and the publisher answers that it has it in the same.
fn agree(world: &mut World, order: DataOrder, standing: DataStanding) {
    let asked = told(&world.responder.events).len();
    world.tell(VIEWER, Input::Data(vec![channel("mavlink", order, standing)]));
    let wait = |world: &mut World| world.run_cleanly(MS * 20);
    for _ in 0..200 {
        wait(world);
        if told(&world.responder.events).len() > asked {
            break;
        }
    }
    world.tell(PUBLISHER, Input::Data(vec![channel("mavlink", order, standing)]));
    for _ in 0..200 {
        wait(world);
        if !told(&world.initiator.events).is_empty() {
            return;
        }
    }
    panic!("no answer: {:?} {:?}", world.initiator.error, world.responder.error);
}

/// The lists of channels that an end was told.
fn told(events: &[Event]) -> Vec<Vec<DataChannel>> {
    let told = events.iter().filter_map(|event| match event {
        Event::DataTold(channels) => Some(channels.clone()),
        _ => None,
    });
    told.collect()
}

/// The numbers in the datagrams that an end was handed.
fn numbers(events: &[Event]) -> Vec<u32> {
    let datagrams = events.iter().filter_map(|event| match event {
        Event::Datagram(datagram) => datagram.bytes.first_chunk().map(|bytes| u32::from_be_bytes(*bytes)),
        _ => None,
    });
    datagrams.collect()
}

fn datagram(number: u32, length: usize) -> Vec<u8> {
    let mut bytes = number.to_be_bytes().to_vec();
    bytes.resize(length, 7);
    bytes
}

fn counts(session: &Session) -> DataCounts {
    session.data_counts().expect("it has channels")
}

fn over(carrier: Carrier) -> World {
    let mut setup = Setup::default();
    (setup.viewer.carrier, setup.publisher.carrier) = (carrier, carrier);
    setup.established()
}

fn over_datagrams(profile: &str, seed: u64) -> World {
    let mut world = setup(steady()).datagrams(profile, seed);
    world.run_cleanly(Duration::from_secs(5));
    assert!(world.initiator.session.is_established() && world.responder.session.is_established());
    world
}

fn shaped(datagrams: bool) -> World {
    let mut setup = Setup::default();
    setup.publisher.shape = ShapePlan::constant(2_000_000);
    if !datagrams {
        return setup.established();
    }
    let mut world = setup.datagrams("delay=10ms", 3);
    world.run_cleanly(Duration::from_secs(1));
    world
}

/// A session over each carrier, with cells and without.
fn worlds() -> Vec<(&'static str, World)> {
    vec![
        ("stream", over(Carrier::Stream)),
        ("datagrams", over_datagrams("delay=10ms", 3)),
        ("QUIC streams", over(Carrier::Quic(QuicMedia::Streams))),
        (
            "QUIC datagrams",
            over(Carrier::Quic(QuicMedia::Datagrams(BASE_DATAGRAM))),
        ),
        ("cells on a stream", shaped(false)),
        ("cells in datagrams", shaped(true)),
    ]
}

#[test]
fn datagrams_cross_both_ways_in_order_on_every_carrier() {
    for (carrier, mut world) in worlds() {
        agree(&mut world, DataOrder::Ordered, DataStanding::Sends);
        for number in 0..50 {
            // One message to one end is one from the other: each says its own.
            world.tell(VIEWER, Input::Datagram(1, &datagram(number, 40)));
            world.tell(PUBLISHER, Input::Datagram(1, &datagram(100 + number, 40)));
            world.run_cleanly(MS * 150);
        }
        world.run_cleanly(Duration::from_secs(2));
        assert!(numbers(&world.responder.events).into_iter().eq(0..50), "{carrier}");
        assert!(numbers(&world.initiator.events).into_iter().eq(100..150), "{carrier}");
        for end in [&world.initiator, &world.responder] {
            assert_eq!(end.session.refusals().total(), 0, "{carrier}");
            let counts = counts(&end.session);
            assert_eq!((counts.sent, counts.received, counts.lost), (50, 50, 0), "{carrier}");
        }
    }
}

#[test]
fn the_longest_datagram_that_fits_is_carried_and_longer_ones_are_dropped_and_counted() {
    for (carrier, mut world) in worlds() {
        agree(&mut world, DataOrder::Ordered, DataStanding::Sends);
        let longest = world.responder.session.longest_datagram();
        assert!(
            (300..=MAX_DATAGRAM_ON_CHANNEL).contains(&longest),
            "{carrier}: {longest}"
        );
        for length in [longest, longest + 1, 0] {
            world.tell(PUBLISHER, Input::Datagram(1, &datagram(7, length.max(4))[..length]));
        }
        world.run_cleanly(Duration::from_secs(2));
        assert_eq!(numbers(&world.initiator.events), [7], "{carrier}");
        assert_eq!(counts(&world.responder.session).length, 2, "{carrier}");
    }
}

#[test]
fn without_channels_nothing_of_data_is_sent_and_a_publisher_that_knows_none_is_found_out() {
    let mut world = Setup::default().established();
    let mut kinds = BTreeMap::new();
    world.run(Duration::from_secs(2), &mut |_, message| {
        *kinds.entry(message[0]).or_insert(0) += 1;
        Verdict::Deliver
    });
    assert!(!kinds.contains_key(&DATA_RECORD) && world.responder.session.data_counts().is_none());
    world.tell(
        VIEWER,
        Input::Data(vec![channel("a", DataOrder::Newest, DataStanding::Sends)]),
    );
    // This program answers nothing, as one that ignores the message.
    world.run_cleanly(Duration::from_secs(7));
    let unanswered = world.initiator.events.iter();
    assert_eq!(unanswered.filter(|event| **event == Event::DataUnanswered).count(), 1);
    world.tell(VIEWER, Input::Datagram(1, b"nobody takes it"));
    world.run_cleanly(MS * 100);
    assert_eq!(counts(&world.initiator.session).not_allowed, 1);
    assert!(world.initiator.error.is_none() && world.responder.error.is_none());
}

#[test]
fn a_viewer_sends_only_while_the_publisher_lets_it() {
    for (carrier, mut world) in worlds() {
        let wish = channel("stick", DataOrder::Newest, DataStanding::Sends);
        world.tell(VIEWER, Input::Data(vec![wish]));
        world.run_cleanly(MS * 200);
        let answer = |standing| Input::Data(vec![channel("stick", DataOrder::Ordered, standing)]);
        world.tell(PUBLISHER, answer(DataStanding::Hears));
        world.run_cleanly(MS * 200);
        world.tell(VIEWER, Input::Datagram(1, &datagram(1, 8)));
        world.run_cleanly(MS * 200);
        assert!(numbers(&world.responder.events).is_empty(), "{carrier}");
        assert_eq!(counts(&world.initiator.session).not_allowed, 1, "{carrier}");
        // It asks again as long as it may not, and is let.
        let asked = told(&world.responder.events).len();
        world.run_cleanly(Duration::from_secs(3));
        assert!(told(&world.responder.events).len() >= asked + 2, "{carrier}");
        world.tell(PUBLISHER, answer(DataStanding::Sends));
        world.run_cleanly(MS * 200);
        world.tell(VIEWER, Input::Datagram(1, &datagram(2, 8)));
        world.run_cleanly(MS * 200);
        assert_eq!(numbers(&world.responder.events), [2], "{carrier}");
        // Data on its way when it may no more is dropped.
        world.tell(VIEWER, Input::Datagram(1, &datagram(3, 8)));
        world.tell(PUBLISHER, answer(DataStanding::Waits));
        world.run_cleanly(MS * 500);
        assert_eq!(numbers(&world.responder.events), [2], "{carrier}");
        assert_eq!(counts(&world.responder.session).not_allowed, 1, "{carrier}");
    }
}

#[test]
fn a_publisher_has_the_same_channels_for_the_whole_session() {
    let mut world = over(Carrier::Stream);
    agree(&mut world, DataOrder::Ordered, DataStanding::Hears);
    world.tell(
        PUBLISHER,
        Input::Data(vec![channel("other", DataOrder::Ordered, DataStanding::Hears)]),
    );
    assert_eq!(world.responder.error, Some(SessionError::Misuse));
}

#[test]
fn loss_costs_ordered_data_little_and_never_its_order() {
    for seed in 0..5 {
        let mut world = over_datagrams("delay=20ms jitter=10ms loss=5% duplicate=2% reorder=2%", seed);
        agree(&mut world, DataOrder::Ordered, DataStanding::Sends);
        for number in 0..1000 {
            world.tell(VIEWER, Input::Datagram(1, &datagram(number, 60)));
            world.run_cleanly(MS * 10);
        }
        world.run_cleanly(Duration::from_secs(1));
        let came = numbers(&world.responder.events);
        assert!(came.is_sorted_by(|one, next| one < next), "seed {seed}");
        assert!(came.len() > 985, "seed {seed}: {}", came.len());
        let counted = counts(&world.responder.session);
        let last = u64::from(*came.last().expect("some came"));
        assert_eq!(counted.lost + counted.received, last + 1, "seed {seed}");
    }
}

#[test]
fn the_newest_is_never_older_than_one_before_it() {
    for seed in 0..5 {
        let mut world = over_datagrams("delay=20ms jitter=15ms loss=5% duplicate=2% reorder=10%", seed);
        agree(&mut world, DataOrder::Newest, DataStanding::Sends);
        for number in 0..1000 {
            world.tell(VIEWER, Input::Datagram(1, &datagram(number, 60)));
            world.run_cleanly(MS * 5);
        }
        world.run_cleanly(Duration::from_secs(1));
        let came = numbers(&world.responder.events);
        assert!(came.is_sorted_by(|one, next| one < next), "seed {seed}");
        assert!(came.len() > 300, "seed {seed}: {}", came.len());
    }
}

#[test]
fn what_comes_too_fast_is_dropped_and_the_newest_is_what_is_left() {
    for order in [DataOrder::Ordered, DataOrder::Newest] {
        let mut world = over(Carrier::Stream);
        agree(&mut world, order, DataStanding::Hears);
        for number in 0..20_000 {
            world.tell(PUBLISHER, Input::Datagram(1, &datagram(number, 200)));
            world.run_cleanly(Duration::from_micros(100));
        }
        world.run_cleanly(Duration::from_secs(1));
        let came = numbers(&world.initiator.events);
        // 512 a second, a burst, and what waited.
        assert!(
            (1024..=1024 + 33 + 64).contains(&came.len()),
            "{order:?}: {}",
            came.len()
        );
        assert_eq!(came.last(), Some(&19_999), "{order:?}");
        assert!(came.is_sorted_by(|one, next| one < next));
        let counted = counts(&world.responder.session);
        assert_eq!(counted.sent + counted.too_fast, 20_000, "{order:?}");
    }
}

#[test]
fn data_that_the_carrier_does_not_take_waits_and_is_bounded() {
    for (order, left) in [(DataOrder::Ordered, 64), (DataOrder::Newest, 1)] {
        let mut world = over(Carrier::Stream);
        agree(&mut world, order, DataStanding::Hears);
        world.responder.session.hold_data(true);
        for number in 0..1000 {
            world.tell(PUBLISHER, Input::Datagram(1, &datagram(number, 20)));
            world.run_cleanly(MS);
        }
        assert!(numbers(&world.initiator.events).is_empty());
        world.responder.session.hold_data(false);
        world.run_cleanly(Duration::from_secs(1));
        assert!(
            numbers(&world.initiator.events).into_iter().eq(1000 - left..1000),
            "{order:?}"
        );
    }
}

#[test]
fn replayed_flipped_and_reflected_records_are_refused_and_counted() {
    let mut world = over_datagrams("delay=10ms", 3);
    agree(&mut world, DataOrder::Newest, DataStanding::Sends);
    let mut records: Vec<Vec<u8>> = Vec::new();
    for number in 0..3 {
        world.tell(VIEWER, Input::Datagram(1, &datagram(number, 16)));
        world.run(MS * 50, &mut |direction, message| {
            if direction == PUBLISHER && message[4] == DATA_RECORD {
                records.push(message.clone());
            }
            Verdict::Deliver
        });
    }
    let before = world.responder.session.refusals();
    assert_eq!((records.len(), numbers(&world.responder.events)), (3, vec![0, 1, 2]));
    for record in &records {
        world.send(PUBLISHER, record.clone());
    }
    let mut flips = 0;
    for byte in 4..records[2].len() {
        let mut flipped = records[2].clone();
        flipped[byte] ^= 0x40;
        flips += 1;
        world.send(PUBLISHER, flipped);
    }
    // Back to who sealed it.
    world.send(VIEWER, records[2].clone());
    world.run_cleanly(MS * 100);
    assert_eq!(numbers(&world.responder.events), [0, 1, 2], "no joystick moves twice");
    let after = world.responder.session.refusals();
    assert!(after.of(Refusal::Replay) >= before.of(Refusal::Replay) + 3);
    assert!(after.total() >= before.total() + 3 + flips - 1, "{after:?}");
    assert_eq!(world.initiator.session.refusals().of(Refusal::Tag), 1);
    assert!(world.initiator.error.is_none() && world.responder.error.is_none());
}

#[test]
fn data_has_new_keys_with_each_epoch_and_ends_no_session_when_a_key_is_used_up() {
    for datagrams in [false, true] {
        let mut setup = Setup::default();
        let strict = RekeyPolicy::new(16, Duration::from_secs(600)).expect("within the bounds");
        (setup.viewer.rekey, setup.publisher.rekey) = (strict, strict);
        let mut world = if datagrams {
            setup.datagrams("delay=10ms", 1)
        } else {
            setup.established()
        };
        world.run_cleanly(Duration::from_secs(1));
        agree(&mut world, DataOrder::Newest, DataStanding::Sends);
        let epoch = world.responder.session.epoch();
        for number in 0..2000 {
            world.tell(VIEWER, Input::Datagram(1, &datagram(number, 16)));
            world.tell(PUBLISHER, Input::Datagram(1, &datagram(number, 16)));
            world.run_cleanly(MS * 5);
        }
        assert!(world.initiator.error.is_none(), "{:?}", world.initiator.error);
        assert!(world.responder.error.is_none(), "{:?}", world.responder.error);
        assert!(world.responder.session.epoch() > epoch.map(|epoch| epoch + 3));
        let came = [&world.initiator, &world.responder].map(|end| numbers(&end.events).len());
        assert!(came.iter().all(|came| *came > 50), "{came:?}");
    }
}

/// Time that each datagram took, of those that the viewer was handed while pictures came or did not.
fn delays(show: &mut Show, pictures: u64) -> Vec<Duration> {
    let (mut sent, mut delays) = (Vec::new(), Vec::new());
    let mut seen = show.world.initiator.events.len();
    for picture in 0..100 {
        if picture < pictures {
            show.publish(picture % show.kind.group == 0);
        }
        for _ in 0..8 {
            let number = sent.len() as u32;
            sent.push(show.world.now.monotonic);
            show.world.tell(PUBLISHER, Input::Datagram(1, &datagram(number, 60)));
            for _ in 0..17 {
                show.world.run_cleanly(Duration::from_micros(250));
                let now = show.world.now.monotonic;
                let came = numbers(&show.world.initiator.events[seen..]);
                delays.extend(came.iter().map(|number| now - sent[*number as usize]));
                seen = show.world.initiator.events.len();
            }
        }
        show.watch();
    }
    delays
}

/// Pictures of 3 Mbit/s with keyframes of 120 ms on a path of 4 Mbit/s. Data waits for what the sender has let onto the
/// path at once, its burst of 40 ms at the rate that it aims at, and never for the pictures that wait at the sender.
#[test]
fn beside_a_full_link_of_pictures_data_waits_for_what_is_on_the_path_alone() {
    let full = Delivery {
        rate: Some(RateConfig::default()),
        ..steady()
    };
    let mut show = Show::new(setup(full), "delay=20ms rate=4mbit", 1, CAMERA);
    agree(&mut show.world, DataOrder::Newest, DataStanding::Hears);
    let alone = delays(&mut show, 0).into_iter().max().expect("it came");
    let mut show = Show::new(setup(full), "delay=20ms rate=4mbit", 1, CAMERA);
    agree(&mut show.world, DataOrder::Newest, DataStanding::Hears);
    let mut beside = delays(&mut show, 100);
    beside.sort_unstable();
    let (median, worst) = (beside[beside.len() / 2], beside[beside.len() - 1]);
    assert!(median <= alone + MS * 20, "{median:?} and not {alone:?}");
    assert!(worst <= alone + MS * 65, "{worst:?} and not {alone:?}");
}

/// On a byte stream data goes behind what was sealed: less than 64 KiB, and the frame sealed then.
#[test]
fn on_a_full_byte_stream_data_is_behind_the_streams_budget_alone() {
    const BUDGET: usize = 64 * 1024;
    const FRAME: usize = 20_000;
    const BYTES_A_SECOND: usize = 500_000;
    let setup = Setup::default();
    let profile = LinkProfile {
        mtu: MAX_RECORD,
        keep_order: true,
        queue: usize::MAX >> 1,
        ..format!("delay=1ms rate={}bit", BYTES_A_SECOND * 8)
            .parse::<LinkProfile>()
            .expect("a profile")
    };
    let viewer = Session::initiate(setup.viewer, [3; 32], START).expect("complete");
    let publisher = Session::respond(setup.publisher, [4; 32], START);
    let mut world = World::over(viewer, publisher, &profile, 1, START);
    world.run_cleanly(Duration::from_secs(1));
    agree(&mut world, DataOrder::Newest, DataStanding::Hears);
    let (mut frame, mut sent) = (0, Vec::new());
    let mut worst = Duration::ZERO;
    let mut seen = world.initiator.events.len();
    for step in 0..5000_u32 {
        let now = world.now.monotonic;
        // The program's rule: another frame is sealed when less than the budget waits.
        let on_link = world.link(VIEWER).counts();
        if on_link.sent_bytes - on_link.delivered_bytes < BUDGET as u64 {
            ends::publish(&mut world, frame, frame == 0, &[7; FRAME]);
            frame += 1;
        }
        if step % 20 == 0 {
            world.tell(PUBLISHER, Input::Datagram(1, &datagram(sent.len() as u32, 40)));
            sent.push(now);
        }
        world.run_cleanly(MS);
        for number in numbers(&world.initiator.events[seen..]) {
            worst = worst.max(world.now.monotonic - sent[number as usize]);
        }
        seen = world.initiator.events.len();
    }
    assert!(frame > 100, "the link was full: {frame}");
    let budget = Duration::from_secs(1) * (BUDGET + FRAME) as u32 / BYTES_A_SECOND as u32;
    assert!(worst <= budget + MS * 5, "{worst:?} and not {budget:?}");
    assert!(worst > budget / 2, "the link was full: {worst:?}");
}

#[test]
fn a_gap_holds_ordered_data_back_no_longer_than_its_patience() {
    let mut world = over_datagrams("delay=10ms", 3);
    agree(&mut world, DataOrder::Ordered, DataStanding::Sends);
    let mut lost = 0;
    world.tell(VIEWER, Input::Datagram(1, &datagram(0, 16)));
    world.run(MS * 40, &mut |direction, message| {
        let data = direction == PUBLISHER && message[4] == DATA_RECORD;
        lost += u32::from(data);
        if data { Verdict::Drop } else { Verdict::Deliver }
    });
    assert_eq!(lost, 2, "it was sent twice");
    world.tell(VIEWER, Input::Datagram(1, &datagram(1, 16)));
    world.run_cleanly(MS * 10 + ORDER_PATIENCE - MS);
    assert!(numbers(&world.responder.events).is_empty());
    world.run_cleanly(MS * 2);
    assert_eq!(numbers(&world.responder.events), [1]);
    assert_eq!(counts(&world.responder.session).lost, 1);
}
