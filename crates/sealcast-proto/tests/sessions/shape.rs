//! Constant traffic on a virtual clock: what an observer counts does not depend on what is sent.

use std::time::Duration;

use sealcast_proto::seal::Refusal;
use sealcast_proto::session::{Event, Input, OutgoingFrame, SessionError, ShapePlan};
use sealcast_proto::sim::{Direction, Verdict, World};
use sealcast_proto::unit::{Assembled, Codec, FrameRate, Preamble, Selection, StreamInfo};
use sealcast_proto::wire::CloseReason;
use sealcast_testkit::ends::Setup;

const PUBLISHER: Direction = Direction::ToResponder;
const VIEWER: Direction = Direction::ToInitiator;
const MS: Duration = Duration::from_millis(1);
const RATE: u64 = 2_000_000;
const CELL: u8 = 0x12;

fn plan() -> ShapePlan {
    ShapePlan::constant(RATE).expect("within the bounds")
}

fn setup() -> Setup {
    let mut setup = Setup::default();
    setup.publisher.shape = Some(plan());
    setup
}

/// Messages as an observer sees them: when, which way, the kind, and the length.
type Seen = Vec<(Duration, Direction, u8, usize)>;

/// Lets time pass in small steps and notes all messages. `prefix` bytes stand before each record.
fn observe(world: &mut World, length: Duration, prefix: usize, seen: &mut Seen) {
    let end = world.now.monotonic + length;
    while world.now.monotonic < end {
        let now = world.now.monotonic;
        world.run(MS, &mut |direction, message| {
            seen.push((now, direction, message[prefix], message.len()));
            Verdict::Deliver
        });
    }
}

fn info() -> StreamInfo {
    StreamInfo {
        codec: Codec::H264,
        width: 640,
        height: 480,
        rate: FrameRate {
            numerator: 25,
            denominator: 1,
        },
        parameters: vec![7; 40],
    }
}

fn bytes(number: u64, length: usize) -> Vec<u8> {
    (0..length).map(|at| (at as u64 ^ number) as u8).collect()
}

fn publish(world: &mut World, number: u64, length: usize) {
    if number == 0 {
        world.describe(PUBLISHER, 1, &info()).expect("established");
    }
    let data = bytes(number, length);
    let frame = OutgoingFrame {
        stream: 1,
        codec: Codec::H264,
        keyframe: number == 0,
        preamble: Preamble {
            frame: number,
            ..Preamble::default()
        },
        data: &data,
    };
    world.publish(PUBLISHER, &frame).expect("the keys are good");
}

/// Numbers of the frames that were shown, each compared byte for byte.
fn shown(world: &World, length: impl Fn(u64) -> usize) -> Vec<u64> {
    let frames = world.initiator.assembled.iter().filter_map(|(_, media)| match media {
        Assembled::Frame(frame) => {
            let number = frame.preamble.frame;
            assert!(frame.data == bytes(number, length(number)), "frame {number}");
            Some(number)
        }
        _ => None,
    });
    frames.collect()
}

/// Two ends whose session is established.
fn established(datagrams: Option<&str>) -> World {
    let mut world = match datagrams {
        Some(profile) => setup().datagrams(profile, 1),
        None => setup().world(),
    };
    while !(world.initiator.session.is_shaped() && world.responder.session.is_shaped()) {
        world.run_cleanly(MS);
        assert!(world.now.monotonic < Duration::from_secs(3_000), "never established");
    }
    // What was on its way when the cells began.
    world.run_cleanly(MS * 100);
    world
}

/// Bytes of each frame of a scene, by its number.
type FrameBytes = fn(u64) -> usize;

/// Contents that differ as much as contents can.
const SCENES: [(&str, FrameBytes); 4] = [
    ("silence", |_| 0),
    ("steady", |_| 7_000),
    ("bursts", |number| if number % 5 == 4 { 20_000 } else { 10 }),
    ("a keyframe", |number| if number == 0 { 60_000 } else { 3_000 }),
];

