//! Two sessions on a virtual clock with a network that drops, repeats, alters and invents messages. What a viewer gets
//! is what the publisher sent, each record at most once.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sealcast_fuzz::{Edit, Ends, START};
use sealcast_proto::session::{Carrier, Input, OutgoingFrame};
use sealcast_proto::sim::{Direction, Verdict, World};
use sealcast_proto::unit::{PREAMBLE_LEN, Preamble};
use sealcast_proto::wire::{CloseReason, LENGTH_PREFIX};

#[derive(Debug, Arbitrary)]
struct Plan {
    publishes: bool,
    datagrams: bool,
    /// The network leaves alone what comes before this message.
    peace: u8,
    network: Vec<Act>,
    steps: Vec<Step>,
}

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Act {
    Pass,
    Drop,
    Repeat,
    Edit(Edit),
}

#[derive(Debug, Arbitrary)]
enum Step {
    Wait(u16),
    Frame { keyframe: bool, data: Vec<u8> },
    RequestKeyframe(u32),
    Rekey { publisher: bool },
    Invent { towards_initiator: bool, message: Vec<u8> },
    Close { publisher: bool },
}

fuzz_target!(|plan: Plan| {
    let carrier = if plan.datagrams {
        Carrier::Datagram
    } else {
        Carrier::Stream
    };
    let (initiator, responder) = Ends::new(plan.publishes, carrier).sessions();
    let mut world = World::new(initiator, responder, Duration::from_millis(10), START);
    let (viewer, publisher) = match plan.publishes {
        true => (Direction::ToResponder, Direction::ToInitiator),
        false => (Direction::ToInitiator, Direction::ToResponder),
    };
    let mut passed = 0_u32;
    let mut acts = plan.network.into_iter();
    let mut judge = move |_: Direction, message: &mut Vec<u8>| {
        passed += 1;
        if passed <= u32::from(plan.peace) {
            return Verdict::Deliver;
        }
        match acts.next() {
            None | Some(Act::Pass) => Verdict::Deliver,
            Some(Act::Drop) => Verdict::Drop,
            Some(Act::Repeat) => Verdict::Duplicate,
            Some(Act::Edit(edit)) => {
                edit.apply(message);
                Verdict::Deliver
            }
        }
    };
    world.run(Duration::from_millis(100), &mut judge);

    let mut sent: Vec<Vec<u8>> = Vec::new();
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
    for payload in std::mem::take(&mut world.end(viewer).media) {
        let place = sent.iter().position(|sent| *sent == payload[PREAMBLE_LEN..]);
        sent.swap_remove(place.expect("a viewer gets what was sent, once"));
    }
    for end in [&world.initiator, &world.responder] {
        assert!(end.error.is_none() || end.session.is_over(), "an error ends a session");
    }
});

fn publish(
    world: &mut World,
    viewer: Direction,
    publisher: Direction,
    keyframe: bool,
    data: &[u8],
    sent: &mut Vec<Vec<u8>>,
) {
    let now = world.now;
    let preamble = Preamble {
        frame: sent.len() as u64,
        ..Preamble::default()
    };
    let frame = OutgoingFrame {
        stream: 1,
        keyframe,
        preamble,
        data,
    };
    let mut out = Vec::new();
    let sealed = world.end(publisher).session.seal_frame(now, &frame, &mut out);
    assert_eq!(sealed.is_ok(), !out.is_empty(), "a frame is sealed whole or not at all");
    if sealed.is_ok() {
        sent.push(data.to_vec());
        world.send(viewer, out.split_off(LENGTH_PREFIX));
    }
}
