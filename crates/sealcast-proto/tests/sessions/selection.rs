//! Which media is left in clear between two sessions, and when, on a virtual clock.

use std::time::Duration;

use sealcast_proto::seal::Refusal;
use sealcast_proto::session::{Event, Input, OutgoingFrame, Output, SealedRecords, SessionError};
use sealcast_proto::sim::{Direction, Verdict, World};
use sealcast_proto::unit::{Codec, FrameRate, Level, PREAMBLE_LEN, Permille, Preamble, Selection, StreamInfo, Unit};
use sealcast_testkit::ends::{Setup, publish, records};

const VIEWER: Direction = Direction::ToInitiator;
const PUBLISHER: Direction = Direction::ToResponder;

/// Lengths of the records that carry a selection and its acknowledgement. No other control message has these lengths.
const SELECTION: usize = 46;
const ACK: usize = 43;

fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn select(world: &mut World, selection: Selection) {
    world.tell(PUBLISHER, Input::Select(selection));
}

/// Seals a frame that is not a keyframe, without sending it.
fn seal(world: &mut World, data: &[u8]) -> (SealedRecords, Vec<Vec<u8>>) {
    let frame = OutgoingFrame {
        stream: 1,
        codec: Codec::H264,
        keyframe: false,
        preamble: Preamble::default(),
        data,
    };
    let (now, mut out) = (world.now, Vec::new());
    let sealed = world.responder.session.seal_frame(now, &frame, &mut out);
    (sealed.expect("the key is good"), records(&out))
}

/// True if the publisher would leave a frame in clear now.
fn in_clear(world: &mut World) -> bool {
    let (sealed, records) = seal(world, b"a picture that anybody may see");
    let visible = records[0].windows(9).any(|window| window == b"a picture");
    let flag = records[0][1] & 1 == 0;
    assert_eq!((visible, sealed.in_clear), (flag, u64::from(flag)));
    visible
}

fn told(world: &World, direction: Direction) -> Vec<Selection> {
    let end = match direction {
        VIEWER => &world.initiator,
        PUBLISHER => &world.responder,
    };
    let selections = end.events.iter().filter_map(|event| match event {
        Event::Selection(selection) => Some(*selection),
        _ => None,
    });
    selections.collect()
}

fn healthy(world: &World) {
    assert_eq!((world.initiator.error, world.responder.error), (None, None));
}

#[test]
fn nothing_is_in_clear_before_the_viewer_has_acknowledged() {
    let mut world = Setup::default().established();
    assert!(!in_clear(&mut world));
    select(&mut world, Selection::Keyframes);
    // The link delays by 10 ms each way.
    for _ in 0..9 {
        world.run_cleanly(millis(2));
        assert!(!in_clear(&mut world));
    }
    world.run_cleanly(millis(4));
    assert!(in_clear(&mut world));
    for end in [VIEWER, PUBLISHER] {
        assert_eq!(told(&world, end), [Selection::Keyframes]);
    }
    healthy(&world);
}

#[test]
fn a_selection_is_said_again_until_it_is_acknowledged_and_not_after() {
    for lost in [SELECTION, ACK] {
        let mut world = Setup::default().established();
        select(&mut world, Selection::None);
        let (mut dropped, mut passed) = (0, 0);
        for step in 0..100 {
            world.run(millis(100), &mut |_, message| {
                if message.len() != lost {
                    return Verdict::Deliver;
                }
                if dropped < 3 {
                    dropped += 1;
                    return Verdict::Drop;
                }
                passed += 1;
                Verdict::Deliver
            });
            // The selection is sent at 0, 500, 1000 and 1500 ms.
            let acknowledged = step >= 15;
            assert_eq!(in_clear(&mut world), acknowledged, "{lost} {step}");
        }
        assert_eq!((dropped, passed), (3, 1));
        assert_eq!(told(&world, VIEWER), [Selection::None]);
        healthy(&world);
    }
}

#[test]
fn a_viewer_that_never_acknowledges_gets_everything_encrypted() {
    let mut world = Setup::default().established();
    select(&mut world, Selection::None);
    let mut said = 0;
    for _ in 0..200 {
        world.run(millis(100), &mut |_, message| {
            said += usize::from(message.len() == SELECTION);
            if message.len() == ACK {
                Verdict::Drop
            } else {
                Verdict::Deliver
            }
        });
        assert!(!in_clear(&mut world));
    }
    assert_eq!(said, 41, "at once, and every 500 ms");
    assert!(told(&world, PUBLISHER).is_empty());
    healthy(&world);
}

