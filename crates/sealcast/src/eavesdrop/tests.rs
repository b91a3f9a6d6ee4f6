//! Comparison of what is overheard of real sessions with what was sent.

use std::time::Duration;

use sealcast_proto::session::{Input, OutgoingFrame};
use sealcast_proto::sim::{Direction, Random, Verdict};
use sealcast_proto::unit::{Codec, FrameRate, Preamble, Selection, StreamInfo, Unit};
use sealcast_proto::wire::{Kind, write_framed};
use sealcast_testkit::ends::Setup;

use super::*;

const PUBLISHER: Direction = Direction::ToResponder;
const SECOND: Duration = Duration::from_secs(1);

fn info() -> StreamInfo {
    StreamInfo {
        codec: Codec::H264,
        width: 320,
        height: 240,
        rate: FrameRate {
            numerator: 25,
            denominator: 1,
        },
        parameters: vec![7; 40],
    }
}

/// Frames with a slice each. Every third is a keyframe.
fn frames() -> Vec<(bool, Vec<u8>)> {
    let mut random = Random::new(5);
    let frame = |number: usize| {
        let mut data = vec![0, 0, 0, 1, if number.is_multiple_of(3) { 0x65 } else { 0x61 }];
        // No start codes within.
        data.extend((0..1000 + number * 777).map(|_| random.next_u64() as u8 | 0x80));
        (number.is_multiple_of(3), data)
    };
    (0..12).map(frame).collect()
}

fn outgoing(number: usize, keyframe: bool, data: &[u8]) -> OutgoingFrame<'_> {
    OutgoingFrame {
        stream: 1,
        codec: Codec::H264,
        keyframe,
        preamble: Preamble {
            frame: number as u64,
            ..Preamble::default()
        },
        data,
    }
}

fn setup(unit: Unit) -> Setup {
    let mut setup = Setup::default();
    setup.publisher.unit = unit;
    setup
}

/// All that the publisher sends on a byte stream, from its first byte on, heard in pieces of seven bytes.
fn on_a_stream(unit: Unit, selection: Selection) -> Overheard {
    let mut overheard = Overheard::new(Carriage::Stream);
    let mut wire = Vec::new();
    let mut world = setup(unit).world();
    let mut tap = |towards, message: &mut Vec<u8>| {
        if towards == Direction::ToInitiator {
            write_framed(&mut wire, message);
        }
        Verdict::Deliver
    };
    world.run(SECOND, &mut tap);
    world.tell(PUBLISHER, Input::Select(selection));
    world.run(SECOND, &mut tap);
    let now = world.now;
    let publisher = &mut world.responder.session;
    publisher.seal_info(now, 1, &info(), &mut wire).expect("established");
    for (number, (keyframe, data)) in frames().iter().enumerate() {
        let frame = outgoing(number, *keyframe, data);
        publisher.seal_frame(now, &frame, &mut wire).expect("established");
    }
    wire.chunks(7).for_each(|bytes| overheard.hear(SECOND, bytes));
    overheard
}

/// All datagrams of the publisher.
fn in_datagrams(unit: Unit, selection: Selection) -> Overheard {
    let mut overheard = Overheard::new(Carriage::Datagrams);
    let mut tap = |towards, datagram: &mut Vec<u8>| {
        if towards == Direction::ToInitiator {
            overheard.hear(SECOND, datagram);
        }
        Verdict::Deliver
    };
    let mut world = setup(unit).datagrams("delay=5ms keep-order", 1);
    world.run(SECOND, &mut tap);
    world.tell(PUBLISHER, Input::Select(selection));
    world.run(SECOND, &mut tap);
    world.describe(PUBLISHER, 1, &info()).expect("established");
    for (number, (keyframe, data)) in frames().iter().enumerate() {
        let frame = outgoing(number, *keyframe, data);
        world.publish(PUBLISHER, &frame).expect("established");
        world.run(SECOND / 25, &mut tap);
    }
    world.run(SECOND, &mut tap);
    overheard
}

/// Every frame is there with its length and kind, and every known byte is the one that was sent.
fn agrees(overheard: &Overheard, name: &str) {
    let sent = frames();
    assert_eq!(overheard.frames.len(), sent.len(), "{name}");
    for (number, (seen, (keyframe, data))) in overheard.frames.iter().zip(&sent).enumerate() {
        assert_eq!(
            (seen.number, seen.keyframe, seen.length()),
            (number as u64, *keyframe, data.len()),
            "{name}"
        );
        for (offset, run) in seen.runs() {
            assert!(data[offset..offset + run.len()] == run, "{name}: frame {number}");
        }
        assert_eq!(
            seen.known(),
            seen.runs().iter().map(|(_, run)| run.len()).sum::<usize>()
        );
    }
}

