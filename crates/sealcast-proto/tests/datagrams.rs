//! Sessions over datagrams that are lost, late, repeated and damaged, on a virtual clock.

mod common;

use std::time::Duration;

use common::Setup;
use sealcast_proto::seal::Refusal;
use sealcast_proto::session::{Event, OutgoingFrame, RekeyPolicy};
use sealcast_proto::sim::{Direction, Verdict, World};
use sealcast_proto::unit::{Assembled, Codec, FrameRate, Preamble, StreamInfo};

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

/// 720p30 at about 3 Mbit/s: a keyframe each second of 60 kB and frames of 10.8 kB between.
fn frame_bytes(number: u64) -> Vec<u8> {
    let length = if number.is_multiple_of(30) { 60_000 } else { 10_800 };
    (0..length).map(|at: u64| (at ^ number) as u8).collect()
}

/// Publish `count` frames in real time; `at` says when each was sealed.
fn stream(world: &mut World, count: u64) -> Vec<Duration> {
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
    world.run_cleanly(Duration::from_secs(1));
    at
}

/// The numbers of the frames that were shown, each checked byte for byte, and when.
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
fn a_clean_link_delivers_every_frame_at_once() {
    let mut world = established(Setup::default(), "delay=20ms", 1);
    let sent = stream(&mut world, 300);
    let shown = shown(&world);
    assert!(shown.iter().map(|(number, _)| *number).eq(0..300));
    for (number, at) in shown {
        let delay = at - sent[number as usize];
        assert!(delay <= Duration::from_millis(21), "frame {number}: {delay:?}");
    }
}

#[test]
fn handshakes_get_through_a_link_that_loses_a_fifth() {
    for seed in 0..200 {
        let mut world = Setup::default().datagrams("delay=20ms loss=20% duplicate=10% reorder=10%", seed);
        world.run_cleanly(Duration::from_secs(5));
        let (viewer, publisher) = (&world.initiator, &world.responder);
        assert!(
            viewer.session.is_established(),
            "seed {seed}: {:?} {:?}",
            viewer.error,
            publisher.error
        );
    }
}

#[test]
fn five_percent_of_loss_cost_no_frame_when_there_is_time_to_ask() {
    let mut world = established(Setup::default(), "delay=20ms loss=5%", 3);
    let sent = stream(&mut world, 900);
    let shown = shown(&world);
    let late = shown
        .iter()
        .filter(|(number, at)| *at > sent[*number as usize] + Duration::from_millis(140))
        .count();
    let counts = (
        world.responder.session.outbound_counts(),
        world.initiator.session.inbound_counts(),
    );
    println!("{} shown, {late} late, {counts:?}", shown.len());
    assert!(shown.len() >= 899, "{} of 900 shown, {counts:?}", shown.len());
}

#[test]
fn keys_that_change_each_second_cost_no_frame() {
    let mut setup = Setup::default();
    setup.publisher.rekey = RekeyPolicy::new(1 << 20, Duration::from_secs(1)).expect("within bounds");
    let mut world = established(setup, "delay=50ms jitter=20ms", 5);
    stream(&mut world, 1800);
    assert_eq!(shown(&world).len(), 1800);
    let refusals = world.initiator.session.refusals();
    for reason in [Refusal::Malformed, Refusal::UnknownEpoch, Refusal::Tag] {
        assert_eq!(refusals.of(reason), 0, "{reason}");
    }
    let epochs = |event: &&Event| matches!(event, Event::Rekeyed { .. });
    assert!(world.initiator.events.iter().filter(epochs).count() > 25);
}

/// How long a frame of 25 kB takes to leave while `waiting` bytes of frames wait in the program.
fn time_to_leave(waiting: usize) -> Duration {
    let mut world = established(Setup::default(), "delay=20ms", 1);
    // The window opens meanwhile, and the target does not.
    stream(&mut world, 5);
    let data = [0; 25_000];
    let frame = OutgoingFrame {
        stream: 1,
        codec: Codec::H264,
        keyframe: true,
        preamble: Preamble::default(),
        data: &data,
    };
    let began = world.now.monotonic;
    world.responder.session.media_waits(waiting);
    world.publish(PUBLISHER, &frame).expect("the keys are good");
    while world.responder.session.media_backlog() > 0 {
        world.run_cleanly(Duration::from_millis(1));
    }
    world.now.monotonic - began
}

#[test]
fn the_pacer_makes_haste_for_frames_that_wait_in_the_program() {
    let (alone, crowded) = (time_to_leave(0), time_to_leave(200_000));
    assert!(crowded < alone, "{crowded:?} {alone:?}");
}

#[test]
fn a_lost_close_is_said_again() {
    let mut world = established(Setup::default(), "delay=20ms", 1);
    let mut count = 0;
    world.tell(
        PUBLISHER,
        sealcast_proto::session::Input::Close(sealcast_proto::wire::CloseReason::EndOfStream, ""),
    );
    world.run(Duration::from_secs(1), &mut |to, _| {
        count += u32::from(to == VIEWER);
        if to == VIEWER && count < 3 {
            Verdict::Drop
        } else {
            Verdict::Deliver
        }
    });
    assert!(world.initiator.session.is_over());
    assert!(matches!(world.initiator.events.last(), Some(Event::Closed { .. })));
}

#[test]
fn probe_delays() {
    for profile in [
        "delay=20ms",
        "delay=20ms rate=10mbit",
        "delay=20ms rate=5mbit",
        "delay=20ms loss=2%",
        "delay=20ms loss=10%",
        "delay=20ms burst=5%/4",
    ] {
        let mut world = established(Setup::default(), profile, 1);
        let sent = stream(&mut world, 600);
        let shown = shown(&world);
        let mut delays: Vec<f64> = shown
            .iter()
            .map(|(n, at)| (*at - sent[*n as usize]).as_secs_f64() * 1e3)
            .collect();
        let late = delays.iter().filter(|d| **d > 140.0).count();
        delays.sort_by(f64::total_cmp);
        let key: Vec<i64> = shown
            .iter()
            .filter(|(n, _)| n % 30 == 0)
            .map(|(n, at)| (*at - sent[*n as usize]).as_millis() as i64)
            .collect();
        println!(
            "{profile}: shown {} late {late} p50 {:.1} p99 {:.1} max {:.1} key {key:?} target {:?} {:?}",
            shown.len(),
            delays[delays.len() / 2],
            delays[delays.len() * 99 / 100],
            delays[delays.len() - 1],
            world.responder.session.target(),
            world.responder.session.outbound_counts()
        );
    }
}
