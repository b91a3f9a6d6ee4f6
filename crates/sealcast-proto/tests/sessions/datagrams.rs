//! Sessions over datagrams that are lost, delayed, duplicated and corrupted, on a virtual clock.

use std::time::Duration;

use sealcast_proto::rate::RateConfig;
use sealcast_proto::seal::Refusal;
use sealcast_proto::session::{Delivery, Event, Fec, Input, Mtu};
use sealcast_proto::sim::Verdict;
use sealcast_proto::unit::{Assembled, Level, PREAMBLE_LEN, Permille, Selection, Unit};
use sealcast_proto::wire::CloseReason;
use sealcast_testkit::ends::{self, START, Setup};
use sealcast_testkit::show::{CAMERA, Kind, PUBLISHER, Show, VIEWER, setup, steady};

const MS: Duration = Duration::from_millis(1);

#[test]
fn a_clean_link_delivers_every_frame_at_once() {
    let mut show = Show::new(setup(steady()), "delay=20ms", 1, CAMERA);
    show.play(300);
    show.pause(MS * 200);
    assert!(show.numbers().into_iter().eq(0..300));
    let slowest = show.delays().into_iter().max().expect("300 of them");
    // A keyframe of 60 kB is shorter than the burst that the pacer lets out at once, 40 ms at its rate.
    assert!(slowest <= MS * 21, "{slowest:?}");
    assert_eq!(show.asked, 0);
}

/// At 96 Mbit/s, the packets of 60 ms wait at the viewer until it processes them.
#[test]
fn what_waits_at_the_viewer_itself_is_no_queue_on_the_path() {
    let fast = Delivery {
        rate: Some(RateConfig {
            min: 6_000_000,
            start: 200_000_000,
            max: 400_000_000,
            unsteered: false,
        }),
        ..steady()
    };
    let mut show = Show::new(setup(fast), "delay=1ms", 1, CAMERA);
    let mut numbers = 0..;
    let mut frames = |show: &mut Show, count: usize, mut hold: Option<&mut Vec<Vec<u8>>>| {
        for number in numbers.by_ref().take(count) {
            ends::publish(&mut show.world, number, true, &[7; 12_000]);
            show.world.run(MS, &mut |direction, datagram| match &mut hold {
                Some(held) if direction == VIEWER && datagram.get(4) == Some(&0x10) => {
                    held.push(datagram.clone());
                    Verdict::Drop
                }
                _ => Verdict::Deliver,
            });
        }
    };
    frames(&mut show, 1000, None);
    let mut held = Vec::new();
    frames(&mut show, 60, Some(&mut held));
    assert!(held.len() > 100, "{}", held.len());
    let now = show.world.now;
    for mut packet in held {
        let viewer = &mut show.world.initiator.session;
        viewer.handle(now, Input::Message(&mut packet)).expect("authentic");
    }
    show.world.initiator.session.caught_up(now, false).expect("it has keys");
    frames(&mut show, 2000, None);
    let target = show.world.responder.session.target().expect("it is estimated");
    assert!(target >= 96_000_000, "{target}");
    let began = show.world.now.monotonic - MS * 3060;
    let mut shown = 0;
    for (at, media) in show.world.initiator.assembled.iter().rev().take(1000) {
        let Assembled::Frame(frame) = media else { continue };
        let delay = *at - (began + MS * frame.preamble.frame as u32);
        assert!(delay < MS * 4, "frame {}: {delay:?}", frame.preamble.frame);
        shown += 1;
    }
    assert_eq!(shown, 1000, "nothing is missing at the end");
}