#[test]
fn an_observer_has_each_frame_with_its_gaps_whatever_carries_it_and_however_it_is_cut() {
    let selections = ["none", "rate:50", "keyframes", "headers", "headers+keyframes", "all"];
    for unit in [Unit::Frame, Unit::Packet, Unit::Chunk(300)] {
        for selection in selections.map(|text| text.parse::<Selection>().expect(text)) {
            for (carrier, overheard) in [
                ("stream", on_a_stream(unit, selection)),
                ("datagrams", in_datagrams(unit, selection)),
            ] {
                let name = format!("{selection}, {unit}, {carrier}");
                agrees(&overheard, &name);
                let whole = overheard.frames.iter().map(PartialFrame::is_whole);
                let known = overheard.known_share();
                match selection {
                    Selection::None => assert!(known >= 1.0 && overheard.info == Some(info()), "{name}"),
                    Selection::All => assert!(known <= 0.0 && overheard.in_clear == 0, "{name}"),
                    Selection::Keyframes => {
                        assert!(whole.eq(frames().iter().map(|(keyframe, _)| !keyframe)), "{name}");
                    }
                    _ => assert!(known < 1.0 && overheard.info.is_none(), "{name}: {known}"),
                }
            }
        }
    }
}

#[test]
fn what_is_filled_in_goes_where_the_gaps_are() {
    let selection = "headers".parse().expect("a selection");
    let overheard = on_a_stream(Unit::Frame, selection);
    let (frame, (_, data)) = (&overheard.frames[4], &frames()[4]);
    let mut gaps = Vec::new();
    let filled = frame.filled(|place, bytes| {
        gaps.push(place.clone());
        bytes.copy_from_slice(&data[place]);
    });
    assert!(filled == *data && !gaps.is_empty());
}

#[test]
fn garbage_is_said_to_be_garbage_and_never_grows_beyond_a_message() {
    let mut random = Random::new(3);
    for round in 0..200 {
        let garbage: Vec<u8> = (0..400).map(|_| random.next_u64() as u8).collect();
        let mut stream = Overheard::new(Carriage::Stream);
        let mut datagrams = Overheard::new(Carriage::Datagrams);
        // Framed, so that it is not the framing alone that refuses it.
        let mut framed = Vec::new();
        write_framed(&mut framed, &garbage);
        for bytes in [&framed, &garbage] {
            stream.hear(SECOND, bytes);
            datagrams.hear(SECOND, bytes);
        }
        assert!(stream.frames.len() <= 1 && datagrams.frames.len() <= 2, "round {round}");
    }
    let mut wiretap = Wiretap::new(Carriage::Stream);
    wiretap.hear(SECOND, &[0xff; 64], |_| panic!("a length of 4 GiB has no message"));
    assert!(wiretap.is_lost());
}

#[test]
fn a_changed_record_gives_no_panic_and_no_frame_that_is_longer_than_what_was_heard() {
    let mut wire = Vec::new();
    let mut world = setup(Unit::Packet).established();
    world.tell(PUBLISHER, Input::Select(Selection::None));
    world.run_cleanly(SECOND);
    let now = world.now;
    let (_, data) = &frames()[0];
    let frame = outgoing(0, true, data);
    world
        .responder
        .session
        .seal_frame(now, &frame, &mut wire)
        .expect("established");
    let mut random = Random::new(9);
    for _ in 0..3000 {
        let mut changed = wire.clone();
        let at = random.uniform(0..changed.len() as u64) as usize;
        changed[at] ^= 1 << random.uniform(0..8);
        let mut overheard = Overheard::new(Carriage::Stream);
        overheard.hear(SECOND, &changed);
        let heard: usize = overheard.frames.iter().map(PartialFrame::length).sum();
        assert!(heard <= wire.len());
    }
}

#[test]
fn messages_before_the_session_are_seen_by_their_kind() {
    let mut kinds = Vec::new();
    let mut wiretap = Wiretap::new(Carriage::Stream);
    let mut world = Setup::default().world();
    world.run(SECOND, &mut |towards, message: &mut Vec<u8>| {
        if towards == Direction::ToInitiator {
            let mut framed = Vec::new();
            write_framed(&mut framed, message);
            wiretap.hear(SECOND, &framed, |record| kinds.push(record.seen));
        }
        Verdict::Deliver
    });
    assert_eq!(kinds[0], Seen::Handshake(3), "the reply");
    let is_control = |seen: &Seen| matches!(seen, Seen::Control(header) if header.kind == Kind::Control);
    assert!(kinds.len() > 1 && kinds[1..].iter().all(is_control), "{kinds:?}");
}
