//! Begin and end of streams over datagrams, on a virtual clock.

use std::collections::BTreeSet;
use std::time::Duration;

use sealcast_proto::session::{Event, Input, Mtu, OutgoingFrame};
use sealcast_proto::sim::{Direction, Verdict, World};
use sealcast_proto::unit::{Assembled, Codec, FrameRate, Layout, Level, Preamble, Selection, StreamInfo};
use sealcast_proto::wire::BASE_DATAGRAM;
use sealcast_testkit::ends::{START, Setup};
use sealcast_testkit::vectors::{Hex, load};
use serde_json::Value;

const PUBLISHER: Direction = Direction::ToResponder;
const VIEWER: Direction = Direction::ToInitiator;
const INTERVAL: Duration = Duration::from_micros(33_333);

fn info() -> StreamInfo {
    StreamInfo {
        codec: Codec::H264,
        width: 1280,
        height: 720,
        rate: FrameRate {
            numerator: 30,
            denominator: 1,
        },
        parameters: vec![7; 40],
    }
}

/// 720p30 at about 3 Mbit/s: a keyframe of 60 kB each second and frames of 10.8 kB between.
fn frame_bytes(number: u64) -> Vec<u8> {
    let length = if number.is_multiple_of(30) { 60_000 } else { 10_800 };
    (0..length).map(|at: u64| (at ^ number) as u8).collect()
}

/// Publishes `count` frames in real time, waits for the packets in flight, and returns when each frame was sealed.
fn stream(world: &mut World, count: u64) -> Vec<Duration> {
    stream_until(world, count, Duration::from_secs(1))
}

fn stream_until(world: &mut World, count: u64, wait: Duration) -> Vec<Duration> {
    let mut at = Vec::new();
    for number in 0..count {
        if number.is_multiple_of(30) {
            world.describe(PUBLISHER, 1, &info()).expect("established");
        }
        let data = frame_bytes(number);
        let frame = OutgoingFrame {
            stream: 1,
            codec: Codec::H264,
            keyframe: number.is_multiple_of(30),
            preamble: Preamble {
                frame: number,
                ..Preamble::default()
            },
            data: &data,
        };
        world.publish(PUBLISHER, &frame).expect("the keys are good");
        at.push(world.now.monotonic);
        world.run_cleanly(INTERVAL);
    }
    world.run_cleanly(wait);
    at
}

/// Numbers of the frames that were shown, and when. Each frame is checked byte for byte.
fn shown(world: &World) -> Vec<(u64, Duration)> {
    let frames = world.initiator.assembled.iter().filter_map(|(at, media)| match media {
        Assembled::Frame(frame) => {
            assert!(
                frame.data == frame_bytes(frame.preamble.frame),
                "frame {}",
                frame.preamble.frame
            );
            Some((frame.preamble.frame, *at))
        }
        _ => None,
    });
    frames.collect()
}

fn established(setup: Setup, profile: &str, seed: u64) -> World {
    let mut world = setup.datagrams(profile, seed);
    world.run_cleanly(Duration::from_secs(5));
    assert!(world.initiator.session.is_established(), "{:?}", world.initiator.error);
    assert!(world.responder.session.is_established(), "{:?}", world.responder.error);
    world
}

#[test]
fn a_stream_is_settled_as_soon_as_all_of_it_has_arrived() {
    // For a budget this long the publisher keeps more records than one report covers.
    let mut setup = Setup::default();
    setup.viewer.delivery.budget = Duration::from_secs(10);
    setup.publisher.delivery.rate = None;
    setup.publisher.delivery.mtu = Mtu::Fixed(BASE_DATAGRAM);
    let mut world = established(setup, "delay=20ms", 1);
    stream_until(&mut world, 120, Duration::ZERO);
    assert!(
        !world.responder.session.media_settled(world.now),
        "the last report is still under way"
    );
    world.run_cleanly(Duration::from_millis(60));
    assert!(world.responder.session.media_settled(world.now));
}

/// Ends whose rate does not fall without reports, so that only loss and recovery are tested.
fn regardless() -> Setup {
    let mut setup = Setup::default();
    setup.publisher.delivery.rate = None;
    setup
}