#[test]
fn what_is_on_the_wire_does_not_depend_on_what_is_sent() {
    for datagrams in [None, Some("delay=20ms")] {
        let prefix = if datagrams.is_some() { 4 } else { 0 };
        let mut all: Vec<(&str, Seen)> = Vec::new();
        for (name, length) in SCENES {
            let mut world = established(datagrams);
            let began = world.now.monotonic;
            let mut seen = Seen::new();
            for number in 0..50 {
                if length(number) > 0 {
                    publish(&mut world, number, length(number));
                }
                if number == 20 {
                    world.tell(VIEWER, Input::RequestKeyframe(1));
                }
                if name != "silence" && number == 30 {
                    world.tell(PUBLISHER, Input::Rekey);
                }
                observe(&mut world, MS * 40, prefix, &mut seen);
            }
            for (at, direction, kind, size) in &mut seen {
                *at -= began;
                assert_eq!(*kind, CELL, "{name}: {direction:?} at {at:?}");
                let plan = plan();
                let cells = if *direction == VIEWER {
                    plan.publisher
                } else {
                    plan.viewer
                };
                assert_eq!(*size, usize::from(cells.size) + prefix, "{name}");
            }
            assert_eq!((world.initiator.error, world.responder.error), (None, None), "{name}");
            if name != "silence" {
                world.run_cleanly(MS * 2000);
                assert!(shown(&world, length).into_iter().eq(0..50), "{name}");
                let rekeyed = |event: &Event| matches!(event, Event::Rekeyed { .. });
                assert!(world.responder.events.iter().any(rekeyed), "{name}");
            }
            let asked = Event::KeyframeRequested(1);
            assert!(world.responder.events.contains(&asked), "{name}");
            all.push((name, seen));
        }
        for (name, seen) in &all[1..] {
            assert!(*seen == all[0].1, "{name} differs from {} on the wire", all[0].0);
        }
        let down = all[0].1.iter().filter(|(_, direction, ..)| *direction == VIEWER);
        let sent: usize = down.map(|(.., size)| size + 4 - prefix).sum();
        // Two seconds of the rate, less one tick at either end.
        assert!((sent as i64 * 8 - 2 * RATE as i64).abs() <= 2 * 1200 * 8, "{sent}");
    }
}

#[test]
fn lost_cells_are_asked_for_and_the_frames_come_whole() {
    for seed in 0..20 {
        let mut setup = setup();
        setup.viewer.delivery.budget = MS * 300;
        setup.publisher.delivery.budget = MS * 300;
        let mut world = setup.datagrams("delay=20ms jitter=3ms loss=3%", seed);
        world.run_cleanly(Duration::from_secs(5));
        assert!(
            world.initiator.session.is_shaped(),
            "seed {seed}: {:?}",
            world.initiator.error
        );
        for number in 0..100 {
            publish(&mut world, number, 4_000);
            world.run_cleanly(MS * 40);
        }
        world.run_cleanly(MS * 1000);
        let whole = shown(&world, |_| 4_000).len();
        assert!(whole >= 97, "seed {seed}: {whole} of 100");
        assert_eq!(
            (world.initiator.error, world.responder.error),
            (None, None),
            "seed {seed}"
        );
    }
}

#[test]
fn a_record_outside_of_cells_is_refused_at_both_ends() {
    let mut world = established(None);
    for to in [VIEWER, PUBLISHER] {
        let mut record = vec![0; 60];
        record[..2].copy_from_slice(&[if to == VIEWER { 0x10 } else { 0x11 }, 0x01]);
        record[7] = u8::from(to == VIEWER);
        world.send(to, record);
    }
    publish(&mut world, 0, 5_000);
    world.run_cleanly(MS * 100);
    for end in [&world.initiator, &world.responder] {
        assert_eq!((end.session.refusals().of(Refusal::OutsideCell), end.error), (1, None));
    }
    assert_eq!(shown(&world, |_| 5_000), [0]);
}

