//! A single session whose peer is the fuzz target itself.

use std::time::Duration;

use sealcast_proto::clock::Now;
use sealcast_proto::keys::{EpochKeys, Initiator, InitiatorStep, Side};
use sealcast_proto::seal::SealLimits;
use sealcast_proto::session::{Carrier, Entry, Input, Output, Session};

use super::{Ends, FRAGMENT_HEADER, RANDOM_INITIATOR, RANDOM_RESPONDER, START, fragment};

/// The session that accepted, awaiting admission, and the keys of the end that connected.
pub fn handshake(ends: &Ends) -> (Session, EpochKeys) {
    let wrap = |number: u8, message: Vec<u8>| match ends.responder.carrier {
        Carrier::Datagrams(Entry::Shown { cookie, .. }) => fragment(&cookie, number, 0, 1, &message),
        _ => message,
    };
    let unwrap = |message: Vec<u8>| match ends.responder.carrier {
        Carrier::Datagrams(_) => message[FRAGMENT_HEADER..].to_vec(),
        _ => message,
    };
    let mut session = Session::respond(ends.responder.clone(), RANDOM_RESPONDER, START);
    let (mut peer, hello) =
        Initiator::new(ends.initiator.handshake.clone(), RANDOM_INITIATOR).expect("the configuration is complete");
    session
        .handle(START, Input::Message(&mut wrap(0, hello)))
        .expect("a good hello");
    let Output::Transmit(reply) = session.poll() else {
        unreachable!("a hello is answered")
    };
    let Ok(InitiatorStep::Done(finish, agreed)) = peer.handle(&unwrap(reply)) else {
        unreachable!("a good reply")
    };
    session
        .handle(START, Input::Message(&mut wrap(1, finish)))
        .expect("a good finish");
    let mut keys = agreed.secret.keys(&agreed.suite, Side::Initiator, SealLimits::COUNTER);
    let data = agreed
        .secret
        .data_keys(&agreed.suite, Side::Initiator, SealLimits::COUNTER);
    keys.data = Some(Box::new(data));
    (session, keys)
}

/// Lets time pass, from deadline to deadline; `drain` handles the session's outputs and returns its next deadline.
pub fn wait_until(
    session: &mut Session,
    now: &mut Now,
    mut deadline: Duration,
    length: Duration,
    drain: &mut dyn FnMut(&mut Session, Now) -> Duration,
) -> Duration {
    let end = now.plus(length);
    for _ in 0..16_384 {
        if deadline > end.monotonic {
            break;
        }
        *now = now.plus(deadline.saturating_sub(now.monotonic));
        let _ = session.handle(*now, Input::Timeout);
        deadline = drain(session, *now);
        assert!(
            deadline > now.monotonic,
            "a deadline that does not move would never let go"
        );
    }
    *now = end;
    deadline
}