/// Each case: the lengths of the frames, and how many packets leave together.
#[test]
fn frames_of_one_packet_that_were_sealed_together_leave_together() {
    let cases: [(&[usize], &[usize]); 5] = [
        (&[900, 900, 900], &[3]),
        (&[900, 900, 500, 500, 501], &[3, 1, 1]),
        (&[500, 900, 900], &[1, 2]),
        // A frame of four packets of one length, preamble included, followed by a shorter packet.
        (&[900, 4000, 900], &[1, 5]),
        // The last packet of the four is shorter.
        (&[4001, 900], &[4, 1]),
    ];
    for (lengths, runs) in cases {
        let mut show = Show::new(setup(steady()), "delay=20ms", 1, CAMERA);
        let (mut left, now) = (Vec::new(), show.world.now);
        for (number, length) in (0..).zip(lengths) {
            ends::publish(&mut show.world, number, true, &vec![number as u8; *length]);
        }
        let session = &mut show.world.responder.session;
        assert!(session.media_allowance(now) > 6000);
        let before = session.outbound_counts().expect("over datagrams");
        let mut packets: Vec<Vec<u8>> = Vec::new();
        while let Some(run) = session.poll_packets(now) {
            left.push(run.bytes.len().div_ceil(run.size));
            packets.extend(run.bytes.chunks(run.size).map(<[u8]>::to_vec));
            session.packets_sent(now);
        }
        assert_eq!(left, runs, "{lengths:?}");
        let after = session.outbound_counts().expect("over datagrams");
        assert_eq!(after.sources - before.sources, packets.len() as u64);
        let bytes: usize = packets.iter().map(Vec::len).sum();
        assert_eq!((after.bytes - before.bytes, session.media_backlog()), (bytes as u64, 0));
        for packet in packets {
            show.world.send(VIEWER, packet);
        }
        show.world.run_cleanly(MS * 200);
        let shown = show
            .world
            .initiator
            .assembled
            .iter()
            .filter_map(|(_, media)| match media {
                Assembled::Frame(frame) => Some((frame.preamble.frame, frame.data.len())),
                _ => None,
            });
        assert!(shown.eq((0..).zip(lengths.iter().copied())), "{lengths:?}");
        assert!(show.world.responder.session.media_settled(show.world.now), "all came");
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

/// Time that a frame of 25 kB takes to leave while `waiting` bytes of frames wait in the program.
fn time_to_leave(waiting: usize) -> Duration {
    let kind = Kind {
        keyframe_bytes: 25_000,
        ..CAMERA
    };
    let mut show = Show::new(Setup::default(), "delay=20ms", 1, kind);
    // Meanwhile the window opens, but the target does not grow.
    show.play(5);
    show.pause(MS * 1000);
    let began = show.world.now.monotonic;
    show.world.responder.session.media_waits(waiting);
    show.publish(true);
    while show.world.responder.session.media_backlog() > 0 {
        show.world.run_cleanly(MS);
    }
    show.world.now.monotonic - began
}

#[test]
fn the_pacer_makes_haste_for_frames_that_wait_in_the_program() {
    let (alone, crowded) = (time_to_leave(0), time_to_leave(200_000));
    assert!(crowded < alone, "{crowded:?} {alone:?}");
}

#[test]
fn a_viewer_reports_nothing_to_a_publisher_that_closed_the_session() {
    let mut world = Show::new(setup(steady()), "delay=1ms", 1, CAMERA).world;
    ends::publish(&mut world, 0, true, &[7; 12_000]);
    let mut held = Vec::new();
    let mut hold = |direction, datagram: &mut Vec<u8>| {
        if direction == VIEWER {
            held.push(datagram.clone());
        }
        Verdict::Drop
    };
    world.run(MS * 100, &mut hold);
    world.tell(PUBLISHER, Input::Close(CloseReason::EndOfStream, ""));
    world.run(MS * 100, &mut hold);
    let now = world.now;
    let viewer = &mut world.initiator.session;
    for mut datagram in held {
        viewer
            .handle(now, Input::Message(&mut datagram))
            .expect("what the publisher sent");
    }
    assert!(viewer.is_over());
    assert_eq!(viewer.caught_up(now, true), Ok(()));
}

#[test]
fn a_lost_close_is_said_again() {
    let mut world = Show::new(Setup::default(), "delay=20ms", 1, CAMERA).world;
    let mut count = 0;
    world.tell(PUBLISHER, Input::Close(CloseReason::EndOfStream, ""));
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
fn a_budget_of_nothing_never_waits() {
    let delivery = Delivery {
        budget: Duration::ZERO,
        fec: Fec::Off,
        ..steady()
    };
    let mut show = Show::new(setup(delivery), "delay=20ms loss=2%", 4, CAMERA);
    show.play(600);
    show.pause(MS * 200);
    let slowest = show.delays().into_iter().max().expect("some were shown");
    assert!(slowest <= MS * 27, "{slowest:?}");
    assert!(show.shown.len() < 600 && show.shown.len() > 100, "{}", show.shown.len());
    let counts = show.world.responder.session.outbound_counts().expect("a publisher");
    assert_eq!(counts.resent, 0, "what comes later than at once is of no use");
}

#[test]
fn duplicates_and_reordering_alone_cost_nothing() {
    let mut show = Show::new(
        setup(steady()),
        "delay=20ms jitter=5ms duplicate=20% reorder=10%",
        5,
        CAMERA,
    );
    show.play(600);
    show.pause(MS * 300);
    assert_eq!(show.shown.len(), 600);
    let refusals = show.world.initiator.session.refusals();
    assert!(refusals.of(Refusal::Replay) > 500, "every repetition is a replay");
    for reason in [Refusal::Malformed, Refusal::UnknownEpoch, Refusal::Tag] {
        assert_eq!(refusals.of(reason), 0, "{reason}");
    }
}

#[test]
fn damage_is_refused_and_repaired() {
    let mut show = Show::new(setup(steady()), "delay=20ms corrupt=2%", 6, CAMERA);
    show.play(600);
    show.pause(MS * 300);
    assert!(show.shown.len() >= 598, "{}", show.shown.len());
    let tag = show.world.initiator.session.refusals().of(Refusal::Tag);
    assert!(tag > 50, "{tag}");
    show.both_live();
}

#[test]
fn no_datagram_is_longer_than_the_path_takes() {
    let mut show = Show::new(setup(steady()), "delay=20ms mtu=1200", 7, CAMERA);
    let mut longest = 0;
    show.play_judged(90, &mut |_, datagram| {
        longest = longest.max(datagram.len());
        Verdict::Deliver
    });
    show.pause(MS * 200);
    assert_eq!(show.shown.len(), 90);
    assert!((1100..=1200).contains(&longest), "{longest}");
}

#[test]
fn a_path_that_carries_more_is_used_when_it_is_known() {
    let delivery = Delivery {
        mtu: Mtu::Fixed(8972),
        fec: Fec::Fixed(50),
        ..steady()
    };
    let mut show = Show::new(setup(delivery), "delay=20ms loss=2% mtu=8972", 8, CAMERA);
    let mut longest = 0;
    show.play_judged(300, &mut |_, datagram| {
        longest = longest.max(datagram.len());
        Verdict::Deliver
    });
    show.pause(MS * 300);
    assert!((8000..=8972).contains(&longest), "{longest}");
    assert!(show.shown.len() >= 298, "{}", show.shown.len());
}

#[test]
fn repair_symbols_are_as_many_as_were_asked_for() {
    for (fec, share) in [(Fec::Off, 0.0), (Fec::Fixed(10), 0.1), (Fec::Fixed(50), 0.5)] {
        let delivery = Delivery { fec, ..steady() };
        let mut show = Show::new(setup(delivery), "delay=20ms loss=1%", 9, CAMERA);
        show.play(300);
        show.pause(MS * 300);
        let counts = show.world.responder.session.outbound_counts().expect("a publisher");
        let measured = counts.repairs as f64 / counts.sources as f64;
        // The number is rounded up for each frame of ten records.
        assert!(measured >= share && measured <= share * 1.5, "{fec:?}: {measured}");
        let recovered = show
            .world
            .initiator
            .session
            .inbound_counts()
            .expect("a viewer")
            .recovered;
        assert_eq!(recovered > 0, fec != Fec::Off, "{fec:?}");
        assert!(show.shown.len() >= 299, "{fec:?}: {}", show.shown.len());
    }
}

#[test]
fn every_selection_and_unit_comes_through_loss() {
    let small = Kind {
        keyframe_bytes: 9_000,
        bytes: 1_500,
        ..CAMERA
    };
    let modes = [
        Selection::All,
        Selection::None,
        Selection::Rate(Permille::new(250).expect("a share")),
        Selection::Keyframes,
        Selection::Headers,
        Selection::HeadersAndKeyframes,
        Selection::Level(Level::IntraBegin),
        Selection::Level(Level::Intra),
        Selection::Level(Level::All),
    ];
    for unit in [
        Unit::Frame,
        Unit::Packet,
        Unit::Chunk(16),
        Unit::Chunk(400),
        Unit::Chunk(u16::MAX),
    ] {
        for selection in modes {
            let mut setup = setup(steady());
            setup.publisher.unit = unit;
            let mut show = Show::new(setup, "delay=10ms loss=2%", 10, small);
            show.world.tell(PUBLISHER, Input::Select(selection));
            show.play(120);
            show.pause(MS * 300);
            assert!(show.shown.len() >= 119, "{unit} {selection}: {}", show.shown.len());
            let chosen = show.world.responder.session.selection();
            assert_eq!(chosen, selection, "it is in force");
            show.both_live();
        }
    }
}

/// The stream has losses, repair symbols, small units and a share of them in clear. The arrival of each unit of each
/// frame is reported.
#[test]
fn a_viewer_that_asks_is_told_how_every_unit_of_a_frame_came() {
    let delivery = Delivery {
        fec: Fec::Fixed(50),
        tell_units: true,
        ..steady()
    };
    let mut setup = setup(delivery);
    setup.publisher.unit = Unit::Chunk(400);
    let mut show = Show::new(setup, "delay=10ms loss=2%", 13, CAMERA);
    let half = Selection::Rate(Permille::new(500).expect("a share"));
    show.world.tell(PUBLISHER, Input::Select(half));
    show.play(120);
    show.pause(MS * 300);
    assert!(show.shown.len() >= 119, "{}", show.shown.len());
    let (mut clear, mut repaired, mut all) = (0, 0, 0);
    for (shown, units) in show.shown.iter().zip(&show.units) {
        let sent = show.sent[shown.number as usize];
        let length = PREAMBLE_LEN as u64
            + if sent.keyframe {
                CAMERA.keyframe_bytes
            } else {
                CAMERA.bytes
            };
        assert_eq!(units.len() as u64, length.div_ceil(400), "frame {}", shown.number);
        let payload: u64 = units.iter().map(|unit| u64::from(unit.bytes) - 24 - 10 - 16).sum();
        assert_eq!(payload, length, "frame {}", shown.number);
        for (index, unit) in (0..).zip(units) {
            assert_eq!(unit.index, index, "frame {}", shown.number);
            let before = START.wall - START.monotonic.as_nanos() as u64;
            assert_eq!(unit.sealed_at - before, sent.at.as_nanos() as u64);
            assert!(
                unit.arrived >= sent.at + MS * 10 && unit.arrived <= shown.at,
                "{unit:?}"
            );
            clear += u64::from(!unit.encrypted);
            repaired += u64::from(unit.repaired);
            all += 1;
        }
    }
    assert!((0.4..0.6).contains(&(clear as f64 / all as f64)), "{clear} of {all}");
    let counts = show.world.initiator.session.inbound_counts().expect("a viewer");
    assert!((clear..clear + 60).contains(&counts.in_clear), "{clear} {counts:?}");
    assert!(repaired > 0 && repaired <= counts.recovered, "{repaired} {counts:?}");
}

#[test]
fn a_source_that_pauses_goes_on_where_it_was() {
    let mut show = Show::new(setup(steady()), "delay=20ms loss=2%", 11, CAMERA);
    show.play(100);
    show.pause(Duration::from_secs(10));
    show.both_live();
    let before = show.shown.len();
    show.play(100);
    show.pause(MS * 300);
    assert!(
        before >= 99,
        "the last frames before a pause are repaired as well: {before}"
    );
    assert!(show.shown.len() - before >= 99, "{}", show.shown.len() - before);
}

#[test]
fn a_very_large_frame_arrives_at_the_rate_of_the_path() {
    let large = Kind {
        group: u64::MAX,
        keyframe_bytes: 4 << 20,
        ..CAMERA
    };
    for profile in ["delay=20ms", "delay=20ms loss=1%"] {
        let delivery = Delivery {
            budget: Duration::from_secs(1),
            ..steady()
        };
        let mut show = Show::new(setup(delivery), profile, 12, large);
        show.publish(true);
        show.pause(Duration::from_secs(8));
        assert_eq!(show.shown.len(), 1, "{profile}");
        show.play(60);
        show.pause(Duration::from_secs(2));
        assert!(show.shown.len() >= 60, "{profile}: {}", show.shown.len());
        show.both_live();
    }
}