/// Runs for `length` and keeps messages of `held` bytes from arriving. Returns them.
fn hold(world: &mut World, length: Duration, held: usize) -> Vec<Vec<u8>> {
    let mut kept = Vec::new();
    world.run(length, &mut |_, message| {
        if message.len() == held {
            kept.push(message.clone());
            Verdict::Drop
        } else {
            Verdict::Deliver
        }
    });
    kept
}

#[test]
fn selections_that_come_late_and_twice_change_nothing() {
    let mut world = Setup::default().established();
    select(&mut world, Selection::None);
    let late = hold(&mut world, millis(700), SELECTION);
    assert_eq!(late.len(), 2);
    select(&mut world, Selection::Keyframes);
    world.run(millis(100), &mut |_, message| {
        if message.len() == SELECTION {
            Verdict::Duplicate
        } else {
            Verdict::Deliver
        }
    });
    let replays = world.initiator.session.refusals().of(Refusal::Replay);
    assert_eq!((told(&world, VIEWER), replays), (vec![Selection::Keyframes], 1));
    let mut acknowledged = 0;
    for message in late {
        world.send(VIEWER, message);
    }
    world.run(millis(100), &mut |_, message| {
        acknowledged += usize::from(message.len() == ACK);
        Verdict::Deliver
    });
    assert_eq!((told(&world, VIEWER), acknowledged), (vec![Selection::Keyframes], 0));
    assert_eq!(world.responder.session.selection(), Selection::Keyframes);
    healthy(&world);
}

#[test]
fn an_acknowledgement_of_an_older_selection_brings_no_newer_one_in_force() {
    let mut world = Setup::default().established();
    select(&mut world, Selection::None);
    let acks = hold(&mut world, millis(100), ACK);
    assert_eq!(acks.len(), 1);
    select(&mut world, Selection::All);
    hold(&mut world, millis(100), ACK);
    select(&mut world, Selection::Headers);
    world.send(PUBLISHER, acks[0].clone());
    hold(&mut world, millis(100), ACK);
    assert_eq!(world.responder.session.selection(), Selection::All);
    assert!(!in_clear(&mut world));
    world.run_cleanly(millis(600));
    assert_eq!(world.responder.session.selection(), Selection::Headers);
    healthy(&world);
}

#[test]
fn everything_is_encrypted_again_at_once_and_what_was_under_way_still_arrives() {
    let mut world = Setup::default().established();
    select(&mut world, Selection::None);
    world.run_cleanly(millis(100));
    let mut sealed: Vec<_> = (0..3).map(|_| seal(&mut world, b"in clear").1.remove(0)).collect();
    select(&mut world, Selection::All);
    assert!(!in_clear(&mut world));
    world.run_cleanly(millis(20));
    assert_eq!(told(&world, VIEWER), [Selection::None, Selection::All]);
    assert_eq!(told(&world, PUBLISHER), [Selection::None, Selection::All]);
    world.send(VIEWER, sealed.remove(0));
    world.run_cleanly(millis(4_900));
    world.send(VIEWER, sealed.remove(0));
    world.run_cleanly(millis(50));
    assert_eq!(world.initiator.media.len(), 2);
    world.run_cleanly(millis(100));
    world.send(VIEWER, sealed.remove(0));
    world.run_cleanly(millis(50));
    assert_eq!(world.initiator.media.len(), 2, "five seconds later none is accepted");
    assert_eq!(world.initiator.session.refusals().of(Refusal::Cleartext), 1);
    healthy(&world);
}

#[test]
fn saying_again_that_all_is_encrypted_does_not_open_the_window_again() {
    let mut world = Setup::default().established();
    select(&mut world, Selection::None);
    world.run_cleanly(millis(100));
    let (_, late) = seal(&mut world, b"in clear");
    select(&mut world, Selection::All);
    // The publisher never gets the acknowledgement and repeats the selection every 500 ms.
    for _ in 0..52 {
        hold(&mut world, millis(100), ACK);
    }
    world.send(VIEWER, late[0].clone());
    hold(&mut world, millis(50), ACK);
    assert_eq!(world.initiator.session.refusals().of(Refusal::Cleartext), 1);
    healthy(&world);
}