#[test]
fn a_last_frame_of_which_nothing_came_is_sent_again() {
    // 120 ms leave time for one NACK for losses among the retransmissions. In one run of 60 these packets are lost too.
    const SEEDS: u64 = 400;
    let mut whole = 0;
    for seed in 0..SEEDS {
        let mut world = established(regardless(), "delay=20ms loss=5%", seed);
        stream(&mut world, 30);
        let data = frame_bytes(30);
        let frame = OutgoingFrame {
            stream: 1,
            codec: Codec::H264,
            keyframe: true,
            preamble: Preamble {
                frame: 30,
                ..Preamble::default()
            },
            data: &data,
        };
        world.publish(PUBLISHER, &frame).expect("the keys are good");
        // The datagram is `connection u32`, then the kind of a media record.
        world.run(Duration::from_millis(40), &mut |direction, datagram| {
            if direction == VIEWER && datagram.get(4) == Some(&0x10) {
                Verdict::Drop
            } else {
                Verdict::Deliver
            }
        });
        world.run_cleanly(Duration::from_secs(1));
        whole += u64::from(shown(&world).last().is_some_and(|(number, _)| *number == 30));
        let now = world.now;
        assert!(world.responder.session.media_settled(now), "seed {seed}");
    }
    assert!(whole * 100 >= SEEDS * 97, "{whole} of {SEEDS}");
}

#[test]
fn without_a_welcome_the_first_frame_is_one() {
    let mut setup = regardless();
    // Without a budget, no record is kept long enough to be retransmitted after a repeated finish and another welcome.
    setup.viewer.delivery.budget = Duration::ZERO;
    setup.publisher.delivery.budget = Duration::ZERO;
    let mut world = setup.datagrams("delay=20ms", 1);
    let mut lost = 0;
    while !world.responder.session.is_established() {
        world.run(Duration::from_millis(1), &mut |direction, datagram| {
            // The datagram is `connection u32`, then the kind of a control record.
            let control = direction == VIEWER && datagram.get(4) == Some(&0x11);
            lost += u32::from(control);
            if control { Verdict::Drop } else { Verdict::Deliver }
        });
    }
    assert!(lost > 0 && !world.initiator.session.is_established());
    stream(&mut world, 30);
    let numbers = shown(&world).into_iter().map(|(number, _)| number);
    assert!(numbers.eq(0..30));
}

#[test]
fn media_that_overtakes_the_welcome_is_shown() {
    for seed in 0..50 {
        let mut world = regardless().datagrams("delay=20ms jitter=10ms", seed);
        while !world.responder.session.is_established() {
            world.run_cleanly(Duration::from_millis(1));
        }
        stream(&mut world, 30);
        let first = shown(&world).first().map(|(number, _)| *number);
        assert_eq!(first, Some(0), "seed {seed}");
    }
}

/// Number of times that the publisher receives one keyframe request of the viewer, of whose datagrams the first `lost`
/// are lost.
fn heard_of_keyframe(lost: u32) -> usize {
    let mut world = established(Setup::default(), "delay=20ms", 1);
    let wanted = Event::KeyframeRequested(1);
    let mut left = lost;
    world.tell(VIEWER, Input::RequestKeyframe(1));
    world.run(Duration::from_millis(200), &mut |direction, _| {
        let lost = direction == PUBLISHER && left > 0;
        left -= u32::from(lost);
        if lost { Verdict::Drop } else { Verdict::Deliver }
    });
    world.responder.events.iter().filter(|event| **event == wanted).count()
}

#[test]
fn a_question_for_a_keyframe_is_heard_once_even_where_one_datagram_is_lost() {
    assert_eq!([0, 1].map(heard_of_keyframe), [1, 1]);
}

/// Records that were retransmitted at once, and how long after the last new record.
struct Again {
    wait: Duration,
    records: usize,
}

