//! A session whose peer is authenticated and hostile: it seals what it likes under the right keys.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sealcast_fuzz::{Ends, RANDOM_INITIATOR, RANDOM_RESPONDER, START};
use sealcast_proto::clock::Now;
use sealcast_proto::keys::{EpochKeys, Initiator, InitiatorStep, Side};
use sealcast_proto::seal::{RecordMeta, SealLimits};
use sealcast_proto::session::{Carrier, Handled, Input, Output, Session};
use sealcast_proto::unit::{Assembled, Assembler, MAX_FRAME};
use sealcast_proto::wire::Flags;

/// More than one input can make a session say: what is longer is a loop.
const MAX_OUTPUTS: usize = 16;

#[derive(Debug, Arbitrary)]
struct Plan {
    publishes: bool,
    datagrams: bool,
    admitted: bool,
    steps: Vec<Step>,
}

#[derive(Debug, Arbitrary)]
enum Step {
    Control(Vec<u8>),
    Media {
        keyframe: bool,
        first: bool,
        last: bool,
        stream: u8,
        payload: Vec<u8>,
    },
    Config(Vec<u8>),
    Raw(Vec<u8>),
    Wait(u16),
    Rekey,
}

fuzz_target!(|plan: Plan| {
    let carrier = if plan.datagrams {
        Carrier::Datagram
    } else {
        Carrier::Stream
    };
    let (mut session, mut keys) = handshake(&Ends::new(plan.publishes, carrier));
    let mut now = START;
    if plan.admitted {
        session.handle(now, Input::Admit).expect("the peer awaits admission");
    }
    let mut deadline = drain(&mut session);
    let mut assembler = Assembler::new();
    for step in plan.steps.into_iter().take(256) {
        let mut message = Vec::new();
        match step {
            Step::Control(payload) => {
                let meta = RecordMeta {
                    flags: Flags::CONTROL,
                    stream: 0,
                    timestamp: now.wall,
                };
                let _ = keys.control_sealer.seal(meta, &[&payload], &mut message);
            }
            Step::Media {
                keyframe,
                first,
                last,
                stream,
                payload,
            } => {
                let flags = Flags::frame(keyframe, first, last);
                let meta = RecordMeta {
                    flags,
                    stream: u32::from(stream),
                    timestamp: now.wall,
                };
                let _ = keys.media_sealer.seal(meta, &[&payload], &mut message);
            }
            Step::Config(payload) => {
                let meta = RecordMeta {
                    flags: Flags::CONFIG,
                    stream: 1,
                    timestamp: now.wall,
                };
                let _ = keys.media_sealer.seal(meta, &[&payload], &mut message);
            }
            Step::Raw(bytes) => message = bytes,
            Step::Wait(milliseconds) => {
                deadline = wait(
                    &mut session,
                    &mut now,
                    deadline,
                    Duration::from_millis(milliseconds.into()),
                );
                continue;
            }
            Step::Rekey => {
                let _ = session.handle(now, Input::Rekey);
                deadline = drain(&mut session);
                continue;
            }
        }
        match session.handle(now, Input::Message(&mut message)) {
            Ok(Handled::Media(record)) => match assembler.take(&record) {
                Ok(Assembled::Frame(frame)) => assert!(frame.data.len() <= MAX_FRAME),
                Ok(_) => {}
                Err(_) => break,
            },
            Ok(_) => {}
            Err(_) => assert!(session.is_over(), "an error ends a session"),
        }
        deadline = drain(&mut session);
    }
});

/// The session that accepted, and the keys of the end that connected.
fn handshake(ends: &Ends) -> (Session, EpochKeys) {
    let mut session = Session::respond(ends.responder.clone(), RANDOM_RESPONDER, START);
    let (mut peer, mut hello) =
        Initiator::new(ends.initiator.handshake.clone(), RANDOM_INITIATOR).expect("the configuration is complete");
    session.handle(START, Input::Message(&mut hello)).expect("a good hello");
    let Output::Transmit(reply) = session.poll() else {
        unreachable!("a hello is answered")
    };
    let Ok(InitiatorStep::Done(mut finish, agreed)) = peer.handle(&reply) else {
        unreachable!("a good reply")
    };
    session
        .handle(START, Input::Message(&mut finish))
        .expect("a good finish");
    (
        session,
        agreed.secret.keys(&agreed.suite, Side::Initiator, SealLimits::COUNTER),
    )
}

/// Take what the session wants done, and its deadline.
fn drain(session: &mut Session) -> Duration {
    for _ in 0..MAX_OUTPUTS {
        if let Output::Timeout(deadline) = session.poll() {
            return deadline;
        }
    }
    panic!("a session has no end of things to do");
}

/// Let time pass, from deadline to deadline.
fn wait(session: &mut Session, now: &mut Now, mut deadline: Duration, length: Duration) -> Duration {
    let end = now.plus(length);
    for _ in 0..4096 {
        if deadline > end.monotonic {
            break;
        }
        *now = now.plus(deadline.saturating_sub(now.monotonic));
        let _ = session.handle(*now, Input::Timeout);
        deadline = drain(session);
        assert!(
            deadline > now.monotonic,
            "a deadline that does not move would never let go"
        );
    }
    *now = end;
    deadline
}