#[test]
fn no_flag_can_be_forged_while_clear_is_accepted() {
    let mut world = Setup::default().established();
    select(&mut world, Selection::Keyframes);
    world.run_cleanly(millis(100));
    let clear = seal(&mut world, b"in clear").1.remove(0);
    assert_eq!(clear[1] & 1, 0);
    select(&mut world, Selection::All);
    let hidden = seal(&mut world, b"hidden").1.remove(0);
    assert_eq!(hidden[1] & 1, 1);
    for record in [&clear, &hidden] {
        for (place, bit) in [
            (1, 1),
            (1, 2),
            (24, 1),
            (record.len() - 17, 0x80),
            (record.len() - 1, 1),
        ] {
            let mut forged = record.clone();
            forged[place] ^= bit;
            world.send(VIEWER, forged);
        }
    }
    world.run_cleanly(millis(50));
    assert_eq!(world.initiator.session.refusals().of(Refusal::Tag), 10);
    assert!(world.initiator.media.is_empty());
    world.send(VIEWER, clear);
    world.send(VIEWER, hidden);
    world.run_cleanly(millis(50));
    assert_eq!(world.initiator.media.len(), 2);
    healthy(&world);
}

#[test]
fn a_record_in_clear_that_was_not_agreed_upon_is_refused_as_cleartext() {
    let mut world = Setup::default().established();
    let mut record = seal(&mut world, b"hidden").1.remove(0);
    record[1] &= !1;
    world.send(VIEWER, record.clone());
    world.send(PUBLISHER, record);
    world.run_cleanly(millis(50));
    for end in [&world.initiator, &world.responder] {
        assert_eq!(end.session.refusals().of(Refusal::Cleartext), 1);
    }
    healthy(&world);
}

#[test]
fn a_publisher_accepts_nothing_in_clear_whatever_it_selected() {
    let mut world = Setup::default().established();
    select(&mut world, Selection::None);
    world.run_cleanly(millis(100));
    let record = seal(&mut world, b"in clear").1.remove(0);
    world.send(PUBLISHER, record);
    world.run_cleanly(millis(50));
    assert_eq!(world.responder.session.refusals().of(Refusal::Cleartext), 1);
}

#[test]
fn control_records_stay_encrypted_when_nothing_else_is() {
    let mut world = Setup::default().established();
    select(&mut world, Selection::None);
    let (mut control, mut media) = (0, 0);
    for number in 0..50 {
        publish(&mut world, number, number == 0, b"in clear");
        world.tell(VIEWER, Input::RequestKeyframe(1));
        world.run(millis(100), &mut |_, message| {
            match (message[0], message[1] & 1) {
                (0x11, 1) => control += 1,
                (0x10, 0) => media += 1,
                other => panic!("{other:?}"),
            }
            Verdict::Deliver
        });
    }
    assert!(control > 60, "{control}");
    assert_eq!(
        (media, world.initiator.media.len()),
        (0, 50),
        "media does not pass through the queue"
    );
    healthy(&world);
}

#[test]
fn the_description_is_in_clear_only_where_nothing_is_encrypted() {
    let info = StreamInfo {
        codec: Codec::H264,
        width: 640,
        height: 480,
        rate: FrameRate {
            numerator: 25,
            denominator: 1,
        },
        parameters: b"parameter sets".to_vec(),
    };
    for (text, expected) in [
        ("all", false),
        ("none", true),
        ("rate:0", false),
        ("keyframes", false),
        ("headers", false),
        ("headers+keyframes", false),
    ] {
        let mut world = Setup::default().established();
        select(&mut world, text.parse().expect("a selection"));
        world.run_cleanly(millis(100));
        let (now, mut out) = (world.now, Vec::new());
        let sealed = world.responder.session.seal_info(now, 1, &info, &mut out);
        let visible = out.windows(14).any(|window| window == b"parameter sets");
        assert_eq!(visible, expected, "{text}");
        assert_eq!(sealed.expect("the key is good").in_clear, u64::from(expected));
        for record in records(&out) {
            world.send(VIEWER, record);
        }
        world.run_cleanly(millis(50));
        assert_eq!(world.initiator.media, [info.to_bytes()]);
    }
}