/// Publishes ten frames per second over a link that carries a third of them and loses none, and then pauses.
fn sent_again_unasked(budget: Duration, seed: u64) -> Vec<Again> {
    let mut setup = regardless();
    setup.viewer.delivery.budget = budget;
    let mut world = established(setup, "delay=10ms rate=1mbit queue=20s keep-order", seed);
    let (mut seen, mut newest, mut again) = (BTreeSet::new(), START.monotonic, Vec::<Again>::new());
    for number in 0..150 {
        if number < 50 {
            let frame = OutgoingFrame {
                stream: 1,
                codec: Codec::H264,
                keyframe: number == 0,
                preamble: Preamble::default(),
                data: &[0; 37_500],
            };
            world.publish(PUBLISHER, &frame).expect("the keys are good");
        }
        for _ in 0..100 {
            let now = world.now.monotonic;
            let mut records = 0;
            world.run(Duration::from_millis(1), &mut |direction, datagram| {
                if direction == VIEWER && datagram.get(4) == Some(&0x10) {
                    if seen.insert(datagram.clone()) {
                        newest = now;
                    } else {
                        records += 1;
                    }
                }
                Verdict::Deliver
            });
            if records > 0 {
                let wait = now - newest;
                again.push(Again { wait, records });
            }
        }
    }
    assert_eq!(world.initiator.session.inbound_counts().expect("a viewer").asked, 0);
    again
}

#[test]
fn where_the_path_is_slower_than_the_stream_the_end_is_sent_again_once_for_each_doubling_of_the_wait() {
    for (budget, seed) in [120, 4_000]
        .into_iter()
        .flat_map(|budget| (0..10).map(move |seed| (budget, seed)))
    {
        let again = sent_again_unasked(Duration::from_millis(budget), seed);
        let waits: Vec<Duration> = again.iter().map(|again| again.wait).collect();
        println!("{budget} ms, seed {seed}: {waits:?}");
        assert!(
            !again.is_empty() && again.iter().all(|again| again.records <= 4),
            "a tail and no more"
        );
        let doubled = waits.windows(2).all(|pair| pair[1] > pair[0] * 19 / 10);
        assert!(doubled, "{budget} ms, seed {seed}: {waits:?}");
    }
}

#[test]
fn images_of_which_some_coefficients_are_in_clear_arrive_bit_by_bit() {
    let images: Vec<(Vec<u8>, bool)> = load::<Vec<Value>>("splits")
        .iter()
        .filter(|case| case["last"] == 0)
        .map(|case| {
            let image = Hex::try_from(case["image"].as_str().unwrap_or_default().to_owned()).expect("hex");
            (image.0, case["expect"] == "ok")
        })
        .collect();
    assert!(images.len() >= 10);
    for level in [Level::IntraBegin, Level::Intra] {
        let mut world = established(regardless(), "delay=5ms loss=3%", 7);
        world.tell(PUBLISHER, Input::Select(Selection::Level(level)));
        world.run_cleanly(Duration::from_secs(1));
        for (number, (image, _)) in (0..).zip(&images) {
            let frame = OutgoingFrame {
                stream: 1,
                codec: Codec::Mjpeg,
                keyframe: true,
                preamble: Preamble {
                    frame: number,
                    ..Preamble::default()
                },
                data: image,
            };
            world.publish(PUBLISHER, &frame).expect("the keys are good");
            world.run_cleanly(INTERVAL);
        }
        world.run_cleanly(Duration::from_secs(1));
        let mut numbers = BTreeSet::new();
        for (_, media) in &world.initiator.assembled {
            let Assembled::Frame(frame) = media else { continue };
            let (image, split) = &images[frame.preamble.frame as usize];
            assert!(frame.data == *image, "{level:?}, frame {}", frame.preamble.frame);
            // A part too short for a record of its own is not split off.
            assert!(*split || frame.preamble.layout == Layout::Source);
            numbers.insert((frame.preamble.frame, frame.preamble.layout == Layout::SplitScan));
        }
        assert_eq!(numbers.len(), images.len(), "{level:?}");
        assert!(numbers.iter().any(|(_, split)| *split), "{level:?}");
        let refused = images.iter().filter(|(_, split)| !split).count() as u64;
        assert_eq!(
            world.responder.session.unsplit().map(|unsplit| unsplit.count),
            Some(refused)
        );
    }
}
