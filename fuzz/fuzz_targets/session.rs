//! Two sessions on a byte stream and a virtual clock, with a network that drops, repeats, alters and forges messages.
//! A viewer gets exactly what the publisher sent, each record at most once.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sealcast_fuzz::{Act, Ends, START, judge, selection, unit};
use sealcast_proto::session::{Carrier, Input, OutgoingFrame};
use sealcast_proto::sim::{Direction, World};
use sealcast_proto::unit::{Codec, PREAMBLE_LEN, Preamble, Selection};
use sealcast_proto::wire::{
    Accept, CloseReason, HEADER_LEN, Header, LENGTH_PREFIX, MessageLength, TAG_LEN, message_length,
};

#[derive(Debug, Arbitrary)]
struct Plan {
    publishes: bool,
    unit: u16,
    /// The network does not touch messages before this one.
    peace: u8,
    network: Vec<Act>,
    steps: Vec<Step>,
}

#[derive(Debug, Arbitrary)]
enum Step {
    Wait(u16),
    Frame { keyframe: bool, data: Vec<u8> },
    RequestKeyframe(u32),
    Rekey { publisher: bool },
    Select { mode: u8, share: u8 },
    Invent { towards_initiator: bool, message: Vec<u8> },
    Close { publisher: bool },
}

fuzz_target!(|plan: Plan| {
    let mut ends = Ends::new(plan.publishes, Carrier::Stream);
    ends.initiator.unit = unit(plan.unit);
    ends.responder.unit = unit(plan.unit);
    let (initiator, responder) = ends.sessions();
    let mut world = World::new(initiator, responder, Duration::from_millis(10), START);
    let (viewer, publisher) = match plan.publishes {
        true => (Direction::ToResponder, Direction::ToInitiator),
        false => (Direction::ToInitiator, Direction::ToResponder),
    };
    let mut judge = judge(u32::from(plan.peace), plan.network);
    world.run(Duration::from_millis(100), &mut judge);

    let mut sent = Sent::default();
    for step in plan.steps.into_iter().take(64) {
        match step {
            Step::Wait(milliseconds) => {
                let length = Duration::from_millis(u64::from(milliseconds) % 3_000);
                world.run(length, &mut judge);
            }
            Step::Frame { keyframe, data } => publish(&mut world, viewer, publisher, keyframe, &data, &mut sent),
            Step::RequestKeyframe(stream) => world.tell(viewer, Input::RequestKeyframe(stream)),
            Step::Rekey { publisher: true } => world.tell(publisher, Input::Rekey),
            Step::Rekey { publisher: false } => world.tell(viewer, Input::Rekey),
            Step::Select { mode, share } => world.tell(publisher, Input::Select(selection(mode, share))),
            Step::Invent {
                towards_initiator,
                message,
            } => {
                let towards = if towards_initiator {
                    Direction::ToInitiator
                } else {
                    Direction::ToResponder
                };
                world.send(towards, message);
            }
            Step::Close {
                publisher: by_publisher,
            } => {
                let end = if by_publisher { publisher } else { viewer };
                world.tell(end, Input::Close(CloseReason::GoingAway, "enough"));
            }
        }
    }
    world.run(Duration::from_secs(1), &mut judge);

    assert!(world.end(publisher).media.is_empty(), "a publisher gets no pictures");
    let media = std::mem::take(&mut world.end(viewer).media);
    assert!(media.len() as u64 <= sent.records, "each record once");
    for payload in media {
        let known = |frame: &Vec<u8>| {
            let mut windows = frame.windows(payload.len().max(1));
            payload.is_empty() || windows.any(|window| window == payload)
        };
        assert!(sent.frames.iter().any(known), "a viewer gets what was sent");
    }
    for end in [&world.initiator, &world.responder] {
        assert!(end.error.is_none() || end.session.is_over(), "an error ends a session");
    }
});

/// The frames that the publisher sealed, with their preambles, and the number of records of each.
#[derive(Default)]
struct Sent {
    frames: Vec<Vec<u8>>,
    records: u64,
}

fn publish(world: &mut World, viewer: Direction, publisher: Direction, keyframe: bool, data: &[u8], sent: &mut Sent) {
    let now = world.now;
    let preamble = Preamble {
        frame: sent.frames.len() as u64,
        ..Preamble::default()
    };
    let frame = OutgoingFrame {
        stream: 1,
        codec: Codec::H264,
        keyframe,
        preamble,
        data,
    };
    let mut out = Vec::new();
    let selected = world.end(publisher).session.selection();
    let sealed = world.end(publisher).session.seal_frame(now, &frame, &mut out);
    let (mut records, mut together) = (0, Vec::new());
    while !out.is_empty() {
        let length = message_length(&out, MessageLength::Record).expect("a good length");
        let mut record = out.split_off(LENGTH_PREFIX);
        out = record.split_off(length.expect("a whole record"));
        let payload = &record[HEADER_LEN..record.len() - TAG_LEN];
        let header = Header::parse(&record, Accept::ClearMedia).expect("a good record");
        assert!(
            header.flags.encrypted() || selected != Selection::All,
            "in clear without a selection"
        );
        if !header.flags.encrypted() {
            let from = if header.flags.first() { PREAMBLE_LEN } else { 0 };
            together.extend_from_slice(&payload[from..]);
        }
        records += 1;
        world.send(viewer, record);
    }
    if let Ok(sealed) = sealed {
        assert_eq!(sealed.records, records);
        assert!(together.len() <= data.len() && (selected != Selection::None || together == data));
    }
    sent.records += records;
    sent.frames.push([&preamble.to_bytes()[..], data].concat());
}