/// Frames of all kinds, as a publisher would seal them.
fn pictures() -> Vec<(bool, Vec<u8>)> {
    let slice = |byte: u8, length| [&[0, 0, 0, 1, byte][..], &vec![byte ^ 0x80; length]].concat();
    vec![
        (true, [slice(0x67, 30), slice(0x68, 5), slice(0x65, 40_000)].concat()),
        (false, [slice(0x41, 3_000), slice(0x41, 20)].concat()),
        (false, vec![]),
        (false, [slice(0x41, 300), slice(0x41, 300)].concat()),
    ]
}

#[test]
fn every_selection_and_every_unit_shows_the_viewer_the_same_frames() {
    let rate = Selection::Rate(Permille::new(300).expect("a share"));
    let all = [
        Selection::All,
        Selection::None,
        rate,
        Selection::Keyframes,
        Selection::Headers,
        Selection::HeadersAndKeyframes,
        Selection::Level(Level::IntraBegin),
        Selection::Level(Level::Intra),
        Selection::Level(Level::All),
    ];
    for unit in [Unit::Frame, Unit::Packet, Unit::Chunk(16), Unit::Chunk(1000)] {
        for selection in all {
            let mut setup = Setup::default();
            setup.publisher.unit = unit;
            let mut world = setup.established();
            select(&mut world, selection);
            world.run_cleanly(millis(100));
            let mut expected = Vec::new();
            for (number, (keyframe, data)) in pictures().into_iter().enumerate() {
                publish(&mut world, number as u64, keyframe, &data);
                let preamble = Preamble {
                    frame: number as u64,
                    ..Preamble::default()
                };
                expected.extend_from_slice(&preamble.to_bytes());
                expected.extend_from_slice(&data);
            }
            world.run_cleanly(millis(50));
            assert!(world.initiator.media.concat() == expected, "{unit} {selection}");
            let longest = world.initiator.media.iter().map(Vec::len).max().unwrap_or(0);
            let bound = match unit {
                Unit::Frame => usize::MAX,
                Unit::Packet => 1160,
                Unit::Chunk(bytes) => usize::from(bytes) + PREAMBLE_LEN,
            };
            assert!(longest <= bound, "{unit}: {longest}");
            healthy(&world);
        }
    }
}

#[test]
fn a_new_epoch_keeps_the_selection() {
    let mut world = Setup::default().established();
    select(&mut world, Selection::None);
    world.run_cleanly(millis(100));
    for number in 0..10 {
        world.tell(PUBLISHER, Input::Rekey);
        publish(&mut world, number, true, b"in clear");
        world.run_cleanly(millis(1_500));
        assert!(in_clear(&mut world));
    }
    assert!(world.initiator.session.epoch() >= Some(5));
    assert_eq!(world.initiator.media.len(), 10);
    healthy(&world);
}

#[test]
fn only_a_publisher_selects_and_only_once_a_session_stands() {
    let mut world = Setup::default().established();
    let now = world.now;
    let told = world.initiator.session.handle(now, Input::Select(Selection::None));
    assert_eq!(told.map(drop), Err(SessionError::Misuse));
    let mut world = Setup::default().world();
    let start = world.now;
    let told = world.responder.session.handle(start, Input::Select(Selection::None));
    assert_eq!(told.map(drop), Err(SessionError::Misuse));
}

#[test]
fn a_selection_that_holds_already_is_not_said_again() {
    let mut world = Setup::default().established();
    let mut said = 0;
    for _ in 0..20 {
        for selection in [Selection::All, Selection::All] {
            select(&mut world, selection);
        }
        world.run(millis(50), &mut |_, message| {
            said += usize::from(message.len() == SELECTION);
            Verdict::Deliver
        });
    }
    assert_eq!(said, 0);
    for _ in 0..20 {
        select(&mut world, Selection::Headers);
        world.run(millis(50), &mut |_, message| {
            said += usize::from(message.len() == SELECTION);
            Verdict::Deliver
        });
    }
    assert_eq!(said, 1);
}

#[test]
fn once_the_numbers_are_used_up_everything_stays_encrypted() {
    let mut world = Setup::default().established();
    for _ in 0..40_000 {
        select(&mut world, Selection::None);
        select(&mut world, Selection::All);
        assert_eq!(
            world.responder.session.selection(),
            Selection::All,
            "nothing was acknowledged"
        );
        // Discard the messages, which would fill the memory of the test.
        while !matches!(world.responder.session.poll(), Output::Timeout(_)) {}
    }
    select(&mut world, Selection::None);
    world.run_cleanly(millis(600));
    assert!(!in_clear(&mut world));
    healthy(&world);
}