#[test]
fn a_cell_that_was_altered_or_removed_costs_its_records_and_no_more() {
    for removed in [false, true] {
        let mut world = established(None);
        for number in 0..30 {
            publish(&mut world, number, 3_000);
            let mut left = u32::from(number == 10);
            world.run(MS * 40, &mut |direction, message| {
                if direction != VIEWER || left == 0 {
                    return Verdict::Deliver;
                }
                left -= 1;
                message[100] ^= 1;
                if removed { Verdict::Drop } else { Verdict::Deliver }
            });
        }
        world.run_cleanly(MS * 200);
        let refused = world.initiator.session.refusals().of(Refusal::Tag);
        assert_eq!((refused, world.initiator.error), (u64::from(!removed), None));
        let shown = shown(&world, |_| 3_000);
        let lost = world
            .initiator
            .assembled
            .iter()
            .any(|(_, media)| matches!(media, Assembled::Lost));
        assert!(lost && shown.starts_with(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]), "{shown:?}");
        // A keyframe is needed now, and comes.
        let keyframe = bytes(30, 3_000);
        let frame = OutgoingFrame {
            stream: 1,
            codec: Codec::H264,
            keyframe: true,
            preamble: Preamble {
                frame: 30,
                ..Preamble::default()
            },
            data: &keyframe,
        };
        world.describe(PUBLISHER, 1, &info()).expect("established");
        world.publish(PUBLISHER, &frame).expect("the keys are good");
        world.run_cleanly(MS * 200);
        let last = world
            .initiator
            .assembled
            .iter()
            .rev()
            .find_map(|(_, media)| match media {
                Assembled::Frame(frame) => Some(frame.preamble.frame),
                _ => None,
            });
        assert_eq!(last, Some(30));
    }
}

#[test]
fn nothing_can_be_left_in_clear_in_a_shape() {
    let mut world = established(None);
    world.tell(PUBLISHER, Input::Select(Selection::All));
    assert_eq!(world.responder.error, None);
    world.tell(PUBLISHER, Input::Select(Selection::None));
    assert_eq!(world.responder.error, Some(SessionError::Misuse));
}

#[test]
fn the_end_of_a_session_is_told_in_cells_after_all_that_was_sent() {
    for datagrams in [None, Some("delay=20ms loss=20%")] {
        let prefix = if datagrams.is_some() { 4 } else { 0 };
        let mut world = established(datagrams);
        publish(&mut world, 0, 20_000);
        world.tell(PUBLISHER, Input::Close(CloseReason::EndOfStream, "over"));
        let mut seen = Seen::new();
        observe(&mut world, MS * 500, prefix, &mut seen);
        assert!(seen.iter().all(|(.., kind, _)| *kind == CELL));
        if datagrams.is_none() {
            assert_eq!(shown(&world, |_| 20_000), [0]);
        }
        let closed = |event: &Event| {
            matches!(
                event,
                Event::Closed {
                    reason: CloseReason::EndOfStream,
                    ..
                }
            )
        };
        assert!(world.initiator.events.iter().any(closed), "{datagrams:?}");
    }
}

#[test]
fn many_epochs_of_few_records_pass_in_cells() {
    let mut setup = setup();
    setup.publisher.rekey = sealcast_proto::session::RekeyPolicy::new(16, MS * 500).expect("within the bounds");
    let mut world = setup.world();
    world.run_cleanly(MS * 300);
    for number in 0..200 {
        publish(&mut world, number, 3_000);
        world.run_cleanly(MS * 40);
    }
    world.run_cleanly(MS * 500);
    assert_eq!((world.initiator.error, world.responder.error), (None, None));
    assert!(world.responder.session.epoch().is_some_and(|epoch| epoch >= 8));
    assert!(shown(&world, |_| 3_000).into_iter().eq(0..200));
}

#[test]
fn a_publisher_cannot_make_its_viewer_flood_the_path() {
    let ask = |change: fn(&mut ShapePlan)| {
        let mut setup = setup();
        let mut plan = plan();
        change(&mut plan);
        setup.publisher.shape = Some(plan);
        let mut world = setup.world();
        world.run_cleanly(MS * 300);
        world.initiator.error
    };
    assert_eq!(ask(|_| {}), None);
    assert_eq!(ask(|plan| plan.viewer.cells = 2), Some(SessionError::PeerMisbehaved));
    assert_eq!(
        ask(|plan| plan.viewer.tick = MS * 9),
        Some(SessionError::PeerMisbehaved)
    );
}
